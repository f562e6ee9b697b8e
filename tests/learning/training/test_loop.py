"""The step loop: rates, lines, validation passes, checkpoints, the same seed."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.learning.checkpoints.run_state import Best, PhaseState
from bakeoff.learning.lr.decays import Constant, Cosine
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.plan.train_settings import EarlyStopping, Train
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training import loop
from bakeoff.learning.training.loop import Diverged, Rhythm, fit
from bakeoff.learning.training.step import Calls, Step
from bakeoff.learning.training.stopping import Clock, Ends, Stop, TimeLimit
from support.slope import Slope, batches, one_weight, sgd, weight_of


class Oven:
    """`fit` of one weight over ones, with everything that it calls written down."""

    def __init__(self, steps: int | range, together: int = 1, **rhythm: Any) -> None:
        self.network = one_weight()
        self.optimizer = sgd(self.network)
        self.steps = steps if isinstance(steps, range) else range(steps)
        self.together = together
        self.rhythm = Rhythm(**({"log_every": 1, "validate_every": 0, "checkpoint_every": 1000} | rhythm))
        self.advanced: list[int] = []
        self.calls: list[str] = []
        self.lines: list[tuple[int, dict[str, float]]] = []
        self.rates: list[float] = []
        self.results: Iterator[dict[str, Any]] = iter([])
        self.ends = Ends.none()
        self.standing = PhaseState()

    headline = Slope.headline

    def log(self, step: int, values: dict[str, float]) -> None:
        self.lines.append((step, values))
        self.rates.append(float(self.optimizer.learning_rate.numpy()))
        self.calls.append(f"log {step} {'validation' if any('/good' in name for name in values) else 'train'}")

    def log_validation(self, step: int, values: dict[str, float], seconds: float) -> None:
        self.log(step, values)

    def advance(self, count: int) -> None:
        self.advanced.append(count)

    def validate(self, step: int) -> dict[str, Any]:
        self.calls.append("validate")
        return next(self.results)

    def keep_best(self, step: int) -> None:
        self.calls.append(f"keep {step}")

    def checkpoint(self, step: int, standing: PhaseState) -> None:
        self.calls.append(f"checkpoint {step} best {standing.best.step}")

    def bake(self, schedule: Schedule, goodness: list[float], inputs: list[float] | None = None, **how: Any) -> Best:
        self.results = iter([{"goodness": value, "by_class": {"a": 1.0}, "count": 3} for value in goodness])
        ones = [1.0] * (len(self.steps) * self.together)
        return self.bake_batches(schedule, batches(*(inputs or ones)), **how)

    def bake_batches(self, schedule: Schedule, given: Iterable[Tensors], best: Best | None = None) -> Best:
        step = Step(self.network, self.optimizer, Slope())  # type: ignore[arg-type]
        self.standing = fit(
            Calls(step, given, together=self.together, at_once=self.rhythm.steps_per_call),
            self.steps,
            schedule,
            rhythm=self.rhythm,
            keeper=self,
            ends=self.ends,
            standing=PhaseState(best or Best()),
        )
        return self.standing.best

    def training_lines(self) -> list[tuple[int, dict[str, float]]]:
        return [(step, values) for step, values in self.lines if "train/loss" in values]


# The loop.


def test_rates_follow_the_schedule_from_its_first_step() -> None:
    oven = Oven(steps=6)
    schedule = Cosine(peak=0.4, warmup_steps=1, hold_steps=1, total_steps=6)
    oven.bake(schedule, [0.0])
    # Half way up, held, then half a cosine over four steps: cos 0, 45, 90 and 135 degrees.
    expected = [0.2, 0.4, 0.4, 0.2 * (1 + math.sqrt(0.5)), 0.2, 0.2 * (1 - math.sqrt(0.5))]
    assert oven.rates[:6] == pytest.approx(expected, rel=1e-6)
    assert [values["learning_rate"] for _, values in oven.training_lines()] == pytest.approx(expected)
    assert weight_of(oven.network) == pytest.approx(-sum(expected), rel=1e-6)


def test_every_batch_is_one_step_in_order() -> None:
    oven = Oven(steps=4)
    inputs = [1.0, 10.0, 100.0, 1000.0]
    oven.bake(Constant(0.5), [0.0], inputs)
    losses = [values["train/loss"] for _, values in oven.training_lines()]
    # The weight before each step, times the input.
    assert losses == pytest.approx([0.0, -0.5 * 10, -(0.5 + 5) * 100, -(0.5 + 5 + 50) * 1000])
    assert weight_of(oven.network) == pytest.approx(-0.5 * sum(inputs))


def test_no_more_batches_are_taken_than_there_are_steps() -> None:
    oven, given = Oven(steps=2), iter(batches(1.0, 1.0, 1.0))
    oven.results = iter([{"goodness": 0.5}])
    oven.bake_batches(Constant(0.5), given)
    assert len(list(given)) == 1 and weight_of(oven.network) == -1.0


def test_logged_loss_is_the_sum_of_its_parts() -> None:
    oven = Oven(steps=2)
    oven.bake(Constant(0.5), [0.0])
    _, values = oven.training_lines()[1]
    assert (values["train/loss"], values["train/loss_a"], values["train/loss_b"]) == (-0.5, -0.25, -0.25)


def test_lines_come_at_their_rhythm_and_at_the_last_step() -> None:
    oven = Oven(steps=7, log_every=3)
    oven.bake(Constant(0.1), [0.0])
    assert [step for step, _ in oven.training_lines()] == [3, 6, 7]
    for _, values in oven.training_lines():
        assert values.keys() == {
            "train/loss",
            "train/loss_a",
            "train/loss_b",
            "learning_rate",
            "examples_per_second",
        }
        assert values["examples_per_second"] > 0


def test_without_a_rhythm_only_the_last_step_is_validated() -> None:
    oven = Oven(steps=3)
    best = oven.bake(Constant(0.1), [0.25])
    assert oven.calls == [
        "log 1 train", "log 2 train", "log 3 train", "validate", "log 3 validation", "keep 3", "checkpoint 3 best 3",
    ]  # fmt: skip
    assert best == Best(3, 0.25)


@pytest.mark.parametrize(("every", "validated"), [(2, [2, 4, 5]), (5, [5]), (1, [1, 2, 3, 4, 5]), (9, [5])])
def test_steps_are_validated_at_their_rhythm_and_the_last_one_always_once(every: int, validated: list[int]) -> None:
    oven = Oven(steps=5, validate_every=every, log_every=100)
    oven.bake(Constant(0.1), [0.1] * 5)
    assert [step for step, values in oven.lines if "validation/goodness" in values] == validated


def test_weights_are_kept_only_when_they_are_better_than_all_before() -> None:
    oven = Oven(steps=6, validate_every=1, log_every=100)
    best = oven.bake(Constant(0.1), [0.2, 0.1, 0.4, 0.4, 0.3, 0.5])
    assert [call for call in oven.calls if call.startswith("keep")] == ["keep 1", "keep 3", "keep 6"]
    assert best == Best(6, 0.5)


def test_of_a_number_that_is_better_when_it_is_lower_the_least_is_kept() -> None:
    oven = Oven(steps=4, validate_every=1, log_every=100)
    oven.headline = "loss"
    oven.results = iter([{"loss": value} for value in (0.5, 0.75, 0.25, 0.25)])
    oven.ends = replace(Ends.none(), early=EarlyStopping(patience=1, min_change=0.2))
    best = oven.bake_batches(Constant(0.1), batches(*[1.0] * 4))
    assert [call for call in oven.calls if call.startswith("keep")] == ["keep 1"]
    assert best.number("loss") == 0.5 and oven.standing.ended_by == "early_stopping"
    oven.results, oven.ends = iter([{"loss": value} for value in (0.5, 0.75, 0.25, 0.25)]), Ends.none()
    assert oven.bake_batches(Constant(0.1), batches(*[1.0] * 4)) == Best(3, -0.25)


def test_first_weights_are_kept_though_they_score_nothing() -> None:
    oven = Oven(steps=2, validate_every=1)
    best = oven.bake(Constant(0.1), [0.0, 0.0])
    assert "keep 2" not in oven.calls and best == Best(1, 0.0)


def test_validation_lines_hold_the_plain_numbers() -> None:
    oven = Oven(steps=1)
    oven.bake(Constant(0.1), [0.75])
    assert oven.lines[-1] == (1, {"validation/goodness": 0.75})


def test_validation_without_the_headline_does_not_end_the_run() -> None:
    """As of a detector whose validation images hold no boxes: its score has no numbers."""
    oven = Oven(steps=2, validate_every=1)
    oven.validate = lambda step: {}  # type: ignore[method-assign]
    oven.bake(Constant(0.1), [])
    assert weight_of(oven.network) == pytest.approx(-0.2)


def test_steps_that_are_faster_than_the_clock_ticks_do_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows' clock ticks 64 times a second."""
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: 5.0))
    oven = Oven(steps=3)
    oven.bake(Constant(0.1), [0.5])
    assert [step for step, _ in oven.training_lines()] == [1, 2, 3]


@pytest.mark.parametrize(("bad", "text"), [(math.nan, "nan"), (math.inf, "-inf")])
def test_loss_that_is_no_number_ends_training_with_a_remedy(bad: float, text: str) -> None:
    oven = Oven(steps=5, log_every=2)
    message = rf"^training diverged: .*loss is {text} .*step 4\b.*rate 0\.25\b.*lr\.peak.*lr\.warmup_steps$"
    with pytest.raises(Diverged, match=message):
        oven.bake(Constant(0.25), [0.0], [1.0, 1.0, 1.0, bad, 1.0])
    assert [step for step, _ in oven.lines] == [2]


def test_what_diverged_between_two_lines_becomes_no_checkpoint() -> None:
    oven = Oven(steps=6, log_every=100, checkpoint_every=2)
    with pytest.raises(Diverged, match=r"loss is nan .*step 3\b"):
        oven.bake(Constant(0.25), [0.0], [1.0, 1.0, math.nan, 1.0, 1.0, 1.0])
    assert oven.calls == ["checkpoint 2 best 0"]


def test_it_says_of_every_call_how_many_steps_are_done() -> None:
    oven = Oven(steps=3, log_every=2)
    oven.bake(Constant(0.5), [0.0])
    assert sum(oven.advanced) == 3


def test_a_run_that_goes_on_counts_its_steps_and_rates_from_where_it_was() -> None:
    oven = Oven(steps=range(3, 5))
    oven.bake(Cosine(peak=1.0, total_steps=6), [0.0])
    # Half a cosine over six steps, at steps 3 and 4: cos 90 and 120 degrees.
    assert [values["learning_rate"] for _, values in oven.training_lines()] == pytest.approx([0.5, 0.25])
    assert [step for step, _ in oven.training_lines()] == [4, 5]


def test_a_run_that_goes_on_keeps_its_best() -> None:
    oven = Oven(steps=range(2, 4), validate_every=1)
    assert oven.bake(Constant(0.1), [0.3, 0.4], best=Best(1, 0.5)) == Best(1, 0.5)
    assert not [call for call in oven.calls if call.startswith("keep")]


def test_a_look_that_was_quicker_than_rehearsed_lets_training_go_on() -> None:
    oven = Oven(steps=3, log_every=100)
    oven.ends = Ends(Stop(), TimeLimit(60.0, Clock(), rehearse_validation=lambda: 1e6))
    oven.ends.limit.begin()
    oven.bake(Constant(0.1), [0.1, 0.2])
    assert [step for step, values in oven.lines if "validation/goodness" in values] == [1, 3]
    assert oven.standing.ended_by == "steps"


def test_a_finished_leg_takes_no_step() -> None:
    oven = Oven(steps=range(4, 4))
    assert oven.bake_batches(Constant(0.1), iter([]), best=Best(2, 0.5)) == Best(2, 0.5)
    assert oven.calls == [] and weight_of(oven.network) == 0.0


def test_checkpoints_come_at_their_rhythm_after_validation_and_at_the_end() -> None:
    oven = Oven(steps=5, checkpoint_every=2, validate_every=4, log_every=100)
    oven.bake(Constant(0.1), [0.5, 0.6])
    assert [call for call in oven.calls if call[:3] in ("che", "kee")] == [
        "checkpoint 2 best 0", "keep 4", "checkpoint 4 best 4", "keep 5", "checkpoint 5 best 5",
    ]  # fmt: skip


def test_checkpoints_come_by_the_clock_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    oven = Oven(steps=4, checkpoint_seconds=15.0, log_every=100)
    oven.bake(Constant(0.1), [0.5])
    # The clock is read once a step, and once more after each checkpoint.
    assert next(call for call in oven.calls if call.startswith("checkpoint")) == "checkpoint 2 best 0"
    assert Rhythm.of(Train(batch_size=1, steps=1, checkpoint_every_seconds=15.0)).checkpoint_seconds == 15.0


def test_looks_by_epochs_come_after_as_many_steps_as_make_one() -> None:
    train = Train(batch_size=8, steps=1, validate_every_epochs=0.5)
    rhythm = Rhythm.of(train, examples=600)
    # Half of 600 examples are 37.5 steps of 8, 18.75 of 16, and less than one of 512.
    assert [rhythm.for_steps_of(size).validate_every for size in (8, 16, 100, 512)] == [38, 19, 3, 1]
    assert Rhythm.of(Train(batch_size=8, steps=1, validate_every_steps=7), 600).for_steps_of(8).validate_every == 7


def test_gradients_of_several_batches_make_one_step() -> None:
    oven = Oven(steps=2, together=3)
    oven.bake(Constant(0.5), [0.0], [1.0, 2.0, 6.0, 10.0, 10.0, 40.0])
    assert weight_of(oven.network) == pytest.approx(-0.5 * 3 - 0.5 * 20)
    # The mean loss of the second step: the weight before it, -1.5, times the mean input.
    assert oven.training_lines()[1][1]["train/loss"] == pytest.approx(-1.5 * 20)
