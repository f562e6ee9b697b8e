"""A run of several legs: what each starts from, where its steps and rates count from, how it goes on when cut short."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.history import LogLine, read_history
from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position
from bakeoff.learning.lr.decays import Cosine
from bakeoff.learning.networks import weights
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.loop import Rhythm
from bakeoff.learning.training.training import TrainingResult
from support.kitchen import Interrupted, Kitchen, Ones, bests, curve, digests, noisy, phase
from support.slope import batches, weight_of


def test_each_leg_takes_its_own_steps_at_its_own_rates_counted_from_its_own_start(tmp_path: Path) -> None:
    falling = Cosine(peak=1.0, total_steps=3)  # cos 0, 60, 120 degrees: 1, 0.75, 0.25
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 0.5), phase("whole", 2, 3, 1.0, lr=falling, rate_factor=0.1)])
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(-(0.5 + 0.5) - 0.1 * (1 + 0.75 + 0.25))
    assert kitchen.feed.asked == [("head", range(2)), ("whole", range(2, 5))]
    rows = [row for row in read_history(tmp_path) if "learning_rate" in row]
    assert [(row["step"], row["phase"], row["learning_rate"]) for row in rows] == [
        (1, "head", 0.5), (2, "head", 0.5), (3, "whole", 0.1), (4, "whole", 0.075), (5, "whole", 0.025),
    ]  # fmt: skip
    assert [phase.name for phase in outcome.summary("goodness", kitchen.phases).phases] == ["head", "whole"]


def test_a_run_of_one_leg_has_no_phases_in_its_history(tmp_path: Path) -> None:
    Kitchen(tmp_path, [phase("all", 0, 2, 0.5)]).bake()
    assert all("phase" not in row for row in read_history(tmp_path))


@pytest.mark.parametrize(("start", "expected"), [("last", -3.0 - 0.1), ("best", -1.0 - 0.1)])
def test_a_leg_starts_from_the_last_or_the_best_weights_of_the_one_before(
    start: str, expected: float, tmp_path: Path
) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 3, 1.0), phase("whole", 3, 1, 0.1, start=start)])
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=10)
    kitchen.goodness = {1: 0.9, 2: 0.3, 3: 0.4, 4: 0.6}
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(expected)
    assert bests(outcome) == [
        Best(1, 0.9),
        Best(4, 0.6),
    ] and outcome.best_position == Position(0, 1)


def test_each_leg_has_an_optimizer_without_a_past(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 1, 0.1)])
    kitchen.optimizer = Momentum(momentum=0.5, nesterov=False)
    kitchen.bake()
    # Moves of 1 and 1.5; then 0.1, for nothing of the speed before is left.
    assert weight_of(kitchen.network) == pytest.approx(-1 - 1.5 - 0.1)


def test_the_average_begins_anew_with_each_leg(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 1, 1.0)])
    kitchen.decay = 0.9
    kitchen.bake()
    # From -2 to -3; after one step of a leg the decay is (1 + 1) / (10 + 1).
    with kitchen.learner.kept() as network:
        assert weight_of(network) == pytest.approx(-2 * 2 / 11 - 3 * 9 / 11)
    assert weight_of(kitchen.network) == -3.0


def test_the_best_of_two_equal_legs_is_the_earlier_one() -> None:
    def outcome(*bests: Best) -> TrainingResult:
        return TrainingResult([PhaseState(best) for best in bests], Position(1, 6), [])

    assert outcome(Best(3, 0.5), Best(6, 0.5)).best_position == Position(0, 3)
    assert outcome(Best(3, None), Best(6, 0.1)).best_position == Position(1, 6)


def test_a_mistake_in_the_last_leg_is_said_before_the_first_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 1, 0.1, trainable=("neck",))])
    message = r"^train\.phases: .*'whole'.*'neck'.*\ball$"
    with pytest.raises(ConfigError, match=message):
        kitchen.bake()
    assert kitchen.feed.asked == []


def test_interrupted_at_any_step_a_run_ends_in_the_same_weights_to_the_bit(tmp_path: Path) -> None:
    """Dropout, batch norm, Adam, averages, several batches a step, frozen parts, a start from the best weights."""
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    best_of_whole = bests(whole.bake())
    for step in (1, 3, 5, 7):
        with pytest.raises(Interrupted):
            cut.bake(interrupt_at=step)
    outcome = cut.bake()
    assert bests(outcome) == best_of_whole and 3 in outcome.resumed_at
    assert digests(whole) == digests(cut)
    assert curve(whole) == curve(cut) and len(curve(whole)) == 2 * 9
    assert sorted(set(cut.sent)) == sorted(set(whole.sent))  # lines may be told again, the journal keeps each once


def test_a_run_that_resumes_lets_go_of_the_arrays_that_it_read(tmp_path: Path) -> None:
    """They are as large as weights, averages and slots together, and nothing reads them again."""
    kitchen = Kitchen(tmp_path, [phase("all", 0, 6, 0.1)])
    with pytest.raises(Interrupted):
        kitchen.bake(interrupt_at=4)
    kitchen.bake()
    assert kitchen.training.saved.position.step > 0 and kitchen.training.saved.arrays is None


def test_a_slow_disk_does_not_let_later_lines_into_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen, real = Kitchen(tmp_path, [phase("all", 0, 6, 0.1)]), checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *given: (time.sleep(0.3), real(*given)))
    kitchen.rhythm = Rhythm(log_every=1, validate_every=4, checkpoint_every=1)
    with pytest.raises(Interrupted):
        kitchen.bake(interrupt_at=4)
    kitchen.bake()
    assert [row["step"] for row in read_history(tmp_path) if "learning_rate" in row] == [1, 2, 3, 4, 5, 6]


def test_a_finished_run_takes_no_step_when_it_is_run_again(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 1.0), phase("whole", 2, 1, 0.1)])
    kitchen.bake()
    history = read_history(tmp_path)
    checkpoints = [checkpoint.read(file).facts["seconds"] for file in sorted(tmp_path.glob("?-*/0*"))]
    again = kitchen.bake()
    assert again.ended_by == "steps" and kitchen.ends.limit.clock.seconds == checkpoints[-1]
    assert weight_of(kitchen.network) == pytest.approx(-2.1) and read_history(tmp_path) == history
    assert kitchen.feed.asked[2:] == [("whole", range(3, 3))] and again.resumed_at == []


def test_the_state_that_is_written_beside_training_is_that_of_its_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [phase("all", 0, 1, 0.5)])
    kitchen.bake()
    before, weight = kitchen.learner.state(), weight_of(kitchen.network)
    step = kitchen.learner.begin((), "train.trainable")
    step(batches(8.0), tf.constant(1.0))
    assert weight_of(kitchen.network) == weight - 8.0
    assert np.asarray(before["network/00000"]).item() == weight


def test_gradients_are_those_of_the_last_step_and_counting_them_changes_no_bit(tmp_path: Path) -> None:
    """Dropout draws random numbers for them, batch norms see their batch, averages and Adam stand by."""
    plain, watched = noisy(tmp_path / "plain"), noisy(tmp_path / "watched")
    seen: dict[int, Any] = {}

    class Watch(Callback):
        def on_validation(self, line: LogLine, seconds: float) -> None:
            seen[line.step] = watched.training.count_gradients(line.step)

    plain.bake()
    watched.bake(callbacks=[Watch()])
    assert digests(plain) == digests(watched) and curve(plain) == curve(watched)
    trained = {weight.path for weight in watched.network.trainable_weights}
    assert len(seen) == len([row for row in read_history(tmp_path / "plain") if "validation/goodness" in row]) > 2
    assert all(
        step_gradients.keys() <= trained and any(np.any(one) for one in step_gradients.values())
        for step_gradients in seen.values()
    )


def test_a_gradient_is_of_the_batch_at_the_weights_as_they_are(tmp_path: Path) -> None:
    """The loss is w times input times factor, so its slope is 3 times the input, which is 2, 3 and 4."""
    kitchen = Kitchen(tmp_path, [phase("all", 0, 3, 0.1)])
    seen: list[Any] = []
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=10)

    class Rising(Ones):
        def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
            self.asked.append((phase.span.name, steps))
            return ({"image": tf.fill([1, 1], 2.0 + step), "factor": tf.fill([1, 1], 3.0)} for step in steps)

    kitchen.feed = Rising()

    class Watch(Callback):
        def on_validation(self, line: LogLine, seconds: float) -> None:
            seen.append(kitchen.training.count_gradients(line.step))

    kitchen.bake(callbacks=[Watch()])
    assert [[one.item() for one in step_gradients.values()] for step_gradients in seen] == [[6.0], [9.0], [12.0]]


def test_looking_at_validation_more_often_changes_no_weight(tmp_path: Path) -> None:
    rare, often = noisy(tmp_path / "rare"), noisy(tmp_path / "often")
    for kitchen in (rare, often):
        kitchen.phases = [phase("all", 0, 4, 0.05)]
    rare.rhythm = Rhythm(log_every=1, validate_every=0, checkpoint_every=100)
    rare.bake()
    often.bake()
    assert weights.digest(rare.network) == weights.digest(often.network)
