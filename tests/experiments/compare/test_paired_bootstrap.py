"""The paired bootstrap, against distributions that are known without drawing anything."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from bakeoff.experiments.compare import paired_bootstrap
from bakeoff.experiments.compare.paired_bootstrap import PairedDifference, compare_scores
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.detection import DetectionScore

CLASSES = ("cat", "dog")


def classifier(right: Sequence[bool], truth: Sequence[int] | None = None) -> ClassificationScore:
    """Sure of everything, and right where it is said."""
    true = truth or [1] * len(right)
    answers = [
        Answer(label, label if yes else 3 - label, 0.9, 0.9 if yes else 0.1, 0 if yes else 1)
        for label, yes in zip(true, right, strict=True)
    ]
    return ClassificationScore(CLASSES, tuple(answers))


def accuracy(
    a: Sequence[bool], b: Sequence[bool], groups: Sequence[str] | None = None, samples: int = 2000
) -> PairedDifference:
    names = groups or [str(number) for number in range(len(a))]
    return compare_scores(classifier(a), classifier(b), names, samples).numbers["accuracy"]


def exact(gains: int, losses: int, same: int) -> np.ndarray:
    """How probable each sum from -n to n is, of n drawings of +1, -1 and 0: the bootstrap's own distribution."""
    total = gains + losses + same
    once, sums = np.array([losses, same, gains]) / total, np.ones(1)
    for _ in range(total):
        sums = np.convolve(sums, once)
    return sums


def test_interval_and_probability_of_accuracy_are_those_of_the_exact_distribution() -> None:
    gains, losses, same = 9, 3, 28
    a = [False] * gains + [True] * losses + [True] * same
    b = [True] * gains + [False] * losses + [True] * same
    difference = accuracy(a, b, samples=20_000)
    sums = exact(gains, losses, same)
    better = sums[41:].sum() + sums[40] / 2
    assert difference.probability == pytest.approx(better, abs=0.01)
    below = np.cumsum(sums)
    low, high = (int(np.searchsorted(below, share)) - 40 for share in (0.025, 0.975))
    assert (difference.low * 40, difference.high * 40) == (pytest.approx(low, abs=1.01), pytest.approx(high, abs=1.01))
    assert difference.value == pytest.approx(6 / 40)


def test_equal_answers_show_no_difference() -> None:
    difference = accuracy([True, False] * 20, [True, False] * 20)
    assert (difference.low, difference.high, difference.probability, difference.better) == (0, 0, 0.5, None)


def test_pairing_shows_what_two_intervals_hide() -> None:
    """B has all that A has right and six more of 100; either accuracy alone is good for ten points up or down."""
    a = [True] * 60 + [False] * 40
    b = [True] * 66 + [False] * 34
    difference = accuracy(a, b)
    assert difference.better == "B" and 0 < difference.low < 0.06 < difference.high
    ends = classifier(a).intervals([str(n) for n in range(100)], 1000)["accuracy"]
    assert ends["high"] > 0.66
    turned = accuracy(b, a)
    assert turned.better == "A" and turned.low == pytest.approx(-difference.high)


def test_the_lower_loss_is_the_better_one() -> None:
    a = classifier([True, False] * 20)
    b = classifier([True] * 40)
    difference = compare_scores(a, b, [str(number) for number in range(40)], 500).numbers["loss"]
    assert difference.value < 0 and difference.better == "B" and difference.probability == 1


def test_intervals_hold_the_true_difference_as_often_as_they_promise() -> None:
    """In worlds of 120 examples where B is right four points less often: 95 % of them, less three deviations."""
    draw, worlds = np.random.default_rng(1), 200
    held = better = 0
    for _ in range(worlds):
        hardness = draw.random(120)
        a, b = hardness < 0.70, (hardness < 0.70) ^ (draw.random(120) < 0.1)
        truth = 0.1 * (1 - 2 * 0.70)  # of the tenth that is turned, 70 % were right before
        difference = accuracy(a.tolist(), b.tolist(), samples=200)
        held += difference.low <= truth <= difference.high
        better += difference.better == "B"
    assert held / worlds >= 0.95 - 3 * (0.95 * 0.05 / worlds) ** 0.5
    assert better / worlds <= 0.025


def test_examples_of_one_group_are_drawn_together() -> None:
    """Twice every example in one group with itself is no more evidence than once."""
    a, b = [True] * 30 + [False] * 20, [True] * 34 + [False] * 16
    once = accuracy(a, b)
    twice = accuracy([*a, *a], [*b, *b], groups=[str(number) for number in range(50)] * 2)
    assert (twice.low, twice.high, twice.probability) == (once.low, once.high, once.probability)
    apart = accuracy([*a, *a], [*b, *b])
    assert apart.high - apart.low < 0.8 * (once.high - once.low)


def test_among_many_classes_without_a_difference_hardly_any_world_shows_one() -> None:
    """Intervals of each class by itself would show one in 46 of 100 worlds: 1 - 0.95^12."""
    draw, labels = np.random.default_rng(2), tuple(str(number) for number in range(12))
    shown, worlds = 0, 40
    truth = np.repeat(np.arange(1, 13), 20)
    for _ in range(worlds):
        scores = []
        for right in draw.random((2, 240)) < 0.7:
            given = np.where(right, truth, truth % 12 + 1)
            answers = (Answer(int(t), int(g), 0.9, 0.9, 0) for t, g in zip(truth, given, strict=True))
            scores.append(ClassificationScore(labels, tuple(answers)))
        names = [str(number) for number in range(240)]
        by_class = compare_scores(*scores, names, 100, labels).by_class["accuracy"]
        assert len(by_class) == 12
        shown += any(one.better for one in by_class.values())
    assert shown <= 0.05 * worlds + 3 * (0.05 * 0.95 * worlds) ** 0.5


def scene(seed: int, images: int, hit: float) -> DetectionScore:
    """The truth is the same for every seed; of it a share is found, and a few boxes where nothing is."""
    where, draw = np.random.default_rng(0), np.random.default_rng(seed)
    score = DetectionScore(CLASSES)
    for _ in range(images):
        corners, labels = np.array([[0.0, 0, 10, 10], [0, 40, 12, 60]]), where.integers(1, 3, 2)
        kept = draw.random(2) < hit
        predicted = np.concatenate([corners[kept] + draw.integers(0, 3), [[70, 70, 90, 90]]])
        scores = draw.random(len(predicted)).round(3)
        score = score.update(
            Boxes(corners, labels), Boxes(predicted, np.append(labels[kept], draw.integers(1, 3)), scores)
        )
    return score


def drawn_again(score: DetectionScore, times: np.ndarray) -> DetectionScore:
    rows = np.repeat(np.arange(len(times)), times)
    truth, predictions = (tuple(images[row] for row in rows) for images in (score.truth, score.predictions))
    return DetectionScore(score.classes, truth, predictions, (None,) * len(rows))


def test_what_is_drawn_of_detections_is_what_coco_counts_on_the_drawn_images() -> None:
    score, draw = scene(3, 12, 0.6), np.random.default_rng(0)
    weights = np.stack([np.bincount(draw.integers(0, 12, 12), minlength=12) for _ in range(4)])
    numbers, by_class = score.count_weighted(weights)
    for row, times in enumerate(weights):
        counted = drawn_again(score, times).result()  # by hotcoco
        for name in ("mAP", "mAP_50", "mAP_75", "AR_100"):
            assert numbers[name][row] == pytest.approx(counted[name], abs=1e-9)
        for label in CLASSES:
            assert by_class["mAP_50"][label][row] == pytest.approx(counted["AP_50"][label], abs=1e-9)
            assert by_class["mAP"][label][row] == pytest.approx(counted["AP"][label], abs=1e-9)


def test_a_detector_that_finds_more_is_better_and_one_that_finds_as_much_is_not() -> None:
    names = [str(number) for number in range(80)]
    a = scene(3, 80, 0.5)
    assert compare_scores(a, scene(4, 80, 0.9), names, 300).numbers["mAP_50"].better == "B"
    assert compare_scores(a, scene(5, 80, 0.5), names, 300).numbers["mAP_50"].better is None


def test_many_predictions_make_the_blocks_of_bootstrap_samples_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, draw = list[int](), paired_bootstrap.draw_weights

    def record_size(groups: np.ndarray, samples: int, size: int) -> Iterator[np.ndarray]:
        sizes.append(size)
        return draw(groups, samples, size)

    monkeypatch.setattr(paired_bootstrap, "draw_weights", record_size)
    score = scene(1, 12, 0.9)
    compare_scores(score, scene(2, 12, 0.1), [str(number) for number in range(12)], 10)
    assert sizes == [sum(len(boxes.classes) for boxes in score.predictions)] and sizes[0] > 12
