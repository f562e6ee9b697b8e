"""Weighted images against pycocotools on images that are really repeated and left out."""

import numpy as np
import pytest

from bakeoff.metrics.average_precision import RECALLS, average_precisions
from bakeoff.metrics.matches import Matches
from coco_sets import Pairs, by_pycocotools, hard_pairs, random_pairs


def of_classes(pairs: Pairs, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(classes, overlaps, weightings) each."""
    matches = Matches.of(*zip(*pairs, strict=True))
    found = []
    for label in (1, 2, 3):
        rows = matches.found.classes == label
        counts = matches.true_counts(label)
        found.append(average_precisions(matches.found.image[rows], matches.hits[rows], counts, weights.T))
    precisions, recalls = zip(*found, strict=True)
    return np.stack(precisions), np.stack(recalls)


def by_hand(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """(classes, overlaps) from pycocotools, NaN where it has none."""
    judge = by_pycocotools(pairs)
    precision = judge.eval["precision"][:, :, :, 0, -1].mean(axis=1).T
    recall = judge.eval["recall"][:, :, 0, -1].T
    return np.where(precision < 0, np.nan, precision), np.where(recall < 0, np.nan, recall)


@pytest.mark.parametrize("seed", range(8))
def test_weighted_images_count_as_pycocotools_counts_repeated_ones(seed: int) -> None:
    pairs = random_pairs(seed, images=9)
    draw = np.random.default_rng(seed)
    weights = draw.multinomial(9, [1 / 9] * 9, size=4)
    precisions, recalls = of_classes(pairs, weights)
    for column, times in enumerate(weights):
        repeated = [pair for pair, count in zip(pairs, times, strict=True) for _ in range(count)]
        precision, recall = by_hand(repeated)
        np.testing.assert_allclose(precisions[..., column], precision, atol=1e-9)
        np.testing.assert_allclose(recalls[..., column], recall, atol=1e-9)


def test_images_that_count_once_give_the_numbers_of_pycocotools_in_crowds_and_ties() -> None:
    for seed in range(40):
        pairs = hard_pairs(seed)
        precisions, recalls = of_classes(pairs, np.ones((1, len(pairs)), np.int64))
        precision, recall = by_hand(pairs)
        np.testing.assert_allclose(precisions[..., 0], precision, atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(recalls[..., 0], recall, atol=1e-9, err_msg=str(seed))


def test_one_right_then_wrong_then_right_by_hand() -> None:
    """Two true boxes: precision 1 up to half of the recall, 2/3 beyond; with the first image twice, 3 of 3 hits:
    2 of 2, then 2 of 3, then 3 of 4, so 1 up to two thirds and 3/4 beyond."""
    image, hits = np.array([0, 1, 1]), np.array([[True], [False], [True]])
    precision, recall = average_precisions(image, hits, np.array([1, 1]), np.array([[1, 2], [1, 1]]))
    up_to_half, up_to_two_thirds = (RECALLS <= 1 / 2).sum(), (RECALLS <= 2 / 3).sum()
    expected = [
        (up_to_half + (101 - up_to_half) * 2 / 3) / 101,
        (up_to_two_thirds + (101 - up_to_two_thirds) * 3 / 4) / 101,
    ]
    np.testing.assert_allclose(precision, [expected], rtol=1e-12)
    assert recall.tolist() == [[1.0, 1.0]]


def test_drawing_without_true_boxes_has_no_number() -> None:
    image, hits = np.array([0, 1]), np.array([[True], [False]])
    precision, recall = average_precisions(image, hits, np.array([1, 0]), np.array([[0, 1], [2, 1]]))
    assert np.isnan(precision[0, 0]) and np.isnan(recall[0, 0])
    assert precision[0, 1] == recall[0, 1] == 1
