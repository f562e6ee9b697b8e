"""Which detection found which true box, at each overlap that COCO asks for.

Best first, each detection takes the true box of its class that it overlaps most and that none before it took.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bakeoff.metrics.boxes import Boxes, Table, pairs_of

OVERLAPS = np.linspace(0.5, 0.95, 10)
NONE = -1


@dataclass(frozen=True)
class Matches:
    images: int
    truth: Table
    found: Table  # best first
    hits: np.ndarray  # (found, overlaps) whether it found a true box
    taken: np.ndarray  # (found,) the row of `truth` that it found at overlap 0.5, or NONE

    @classmethod
    def of(cls, truth: Sequence[Boxes], found: Sequence[Boxes]) -> "Matches":
        true, best = Table.of(truth), Table.of(found).best_first()
        hits, taken = _assigned(best, true)
        return cls(len(truth), true, best, hits, taken)

    def from_score(self, threshold: float) -> "Matches":
        """Without the detections that score less; they took no box from a better one."""
        rows = self.found.scores >= threshold
        return Matches(self.images, self.truth, self.found[rows], self.hits[rows], self.taken[rows])

    @property
    def right(self) -> np.ndarray:
        """(found,) whether, at overlap 0.5."""
        return self.taken != NONE

    def true_counts(self, label: int | None = None) -> np.ndarray:
        """True boxes in each image, (images,), of one class or of all."""
        rows = self.truth.image if label is None else self.truth.image[self.truth.classes == label]
        return np.bincount(rows, minlength=self.images)


def _assigned(found: Table, truth: Table) -> tuple[np.ndarray, np.ndarray]:
    hits = np.zeros((len(found), len(OVERLAPS)), bool)
    taken = np.full(len(found), NONE)
    found_rows, true_rows, overlap = pairs_of(found, truth, same_class=True)
    close = overlap >= OVERLAPS[0]
    found_rows, true_rows, overlap = found_rows[close], true_rows[close], overlap[close]
    # Nobody else wants what these want: nearly all of a good detector's.
    alone = (np.bincount(found_rows)[found_rows] == 1) & (np.bincount(true_rows)[true_rows] == 1)
    hits[found_rows[alone]] = overlap[alone, None] >= OVERLAPS
    taken[found_rows[alone]] = true_rows[alone]
    found_rows, true_rows, overlap = found_rows[~alone], true_rows[~alone], overlap[~alone]
    gone = np.zeros((len(truth), len(OVERLAPS)), bool)
    starts = np.flatnonzero(np.diff(found_rows, prepend=NONE))
    for first, last in pairwise([*starts, len(found_rows)]):
        wanted = true_rows[first:last]
        free = (overlap[first:last, None] >= OVERLAPS) & ~gone[wanted]
        # COCO takes the last of those that overlap equally.
        best = len(wanted) - 1 - np.where(free, overlap[first:last, None], -1.0)[::-1].argmax(axis=0)
        hit = free.any(axis=0)
        hits[found_rows[first]] = hit
        gone[wanted[best[hit]], np.flatnonzero(hit)] = True
        if hit[0]:
            taken[found_rows[first]] = wanted[best[0]]
    return hits, taken
