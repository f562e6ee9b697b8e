import numpy as np
import pytest

from bakeoff.config.checks import MOST_BOXES, best_overlaps

ANCHORS = np.array([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]], np.float32)


def test_a_box_is_held_against_the_anchor_that_fits_it_best() -> None:
    boxes = np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 0.75], [0.25, 0.25, 0.75, 0.75], [0, 0.6, 0.4, 1]], np.float32)
    assert best_overlaps(ANCHORS, boxes) == pytest.approx([1, 0.5, 0.0625 / 0.4375, 0])


def test_no_boxes_have_no_overlaps() -> None:
    assert best_overlaps(ANCHORS, np.zeros((0, 4), np.float32)).shape == (0,)


def test_of_very_many_boxes_some_are_taken_from_all_along() -> None:
    fitting, thin = np.tile(ANCHORS[:1], (6 * MOST_BOXES, 1)), np.tile([[0, 0, 1, 0.01]], (2 * MOST_BOXES, 1))
    found = best_overlaps(ANCHORS, np.concatenate([fitting, thin]))
    assert len(found) == MOST_BOXES
    assert np.mean(found > 0.99) == pytest.approx(0.75, abs=0.002)
