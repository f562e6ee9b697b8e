import zlib
from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.input.augment.scene import draw, draw_number, fold_name, make_key, show_whole, split_key

HALF = 0.5


def through(
    boxes: list[list[float]], window: list[float], min_seen: float = HALF
) -> tuple[np.ndarray, list[int], np.ndarray]:
    """The boxes that stay, cut to the window, their classes 1, 2, ..., and the window in shares of the image."""
    scene = show_whole(tf.constant([40, 60]), tf.constant(boxes, tf.float32), tf.range(1, len(boxes) + 1))
    part = scene.through(tf.constant(window), min_seen)
    return np.clip(part.boxes, 0, 1), part.classes.numpy().tolist(), part.window.numpy()


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ([0.0, 0.0, 1.0, 0.5], []),  # the box's left third is seen
        ([0.0, 0.0, 1.0, 0.65], [[0.25, 0.4 / 0.65, 0.5, 1.0]]),  # five sixths of it
        ([0.0, 0.0, 1.0, 1.0], [[0.25, 0.4, 0.5, 0.7]]),
        ([0.375, 0.0, 1.375, 1.0], [[0.0, 0.4, 0.125, 0.7]]),  # exactly half of it
        ([0.38, 0.0, 1.38, 1.0], []),  # a little less
        ([-0.5, -1.0, 1.5, 1.0], [[0.375, 0.7, 0.5, 0.85]]),  # seen from farther away
        ([0.6, 0.0, 1.0, 1.0], []),  # outside
    ],
)
def test_box_is_kept_if_at_least_half_of_it_is_seen(window: list[float], expected: list[list[float]]) -> None:
    boxes, classes, shown = through([[0.25, 0.4, 0.5, 0.7]], window)
    np.testing.assert_allclose(boxes, np.reshape(expected, (-1, 4)), atol=1e-6)
    assert classes == [1] * len(expected)
    np.testing.assert_allclose(shown, window)


def test_boxes_keep_their_classes_when_others_are_dropped() -> None:
    given = [[0.1, 0.1, 0.2, 0.2], [0.7, 0.1, 0.9, 0.2], [0.0, 0.0, 0.5, 1.0]]
    boxes, classes, _ = through(given, [0.0, 0.0, 0.5, 1.0])
    assert classes == [1, 3]
    np.testing.assert_allclose(boxes, [[0.2, 0.1, 0.4, 0.2], [0, 0, 1, 1]], atol=1e-6)


def test_box_of_which_nothing_is_seen_goes_however_little_is_asked() -> None:
    given = [[0.0, 0.0, 0.2, 0.2], [0.5, 0.5, 0.6, 0.6], [0.1, 0.1, 0.31, 0.31]]
    assert through(given, [0.3, 0.3, 1.0, 1.0], min_seen=0.0)[1] == [2, 3]
    assert through(given, [0.3, 0.3, 1.0, 1.0], min_seen=1.0)[1] == [2]


def test_window_of_a_window_is_in_shares_of_the_image() -> None:
    scene = show_whole(tf.constant([40, 60]), tf.constant([[0.5, 0.5, 0.75, 1.0]]), tf.constant([1]))
    inner = scene.through(tf.constant([0.5, 0.0, 1.0, 1.0]), HALF).through(tf.constant([0.0, 0.5, 0.5, 1.5]), HALF)
    np.testing.assert_allclose(inner.window, [0.5, 0.5, 0.75, 1.5])
    np.testing.assert_allclose(inner.extent, [10, 60])
    np.testing.assert_allclose(inner.boxes, [[0.0, 0.0, 1.0, 0.5]])


def test_share_that_is_seen_is_of_the_whole_box_though_it_was_cut_before() -> None:
    scene = show_whole(tf.constant([40, 60]), tf.constant([[0.0, 0.0, 1.0, 1.0]]), tf.constant([1]))
    half = scene.through(tf.constant([0.0, 0.0, 0.5, 1.0]), HALF)
    assert half.classes.numpy().tolist() == [1]
    assert half.through(tf.constant([0.0, 0.0, 0.9, 1.0]), HALF).classes.numpy().tolist() == []


@pytest.mark.parametrize("seed", [0, 5, -3, 2**62])
@pytest.mark.parametrize(("epoch", "number"), [(0, 0), (3, 17), (2**40, 7)])
def test_keys_and_draws_are_those_of_tensorflows_philox(seed: int, epoch: int, number: int) -> None:
    fold, uniform = partial(tf.random.fold_in, alg="philox"), partial(tf.random.stateless_uniform, alg="philox")
    key = make_key(seed, epoch=tf.constant(epoch, tf.int64), example=tf.constant(number, tf.int64))
    folded = tf.constant([seed, 0], tf.int64)
    for part in (epoch, number):
        folded = fold(folded, tf.constant(part, tf.int64))
    np.testing.assert_array_equal(key, folded)
    np.testing.assert_array_equal(split_key(key, 7), tf.random.split(key, 7, alg="philox"))
    np.testing.assert_array_equal(draw(key, 3, 2), uniform([3, 2], key))
    np.testing.assert_array_equal(draw(key, tf.constant(5)), uniform([5], key))
    np.testing.assert_array_equal(fold_name(key, "tiles"), fold(key, tf.constant(zlib.crc32(b"tiles"), tf.int64)))
    for end in (1, 4, 1000):
        assert draw_number(key, end) == draw_number(key, tf.constant(end)) == uniform([], key, 0, end, tf.int32)
