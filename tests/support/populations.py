"""Thousands of examples and a model's answers to them, as the truth that samples of them are held against.

holds(detections(classes=10, skill=2.0), size=40, samples=200) -> {"mAP_50": {"true": 0.51, "interval": 0.95, ...}}
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.intervals import draw_weights
from bakeoff.learning.metrics.multi_label import MultiLabelScore

MANY = 4000
SIDE = 300.0
DRAWINGS = 400
Score = Any  # of any task


def odds(value: np.ndarray | float) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(value)))


def frequencies(classes: int) -> np.ndarray:
    """Some classes are rarer than others."""
    shares = 1 / np.arange(1, classes + 1) ** 0.5
    return shares / shares.sum()


def detections(
    classes: int, skill: float, *, objects: float = 3, wrong: float = 40, many: int = MANY
) -> DetectionScore:
    """One to several objects an image and, as detectors answer, dozens of boxes of nothing with lower scores.

    Some images are harder than others. The more skill, the more is found, the better placed, the further apart scored.
    """
    draw, images = np.random.default_rng(7), []
    for hard in draw.normal(0, 0.7, many):
        count, nothing = 1 + draw.poisson(objects - 1), draw.poisson(wrong)
        low, size = draw.uniform(0, SIDE, (count, 2)), draw.uniform(20, 80, (count, 2))
        labels = 1 + draw.choice(classes, count, p=frequencies(classes))
        detected = draw.random(count) < odds(skill + 1.5 - hard)
        moved = np.tile(size, 2) * draw.normal(0, 0.05 + 0.25 * odds(-skill), (count, 4))
        right = (np.concatenate([low, low + size], axis=1) + moved)[detected]
        place = draw.uniform(0, SIDE, (nothing, 2))
        wrongly = np.concatenate([place, place + draw.uniform(20, 80, (nothing, 2))], axis=1)
        scores = np.concatenate(
            [draw.normal(skill - hard / 2, 1, count)[detected], draw.normal(-0.5 + hard / 3, 1, nothing)]
        )
        answers = np.concatenate([labels[detected], 1 + draw.choice(classes, nothing, p=frequencies(classes))])
        truth = Boxes(np.concatenate([low, low + size], axis=1), labels)
        images.append((truth, Boxes(np.concatenate([right, wrongly]), answers, odds(scores))))
    truths, predictions = zip(*images, strict=True)
    return DetectionScore(tuple(map(str, range(classes))), truths, predictions, (None,) * many)


def classifications(classes: int, skill: float, *, many: int = MANY) -> ClassificationScore:
    """All answers are surer than they should be."""
    draw = np.random.default_rng(8)
    truth = draw.choice(classes, many, p=frequencies(classes))
    answers = draw.normal(size=(many, classes))
    answers[np.arange(many), truth] += draw.normal(skill, 1, many)
    shares = np.exp(3 * answers)
    probabilities = shares / shares.sum(axis=1, keepdims=True)
    return ClassificationScore(tuple(map(str, range(classes))), tuple(make_answers(truth + 1, probabilities)))


def labels(classes: int, skill: float, *, many: int = MANY) -> MultiLabelScore:
    """Each example has each class or not; the classes are of 10 to 40 % of the examples."""
    draw = np.random.default_rng(9)
    truth = draw.random((many, classes)) < np.linspace(0.1, 0.4, classes)
    scores = odds(draw.normal(np.where(truth, skill / 2, -skill / 2), 1))
    return MultiLabelScore(tuple(map(str, range(classes)))).update(truth, scores)


def pick(score: Score, rows: np.ndarray) -> Score:
    """Return the score of some of the examples."""
    if isinstance(score, DetectionScore):
        chosen = [tuple(part[row] for row in rows) for part in (score.truth, score.predictions, score.losses)]
        return DetectionScore(score.classes, *chosen)
    name = "answers" if isinstance(score, ClassificationScore) else "examples"
    return replace(score, **{name: tuple(getattr(score, name)[row] for row in rows)})


def count_all(score: Score) -> dict[str, float]:
    once = np.ones((1, count_examples(score)), np.int64)
    return {name: float(value[0]) for name, value in score.count_weighted(once)[0].items()}


def count_examples(score: Score) -> int:
    return len(next(getattr(score, name) for name in ("truth", "answers", "examples") if hasattr(score, name)))


def holds(whole: Score, size: int, samples: int) -> Mapping[str, Mapping[str, float]]:
    """Return of each number its true value, and in which share of so many samples of this size an interval holds it.

    "percentile" is the middle of the drawings as they are, which versions before 0.7 gave.
    """
    true, draw = count_all(whole), np.random.default_rng(10)
    hits: dict[str, list[tuple[bool, bool]]] = {name: [] for name in true}
    names = [str(number) for number in range(size)]
    for _ in range(samples):
        sample = pick(whole, draw.choice(count_examples(whole), size, replace=False))
        drawn = [sample.count_weighted(weights)[0] for weights in draw_weights(np.arange(size), DRAWINGS, size)]
        intervals = sample.intervals(names, DRAWINGS)
        for name, value in true.items():
            if name in intervals:
                low, high = np.nanquantile(np.concatenate([part[name] for part in drawn]), [0.025, 0.975])
                ends = intervals[name]
                hits[name].append((ends["low"] <= value <= ends["high"], low <= value <= high))
    shares = {name: np.mean(pairs, axis=0) for name, pairs in hits.items() if pairs}
    return {
        name: {"true": true[name], "interval": float(share[0]), "percentile": float(share[1])}
        for name, share in shares.items()
    }
