"""A set detector learns scenes by heart, goes on to the bit, and its files find what it finds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.tflite_run import LiteModel
from bakeoff.export.write_formats import write_files
from bakeoff.learning.networks.set_detector import NoSuppression, SetDetector
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.training.loop import seed_everything
from bakeoff.learning.training.trainer_state import Learner, new_learner
from support.detection_scenes import CLASSES, draw_scenes, learn_by_heart, targets_of
from support.small_sets import SMALL, SMALLEST

WIDER = replace(SMALL, width=0.5, channels=64, encoder_feedforward=64, feedforward=64, points=(4, 4))
STEPS, RATE = 4, 1e-3


def batch() -> dict[str, tf.Tensor]:
    images, truth = draw_scenes(64, (14, 28))
    return {"image": tf.constant(images)} | targets_of(truth, Detection(SMALL, CLASSES))


@pytest.mark.slow
def test_it_learns_eight_scenes_by_heart() -> None:
    keras.utils.set_random_seed(1)
    images, truth = draw_scenes(64, (14, 28))
    optimizer = Adam(clip_norm=0.1)
    learn_by_heart(
        WIDER.build(2), Detection(WIDER, CLASSES), images, truth, near=4 / 64, share=0.8, most=400,
        optimizer=optimizer, rate=RATE,
    )  # fmt: skip


def learner() -> Learner:
    """As a process has it that just began."""
    seed_everything(5, deterministic=True)
    train = Train(8, steps=STEPS, ema_decay=0.9)
    return new_learner(SMALL, 2, Detection(SMALL, CLASSES), Adam(), train, tf.distribute.get_strategy())


def states(some: Learner, steps: int, saved: dict[str, Any] | None = None) -> list[dict[str, np.ndarray]]:
    step = some.begin((), "train.trainable")
    if saved is not None:
        some.restore(saved)
    kept = []
    for _ in range(steps):
        step([batch()], tf.constant(RATE))
        kept.append({name: np.array(value) for name, value in some.state().items()})
    return kept


@pytest.mark.slow
def test_training_that_is_cut_short_ends_in_the_same_bits() -> None:
    """The noise of the queries that denoise goes on where it was."""
    through = states(learner(), STEPS)
    resumed = states(learner(), 2, through[1])[-1]
    assert all(np.array_equal(value, resumed[name]) for name, value in through[-1].items())
    drawn = [name for name in through[0] if through[0][name].dtype == np.int64 and name.startswith("network/")]
    assert drawn and all(not np.array_equal(through[0][name], through[1][name]) for name in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [SMALL, SMALLEST], ids=["hybrid", "lite"])
@pytest.mark.parametrize("name", ["onnx", "float32", "saved_model"])
def test_a_file_finds_what_the_network_finds(settings: SetDetector, name: str, tmp_path: Path) -> None:
    keras.utils.set_random_seed(3)
    settings = replace(settings, suppression=NoSuppression(max_detections=10))
    network, task = settings.build(3), Detection(settings, ("a", "b", "c"))
    draw = np.random.default_rng(0)
    for weight in network.trainable_weights:
        is_prior = "_score_head" in weight.path and weight.name == "bias"
        weight.assign((0 if is_prior else weight.numpy()) + draw.normal(0, 0.1, weight.shape))
    images = draw.integers(0, 256, (2, 64, 64, 3)).astype(np.float32)
    expected = {key: value.numpy() for key, value in task.predict(network(images, training=False)).items()}
    if name == "saved_model":
        network.export(tmp_path / "model", verbose=False)
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        outputs = loaded.serve(images)
        for key, value in network(images, training=False).items():
            np.testing.assert_allclose(outputs[key], value, atol=1e-6)
        return
    [kind] = write_files(
        network, settings, task, ("a", "b", "c"), Export(formats=(name,)), about=ModelMetadata("test"),
        representative=lambda: iter(()), folder=tmp_path,
    )  # fmt: skip
    model: Any = OnnxModel(tmp_path / "model.onnx") if kind == "onnx" else LiteModel(tmp_path / "model.tflite")
    for number, image in enumerate(images):
        answer, count = model.answer(image), int(expected["count"][number])
        assert len(answer["scores"]) == count > 3
        for key in ("scores", "boxes", "classes"):
            np.testing.assert_allclose(answer[key], expected[key][number][:count], atol=1e-5)
