"""The matcher against small tables of overlaps, and against one written in loops."""

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.tasks.matching import BACKGROUND, IGNORED, match

OVERLAP = [  # anchors x boxes
    [0.7, 0.1],
    [0.5, 0.4],
    [0.49, 0.3],
    [0.2, 0.45],
    [0.0, 0.0],
]


def matched(overlap: list[list[float]], *rule: float | bool | None) -> list[int]:
    table = tf.constant(overlap, tf.float32)
    direct = match(table, *rule).numpy().tolist()
    assert tf.function(lambda x: match(x, *rule))(table).numpy().tolist() == direct
    return direct


def test_anchor_stands_for_the_box_it_overlaps_most_from_the_threshold_on() -> None:
    assert matched(OVERLAP, 0.5, None, False) == [0, 0, BACKGROUND, BACKGROUND, BACKGROUND]


def test_box_below_the_threshold_gets_its_best_anchor_if_every_box_is_matched() -> None:
    assert matched(OVERLAP, 0.5, None, True) == [0, 0, BACKGROUND, 1, BACKGROUND]


def test_anchors_between_the_thresholds_are_asked_nothing() -> None:
    assert matched(OVERLAP, 0.5, 0.45, False) == [0, 0, IGNORED, IGNORED, BACKGROUND]
    assert matched(OVERLAP, 0.5, 0.45, True) == [0, 0, IGNORED, 1, BACKGROUND]


def test_equal_thresholds_leave_no_gap() -> None:
    assert matched(OVERLAP, 0.5, 0.5, False) == matched(OVERLAP, 0.5, None, False)


def test_without_boxes_every_anchor_is_background() -> None:
    assert match(tf.zeros([3, 0]), 0.5, 0.4, True).numpy().tolist() == [BACKGROUND] * 3


@pytest.mark.parametrize("seed", range(1, 5))
def test_matches_equal_those_of_a_loop_where_no_two_boxes_want_the_same_anchor(seed: int) -> None:
    draw = np.random.default_rng(seed)
    overlap = draw.uniform(0.01, 0.7, (40, 4)).astype(np.float32)
    expected = []
    for row in overlap:
        most = row.max()
        expected.append(int(row.argmax()) if most >= 0.6 else IGNORED if most >= 0.3 else BACKGROUND)
    best = overlap.argmax(axis=0)
    assert len(set(best)) == 4
    for box, anchor in enumerate(best):
        expected[anchor] = box
    assert matched(overlap.tolist(), 0.6, 0.3, True) == expected
