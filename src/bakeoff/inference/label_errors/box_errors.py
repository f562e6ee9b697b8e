"""Boxes that are probably missing, superfluous, doubled, badly placed or of another class.

The kinds are those of ObjectLab (Tkachenko et al., arXiv:2309.00832), whose scores need many classes and thousands of
pictures. Here a box is doubted for one of two reasons. A prediction contradicts it, and is as sure as those that agree
with their labels. Or no prediction supports it, although predictions support nearly all other boxes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bakeoff.inference.label_errors.suspect import (
    AGREED,
    Agreement,
    LabelErrorFindings,
    Row,
    Suspect,
    lower_end,
    make_findings,
)
from bakeoff.learning.metrics.box_matching import BoxArrays, Boxes, find_pairs

WRONG_CLASS, SWAPPED, BADLY_PLACED = "wrong class", "swapped boxes", "badly placed box"
MISSING, SUPERFLUOUS, DOUBLED = "missing box", "superfluous box", "doubled box"
SAME, APART = 0.5, 0.3  # overlap from which two boxes mean one thing, and below which they do not
COVERED = 0.5  # share of a prediction inside a true box from which it is a part of that thing
FAINT = 0.05  # score below which a prediction counts for nothing
MOST_DOUBLED = 0.05  # share of the boxes; if more pairs overlap, the things themselves lie on each other
SIDES = ("ymin", "xmin", "ymax", "xmax")


class ImageOverlaps:
    """A picture's true boxes and predictions, and how far each pair overlaps."""

    def __init__(self, row: Row) -> None:
        self.file = str(row["file"])
        self.labels = [box["label"] for box in row["truth"]]
        self.classes = [box["label"] for box in row["prediction"]]
        self.scores = np.array([box["score"] for box in row["prediction"]], np.float64)
        self.corners, self.predicted = (collect_corners(row[key]) for key in ("truth", "prediction"))
        self.overlap = measure_overlaps(self.predicted, self.corners)
        self.same = np.array([[one == other for other in self.labels] for one in self.classes], bool)
        self.same = self.same.reshape(self.overlap.shape)

    @cached_property
    def agrees(self) -> np.ndarray:
        """Return for each prediction whether a true box of its class is there."""
        return np.asarray((self.same & (self.overlap >= SAME)).any(axis=1))

    @cached_property
    def support(self) -> np.ndarray:
        """Return for each true box the best score of its class there."""
        there = self.same & (self.overlap >= SAME)
        return np.where(there, self.scores[:, None], 0).max(axis=0, initial=0)

    @cached_property
    def any_support(self) -> np.ndarray:
        """Return for each true box the best score of any class near it."""
        return np.where(self.overlap >= APART, self.scores[:, None], 0).max(axis=0, initial=0)

    def measure_cover(self, index: int) -> float:
        """Return the largest share of a prediction that one true box covers."""
        box = self.predicted[index]
        sides = np.minimum(box[2:], self.corners[:, 2:]) - np.maximum(box[:2], self.corners[:, :2])
        area = max(float(np.prod(box[2:] - box[:2])), 1e-9)
        return float(np.prod(np.maximum(sides, 0), axis=1).max(initial=0)) / area


def collect_corners(boxes: Sequence[Row]) -> np.ndarray:
    return np.array([[box[side] for side in SIDES] for box in boxes], np.float64).reshape(-1, 4)


def measure_overlaps(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the overlap of each box with each other one, in an array (some, others)."""
    one, other = (BoxArrays.from_images([Boxes(corners, np.ones(len(corners)))]) for corners in (some, others))
    matrix = np.zeros((len(some), len(others)))
    rows, columns, shares = find_pairs(one, other, same_class=False)
    matrix[rows, columns] = shares
    return matrix


@dataclass(frozen=True)
class Standard:
    """What this network's predictions can be used for on this data."""

    agreement: Agreement
    is_thorough: bool  # whether predictions support nearly all boxes
    is_single: bool  # whether boxes of one class seldom lie on each other


def find_wrong_boxes(rows: Sequence[Row]) -> LabelErrorFindings | str:
    """Return the suspects, or the reason why the predictions allow no statement."""
    scenes = [ImageOverlaps(row) for row in rows]
    scores = np.concatenate([scene.scores for scene in scenes] or [np.zeros(0)])
    agrees = np.concatenate([scene.agrees for scene in scenes] or [np.zeros(0, bool)])
    support = np.concatenate([scene.support for scene in scenes] or [np.zeros(0)])
    if not len(support):
        return "no example has a box"
    clear = scores >= FAINT
    agreement = Agreement(scores[clear], agrees[clear])
    if agreement.least is None:
        return "from no score on do the predictions agree with 80 % of the boxes, by more than chance"
    supported = int((support >= FAINT).sum())
    doubled = sum(len(scene.labels) > 1 and len(_list_overlapping(scene)) for scene in scenes)
    standard = Standard(
        agreement, bool(lower_end(supported, len(support)) >= AGREED), doubled <= max(3, MOST_DOUBLED * len(support))
    )
    silences = []
    if not standard.is_thorough:
        silences.append(f"no box is called superfluous: only {supported} of {len(support)} have a prediction")
    if not standard.is_single:
        silences.append(f"no box is called doubled: {doubled} pairs of one class overlap by half")
    suspects: list[Suspect] = []
    doubts: dict[str, float] = {}
    for scene in scenes:
        candidates = list(_find_doubts(scene, standard))
        suspects += _name_swapped([one for one, is_stated in candidates if is_stated])
        doubts[scene.file] = max((one.strength for one, _ in candidates), default=0.0)
    matched = int((support >= agreement.least).sum())
    quality = f"{matched:,} of {len(support):,} boxes found; {agreement.describe()}"
    return make_findings(suspects, doubts, quality, tuple(silences))


def _find_doubts(scene: ImageOverlaps, standard: Standard) -> Iterator[tuple[Suspect, bool]]:
    """Yield every doubt, and whether it is strong enough to be stated."""
    agreement, taken = standard.agreement, set[int]()  # true boxes that have a doubt already

    def doubt(kind: str, strength: float, why: str, true: int | None, given: int | None) -> Suspect:
        label = "nothing" if true is None else scene.labels[true]
        proposal = "nothing" if given is None else scene.classes[given]
        return Suspect(scene.file, kind, strength, label, proposal, why, true, given)

    for one, other, overlap in _list_overlapping(scene):
        weaker = other if scene.support[one] >= scene.support[other] else one
        taken.add(weaker)
        why = f"two boxes of {scene.labels[one]} overlap by {overlap:.0%}"
        yield doubt(DOUBLED, overlap, why, weaker, None), standard.is_single
    against = [index for index in np.argsort(-scene.scores) if scene.scores[index] >= FAINT and not scene.agrees[index]]
    for index in map(int, against):
        score = float(scene.scores[index])
        statement = f"the models give {scene.classes[index]} {score:.2f}"
        over = scene.overlap[index]
        true = int(over.argmax()) if len(over) else -1
        free = [at for at in range(len(scene.labels)) if at not in taken and scene.support[at] < score / 2]
        near = [at for at in free if scene.same[index, at] and over[at] > 0]
        if true >= 0 and over[true] >= SAME:
            if true not in taken and scene.support[true] < score:
                taken.add(true)
                strength = score * (1 + score - scene.support[true]) / 2
                yield doubt(WRONG_CLASS, strength, statement, true, index), agreement.is_sure(score)
        elif near:
            true = max(near, key=lambda at: over[at])
            taken.add(true)
            why = f"{statement} elsewhere, which overlaps the box by {over[true]:.0%}"
            yield doubt(BADLY_PLACED, score * (1 - over[true] / 2), why, true, index), agreement.is_sure(score)
        elif over.max(initial=0) < APART and scene.measure_cover(index) < COVERED:
            yield doubt(MISSING, score, statement, None, index), agreement.is_sure(score)
    for true in sorted(set(range(len(scene.labels))) - taken):
        score = float(scene.any_support[true])
        why = f"no prediction stands for it (the best nearby has {score:.2f})"
        yield doubt(SUPERFLUOUS, (1 - score) * AGREED, why, true, None), standard.is_thorough and score < FAINT


def _list_overlapping(scene: ImageOverlaps) -> list[tuple[int, int, float]]:
    """Return the pairs of true boxes of one class that lie on each other, with their overlap."""
    overlap = measure_overlaps(scene.corners, scene.corners)
    rows, columns = np.nonzero(np.triu(overlap >= SAME, 1))
    return [
        (int(one), int(other), float(overlap[one, other]))
        for one, other in zip(rows, columns, strict=True)
        if scene.labels[one] == scene.labels[other]
    ]


def _name_swapped(suspects: list[Suspect]) -> list[Suspect]:
    """Return the suspects, with two boxes of a picture called swapped if each has the class predicted for the other."""
    wrong = {(one.label, one.proposal) for one in suspects if one.kind == WRONG_CLASS}
    return [
        replace(one, kind=SWAPPED) if one.kind == WRONG_CLASS and (one.proposal, one.label) in wrong else one
        for one in suspects
    ]
