"""Weighted images against pycocotools on images that are really repeated and left out; Pascal VOC's by hand."""

import numpy as np
import pytest

from bakeoff.learning.metrics.average_precision import LONG, RECALLS, average_precisions, voc_precisions
from bakeoff.learning.metrics.box_matching import BoxArrays, Boxes, Matches
from bakeoff.learning.metrics.detection import DetectionScore
from support.coco_sets import Pairs, by_pycocotools, given, hard_pairs, random_pairs, true

WIDE = [0.0, 0.0, 100.0, 100.0]
LOWER = [20.0, 0.0, 120.0, 100.0]  # overlaps WIDE by 80 of 120
BETWEEN = [5.0, 0.0, 105.0, 100.0]  # overlaps WIDE by 95 of 105 and LOWER by 85 of 115


def of_classes(pairs: Pairs, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(classes, overlaps, weightings) each."""
    matches = Matches.from_boxes(*zip(*pairs, strict=True))
    predictions = []
    for label in (1, 2, 3):
        rows = matches.predictions.classes == label
        counts = matches.true_counts(label)
        predictions.append(average_precisions(matches.predictions.image[rows], matches.hits[rows], counts, weights.T))
    precisions, recalls = zip(*predictions, strict=True)
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


def test_sample_without_true_boxes_has_no_number() -> None:
    image, hits = np.array([0, 1]), np.array([[True], [False]])
    precision, recall = average_precisions(image, hits, np.array([1, 0]), np.array([[0, 1], [2, 1]]))
    assert np.isnan(precision[0, 0]) and np.isnan(recall[0, 0])
    assert precision[0, 1] == recall[0, 1] == 1


# Pascal VOC.


def numbers(pairs: Pairs) -> dict[str, float]:
    truth, predictions = zip(*pairs, strict=True)
    return voc_precisions(BoxArrays.from_images(predictions).best_first(), BoxArrays.from_images(truth))


def one_by_one(pairs: Pairs) -> dict[str, float]:
    """Loops over boxes, the area as a sum of rectangles from each right detection on."""
    areas, elevens = [], []
    for label in (1, 2, 3):
        total = sum(int((truth.classes == label).sum()) for truth, _ in pairs)
        if not total:
            continue
        answers = []
        for image, (_, predictions) in enumerate(pairs):
            assert predictions.scores is not None
            of_class = [i for i in range(len(predictions.classes)) if predictions.classes[i] == label]
            answers += [(-float(predictions.scores[i]), image, predictions.corners[i]) for i in of_class]
        answers.sort(key=lambda answer: answer[:2])
        taken: set[tuple[int, int]] = set()
        points, right = [], 0
        for place, (_, image, corners) in enumerate(answers, start=1):
            truth = pairs[image][0]
            overlaps = [
                overlap(corners, other) if truth.classes[number] == label else 0.0
                for number, other in enumerate(truth.corners)
            ]
            best = int(np.argmax(overlaps)) if overlaps else -1
            if best >= 0 and overlaps[best] >= 0.5 and (image, best) not in taken:
                taken.add((image, best))
                right += 1
            points.append((right / total, right / place))
        area = last = 0.0
        for number, (recall, _) in enumerate(points):
            area += (recall - last) * max(precision for _, precision in points[number:])
            last = recall
        areas.append(area)
        levels = [number / 10 for number in range(11)]
        elevens.append(sum(max((p for r, p in points if r >= level - 1e-12), default=0.0) for level in levels) / 11)
    return {"mAP_voc": float(np.mean(areas)), "mAP_voc_11": float(np.mean(elevens))}


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    one, other = one.astype(float), other.astype(float)
    both = np.prod(np.maximum(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0))
    either = np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - both
    return float(both / either) if both > 0 else 0.0


@pytest.mark.parametrize("seed", range(6))
def test_numbers_equal_those_counted_one_by_one(seed: int) -> None:
    pairs = random_pairs(seed, images=12)
    assert numbers(pairs) == pytest.approx(one_by_one(pairs))


def test_area_by_hand() -> None:
    """Right, wrong, right of two: a half at precision 1, a half at 2/3; of eleven recalls six at 1 and five at 2/3."""
    far = [300.0, 300.0, 400.0, 400.0]
    pairs = [(true((WIDE, 1), (far, 1)), given((WIDE, 1, 0.9), ([600.0] * 2 + [700.0] * 2, 1, 0.8), (far, 1, 0.7)))]
    assert numbers(pairs) == pytest.approx({"mAP_voc": 0.5 + 0.5 * 2 / 3, "mAP_voc_11": (6 + 5 * 2 / 3) / 11})


def test_detection_whose_best_box_is_taken_gets_no_other_one() -> None:
    """COCO would give it the other box, which it overlaps by more than a half as well."""
    pairs = [(true((WIDE, 1), (LOWER, 1)), given((WIDE, 1, 0.9), (BETWEEN, 1, 0.8)))]
    assert numbers(pairs)["mAP_voc"] == pytest.approx(0.5)
    assert DetectionScore(("ant",)).update(*pairs[0]).result()["mAP_50"] == pytest.approx(1)


def test_without_true_boxes_there_is_no_number() -> None:
    assert numbers([(true(), given((WIDE, 1, 0.5)))]) == {}


def test_boxes_without_area_are_never_found() -> None:
    line = [10.0, 10.0, 10.0, 50.0]
    assert numbers([(true((line, 1)), given((line, 1, 0.9)))]) == {"mAP_voc": 0.0, "mAP_voc_11": 0.0}
    assert all(0 <= value <= 1 for seed in range(20) for value in numbers(hard_pairs(seed)).values())


def test_boxes_of_whole_numbers_are_boxes_too() -> None:
    whole = Boxes(np.array([[0, 0, 10, 10]]), np.array([1]), np.array([1]))
    assert numbers([(Boxes(whole.corners, whole.classes), whole)])["mAP_voc"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_many_weightings_at_once_give_to_the_bit_what_few_at_once_give(seed: int) -> None:
    pairs = random_pairs(seed, images=9)
    weights = np.random.default_rng(seed).multinomial(9, [1 / 9] * 9, size=LONG + 8)
    together, *parts = (of_classes(pairs, some) for some in (weights, weights[:20], weights[20:]))
    for kind, values in enumerate(together):
        np.testing.assert_array_equal(values, np.concatenate([part[kind] for part in parts], axis=-1))
