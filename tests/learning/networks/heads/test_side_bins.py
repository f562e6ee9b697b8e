"""Sides as shares of bins, beside sums over a fine grid; what a network says of its own, and what a pupil learns."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from bakeoff.learning.networks.heads.side_bins import shares_of, widths_of
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.sets.decoder import distances
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import answer_in_full, compile_answer, make_task
from support.small_sets import SMALL, SMALLEST
from support.tiny_detectors import YOLOX

pytestmark = pytest.mark.long

POINTS = {"even": np.arange(16, dtype=np.float32), "fine in the middle": distances()}
CLASSES = ("a", "b")
TINY = PointDetector(input_size=64, width=0.0625)


@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("spread", [0.05, 0.7, 2.0])
def test_a_normal_side_has_in_each_bin_what_its_parts_have(points: np.ndarray, spread: float) -> None:
    """A part at x gives a bin `hat(x)`: 1 at the bin, 0 at the next ones. At the ends nothing is lost."""
    places = np.linspace(points[0] - 0.5, points[-1] + 0.5, 9).astype(np.float32)
    shares = shares_of(tf.constant(points), tf.constant(places), tf.fill([len(places)], spread)).numpy()
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    for place, given in zip(places, shares, strict=True):
        parts = place + spread * quantiles
        hats = [np.interp(parts, points, one).mean() for one in np.eye(len(points))]
        np.testing.assert_allclose(given, hats, atol=2e-4)


@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
def test_a_sure_side_has_the_two_bins_around_it(points: np.ndarray) -> None:
    places = np.linspace(points[0] - 1, points[-1] + 1, 41).astype(np.float32)
    shares = shares_of(tf.constant(points), tf.constant(places)).numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(shares @ points, places.clip(points[0], points[-1]), atol=2e-5)
    assert (np.count_nonzero(shares > 1e-6, axis=1) <= 2).all()
    wide = shares_of(tf.constant(points), tf.constant(places), tf.zeros([41])).numpy()
    np.testing.assert_allclose(wide, shares, atol=1e-4)


def test_the_width_of_an_answer_is_its_standard_deviation() -> None:
    logits = np.random.default_rng(1).normal(size=(3, 16)).astype(np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wanted = [np.sqrt(np.cov(np.arange(16), aweights=row, ddof=0)) for row in shares]
    np.testing.assert_allclose(widths_of(tf.range(16.0), tf.constant(logits)), wanted, rtol=1e-5)


def test_each_detection_has_the_spread_of_the_point_that_found_it() -> None:
    """Two points of the finest level: the sides of one are two bins of equal weight, those of the other are sure."""
    task, points = make_task(TINY, CLASSES), 64 + 16 + 4
    assert isinstance(task, Detection)
    boxes = np.full((1, points, 4, 16), -30.0, np.float32)
    boxes[0, :, :, 1] = 0
    boxes[0, 9, :, 3] = 0  # its mean is 2 strides to each side, its standard deviation is 1
    classes = np.full((1, points, 2), -30.0, np.float32)
    classes[0, 9, 0], classes[0, 45, 1] = 2.0, 1.0
    outputs = {"boxes": tf.constant(boxes.reshape(1, points, 64)), "classes": tf.constant(classes)}
    detections = task.predict(outputs)
    assert detections["count"].numpy().tolist() == [2]
    spreads = task.spreads(outputs, detections).numpy()[0, :2]
    np.testing.assert_allclose(spreads, [1 / 4, 0], atol=1e-4)  # of a box that is 4 strides wide, but cut


@pytest.mark.parametrize("model", [SMALL, SMALLEST], ids=["D-FINE", "DEIMv2"])
def test_a_set_says_all_of_its_sides_and_answers_the_same(model: Any) -> None:
    tf.keras.utils.set_random_seed(5)
    network, task = model.build(len(CLASSES)), make_task(model, CLASSES)
    assert isinstance(task, Detection)
    for weight in network.trainable_weights:  # sides start as sure of nothing, all alike
        weight.assign_add(tf.random.stateless_normal(weight.shape, [1, 2], stddev=0.02))
    batch = {"image": tf.random.stateless_uniform([2, 64, 64, 3], [3, 4], 0, 255)}
    full, plain = answer_in_full(network, batch), network(batch["image"], training=False)
    for name, value in plain.items():
        np.testing.assert_allclose(full[name], value, atol=1e-5)
    count = model.queries
    corners = full["layers.corners"][-1].numpy()[:, -count:].reshape(2, count, 4, -1)
    shares = np.exp(corners - corners.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    middle = (shares * distances()).sum(axis=-1, keepdims=True)
    widths = np.sqrt((shares * (distances() - middle) ** 2).sum(axis=-1))  # in quarters of the reference
    image_widths = widths * np.tile(full["references"].numpy()[:, -count:, 2:] / 4, 2)
    expected = (image_widths / np.tile(full["boxes"].numpy()[..., 2:], 2)).mean(axis=-1)
    np.testing.assert_allclose(task.head.spreads(full), expected, rtol=1e-4)


@pytest.mark.parametrize(("model", "says"), [(TINY, True), (YOLOX, False)])
def test_answers_have_spreads_if_the_network_says_any(model: Any, says: bool) -> None:
    tf.keras.utils.set_random_seed(5)
    task = make_task(model, CLASSES)
    answer = compile_answer(model.build(len(CLASSES)), task, with_spreads=True)
    spreads = answer({"image": tf.random.stateless_uniform([1, 64, 64, 3], [3, 4], 0, 255)})["spreads"].numpy()
    assert spreads.shape == (1, model.suppression.max_detections) and spreads.any() == says
