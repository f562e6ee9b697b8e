"""How often intervals of mAP's difference hold the true one, where that is known: a proof that takes minutes."""

import numpy as np
import pytest

from bakeoff.experiments.compare.paired_bootstrap import compare_scores
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore

CLASSES = ("a", "b", "c")
SKILLS = (0.5, 0.9)  # of A and of B
WORLDS, IMAGES = 300, 150


def world(draw: np.random.Generator, images: int) -> list[DetectionScore]:
    """Both look at the same boxes, some of which are hard and score less; some are found where nothing is."""
    truth: list[Boxes] = []
    predictions: list[list[Boxes]] = [[] for _ in SKILLS]
    for _ in range(images):
        count = draw.integers(1, 4)
        labels, left = draw.integers(1, 4, count), 20.0 * np.arange(count)
        corners = np.stack([np.zeros(count), left, np.full(count, 10.0), left + 10], axis=1)
        truth.append(Boxes(corners, labels))
        hardness = draw.normal(size=count)
        for boxes, skill in zip(predictions, SKILLS, strict=True):
            ease = skill - hardness
            hit = draw.random(count) < 1 / (1 + np.exp(-ease))
            sure = 1 / (1 + np.exp(-(ease + 0.7 * draw.normal(size=count))))
            nothing = draw.random(count) < 0.5
            boxes.append(Boxes(
                np.concatenate([corners[hit], corners[nothing] + [[100, 0, 100, 0]]]),
                np.concatenate([labels[hit], labels[nothing]]),
                np.concatenate([sure[hit], 0.6 * draw.random(nothing.sum())]),
            ))  # fmt: skip
    return [DetectionScore(CLASSES, tuple(truth), tuple(boxes), (None,) * images) for boxes in predictions]


@pytest.mark.slow
def test_intervals_of_mean_average_precision_hold_the_true_difference_as_often_as_they_promise() -> None:
    draw = np.random.default_rng(0)
    once = np.ones((1, 20_000), np.int64)
    (a, a_by_class), (b, b_by_class) = (score.count_weighted(once) for score in world(draw, 20_000))
    true = float(b["mAP_50"][0] - a["mAP_50"][0])
    true_by_class = {label: float(b_by_class["mAP_50"][label][0] - a_by_class["mAP_50"][label][0]) for label in CLASSES}
    held = held_at_once = 0
    names = [str(number) for number in range(IMAGES)]
    for _ in range(WORLDS):
        differences = compare_scores(*world(draw, IMAGES), names, 600, CLASSES)
        held += differences.numbers["mAP_50"].low <= true <= differences.numbers["mAP_50"].high
        classes = differences.by_class["mAP_50"]
        held_at_once += all(classes[label].low <= true_by_class[label] <= classes[label].high for label in CLASSES)
    print(
        f"a true difference of {true:.3f}: held in {held / WORLDS:.1%}, of all classes in {held_at_once / WORLDS:.1%}"
    )
    least = 0.95 - 3 * (0.95 * 0.05 / WORLDS) ** 0.5
    assert held / WORLDS >= least and held_at_once / WORLDS >= least
