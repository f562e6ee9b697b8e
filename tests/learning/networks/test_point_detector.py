"""The network without anchors: its graph, its answers as boxes, and that it learns."""

from dataclasses import asdict
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks import boxes
from bakeoff.learning.networks.detector_settings import Suppression, grid_points
from bakeoff.learning.networks.point_detector import PointDetector, PointSuppression
from bakeoff.learning.run_file.parse import Problems, parse
from bakeoff.learning.tasks.detection import Detection
from support.detection_scenes import draw_scenes, targets_of

TINY = PointDetector(input_size=64, width=0.0625, bins=8, suppression=PointSuppression(min_score=0.3))


@pytest.fixture(scope="module")
def network() -> keras.Model:
    keras.utils.set_random_seed(0)
    return TINY.build(3)


def noise(count: int, size: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 255, (count, size, size, 3)).astype(np.float32)


def test_there_are_8400_points_at_640_pixels_in_the_order_of_their_strides() -> None:
    places, steps = grid_points(640, PointDetector().strides)
    assert places.shape == (8400, 2) and steps.shape == (8400, 1)
    np.testing.assert_allclose(places[[0, 1, 80, 6400, 8000]] * 640, [[4, 4], [4, 12], [12, 4], [8, 8], [16, 16]])
    np.testing.assert_allclose(steps[[0, 6399, 6400, 7999, 8000, 8399], 0] * 640, [8, 8, 16, 16, 32, 32])


def test_sides_start_about_two_strides_away(network: keras.Model) -> None:
    distances = TINY.head().distances(network(noise(4, 64), training=False)).numpy()
    assert 1 < np.median(distances) < 3


@pytest.mark.parametrize("output", ["classes", "boxes"])
def test_rows_lie_where_their_points_do(output: str, network: keras.Model) -> None:
    """Where a spot is put on the picture, there the points of the finest level are whose outputs change most."""
    places, steps = grid_points(TINY.input_size, TINY.strides)
    places = places[steps[:, 0] == 8 / 64]
    spots = [(y, x) for y in (12, 52) for x in (12, 52)]
    images = np.full((1 + len(spots), 64, 64, 3), 127.5, np.float32)
    for image, (y, x) in zip(images[1:], spots, strict=True):
        image[y - 4 : y + 4, x - 4 : x + 4] = 255
    outputs = network(images, training=False)[output].numpy()
    change = (np.abs(outputs[1:] - outputs[0]).sum(axis=-1) ** 4)[:, : len(places)]
    seen = change @ places / change.sum(axis=1, keepdims=True)
    together = np.corrcoef(seen.T, np.array(spots).T)[:2, 2:]
    assert together[0, 0] > 0.85 and together[1, 1] > 0.85, together
    assert np.abs([together[0, 1], together[1, 0]]).max() < 0.4, together


def test_the_levels_share_the_weights_of_their_heads() -> None:
    paths = {weight.path: tuple(weight.shape) for weight in PointDetector(input_size=32, width=0.125).build(4).weights}
    heads = {path: shape for path, shape in paths.items() if path.startswith("head.") and path.endswith("kernel")}
    assert heads == {
        "head.boxes.conv0/kernel": (3, 3, 32, 32), "head.boxes/kernel": (1, 1, 32, 64),
        "head.classes.conv0/kernel": (3, 3, 32, 32), "head.classes/kernel": (1, 1, 32, 4),
    }  # fmt: skip


@pytest.mark.parametrize(
    "option", [{"activation": "silu"}, {"head_convolutions": 2}, {"depth": 2}, {"first_stride": 4}]
)
def test_settings_of_the_graph_change_what_it_answers(option: dict[str, Any]) -> None:
    keras.utils.set_random_seed(0)
    plain = TINY.build(3)
    keras.utils.set_random_seed(0)
    other = PointDetector(**{**vars(TINY), **option}).build(3)
    image = noise(1, 64)
    assert not np.allclose(plain(image, training=False)["boxes"], other(image, training=False)["boxes"], atol=1e-4)


def test_a_suppression_that_names_another_key_keeps_the_overlap_of_points() -> None:
    problems = Problems(str)
    network = parse(PointDetector, {"suppression": {"min_score": 0.2}}, "model", problems)
    assert not problems.lines
    assert asdict(network.suppression) == asdict(Suppression()) | {"min_score": 0.2, "max_overlap": 0.6}


def test_codes_are_the_boxes_as_offsets_from_a_cell_around_each_point(network: keras.Model) -> None:
    """A .tflite turns them back."""
    head = TINY.head()
    outputs = network(noise(2, 64), training=False)
    decoded = boxes.decode(head.codes(outputs), tf.constant(head.anchors), head.box_scales)
    np.testing.assert_allclose(decoded, head.boxes(outputs), atol=1e-5)


def test_padding_changes_no_loss(network: keras.Model) -> None:
    images, truth = draw_scenes(64, (14, 28))
    task = Detection(TINY, ("white", "black", "red"))
    outputs = network(images[:2], training=False)
    alone = [
        task.head.losses(
            {name: value[row : row + 1] for name, value in outputs.items()}, targets_of(truth[row : row + 1], task)
        )
        for row in range(2)
    ]
    padded = {"boxes": np.zeros((2, 4, 4), np.float32), "classes": np.zeros((2, 4), np.int64)}
    for row, scene in enumerate(truth[:2]):
        for place, (box, label) in enumerate(scene):
            padded["boxes"][row, place], padded["classes"][row, place] = box, label
    both, weight = task.head.losses(outputs, {name: tf.constant(value) for name, value in padded.items()})
    for part, value in both.items():
        expected = sum(float(parts[part] * tf.maximum(divisor, 1.0)) for parts, divisor in alone)
        assert float(value * tf.maximum(weight, 1.0)) == pytest.approx(expected, rel=1e-4)


def test_a_batch_without_boxes_has_a_class_loss_alone(network: keras.Model) -> None:
    task = Detection(TINY, "abc")
    empty = task.encode({"boxes": tf.zeros([0, 4]), "classes": tf.zeros([0], tf.int64)})
    outputs = network(noise(2, 64), training=False)
    parts, weight = task.head.losses(outputs, {name: tf.stack([value] * 2) for name, value in empty.items()})
    scores = tf.sigmoid(outputs["classes"]).numpy()
    entropy = (-np.log(1 - scores) * scores**TINY.loss.focal_gamma).sum()
    assert (float(parts["boxes"]), float(weight)) == (0.0, 0.0)
    assert float(parts["classes"]) == pytest.approx(entropy, rel=1e-4)
