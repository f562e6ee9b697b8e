"""Detections in each tile of a picture -> what is in the picture: an object that several tiles show comes once.

Detections of different tiles and the same class are the same object if one of these holds:

- Cut to the part of the picture that both tiles show, they overlap by more than `max_overlap`.
- One is cut off by an inner edge of its tile, and more than `max_overlap` of it lies in the other.

Groups form around the surest detection, where one that is cut off counts half its score. So a whole box stands for an
object rather than its parts, and its score is the highest of those that agree with it where both see it. If all are cut
off, the box around them stands for the object: so one that is larger than a tile is put together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.learning.networks.tiles import Tiles, area

Predictions = dict[str, np.ndarray]
NEAR_EDGE = 0.02  # of a tile's side: a box that ends so near to an inner edge counts as cut off
SEVERAL = -1  # stands for the tile of a box that was merged from several tiles


def answer_tiles(pixels: np.ndarray, tiles: Tiles, answer: Callable[[np.ndarray], Predictions]) -> Predictions:
    """Return what is in a picture (h, w, 3); `answer` is asked about each tile, in shares of it."""
    windows = tiles.windows(*pixels.shape[:2])
    predictions = [answer(pixels[top:bottom, left:right]) for top, left, bottom, right in windows]
    return merge_tiles(predictions, windows, tiles)


def merge_tiles(predictions: Sequence[Mapping[str, np.ndarray]], windows: np.ndarray, tiles: Tiles) -> Predictions:
    """Return boxes in shares of the picture, scores and classes, best first; `windows` are in pixels."""
    extent = np.tile(windows[:, 2:].max(axis=0), 2)
    shares = windows / extent
    counts = [len(one["scores"]) for one in predictions]
    view_numbers = np.repeat(np.arange(len(predictions)), counts)
    inner = np.concatenate([np.asarray(one["boxes"], np.float64).reshape(-1, 4) for one in predictions])
    scores, classes = (np.concatenate([np.asarray(one[name]) for one in predictions]) for name in ("scores", "classes"))
    if len(windows) == 1:
        boxes, kept = inner, np.arange(len(inner))[: tiles.max_detections]
    else:
        windows_of = shares[view_numbers]
        low, sides = windows_of[:, :2], windows_of[:, 2:] - windows_of[:, :2]
        boxes = inner * np.tile(sides, 2) + np.tile(low, 2)
        ends = np.concatenate([inner[:, :2] <= NEAR_EDGE, inner[:, 2:] >= 1 - NEAR_EDGE], axis=1)
        is_inner = np.concatenate([low > 0, windows_of[:, 2:] < 1], axis=1)
        candidates = _Candidates(boxes, scores, classes, view_numbers, windows_of, (ends & is_inner).any(axis=1))
        boxes, scores, kept = candidates.group(tiles)
    order = kept[np.argsort(-scores[kept], kind="stable")]
    return {
        "boxes": np.clip(boxes[order], 0.0, 1.0).astype(np.float32),
        "scores": scores[order],
        "classes": classes[order],
    }


@dataclass(frozen=True)
class _Candidates:
    boxes: np.ndarray  # (n, 4) in shares of the picture
    scores: np.ndarray
    classes: np.ndarray
    view_numbers: np.ndarray
    windows: np.ndarray  # (n, 4) of the tile of each
    is_cut: np.ndarray

    def group(self, tiles: Tiles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return boxes and scores of all, those that stand for a group changed, and which these are."""
        boxes, scores, is_left = self.boxes.copy(), self.scores.copy(), np.ones(len(self.boxes), bool)
        kept: list[int] = []
        stands_for = self.view_numbers.copy()
        for seed in np.argsort(-self.scores * np.where(self.is_cut, 0.5, 1.0), kind="stable"):
            if not is_left[seed]:
                continue
            if len(kept) == tiles.max_detections:
                break
            is_left[seed] = False
            agreeing = self._gather(int(seed), is_left, tiles.max_overlap)
            scores[seed] = self.scores[agreeing].max()
            parts = agreeing[self.is_cut[agreeing]]
            if self.is_cut[seed] and len(parts) > 1:
                corners = self.boxes[parts]
                boxes[seed] = np.concatenate([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])
                stands_for[seed] = SEVERAL
            others = np.array(kept, np.int64)
            others = others[(self.classes[others] == self.classes[seed])]
            different = (stands_for[others] != stands_for[seed]) | (stands_for[seed] == SEVERAL)
            if not (box_overlaps(boxes[seed], boxes[others[different]]) > tiles.max_overlap).any():
                kept.append(int(seed))
        return boxes, scores, np.array(kept, np.int64)

    def _gather(self, seed: int, is_left: np.ndarray, most: float) -> np.ndarray:
        """Take what is the same object out of `is_left`; return the seed and those that agree with it.

        What agrees with a part that is cut off is gathered, too, while it is cut off itself: an object may reach over
        many tiles.
        """
        agreeing, waiting = [seed], [seed]
        while waiting:
            one = waiting.pop(0)
            rows = np.flatnonzero(
                is_left & (self.classes == self.classes[one]) & (self.view_numbers != self.view_numbers[one])
            )
            low = np.maximum(self.windows[one, :2], self.windows[rows, :2])
            common = np.concatenate([low, np.minimum(self.windows[one, 2:], self.windows[rows, 2:])], axis=1)
            agrees = box_overlaps(_cut(self.boxes[one], common), _cut(self.boxes[rows], common)) > most
            lies_in = self.is_cut[rows] & (_shared(self.boxes[one], self.boxes[rows]) > most * area(self.boxes[rows]))
            is_left[rows[agrees | lies_in]] = False
            joined = rows[agrees]
            agreeing += joined.tolist()
            waiting += joined[self.is_cut[joined] & self.is_cut[one]].tolist()
        return np.array(agreeing, np.int64)


def _cut(boxes: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Return boxes cut to windows; one that lies beside its window has no area."""
    low, high = np.tile(to[..., :2], 2), np.tile(to[..., 2:], 2)
    return np.minimum(np.maximum(boxes, low), high)


def _shared(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the area that one box, or each of some, has in common with each of the others."""
    low, high = np.maximum(boxes[..., :2], others[..., :2]), np.minimum(boxes[..., 2:], others[..., 2:])
    return area(np.concatenate([low, high], axis=-1))


def box_overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersection over union of one box, or each of some, with each of the others."""
    both = _shared(boxes, others)
    union = area(boxes) + area(others) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)
