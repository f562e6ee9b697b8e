"""A run of several legs: what each starts from, where its steps and rates count from, how it goes on when cut short."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.errors import ConfigError
from bakeoff.lr import Constant, Cosine
from bakeoff.progress import Bar
from bakeoff.training import checkpoint, weights
from bakeoff.training.average import Average
from bakeoff.training.course import Outcome, run_legs
from bakeoff.training.divergence import Diverged
from bakeoff.training.early_stopping import EarlyStopping
from bakeoff.training.ending import Clock, Ends, TimeLimit
from bakeoff.training.history import History, metrics_of, read_history
from bakeoff.training.learner import Learner
from bakeoff.training.loop import Best, Rhythm, Standing, seed_everything
from bakeoff.training.optimizers import Adam, Momentum, Optimizer
from bakeoff.training.phases import Leg, Span
from bakeoff.training.shortage import OutOfMemory, Shortage
from bakeoff.training.step import Batch
from bakeoff.training.stopping import Stop
from bakeoff.training.work import Position, Work
from slope import Slope, batches, one_weight, weight_of

PLAIN = Momentum(momentum=0.0, nesterov=False)


def leg(name: str, first_step: int, steps: int, rate: float, first_example: int = 0, **more: Any) -> Leg:
    span = Span(name, first_step, steps, first_example, more.pop("batch_size", 1), more.pop("rate_factor", 1.0))
    return Leg(span, more.pop("lr", Constant(rate)), more.pop("trainable", ()), more.pop("start", "last"))


@dataclass(frozen=True)
class Ones:
    """Feeds inputs of 1, and writes down what it was asked for."""

    together: int = 1
    asked: list[tuple[str, range]] = field(default_factory=list)

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        self.asked.append((leg.span.name, steps))
        one = tf.ones([leg.span.batch_size, 1])
        return ((one, {"factor": one}) for _ in range(len(steps) * self.together))


class Interrupted(Exception):
    pass


class Kitchen:
    """`run_legs` of a network, in a folder, as often as one likes."""

    def __init__(self, folder: Path, legs: list[Leg], network: Callable[[], keras.Model] = one_weight) -> None:
        self.folder, self.legs, self.new_network = folder, legs, network
        self.optimizer: Optimizer = PLAIN
        self.decay = 0.0
        self.feed: Any = Ones()
        self.goodness: dict[int, float] = {}  # by step; 0.5 where it is not said
        self.rhythm = Rhythm(log_every=1, validate_every=0, checkpoint_every=1)
        self.sent: list[int] = []
        self.network = one_weight()
        self.minutes: float | None = None
        self.early = EarlyStopping()
        self.stop_at = 0  # a step, whose line makes somebody ask for a stop

    def send(self, step: int, values: dict[str, float]) -> None:
        self.sent.append(step)
        if step == self.stop_at:
            self.ends.stop.by = "a test"

    def bake(self, interrupt_at: int = 0, **more: Any) -> Outcome:
        """Up to the end, or to a step after whose line it is interrupted."""
        seed_everything(3, deterministic=False)
        self.network = self.new_network()
        average = Average(self.new_network(), self.decay) if self.decay else None
        learner = Learner(
            self.network, average=average, parts={"all": ("*",)}, task=Slope(),  # type: ignore[arg-type]
            optimizer=self.optimizer, strategy=tf.distribute.get_strategy(),
        )  # fmt: skip
        self.learner = learner

        def validate() -> dict[str, Any] | None:
            step, _ = metrics_of(history.lines[-1])
            if interrupt_at and step >= interrupt_at:
                raise Interrupted
            return {"goodness": self.goodness.get(step, 0.5)}

        with Work(self.folder, [leg.span.name for leg in self.legs]) as work:
            found = work.newest()
            self.ends = Ends(Stop(), TimeLimit(self.minutes, Clock(found.facts["seconds"])), self.early)
            with History(self.folder, found.facts["history"]) as history:
                return run_legs(
                    self.legs, learner, work, found=found, feed=self.feed, rhythm=self.rhythm, ends=self.ends,
                    validate=validate, headline="goodness", history=history, send=self.send,
                    bar=Bar("train", 1, "steps", None), **more,
                )  # fmt: skip


def test_each_leg_takes_its_own_steps_at_its_own_rates_counted_from_its_own_start(tmp_path: Path) -> None:
    falling = Cosine(peak=1.0, total_steps=3)  # cos 0, 60, 120 degrees: 1, 0.75, 0.25
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 0.5), leg("whole", 2, 3, 1.0, lr=falling, rate_factor=0.1)])
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(-(0.5 + 0.5) - 0.1 * (1 + 0.75 + 0.25))
    assert kitchen.feed.asked == [("head", range(2)), ("whole", range(2, 5))]
    rows = [row for row in read_history(tmp_path) if "learning_rate" in row]
    assert [(row["step"], row["phase"], row["learning_rate"]) for row in rows] == [
        (1, "head", 0.5), (2, "head", 0.5), (3, "whole", 0.1), (4, "whole", 0.075), (5, "whole", 0.025),
    ]  # fmt: skip
    assert [phase["name"] for phase in outcome.summary("goodness", kitchen.legs)["phases"]] == ["head", "whole"]


def test_a_run_of_one_leg_has_no_phases_in_its_history(tmp_path: Path) -> None:
    Kitchen(tmp_path, [leg("all", 0, 2, 0.5)]).bake()
    assert all("phase" not in row for row in read_history(tmp_path))


@pytest.mark.parametrize(("start", "expected"), [("last", -3.0 - 0.1), ("best", -1.0 - 0.1)])
def test_a_leg_starts_from_the_last_or_the_best_weights_of_the_one_before(
    start: str, expected: float, tmp_path: Path
) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 3, 1.0), leg("whole", 3, 1, 0.1, start=start)])
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=10)
    kitchen.goodness = {1: 0.9, 2: 0.3, 3: 0.4, 4: 0.6}
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(expected)
    assert outcome.bests == [Best(1, 0.9), Best(4, 0.6)] and outcome.best_position == Position(0, 1)


def test_each_leg_has_an_optimizer_without_a_past(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 1, 0.1)])
    kitchen.optimizer = Momentum(momentum=0.5, nesterov=False)
    kitchen.bake()
    # Moves of 1 and 1.5; then 0.1, for nothing of the speed before is left.
    assert weight_of(kitchen.network) == pytest.approx(-1 - 1.5 - 0.1)


def test_the_average_begins_anew_with_each_leg(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 1, 1.0)])
    kitchen.decay = 0.9
    kitchen.bake()
    # From -2 to -3; after one step of a leg the decay is (1 + 1) / (10 + 1).
    assert weight_of(kitchen.learner.kept) == pytest.approx(-2 * 2 / 11 - 3 * 9 / 11)
    assert weight_of(kitchen.network) == -3.0


def test_the_best_of_two_equal_legs_is_the_earlier_one() -> None:
    def outcome(*bests: Best) -> Outcome:
        return Outcome([Standing(best) for best in bests], Position(1, 6), [])

    assert outcome(Best(3, 0.5), Best(6, 0.5)).best_position == Position(0, 3)
    assert outcome(Best(3, None), Best(6, 0.1)).best_position == Position(1, 6)


def test_a_mistake_in_the_last_leg_is_said_before_the_first_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 1, 0.1, trainable=("neck",))])
    message = r"^train\.phases: trainable of 'whole': no variable of the network matches 'neck'; .*its parts are: all$"
    with pytest.raises(ConfigError, match=message):
        kitchen.bake()
    assert kitchen.feed.asked == []


def noisy_network() -> keras.Model:
    given = keras.Input((1,))
    x = keras.layers.Dense(4, name="first")(given)
    x = keras.layers.Dropout(0.4, name="drop")(keras.layers.BatchNormalization(name="norm")(x))
    return keras.Model(given, keras.layers.Dense(1, name="last")(x))


@dataclass(frozen=True)
class Noise:
    """Feeds random numbers that depend on the step alone."""

    together: int = 2

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        for number in range(steps.start * self.together, steps.stop * self.together):
            values = np.random.default_rng(number).normal(size=(4, 1)).astype(np.float32)
            yield tf.constant(values), {"factor": tf.constant(values**2)}


def noisy(folder: Path) -> Kitchen:
    legs = [leg("head", 0, 3, 0.05, trainable=("last",)), leg("all", 3, 4, 0.02, start="best"), leg("slow", 7, 2, 0.01)]
    kitchen = Kitchen(folder, legs, noisy_network)
    kitchen.optimizer, kitchen.decay, kitchen.feed = Adam(weight_decay=0.1), 0.8, Noise()
    kitchen.goodness = {1: 0.2, 2: 0.4, 3: 0.3, 5: 0.8, 6: 0.1}
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=2)
    return kitchen


def curve(kitchen: Kitchen) -> list[dict[str, Any]]:
    """The history without what the clock says."""
    rows = read_history(kitchen.folder)
    return [{key: row[key] for key in row if key != "examples_per_second"} for row in rows]


def digests(kitchen: Kitchen) -> list[str]:
    return [weights.digest(kitchen.network), weights.digest(kitchen.learner.kept)]


def test_interrupted_at_any_step_a_run_ends_in_the_same_weights_to_the_bit(tmp_path: Path) -> None:
    """Dropout, batch norm, Adam, averages, several batches a step, frozen parts, a start from the best weights."""
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    bests = whole.bake().bests
    for step in (1, 3, 4, 5, 7, 9):
        with pytest.raises(Interrupted):
            cut.bake(interrupt_at=step)
    outcome = cut.bake()
    assert outcome.bests == bests and 3 in outcome.resumed_at
    assert digests(whole) == digests(cut)
    assert curve(whole) == curve(cut) and len(curve(whole)) == 2 * 9
    assert cut.sent == whole.sent


def test_a_slow_disk_does_not_let_later_lines_into_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen, real = Kitchen(tmp_path, [leg("all", 0, 6, 0.1)]), checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *given: (time.sleep(0.3), real(*given)))
    kitchen.rhythm = Rhythm(log_every=1, validate_every=4, checkpoint_every=1)
    with pytest.raises(Interrupted):
        kitchen.bake(interrupt_at=4)
    kitchen.bake()
    assert [row["step"] for row in read_history(tmp_path) if "learning_rate" in row] == [1, 2, 3, 4, 5, 6]


def test_a_finished_run_takes_no_step_when_it_is_run_again(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 1, 0.1)])
    kitchen.bake()
    history = read_history(tmp_path)
    checkpoints = [checkpoint.read(file).facts["seconds"] for file in sorted(tmp_path.glob("?-*/0*"))]
    again = kitchen.bake()
    assert again.ended_by == "steps" and kitchen.ends.limit.clock.seconds == checkpoints[-1]
    assert weight_of(kitchen.network) == pytest.approx(-2.1) and read_history(tmp_path) == history
    assert kitchen.feed.asked[2:] == [("whole", range(3, 3))] and again.resumed_at == []


def test_the_state_that_is_written_beside_training_is_that_of_its_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("all", 0, 1, 0.5)])
    kitchen.bake()
    before, weight = kitchen.learner.state(), weight_of(kitchen.network)
    step = kitchen.learner.begin((), "train.trainable")
    step(batches(8.0), tf.constant(1.0))
    assert weight_of(kitchen.network) == weight - 8.0
    assert np.asarray(before["network/00000"]).item() == weight


def test_looking_at_validation_more_often_changes_no_weight(tmp_path: Path) -> None:
    rare, often = noisy(tmp_path / "rare"), noisy(tmp_path / "often")
    for kitchen in (rare, often):
        kitchen.legs = [leg("all", 0, 4, 0.05)]
    rare.rhythm = Rhythm(log_every=1, validate_every=0, checkpoint_every=100)
    rare.bake()
    often.bake()
    assert weights.digest(rare.network) == weights.digest(often.network)


def test_memory_that_runs_out_names_the_batch_of_its_phase(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Huge(Ones):
        def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
            if leg.span.name == "whole":
                yield tf.zeros([10**15]), {}
            yield from super().batches(leg, steps)

    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 0.1), leg("whole", 2, 2, 0.1, batch_size=32)])
    kitchen.feed = Huge()
    message = (
        r"^train\.phases: batch_size of 'whole': must be smaller, for memory ran out with batches of 32 \(OOM when .+"
    )
    with pytest.raises(OutOfMemory, match=message):
        kitchen.bake(within_memory=Shortage(lambda size: size, lambda: 10).said)
    assert len(list(tmp_path.glob("1-head/00000002"))) == 1


# Ends before the last step.


def test_stopped_after_any_step_a_run_goes_on_to_the_same_weights_and_history(tmp_path: Path) -> None:
    """Every step is due for validation here, so each stop leaves a look owing."""
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    expected = whole.bake()
    for step in range(1, 10):
        cut.stop_at = step
        outcome = cut.bake()
        assert (outcome.ended_by, outcome.position.step) == ("stop", step)
        assert read_history(cut.folder)[-1].keys() >= {"step", "train/loss"}  # and nobody looked
    cut.stop_at = 0
    outcome = cut.bake()
    assert outcome.standings == expected.standings and outcome.ended_by == "steps"
    assert outcome.resumed_at == list(range(1, 10)) and expected.resumed_at == []
    assert digests(whole) == digests(cut) and curve(whole) == curve(cut)


def test_a_stop_between_two_looks_takes_none_and_leaves_the_best_so_far(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("all", 0, 9, 1.0)])
    kitchen.rhythm, kitchen.stop_at = Rhythm(log_every=1, validate_every=4, checkpoint_every=100), 6
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == -6.0 and outcome.position == Position(0, 6)
    assert outcome.best_position == Position(0, 4)
    said = outcome.summary("goodness", kitchen.legs)
    assert (said["state"], said["ended_by"], said["step"]) == ("STOPPED", "stop", 6)
    assert (said["best_step"], said["best_value"]) == (4, 0.5)


def test_of_a_run_stopped_before_the_first_look_the_last_weights_are_the_best(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("all", 0, 9, 1.0)])
    kitchen.stop_at = 2
    outcome = kitchen.bake()
    said = outcome.summary("goodness", kitchen.legs)
    assert outcome.best_position is None and (said["best_step"], said["best_value"]) == (2, None)


def test_a_stop_while_a_leg_is_validated_for_the_last_time_begins_no_other(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 3, 1.0)])
    kitchen.stop_at = 2
    outcome = kitchen.bake()
    assert outcome.ended_by == "stop" and kitchen.feed.asked == [("head", range(2))]
    assert [row for row in read_history(tmp_path) if "validation/goodness" in row] == []
    kitchen.stop_at = 0
    assert kitchen.bake().ended_by == "steps" and weight_of(kitchen.network) == -5.0
    looked = [row["step"] for row in read_history(tmp_path) if "validation/goodness" in row]
    assert looked == [2, 5]


def test_a_stop_after_the_last_look_of_a_leg_begins_no_other(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 2, 1.0), leg("whole", 2, 3, 1.0)])
    kitchen.goodness = {2: 0.7}

    def send(step: int, values: dict[str, float]) -> None:
        if values.get("validation/goodness") == 0.7:
            kitchen.ends.stop.by = "a test"

    kitchen.send = send  # type: ignore[method-assign]
    outcome = kitchen.bake()
    assert outcome.ended_by == "stop" and kitchen.feed.asked == [("head", range(2))]
    assert outcome.best_position == Position(0, 2)
    assert kitchen.bake().ended_by == "steps" and weight_of(kitchen.network) == -5.0


def test_early_stopping_ends_a_leg_and_the_next_begins_at_its_own_first_step(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 6, 1.0), leg("whole", 6, 2, 0.1)])
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=100)
    kitchen.early = EarlyStopping(patience=2, min_change=0.05)
    # 0.54 is better than 0.5, but by too little; the best weights are still those of 0.54.
    kitchen.goodness = {1: 0.5, 2: 0.54, 3: 0.53, 7: 0.1, 8: 0.2}
    outcome = kitchen.bake()
    assert weight_of(kitchen.network) == pytest.approx(-3 - 0.2)
    assert [standing.ended_by for standing in outcome.standings] == ["early_stopping", "steps"]
    assert outcome.bests == [Best(2, 0.54), Best(8, 0.2)] and outcome.ended_by == "steps"
    assert kitchen.feed.asked == [("head", range(6)), ("whole", range(6, 8))]


def test_early_stopping_counts_on_after_an_interruption(tmp_path: Path) -> None:
    whole, cut = noisy(tmp_path / "whole"), noisy(tmp_path / "cut")
    for kitchen in (whole, cut):
        kitchen.legs, kitchen.early = [leg("all", 0, 9, 0.05)], EarlyStopping(patience=3)
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
    assert (outcome.ended_by, outcome.position, outcome.bests) == ("early_stopping", Position(0, 5), [Best(2, 0.5)])
    assert digests(whole) == digests(cut) and curve(whole) == curve(cut)
    asked = len(cut.sent)
    assert cut.bake().ended_by == "early_stopping" and len(cut.sent) == asked  # there is nothing left to do


def test_a_run_out_of_time_logs_validates_and_keeps_its_last_step_and_is_over(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("head", 0, 50, 1.0), leg("whole", 50, 2, 0.1)])
    kitchen.rhythm = Rhythm(log_every=100, validate_every=0, checkpoint_every=100)
    kitchen.minutes = 1e-6
    outcome = kitchen.bake()
    assert (outcome.ended_by, outcome.position) == ("max_minutes", Position(0, 1))
    assert [row["step"] for row in read_history(tmp_path)] == [1, 1] and outcome.best_position == Position(0, 1)
    assert outcome.summary("goodness", kitchen.legs)["state"] == "SUCCEEDED"
    again = kitchen.bake()
    assert (again.ended_by, again.position, again.resumed_at) == ("max_minutes", Position(0, 1), [])


@dataclass(frozen=True)
class Shock(Ones):
    """Inputs of 0, and one, at step 5, that moves the weight further than a float reaches; its loss is still 0."""

    def names(self, leg: Leg, done: int) -> str:
        return f"those of step {done}"

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        return batches(*(3e38 if step == 4 else 0.0 for step in steps))


@pytest.mark.parametrize(
    ("steps", "what"),
    [(9, r"the loss is nan at step 6 with rate 10; .*: those of step 6$"),
     (5, r"the weights are no numbers at step 5 with rate 10; .*: those of step 5$")],
)  # fmt: skip
def test_what_diverges_is_named_and_becomes_no_checkpoint(steps: int, what: str, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, [leg("all", 0, steps, 10.0)])
    kitchen.feed, kitchen.rhythm = Shock(), Rhythm(log_every=100, validate_every=0, checkpoint_every=1)
    with pytest.raises(Diverged, match=f"^training diverged: {what}"):
        kitchen.bake()
    with Work(tmp_path, ["all"]) as work:
        found = work.newest()  # the writer may have left some out, for steps are faster than the disk
        assert 1 <= found.position.step <= 4 and found.arrays is not None and found.arrays["network/00000"] == 0
