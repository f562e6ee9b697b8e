"""The length of a run."""

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.lr.schedule import MOST_STEPS
from bakeoff.learning.plan.run_length import format_done, format_steps, is_endless
from bakeoff.learning.plan.train_settings import Phase, Train, steps_for


def test_steps_are_taken_as_they_are_given() -> None:
    assert steps_for(7, None, examples=1000, batch_size=4) == 7


@pytest.mark.parametrize(
    ("epochs", "examples", "batch_size", "steps"),
    [(1.0, 12, 4, 3), (1.0, 13, 4, 4), (2.5, 10, 5, 5), (0.01, 10, 5, 1), (3.0, 7, 2, 11)],
)
def test_epochs_become_the_steps_that_cover_them(epochs: float, examples: int, batch_size: int, steps: int) -> None:
    assert steps_for(None, epochs, examples=examples, batch_size=batch_size) == steps


def test_epochs_that_are_whole_steps_do_not_become_one_more_by_rounding() -> None:
    """1.1 epochs of 50 examples are 55 steps of one, though 1.1 * 50 is 55.00000000000001 to a computer."""
    assert steps_for(None, 1.1, examples=50, batch_size=1) == 55


def test_a_run_without_an_end_has_more_steps_than_any_other_and_is_named_so() -> None:
    steps = steps_for("unlimited", None, examples=50, batch_size=1)
    assert is_endless(steps) and not is_endless(MOST_STEPS)
    assert (format_steps(steps), format_steps(2000)) == ("unlimited", "2,000")
    assert (format_done(1200, steps), format_done(1200, 2000)) == ("1,200", "1,200 of 2,000")


def test_unlimited_stands_beside_no_epochs_and_in_no_shares() -> None:
    for more in ({"epochs": 2.0}, {"phases": (Phase("a"), Phase("b"))}):
        with pytest.raises(OutOfRange, match="^steps: "):
            Train(batch_size=8, steps="unlimited", **more)  # type: ignore[arg-type]
