"""A run that ends before its last step: stopped, out of time, out of patience, or out of the numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff.learning.checkpoints.history import read_history
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import Best, Position
from bakeoff.learning.lr.schedule import ENDLESS
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.plan.train_settings import EarlyStopping
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training.loop import Diverged, Rhythm
from support.kitchen import Interrupted, Kitchen, Ones, bests, curve, digests, noisy, phase
from support.slope import batches, weight_of


def test_stopped_after_any_step_a_run_goes_on_to_the_same_weights_and_history(tmp_path: Path) -> None:
    """Every step is due for validation here, so each stop leaves a look owing."""
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    expected = whole.bake()
    stops = [1, 3, 4, 7, 9]  # in the middle and at both ends of a phase
    for step in stops:
        cut.stop_at = step
        outcome = cut.bake()
        assert (outcome.ended_by, outcome.position.step) == ("stop", step)
        assert read_history(cut.folder)[-1].keys() >= {"step", "train/loss"}  # and nobody looked
    cut.stop_at = 0
    outcome = cut.bake()
    assert outcome.standings == expected.standings and outcome.ended_by == "steps"
    assert outcome.resumed_at == stops and expected.resumed_at == []
    assert digests(whole) == digests(cut) and curve(whole) == curve(cut)


def test_a_run_without_an_end_goes_on_to_the_same_bits_until_it_is_stopped_or_out_of_patience(tmp_path: Path) -> None:
    whole, cut, finite = noisy(tmp_path / "whole"), noisy(tmp_path / "cut"), noisy(tmp_path / "finite")
    for kitchen in (whole, cut):
        kitchen.phases = [phase("all", 0, ENDLESS, 0.05)]
    finite.phases = [phase("all", 0, 7, 0.05)]
    whole.stop_at = 7
    assert (whole.bake().ended_by, finite.bake().ended_by) == ("stop", "steps")
    assert digests(whole) == digests(finite)
    for step in (2, 3, 5):
        with pytest.raises(Interrupted):
            cut.bake(interrupt_at=step)
    cut.stop_at = 7
    assert cut.bake().ended_by == "stop" and digests(cut) == digests(whole) and curve(cut) == curve(whole)
    for kitchen in (whole, cut):
        kitchen.stop_at, kitchen.early = 0, EarlyStopping(patience=3)
        assert kitchen.bake().ended_by == "early_stopping"
    assert digests(cut) == digests(whole) and curve(cut) == curve(whole)


def test_a_stop_between_two_looks_takes_none_and_leaves_the_best_so_far(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("all", 0, 9, 1.0)])
    kitchen.rhythm, kitchen.stop_at = Rhythm(log_every=1, validate_every=4, checkpoint_every=100), 6
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == -6.0 and outcome.position == Position(0, 6)
    assert outcome.best_position == Position(0, 4)
    ending = outcome.summary("goodness", kitchen.phases)
    assert (ending.state, ending.ended_by, ending.step) == ("STOPPED", "stop", 6)
    assert (ending.best_step, ending.best_value) == (4, 0.5)


def test_of_a_run_stopped_before_the_first_look_the_last_weights_are_the_best(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("all", 0, 9, 1.0)])
    kitchen.stop_at = 2
    outcome = kitchen.bake()
    ending = outcome.summary("goodness", kitchen.phases)
    assert outcome.best_position is None and (ending.best_step, ending.best_value) == (2, None)


def test_a_stop_while_a_leg_is_validated_for_the_last_time_begins_no_other(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 3, 1.0)])
    kitchen.stop_at = 2
    outcome = kitchen.bake()
    assert outcome.ended_by == "stop" and kitchen.feed.asked == [("head", range(2))]
    assert [row for row in read_history(tmp_path) if "validation/goodness" in row] == []
    kitchen.stop_at = 0
    assert kitchen.bake().ended_by == "steps" and weight_of(kitchen.network) == -5.0
    looked = [row["step"] for row in read_history(tmp_path) if "validation/goodness" in row]
    assert looked == [2, 5]


def test_a_stop_after_the_last_look_of_a_leg_begins_no_other(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 3, 1.0)])
    kitchen.goodness = {2: 0.7}

    def send(step: int, values: dict[str, float]) -> None:
        if values.get("validation/goodness") == 0.7:
            kitchen.ends.stop.by = "a test"

    kitchen.send = send  # type: ignore[method-assign]
    outcome = kitchen.bake()
    kitchen.send = lambda step, values: None  # type: ignore[method-assign]
    assert outcome.ended_by == "stop" and kitchen.feed.asked == [("head", range(2))]
    assert outcome.best_position == Position(0, 2)
    assert kitchen.bake().ended_by == "steps" and weight_of(kitchen.network) == -5.0


def test_early_stopping_ends_a_leg_and_the_next_begins_at_its_own_first_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 6, 1.0), phase("whole", 6, 2, 0.1)])
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=100)
    kitchen.early = EarlyStopping(patience=2, min_change=0.05)
    # 0.54 is better than 0.5, but by too little; the best weights are still those of 0.54.
    kitchen.goodness = {1: 0.5, 2: 0.54, 3: 0.53, 7: 0.1, 8: 0.2}
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(-3 - 0.2)
    assert [standing.ended_by for standing in outcome.standings] == ["early_stopping", "steps"]
    assert (
        bests(outcome)
        == [
            Best(2, 0.54),
            Best(8, 0.2),
        ]
        and outcome.ended_by == "steps"
    )
    assert kitchen.feed.asked == [("head", range(6)), ("whole", range(6, 8))]


def test_early_stopping_counts_on_after_an_interruption(tmp_path: Path) -> None:
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    for kitchen in (whole, cut):
        kitchen.phases, kitchen.early = [phase("all", 0, 9, 0.05)], EarlyStopping(patience=3)
        kitchen.goodness = {step: value / 10 for step, value in enumerate((2, 5, 4, 5, 3, 8, 9, 9, 9), start=1)}
    # 5 at step 2 is the best; 4, 5 and 3 are not above it.
    assert (whole.bake().position, whole.ends.stop.by) == (Position(0, 5), None)
    for step in (2, 3, 4):
        with pytest.raises(Interrupted):
            cut.bake(interrupt_at=step)
    cut.stop_at = 5
    assert cut.bake().ended_by == "stop"
    cut.stop_at = 0
    outcome = cut.bake()
    assert (outcome.ended_by, outcome.position, bests(outcome)) == (
        "early_stopping",
        Position(0, 5),
        [Best(2, 0.5)],
    )
    assert digests(whole) == digests(cut) and curve(whole) == curve(cut)
    asked = len(cut.sent)
    assert cut.bake().ended_by == "early_stopping" and len(cut.sent) == asked  # there is nothing left to do


def test_a_run_out_of_time_logs_validates_and_keeps_its_last_step_and_is_over(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 50, 1.0), phase("whole", 50, 2, 0.1)])
    kitchen.rhythm = Rhythm(log_every=100, validate_every=0, checkpoint_every=100)
    kitchen.minutes = 1e-6
    outcome = kitchen.bake()
    assert (outcome.ended_by, outcome.position) == ("max_minutes", Position(0, 1))
    assert [row["step"] for row in read_history(tmp_path)] == [1, 1] and outcome.best_position == Position(0, 1)
    assert outcome.summary("goodness", kitchen.phases).state == "SUCCEEDED"
    again = kitchen.bake()
    assert (again.ended_by, again.position, again.resumed_at) == ("max_minutes", Position(0, 1), [])


@dataclass(frozen=True)
class Shock(Ones):
    """Inputs of 0, and one, at step 5, that moves the weight further than a float reaches; its loss is still 0."""

    def names(self, phase: TrainingPhase, done: int) -> str:
        return f"those of step {done}"

    def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
        return batches(*(3e38 if step == 4 else 0.0 for step in steps))


@pytest.mark.parametrize(
    ("steps", "what"),
    [(9, r"loss is nan .*step 6\b.*rate 10\b.*: those of step 6$"),
     (5, r"weights .*step 5\b.*rate 10\b.*: those of step 5$")],
)  # fmt: skip
def test_what_diverges_is_named_and_becomes_no_checkpoint(steps: int, what: str, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("all", 0, steps, 10.0)])
    kitchen.feed, kitchen.rhythm = Shock(), Rhythm(log_every=100, validate_every=0, checkpoint_every=1)
    with pytest.raises(Diverged, match=f"^training diverged: .*{what}"):
        kitchen.bake()
    with RunFolder(tmp_path, ["all"]) as work:
        state = work.newest()  # the writer may have left some out, for steps are faster than the disk
        assert 1 <= state.position.step <= 4 and state.arrays is not None and state.arrays["network/00000"] == 0
