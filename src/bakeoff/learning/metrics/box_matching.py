"""Boxes of images, one image at a time and all in one table, and which prediction matches which ground truth.

Boxes(np.array([[10, 20, 60, 50]]), np.array([3]), np.array([0.9]))   # one detection of class 3, 50 high and 30 wide
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MOST = 100  # detections of a class that COCO counts in an image
OVERLAPS = np.linspace(0.5, 0.95, 10)
NONE = -1


@dataclass(frozen=True)
class Boxes:
    """The boxes of one image in pixels: ymin xmin ymax xmax (n, 4), class ids 1..k (n,), scores (n,) of predictions."""

    corners: np.ndarray
    classes: np.ndarray
    scores: np.ndarray | None = None


@dataclass(frozen=True)
class BoxArrays:
    """Boxes of all images: the image (n,) from 0, class ids 1..k (n,), corners (n, 4), scores (n,), 1 for the truth."""

    image: np.ndarray
    classes: np.ndarray
    corners: np.ndarray
    scores: np.ndarray

    @classmethod
    def from_images(cls, images: Sequence[Boxes]) -> "BoxArrays":
        return cls(
            np.repeat(np.arange(len(images)), [len(boxes.classes) for boxes in images]),
            _join([boxes.classes for boxes in images]).astype(np.int64),
            _join([boxes.corners for boxes in images]).astype(np.float64).reshape(-1, 4),
            _join([np.ones(len(boxes.classes)) if boxes.scores is None else boxes.scores for boxes in images]).astype(
                np.float64
            ),
        )

    def __getitem__(self, rows: np.ndarray) -> "BoxArrays":
        return BoxArrays(self.image[rows], self.classes[rows], self.corners[rows], self.scores[rows])

    def __len__(self) -> int:
        return len(self.image)

    def best_first(self) -> "BoxArrays":
        """By falling score, equal ones in the order of the images; what COCO does not count is left out."""
        order = np.lexsort((-self.scores, self.classes, self.image))
        grouped = self[order]
        new = np.ones(len(self), bool)
        new[1:] = (np.diff(grouped.image) != 0) | (np.diff(grouped.classes) != 0)
        starts = np.flatnonzero(new)
        rank = np.arange(len(self)) - np.repeat(starts, np.diff(starts, append=len(self)))
        counted = grouped[rank < MOST]
        return counted[np.argsort(-counted.scores, kind="stable")]


def find_pairs(
    predictions: BoxArrays, truth: BoxArrays, *, same_class: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the overlapping pairs of each image, by prediction: row of `predictions`, row of `truth`, overlap.

    Overlap is what both cover over what either covers, counted as COCO counts it.
    """
    classes = 1 + max(predictions.classes.max(initial=0), truth.classes.max(initial=0)) if same_class else 1
    predicted_key, true_key = (
        table.image * classes + (table.classes if same_class else 0) for table in (predictions, truth)
    )
    by_key = np.argsort(true_key, kind="stable")
    first, last = (np.searchsorted(true_key[by_key], predicted_key, side) for side in ("left", "right"))
    count = last - first
    predicted_rows = np.repeat(np.arange(len(predictions)), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    true_rows = by_key[np.repeat(first, count) + place]
    overlap = _overlap(predictions.corners[predicted_rows], truth.corners[true_rows])
    kept = overlap > 0
    return predicted_rows[kept], true_rows[kept], overlap[kept]


def _overlap(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Row by row. COCO keeps a corner and a size, which rounds the far corner; so do we, or ties would differ."""
    size, other_size = one[:, 2:] - one[:, :2], other[:, 2:] - other[:, :2]
    high = np.minimum(one[:, :2] + size, other[:, :2] + other_size)
    sides = np.maximum(high - np.maximum(one[:, :2], other[:, :2]), 0)
    both = sides[:, 0] * sides[:, 1]
    either = size[:, 0] * size[:, 1] + other_size[:, 0] * other_size[:, 1] - both
    return np.divide(both, either, out=np.zeros_like(both), where=both > 0)


def _join(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(frozen=True)
class Matches:
    """Best first, each detection takes the true box of its class that it overlaps most and that none before it took."""

    images: int
    truth: BoxArrays
    predictions: BoxArrays  # best first
    hits: np.ndarray  # (predictions, overlaps) whether it matches a box of the ground truth
    taken: np.ndarray  # (predictions,) the row of `truth` that it matches at overlap 0.5, or NONE

    @classmethod
    def from_boxes(cls, truth: Sequence[Boxes], predictions: Sequence[Boxes]) -> "Matches":
        true, best = BoxArrays.from_images(truth), BoxArrays.from_images(predictions).best_first()
        hits, taken = _assign(best, true)
        return cls(len(truth), true, best, hits, taken)

    def from_score(self, threshold: float) -> "Matches":
        """Without the detections that score less; they took no box from a better one."""
        rows = self.predictions.scores >= threshold
        return Matches(self.images, self.truth, self.predictions[rows], self.hits[rows], self.taken[rows])

    @property
    def right(self) -> np.ndarray:
        """(predictions,) whether each is right at overlap 0.5."""
        return self.taken != NONE

    def true_counts(self, label: int | None = None) -> np.ndarray:
        """True boxes in each image, (images,), of one class or of all."""
        rows = self.truth.image if label is None else self.truth.image[self.truth.classes == label]
        return np.bincount(rows, minlength=self.images)


def _assign(predictions: BoxArrays, truth: BoxArrays) -> tuple[np.ndarray, np.ndarray]:
    hits = np.zeros((len(predictions), len(OVERLAPS)), bool)
    taken = np.full(len(predictions), NONE)
    predicted_rows, true_rows, overlap = find_pairs(predictions, truth, same_class=True)
    close = overlap >= OVERLAPS[0]
    predicted_rows, true_rows, overlap = predicted_rows[close], true_rows[close], overlap[close]
    # The fast path: neither box has another candidate, as with most predictions of a good detector.
    alone = (np.bincount(predicted_rows)[predicted_rows] == 1) & (np.bincount(true_rows)[true_rows] == 1)
    hits[predicted_rows[alone]] = overlap[alone, None] >= OVERLAPS
    taken[predicted_rows[alone]] = true_rows[alone]
    predicted_rows, true_rows, overlap = predicted_rows[~alone], true_rows[~alone], overlap[~alone]
    gone = np.zeros((len(truth), len(OVERLAPS)), bool)
    starts = np.flatnonzero(np.diff(predicted_rows, prepend=NONE))
    for first, last in pairwise([*starts, len(predicted_rows)]):
        wanted = true_rows[first:last]
        free = (overlap[first:last, None] >= OVERLAPS) & ~gone[wanted]
        # COCO takes the last of those that overlap equally.
        best = len(wanted) - 1 - np.where(free, overlap[first:last, None], -1.0)[::-1].argmax(axis=0)
        hit = free.any(axis=0)
        hits[predicted_rows[first]] = hit
        gone[wanted[best[hit]], np.flatnonzero(hit)] = True
        if hit[0]:
            taken[predicted_rows[first]] = wanted[best[0]]
    return hits, taken
