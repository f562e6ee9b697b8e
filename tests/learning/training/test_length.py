"""The length of a run."""

import pytest

from bakeoff.learning.plan.train_settings import steps_for


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
