"""The step loop, its settings, its optimizers, and what it leaves: history, weights, state."""

import csv
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import psutil
import pytest
import tensorflow as tf

from bakeoff.errors import DataError, OutOfRange, WorkspaceError
from bakeoff.input.augment import Augment
from bakeoff.input.batches import training_batches
from bakeoff.input.order import Order
from bakeoff.input.shape import Shape
from bakeoff.input.store import Store
from bakeoff.lr import Constant, Cosine, Schedule
from bakeoff.networks.cnn import Cnn
from bakeoff.networks.ssd import Ssd
from bakeoff.progress import Bar
from bakeoff.records.digits import SingleDigits
from bakeoff.records.manifest import Split
from bakeoff.records.record import TRAIN
from bakeoff.tasks.classification import Classification
from bakeoff.training import loop, weights
from bakeoff.training.footprint import peak_memory_bytes
from bakeoff.training.history import History, read_history, write_plots
from bakeoff.training.loop import Diverged, Rhythm, compiled_prediction, compiled_step, fit
from bakeoff.training.optimizers import Adam, Momentum
from bakeoff.training.settings import Train
from bakeoff.training.state import read_state, write_state

# A network of one weight, w, whose output is w times the input; its loss is the output, so its gradient is the input.


class Slope:
    """A task whose loss is the mean output, half of it called a and half b."""

    headline = "goodness"

    def losses(self, outputs: tf.Tensor, targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        half = tf.reduce_mean(outputs * targets["factor"]) / 2
        return {"a": half, "b": half}

    def predict(self, outputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"answer": outputs + 1}


def one_weight() -> keras.Model:
    number = keras.Input((1,))
    return keras.Model(number, keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")(number))


def weight_of(network: keras.Model) -> float:
    return float(network.trainable_variables[0].numpy()[0, 0])


def sgd(network: keras.Model, **settings: float) -> keras.optimizers.Optimizer:
    return Momentum(**({"momentum": 0.0, "nesterov": False} | settings)).build(network)


def batches(*inputs: float, factor: float = 1.0) -> list[tuple[tf.Tensor, dict[str, tf.Tensor]]]:
    return [(tf.constant([[value]]), {"factor": tf.constant([[factor]])}) for value in inputs]


class Oven:
    """`fit` of one weight over ones, with everything that it calls written down."""

    def __init__(self, steps: int, **rhythm: int) -> None:
        self.network = one_weight()
        self.optimizer = sgd(self.network)
        self.rhythm = Rhythm(steps, **({"log_every": 1, "validate_every": 0} | rhythm))
        self.calls: list[str] = []
        self.lines: list[tuple[int, dict[str, float]]] = []
        self.rates: list[float] = []
        self.results: Iterator[dict[str, Any]] = iter([])
        self.steps_seen = 0

    def log(self, step: int, values: dict[str, float]) -> None:
        self.lines.append((step, values))
        self.rates.append(float(self.optimizer.learning_rate.numpy()))
        self.calls.append(f"log {step} {'validation' if any('/good' in name for name in values) else 'train'}")

    def validate(self) -> dict[str, Any]:
        self.calls.append("validate")
        return next(self.results)

    def bake(self, schedule: Schedule, goodness: list[float], inputs: list[float] | None = None) -> dict[str, Any]:
        self.results = iter([{"goodness": value, "by_class": {"a": 1.0}, "count": 3} for value in goodness])
        return self.bake_batches(schedule, batches(*(inputs or [1.0] * self.rhythm.steps)))

    def bake_batches(
        self, schedule: Schedule, given: Iterable[tuple[tf.Tensor, dict[str, tf.Tensor]]]
    ) -> dict[str, Any]:
        return fit(
            self.network,
            self.optimizer,
            task=Slope(),  # type: ignore[arg-type]
            batches=given,
            schedule=schedule,
            rhythm=self.rhythm,
            validate=self.validate,
            logs=[self.log],
            keep_best=lambda: self.calls.append("keep"),
            bar=Bar("train", self.rhythm.steps, "steps", None),
        )

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


def test_every_log_gets_every_line() -> None:
    oven, other = Oven(steps=2), []
    fit(
        oven.network,
        oven.optimizer,
        task=Slope(),  # type: ignore[arg-type]
        batches=batches(1.0, 1.0),
        schedule=Constant(0.1),
        rhythm=oven.rhythm,
        validate=lambda: {"goodness": 0.5},
        logs=[oven.log, lambda step, values: other.append((step, values))],
        keep_best=lambda: None,
        bar=Bar("train", 2, "steps", None),
    )
    assert oven.lines == other and [step for step, _ in other] == [1, 2, 2]


def test_without_a_rhythm_only_the_last_step_is_validated() -> None:
    oven = Oven(steps=3)
    best = oven.bake(Constant(0.1), [0.25])
    assert oven.calls == ["log 1 train", "log 2 train", "log 3 train", "validate", "log 3 validation", "keep"]
    assert best == {"best_metric": "goodness", "best_value": 0.25, "best_step": 3}


@pytest.mark.parametrize(("every", "validated"), [(2, [2, 4, 5]), (5, [5]), (1, [1, 2, 3, 4, 5]), (9, [5])])
def test_steps_are_validated_at_their_rhythm_and_the_last_one_always_once(every: int, validated: list[int]) -> None:
    oven = Oven(steps=5, validate_every=every, log_every=100)
    oven.bake(Constant(0.1), [0.1] * 5)
    assert [step for step, values in oven.lines if "validation/goodness" in values] == validated


def test_weights_are_kept_only_when_they_are_better_than_all_before() -> None:
    oven = Oven(steps=6, validate_every=1, log_every=100)
    best = oven.bake(Constant(0.1), [0.2, 0.1, 0.4, 0.4, 0.3, 0.5])
    kept_after = [oven.calls[: number + 1].count("validate") for number, it in enumerate(oven.calls) if it == "keep"]
    assert kept_after == [1, 3, 6]
    assert best == {"best_metric": "goodness", "best_value": 0.5, "best_step": 6}


def test_first_weights_are_kept_though_they_score_nothing() -> None:
    oven = Oven(steps=2, validate_every=1)
    best = oven.bake(Constant(0.1), [0.0, 0.0])
    assert oven.calls.count("keep") == 1 and best["best_step"] == 1 and best["best_value"] == 0.0


def test_validation_lines_hold_the_plain_numbers() -> None:
    oven = Oven(steps=1)
    oven.bake(Constant(0.1), [0.75])
    assert oven.lines[-1] == (1, {"validation/goodness": 0.75})


def test_validation_without_the_headline_does_not_end_the_run() -> None:
    """As of a detector whose validation images hold no boxes: its score has no numbers."""
    oven = Oven(steps=2, validate_every=1)
    oven.validate = dict  # type: ignore[method-assign]
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
    message = (
        rf"^training diverged: the loss is {text} at step 4 with rate 0\.25; "
        r"lower lr\.peak or lengthen lr\.warmup_steps$"
    )
    with pytest.raises(Diverged, match=message):
        oven.bake(Constant(0.25), [0.0], [1.0, 1.0, 1.0, bad, 1.0])
    assert [step for step, _ in oven.lines] == [2]


def test_bar_advances_with_every_step_and_notes_the_loss() -> None:
    class Watched(Bar):
        def advance(self, count: int = 1) -> None:
            seen.append(self._note)
            super().advance(count)

    seen: list[str] = []
    oven = Oven(steps=3)
    fit(
        oven.network,
        oven.optimizer,
        task=Slope(),  # type: ignore[arg-type]
        batches=batches(1.0, 1.0, 1.0),
        schedule=Constant(0.5),
        rhythm=Rhythm(3, log_every=2, validate_every=0),
        validate=lambda: {"goodness": 0.0},
        logs=[],
        keep_best=lambda: None,
        bar=Watched("train", 3, "steps", None),
    )
    assert seen == ["", "loss -0.500", "loss -1.000"]


def test_step_updates_batch_norm_and_prediction_uses_what_it_learned() -> None:
    given = keras.Input((1,))
    network = keras.Model(given, keras.layers.BatchNormalization(momentum=0.75, epsilon=0.0)(given))
    values = tf.constant([[2.0], [6.0]])  # mean 4, variance 4
    step = compiled_step(network, sgd(network), Slope())  # type: ignore[arg-type]
    step(values, {"factor": tf.ones([2, 1])}, tf.constant(0.0))
    predict = compiled_prediction(network, Slope())  # type: ignore[arg-type]
    mean, variance = 0.25 * 4, 0.75 * 1 + 0.25 * 4
    expected = 1 + (values - mean) / math.sqrt(variance)
    np.testing.assert_allclose(predict(values)["answer"], expected, rtol=1e-5)


# The same seed.


@pytest.fixture
def digits(tmp_path: Path, open_store: Callable[[Path, Split], Store]) -> Store:
    from bakeoff.records.shards import write_split

    source = SingleDigits(train_examples=12, side=20)
    return open_store(tmp_path, write_split(source, TRAIN, tmp_path, lambda: None))


def trained_digest(store: Store, seed: int, decode_threads: int = 2) -> str:
    loop.seed_everything(seed, deterministic=True)
    settings = Cnn(input_size=16, width=0.25, dropout=0.3)
    network, task = settings.build(10), Classification(settings, [str(digit) for digit in range(10)])
    fit(
        network,
        Adam().build(network),
        task=task,
        batches=training_batches(
            store,
            Shape("classification", 16, 1, 4, decode_threads, 2),
            order=Order(12, seed),
            steps=range(4),
            augment=Augment(zoom_in=0.7, brightness=0.2),
            encode=task.encode,
        ),
        schedule=Constant(0.01),
        rhythm=Rhythm(4, 2, 0),
        validate=lambda: {"accuracy": 0.0},
        logs=[],
        keep_best=lambda: None,
        bar=Bar("train", 4, "steps", None),
    )
    return weights.digest(network)


def test_same_seed_gives_the_same_weights_to_the_bit(digits: Store, deterministic_operations: None) -> None:
    first = trained_digest(digits, seed=5)
    assert trained_digest(digits, seed=5, decode_threads=4) == first
    assert trained_digest(digits, seed=6) != first


# Optimizers.


def moved(optimizer: Momentum | Adam, gradients: list[float], rate: float = 0.1) -> list[float]:
    """The weight after each step from zero."""
    network = one_weight()
    step = compiled_step(network, optimizer.build(network), Slope())  # type: ignore[arg-type]
    places = []
    for gradient in gradients:
        step(*batches(gradient)[0], tf.constant(rate))
        places.append(weight_of(network))
    return places


def test_momentum_carries_a_share_of_the_last_move_on() -> None:
    # Moves: -0.1; 0.5 * -0.1 - 0.2 = -0.25; 0.5 * -0.25 = -0.125.
    given = moved(Momentum(momentum=0.5, nesterov=False), [1.0, 2.0, 0.0])
    assert given == pytest.approx([-0.1, -0.35, -0.475])


def test_nesterov_looks_one_move_ahead() -> None:
    # Velocities as above, -0.1, -0.25, -0.125; each move is half of the velocity plus the new gradient's part.
    given = moved(Momentum(momentum=0.5, nesterov=True), [1.0, 2.0, 0.0])
    assert given == pytest.approx([-0.15, -0.15 - 0.325, -0.15 - 0.325 - 0.0625])


def test_adam_divides_by_the_size_of_recent_gradients() -> None:
    settings = Adam(beta_1=0.8, beta_2=0.9, epsilon=0.01)
    gradients, expected, weight, first, second = [3.0, -1.0, 0.5], [], 0.0, 0.0, 0.0
    for step, gradient in enumerate(gradients, start=1):
        first = 0.8 * first + 0.2 * gradient
        second = 0.9 * second + 0.1 * gradient**2
        # Kingma and Ba's efficient order, in which epsilon is added to the uncorrected root.
        weight -= 0.1 * math.sqrt(1 - 0.9**step) / (1 - 0.8**step) * first / (math.sqrt(second) + 0.01)
        expected.append(weight)
    assert moved(settings, gradients) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", [Momentum, Adam])
def test_weight_decay_shrinks_kernels_and_leaves_biases_and_norms(kind: type[Momentum] | type[Adam]) -> None:
    given = keras.Input((4,))
    x = keras.layers.Dense(3, bias_initializer="ones", name="head")(given)
    network = keras.Model(given, keras.layers.BatchNormalization(beta_initializer="ones", name="backbone.norm")(x))
    before = {weight.path: weight.numpy() for weight in network.trainable_variables}
    optimizer = kind(weight_decay=0.1).build(network)
    optimizer.learning_rate = 0.5
    optimizer.apply([tf.zeros_like(weight) for weight in network.trainable_variables], network.trainable_variables)
    shrunk = {weight.path: weight.numpy() / before[weight.path] for weight in network.trainable_variables}
    assert {path: pytest.approx(ratio, rel=1e-5) for path, ratio in shrunk.items()} == {
        "head/kernel": np.full((4, 3), 1 - 0.5 * 0.1),
        "head/bias": np.ones(3),
        "backbone.norm/gamma": np.ones(3),
        "backbone.norm/beta": np.ones(3),
    }


def after_one_step(clip_norm: float) -> list[np.ndarray]:
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="zeros")])
    optimizer = sgd(network, clip_norm=clip_norm)
    optimizer.learning_rate = 1.0
    optimizer.apply([tf.constant([[3.0]]), tf.constant([-4.0])], network.trainable_variables)
    return [float(weight.numpy().ravel()[0]) for weight in network.trainable_variables]


def test_gradients_are_clipped_by_their_norm_all_together() -> None:
    assert after_one_step(clip_norm=1.0) == pytest.approx([-0.6, 0.8])
    assert after_one_step(clip_norm=10.0) == pytest.approx([-3.0, 4.0])
    assert after_one_step(clip_norm=0.0) == pytest.approx([-3.0, 4.0])


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Momentum, {"momentum": 1.0}, r"^momentum: must be at least 0 and under 1, got 1\.0$"),
        (Momentum, {"weight_decay": -1.0}, r"^weight_decay: must be 0 or more, got -1\.0$"),
        (Momentum, {"clip_norm": -1.0}, r"^clip_norm: must be 0 or more, got -1\.0$"),
        (Adam, {"beta_1": 1.0}, r"^beta_1: must be at least 0 and under 1, got 1\.0$"),
        (Adam, {"beta_2": -0.1}, r"^beta_2: must be at least 0 and under 1, got -0\.1$"),
        (Adam, {"epsilon": 0.0}, r"^epsilon: must be above 0, got 0\.0$"),
        (Adam, {"weight_decay": -0.1}, r"^weight_decay: must be 0 or more, got -0\.1$"),
        (Adam, {"clip_norm": -2.0}, r"^clip_norm: must be 0 or more, got -2\.0$"),
        (Train, {"batch_size": 0, "steps": 1}, r"^batch_size: must be 1 or more, got 0$"),
        (
            Train,
            {"batch_size": 1},
            r"^steps: must be given, or else epochs, not both and not neither \(epochs is None\), got None$",
        ),
        (Train, {"batch_size": 1, "steps": 3, "epochs": 2.0}, r"^steps: .* \(epochs is 2\.0\), got 3$"),
        (Train, {"batch_size": 1, "steps": 0}, r"^steps: must be 1 or more, got 0$"),
        (Train, {"batch_size": 1, "epochs": 0.0}, r"^epochs: must be above 0, got 0\.0$"),
        (Train, {"batch_size": 1, "steps": 1, "log_every_steps": 0}, r"^log_every_steps: must be 1 or more, got 0$"),
        (
            Train,
            {"batch_size": 1, "steps": 1, "validate_every_steps": -1},
            r"^validate_every_steps: must be 0 or more, got -1$",
        ),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


# The length of a run.


def test_steps_are_taken_as_they_are_given() -> None:
    assert Train(batch_size=4, steps=7).steps_for(examples=1000) == 7


@pytest.mark.parametrize(
    ("epochs", "examples", "batch_size", "steps"),
    [(1.0, 12, 4, 3), (1.0, 13, 4, 4), (2.5, 10, 5, 5), (0.01, 10, 5, 1), (3.0, 7, 2, 11)],
)
def test_epochs_become_the_steps_that_cover_them(epochs: float, examples: int, batch_size: int, steps: int) -> None:
    assert Train(batch_size=batch_size, epochs=epochs).steps_for(examples) == steps


def test_epochs_that_are_whole_steps_do_not_become_one_more_by_rounding() -> None:
    """1.1 epochs of 50 examples are 55 steps of one, though 1.1 * 50 is 55.00000000000001 to a computer."""
    assert Train(batch_size=1, epochs=1.1).steps_for(50) == 55


# What a run leaves.


def test_history_has_a_line_for_every_call_with_six_digits(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(20, {"train/loss": 1.23456789, "learning_rate": 0.000123456789})
        history.add(300, {"validation/mAP_50": 0.5})
    assert (tmp_path / "history.jsonl").read_text().splitlines() == [
        '{"step": 20, "train/loss": 1.23457, "learning_rate": 0.000123457}',
        '{"step": 300, "validation/mAP_50": 0.5}',
    ]
    assert read_history(tmp_path)[1] == {"step": 300, "validation/mAP_50": 0.5}


def test_history_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(1, {"train/loss": 2.0})
        assert read_history(tmp_path) == [{"step": 1, "train/loss": 2.0}]


def test_plots_have_a_row_a_step_and_a_column_a_metric(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(1, {"train/loss": 2.0, "train/loss_boxes": 0.5, "learning_rate": 0.1, "examples_per_second": 9.0})
        history.add(2, {"train/loss": 1.0, "train/loss_boxes": 0.25, "learning_rate": 0.2, "examples_per_second": 9.0})
        history.add(2, {"validation/mAP": 0.5, "validation/mAP_50": 0.75})
    write_plots(tmp_path, "mAP_50")

    def table(name: str) -> list[dict[str, str]]:
        with (tmp_path / "plots" / name).open(newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    assert table("training.tsv") == [
        {"step": "1", "loss": "2.0", "loss_boxes": "0.5", "learning_rate": "0.1"},
        {"step": "2", "loss": "1.0", "loss_boxes": "0.25", "learning_rate": "0.2"},
    ]
    assert table("validation.tsv") == [{"step": "2", "mAP": "0.5", "mAP_50": "0.75", "score": "0.75"}]


SMALL = Cnn(input_size=16, width=0.25)


def test_restored_weights_are_the_saved_ones_to_the_bit(tmp_path: Path) -> None:
    network = SMALL.build(4)
    for weight in network.weights:
        weight.assign(np.random.default_rng(len(weight.path)).normal(size=weight.shape))
    weights.save(network, tmp_path / weights.FINAL)
    restored = weights.restore(SMALL, 4, tmp_path / weights.FINAL)
    for saved, read in zip(network.weights, restored.weights, strict=True):
        np.testing.assert_array_equal(saved.numpy(), read.numpy())
    assert weights.digest(restored) == weights.digest(network)


@pytest.mark.parametrize(
    ("other", "classes"),
    [
        (SMALL, 5),
        (Cnn(input_size=16, width=0.5), 4),
        (Ssd(input_size=32, width=0.1, pyramid_channels=8), 4),
    ],
    ids=["one more class", "twice the width", "another network"],
)
def test_weights_of_another_network_are_refused(other: Cnn | Ssd, classes: int, tmp_path: Path) -> None:
    weights.save(SMALL.build(4), tmp_path / weights.BEST)
    message = r"/best\.weights\.h5: does not fit this network \(.+\); run `dvc repro --force train`$"
    with pytest.raises(DataError, match=message):
        weights.restore(other, classes, tmp_path / weights.BEST)


@pytest.mark.parametrize(("saved", "asked"), [(2, 1), (1, 2), (1, 0)])
def test_weights_of_a_detector_with_other_head_convolutions_are_refused(saved: int, asked: int, tmp_path: Path) -> None:
    """All of the shapes that are asked for are there, but they belong to other layers."""

    def detector(head_convolutions: int) -> Ssd:
        return Ssd(input_size=32, width=0.1, pyramid_channels=8, head_convolutions=head_convolutions)

    weights.save(detector(saved).build(2), tmp_path / weights.BEST)
    with pytest.raises(DataError, match="does not fit this network"):
        weights.restore(detector(asked), 2, tmp_path / weights.BEST)


def test_weights_are_not_written_where_they_would_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5 would crash the process half way through."""
    network = SMALL.build(2)
    needed = sum(4 * weight.numpy().size for weight in network.weights)
    disk = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda path: disk._replace(free=needed))
    message = r"^no space left on the disk for .*/best\.weights\.h5: 0\.\d of \d\.\d MB are free; free some and run"
    with pytest.raises(WorkspaceError, match=message):
        weights.save(network, tmp_path / weights.BEST)
    assert list(tmp_path.iterdir()) == []


def test_file_of_weights_is_no_larger_than_what_is_asked_to_be_free(tmp_path: Path) -> None:
    for settings in (SMALL, Ssd(input_size=32, width=0.1, pyramid_channels=8)):
        network = settings.build(2)
        weights.save(network, tmp_path / weights.BEST)
        asked = weights.FILE_SHARE * 4 * network.count_params() + weights.FILE_BYTES
        assert (tmp_path / weights.BEST).stat().st_size <= asked


def test_file_that_holds_no_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / weights.BEST).write_bytes(b"not HDF5")
    with pytest.raises(DataError, match=r"/best\.weights\.h5: does not fit this network \(.+\); run `dvc repro"):
        weights.restore(SMALL, 4, tmp_path / weights.BEST)


def test_missing_weights_say_which_command_makes_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/final\.weights\.h5: missing; run `dvc repro train`$"):
        weights.restore(SMALL, 4, tmp_path / weights.FINAL)


def test_digest_changes_with_the_last_bit_of_any_weight() -> None:
    network = SMALL.build(2)
    seen = {weights.digest(network)}
    for weight in network.weights:
        value = weight.numpy()
        value.flat[-1] = np.nextafter(value.flat[-1], np.float32(9))
        weight.assign(value)
        seen.add(weights.digest(network))
    assert len(seen) == 1 + len(network.weights)


def test_state_reads_back_as_it_was_written(tmp_path: Path) -> None:
    state = {"best_metric": "mAP_50", "best_value": 0.86, "best_step": 1000, "mlflow_run_id": None}
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state == json.loads((tmp_path / "state.json").read_text())


def test_missing_state_says_that_training_never_finished(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/state\.json: missing, so training never finished; run `dvc repro train`$"):
        read_state(tmp_path)


def test_peak_memory_is_in_bytes_and_remembers_what_was_given_back() -> None:
    before = peak_memory_bytes()
    block = np.ones(128 * 2**20 // 8)  # 128 MiB, touched
    held = psutil.Process().memory_info().rss
    del block
    assert peak_memory_bytes() >= max(before, held * 0.98)
    assert before > 50_000_000
