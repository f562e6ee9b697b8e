"""Every function is tried directly and inside a graph, which is how the input pipeline runs it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks import boxes

SCALES = (10.0, 10.0, 5.0, 5.0)
Mode = Callable[[Callable], Callable]


@pytest.fixture(params=["eager", "graph"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return tf.function if request.param == "graph" else lambda function: function


def random_boxes(count: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    low, size = draw.uniform(-0.2, 0.8, (count, 2)), draw.uniform(0.02, 0.9, (count, 2))
    return np.concatenate([low, low + size], axis=1).astype(np.float32)


def test_overlap_is_the_common_part_of_the_area_that_two_boxes_cover(mode: Mode) -> None:
    a = tf.constant([[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 1.0, 1.0]])
    b = tf.constant([[0.25, 0.25, 0.75, 0.75], [0.0, 0.0, 0.5, 0.5], [0.0, 0.5, 0.5, 1.0]])
    expected = [
        [1 / 7, 1.0, 0.0],  # 1/16 of 7/16; the same box; a box that only touches
        [1 / 4, 1 / 4, 1 / 4],
    ]
    np.testing.assert_allclose(mode(boxes.overlaps)(a[:, None], b[None]), expected, rtol=1e-6)


def test_boxes_that_lie_apart_in_both_directions_do_not_overlap(mode: Mode) -> None:
    a, b = tf.constant([[0.0, 0.0, 0.2, 0.2]]), tf.constant([[0.5, 0.5, 0.9, 0.9]])
    assert mode(boxes.overlaps)(a[:, None], b[None]).numpy().tolist() == [[0.0]]


def test_box_without_area_overlaps_nothing_not_even_itself(mode: Mode) -> None:
    point = tf.constant([[0.5, 0.5, 0.5, 0.5]])
    assert mode(boxes.overlaps)(point[:, None], point[None]).numpy().tolist() == [[0.0]]


def test_overlaps_with_no_boxes_have_no_columns(mode: Mode) -> None:
    assert mode(boxes.overlaps)(tf.zeros([3, 1, 4]), tf.zeros([1, 0, 4])).shape == (3, 0)


def test_overlaps_equal_a_count_of_grid_cells(mode: Mode) -> None:
    draw = np.random.default_rng(1)
    corners = np.sort(draw.integers(0, 21, (30, 2, 2)), axis=1).reshape(30, 4)
    grid = np.zeros((30, 20, 20), bool)
    for cells, (y0, x0, y1, x1) in zip(grid, corners, strict=True):
        cells[y0:y1, x0:x1] = True
    expected = np.zeros((10, 20))
    for row, a in enumerate(grid[:10]):
        for column, b in enumerate(grid[10:]):
            expected[row, column] = (a & b).sum() / max(1, (a | b).sum())
    shares = tf.constant(corners / 20, tf.float32)
    np.testing.assert_allclose(mode(boxes.overlaps)(shares[:10, None], shares[10:]), expected, atol=1e-5)
    assert np.count_nonzero(expected) > 50


def test_area_of_a_box_turned_inside_out_is_zero(mode: Mode) -> None:
    given = tf.constant([[0.0, 0.0, 0.5, 0.25], [0.5, 0.5, 0.25, 0.75], [0.5, 0.5, 0.25, 0.25]])
    assert mode(boxes.area)(given).numpy().tolist() == [0.125, 0.0, 0.0]


def test_box_is_coded_as_shift_and_growth_of_its_anchor(mode: Mode) -> None:
    anchor = tf.constant([[0.0, 0.0, 0.4, 0.2]])  # centre 0.2 0.1, height 0.4, width 0.2
    box = tf.constant([[0.1, 0.05, 0.3, 0.25]])  # centre 0.2 0.15, height 0.2, width 0.2
    coded = mode(lambda a, b: boxes.code(a, b, SCALES))(box, anchor)
    np.testing.assert_allclose(coded, [[0.0, 2.5, -5 * math.log(2), 0.0]], atol=1e-5)


def test_code_of_zeros_is_the_anchor_itself(mode: Mode) -> None:
    anchors = random_boxes(5, seed=2)
    decoded = mode(lambda codes, anchors: boxes.decode(codes, anchors, SCALES))(tf.zeros([5, 4]), anchors)
    np.testing.assert_allclose(decoded, anchors, atol=1e-6)


def test_decoding_undoes_coding(mode: Mode) -> None:
    truth, anchors = random_boxes(200, seed=3), random_boxes(200, seed=4)
    there_and_back = mode(lambda a, b: boxes.decode(boxes.code(a, b, SCALES), b, SCALES))
    np.testing.assert_allclose(there_and_back(truth, anchors), truth, atol=1e-5)


def test_decoding_takes_batches_of_one_set_of_anchors(mode: Mode) -> None:
    anchors = random_boxes(3, seed=5)
    codes = np.random.default_rng(6).normal(size=(2, 3, 4)).astype(np.float32)
    decode = mode(lambda codes, anchors: boxes.decode(codes, anchors, SCALES))
    both = decode(codes, anchors)
    for row in range(2):
        np.testing.assert_allclose(both[row], decode(codes[row], anchors), rtol=1e-6)


def test_wild_codes_and_flat_boxes_stay_finite(mode: Mode) -> None:
    anchors = tf.constant([[0.0, 0.0, 0.5, 0.5]])
    wild = mode(lambda codes, anchors: boxes.decode(codes, anchors, SCALES))(tf.fill([1, 4], 1e6), anchors)
    flat = mode(lambda truth, anchors: boxes.code(truth, anchors, SCALES))(tf.constant([[0.2, 0.2, 0.2, 0.4]]), anchors)
    assert np.isfinite(wild).all() and np.isfinite(flat).all()
