"""Boxes that are probably missing, superfluous, doubled, badly placed or of another class.

The kinds are those of ObjectLab (Tkachenko et al., arXiv:2309.00832), whose scores need many classes and thousands of
pictures. Here a prediction contradicts the labels if it is as sure as the predictions of its class that agree with
them. A box is accused only if the models do well on the boxes like it: those of its class, height and width. A box that
no prediction supports comes after all that a prediction contradicts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

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
COVERED = 0.5  # share of a box inside another one from which it may be a part of that thing
FAINT = 0.05  # score below which a prediction counts for nothing
FOUND = 0.85  # share of the boxes like a box that the models must find; chance must not explain it
LIKE = 100  # boxes that are compared with a box: those of its class that are the nearest in height and width
MOST_UNLIKE = 2.0  # factor by which one of them may be higher or wider
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
    def is_found(self) -> np.ndarray:
        """Return for each true box whether the best prediction there is of its class."""
        best = np.where(self.overlap >= SAME, self.scores[:, None], 0).max(axis=0, initial=0)
        return np.asarray((self.support >= FAINT) & (self.support >= best))

    def find_contradicted(self, is_sure: np.ndarray) -> np.ndarray:
        """Return for each true box whether the best prediction there is a sure one of another class."""
        against = (is_sure & ~self.agrees)[:, None] & (self.overlap >= SAME)
        return np.asarray(np.where(against, self.scores[:, None], 0).max(axis=0, initial=0) > self.support)

    @cached_property
    def any_support(self) -> np.ndarray:
        """Return for each true box the best score of any class near it."""
        return np.where(self.overlap >= APART, self.scores[:, None], 0).max(axis=0, initial=0)

    def measure_cover(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which share of a prediction each true box covers, and which share of each true box it covers."""
        box = self.predicted[index]
        sides = np.minimum(box[2:], self.corners[:, 2:]) - np.maximum(box[:2], self.corners[:, :2])
        shared = np.prod(np.maximum(sides, 0), axis=1)
        own, others = np.prod(box[2:] - box[:2]), np.prod(self.corners[:, 2:] - self.corners[:, :2], axis=1)
        return shared / max(float(own), 1e-9), shared / np.maximum(others, 1e-9)


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

    agreements: Mapping[str, Agreement]  # of the classes whose predictions agree with the labels from some score on
    is_single: bool  # whether boxes of one class seldom lie on each other

    def find_sure(self, classes: Sequence[str], scores: np.ndarray) -> np.ndarray:
        """Return for each score whether predictions of its class agree with the labels from that score on."""
        least = [self.agreements[label].least if label in self.agreements else np.inf for label in classes]
        return scores >= np.array(least, np.float64)

    @property
    def weakest(self) -> float:
        """Return a strength that every doubt by a sure prediction exceeds."""
        return min(one.least or 0 for one in self.agreements.values()) / 2


def find_wrong_boxes(rows: Sequence[Row]) -> LabelErrorFindings | str:
    """Return the suspects, or the reason why the predictions allow no statement."""
    scenes = [ImageOverlaps(row) for row in rows]
    labels = np.array([label for scene in scenes for label in scene.labels], object)
    if not len(labels):
        return "no example has a box"
    agreements = _find_agreements(scenes)
    if not agreements:
        return "from no score on do the predictions agree with 80 % of the boxes, by more than chance"
    doubled = sum(len(scene.labels) > 1 and len(_list_overlapping(scene)) for scene in scenes)
    standard = Standard(agreements, doubled <= max(3, MOST_DOUBLED * len(labels)))
    corners, found = (np.concatenate([getattr(scene, key) for scene in scenes]) for key in ("corners", "is_found"))
    sures = [standard.find_sure(scene.classes, scene.scores) for scene in scenes]
    contradicted = [scene.find_contradicted(sure) for scene, sure in zip(scenes, sures, strict=True)]
    thorough = measure_on_like(labels, corners, found, MOST_UNLIKE) >= FOUND
    confused = measure_on_like(labels, corners, ~np.concatenate(contradicted), np.inf) < AGREED
    limits = (np.split(one, np.cumsum([len(scene.labels) for scene in scenes])[:-1]) for one in (thorough, confused))
    suspects: list[Suspect] = []
    doubts: dict[str, float] = {}
    for scene, *limit in zip(scenes, sures, *limits, strict=True):
        candidates = list(_find_doubts(scene, standard, *limit))
        suspects += _name_swapped([one for one, is_stated in candidates if is_stated])
        doubts[scene.file] = max((one.strength for one, _ in candidates), default=0.0)
    silences = []
    if unsure := sorted(set(labels) - agreements.keys()):
        silences.append(f"no prediction of {', '.join(unsure)} counts: from no score on do they agree with the labels")
    if count := _count(labels[~thorough]):
        silences.append(f"{count} are not called superfluous or badly placed: the models find too few of their size")
    if count := _count(labels[confused]):
        silences.append(f"{count} are not given another class: the models confuse too many like them")
    if not standard.is_single:
        silences.append(f"no box is called doubled: {doubled} pairs of one class overlap by half")
    return make_findings(suspects, doubts, _describe_quality(scenes, standard), tuple(silences))


def _count(labels: np.ndarray) -> str:
    """Return how many boxes have each label, in words."""
    return ", ".join(f"{count:,} boxes of {label}" for label, count in sorted(Counter(labels).items()))


def _find_agreements(scenes: Sequence[ImageOverlaps]) -> dict[str, Agreement]:
    """Return how often the predictions of each class agree with its boxes, without classes where they seldom do."""
    classes = np.array([label for scene in scenes for label in scene.classes], object)
    scores, agrees = (np.concatenate([getattr(scene, key) for scene in scenes]) for key in ("scores", "agrees"))
    each = {label: (classes == label) & (scores >= FAINT) for label in sorted(set(classes))}
    agreements = {label: Agreement(scores[own], agrees[own]) for label, own in each.items()}
    return {label: one for label, one in agreements.items() if one.least is not None}


def measure_on_like(labels: np.ndarray, corners: np.ndarray, is_good: np.ndarray, unlike: float) -> np.ndarray:
    """Return for each box that is not good the lower end of the share of good ones among others like it; else 1.

    These are the nearest LIKE of its class in height and width, none of them higher or wider by the factor `unlike`.
    """
    shares = np.ones(len(labels))
    for label in set(labels[~is_good]):
        own = np.flatnonzero(labels == label)
        sizes = np.log(np.maximum(corners[own, 2:] - corners[own, :2], 1))  # (own, 2), of pixels
        asked = np.flatnonzero(~is_good[own])
        nearest = np.arange(1, min(len(own), LIKE + 1) + 1)
        _, like = KDTree(sizes).query(sizes[asked], nearest, p=np.inf, distance_upper_bound=np.log(unlike))
        is_other = (like < len(own)) & (like != asked[:, None])  # `like` is len(own) where there are no more
        good = is_other & np.append(is_good[own], False)[like]
        shares[own[asked]] = lower_end(good.sum(axis=1), is_other.sum(axis=1))
    return shares


def _describe_quality(scenes: Sequence[ImageOverlaps], standard: Standard) -> str:
    matched = sum(int(standard.find_sure(scene.labels, scene.support).sum()) for scene in scenes)
    agrees = np.concatenate([scene.agrees[standard.find_sure(scene.classes, scene.scores)] for scene in scenes])
    lowest, highest = (f"{end(one.least or 0 for one in standard.agreements.values()):.2f}" for end in (min, max))
    least = f"{lowest} and more" if lowest == highest else f"{lowest} to {highest} and more, by class,"
    total = sum(len(scene.labels) for scene in scenes)
    share = f"{100 * agrees.mean():.0f} %"
    return f"{matched:,} of {total:,} boxes found; predictions of {least} agree with {share} of their labels"


def _find_doubts(
    scene: ImageOverlaps, standard: Standard, sure: np.ndarray, thorough: np.ndarray, confused: np.ndarray
) -> Iterator[tuple[Suspect, bool]]:
    """Yield every doubt, and whether it is strong enough to be stated."""
    taken = set[int]()  # true boxes that have a doubt already

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
    empty = thorough & (scene.support < FAINT)
    for index in map(int, against):
        score = float(scene.scores[index])
        is_sure = bool(sure[index])
        statement = f"the models give {scene.classes[index]} {score:.2f}"
        over = scene.overlap[index]
        true = int(over.argmax()) if len(over) else -1
        covers, covered = scene.measure_cover(index)
        weak = np.flatnonzero(scene.same[index] & (over > 0) & (scene.support < score / 2))
        if true >= 0 and over[true] >= SAME:
            if true not in taken and scene.support[true] < score:
                taken.add(true)
                strength = score * (1 + score - float(scene.support[true])) / 2
                yield doubt(WRONG_CLASS, strength, statement, true, index), is_sure and not confused[true]
        elif len(weak):
            true = int(weak[over[weak].argmax()])
            if true not in taken:
                taken.add(true)
                is_shifted = bool(empty[true] and max(covers[true], covered[true]) < COVERED)
                why = f"{statement} elsewhere, which overlaps the box by {over[true]:.0%}"
                yield doubt(BADLY_PLACED, score * (1 - over[true] / 2), why, true, index), is_sure and is_shifted
        elif over.max(initial=0) < APART and not _is_about_a_box(scene.same[index], covers, covered):
            yield doubt(MISSING, score, statement, None, index), is_sure
    for true in sorted(set(np.flatnonzero(thorough).tolist()) - taken):
        score = float(scene.any_support[true])
        why = f"no prediction stands for it (the best nearby has {score:.2f})"
        yield doubt(SUPERFLUOUS, (1 - score) * standard.weakest, why, true, None), score < FAINT


def _is_about_a_box(same: np.ndarray, covers: np.ndarray, covered: np.ndarray) -> bool:
    """Tell whether a prediction shows a part of a thing that has a box, or that thing and what is around it."""
    return bool((covers >= COVERED).any() or (same & (covered >= COVERED)).any())


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
