"""The boxes of one picture before and after -> what became of each: moved, resized, split, joined, of another class."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bakeoff.dataset.records.record import SIDES, Box
from bakeoff.experiments.data_diff.data_change import ChangeKind

PIXELS, RESIZED = 0.75, 1.5  # by which corners may differ that are written again; of a picture of another size
SAME = 0.3  # overlap from which two boxes may be one that was changed
CLASSED = 0.5  # overlap from which it may have another class besides
INSIDE = 0.8  # share of a part that lies in the whole
WHOLE = 0.6  # share of the whole that its parts cover together
Shape = tuple[int, int]  # height and width of a picture, in pixels


@dataclass(frozen=True)
class ChangedBoxes:
    kind: ChangeKind
    before: tuple[Box, ...]
    after: tuple[Box, ...]


class BoxGrid:
    """What every box before is to every box after, in arrays (before, after)."""

    def __init__(self, old: Sequence[Box], new: Sequence[Box], slack: np.ndarray) -> None:
        self._old, self._new = (_collect_corners(boxes)[axis] for boxes, axis in ((old, np.s_[:, None]), (new, None)))
        self._labels = ([box.label for box in boxes] for boxes in (old, new))
        self._slack = slack

    @cached_property
    def is_same_class(self) -> np.ndarray:
        old, new = (np.array(labels, object) for labels in self._labels)
        return np.asarray(old[:, None] == new[None], bool)

    @cached_property
    def distance(self) -> np.ndarray:
        """How far the farthest corner is off; at most 1 is none."""
        return np.asarray((np.abs(self._old - self._new) / self._slack).max(axis=-1))

    @cached_property
    def has_same_size(self) -> np.ndarray:
        old, new = (corners[..., 2:] - corners[..., :2] for corners in (self._old, self._new))
        return np.asarray((np.abs(old - new) <= self._slack[:2]).all(axis=-1))

    @cached_property
    def shared(self) -> np.ndarray:
        """The area that both cover."""
        low, high = np.maximum(self._old, self._new)[..., :2], np.minimum(self._old, self._new)[..., 2:]
        return np.asarray(np.maximum(high - low, 0).prod(axis=-1))

    @cached_property
    def areas(self) -> tuple[np.ndarray, np.ndarray]:
        old, new = ((corners[..., 2:] - corners[..., :2]).prod(axis=-1) for corners in (self._old, self._new))
        return old, new

    @cached_property
    def overlap(self) -> np.ndarray:
        old, new = self.areas
        return np.asarray(self.shared / np.maximum(old + new - self.shared, 1e-12))


Fit = Callable[[BoxGrid], tuple[np.ndarray, np.ndarray]]  # whether both may be one box, and how well they fit


def compare_boxes(before: Sequence[Box], after: Sequence[Box], shapes: tuple[Shape, Shape]) -> Iterator[ChangedBoxes]:
    """Yield what changed. Classes of `before` are called as those of `after`, where they were renamed."""
    if before == after:
        return
    slack = np.tile((PIXELS if shapes[0] == shapes[1] else RESIZED) / np.min(shapes, axis=0), 2)
    old, new = list(before), list(after)

    def pair_off(fit: Fit) -> list[tuple[Box, Box]]:
        return _pair_off(old, new, slack, fit)

    pair_off(lambda grid: (grid.is_same_class & (grid.distance <= 1), -grid.distance))
    for pair in pair_off(lambda grid: (grid.distance <= 1, -grid.distance)):
        yield _describe(ChangeKind.BOX_RECLASSED, pair)
    yield from _find_parted(old, new, slack)
    for one, other in pair_off(lambda grid: (grid.is_same_class & (grid.overlap >= SAME), grid.overlap)):
        is_moved = BoxGrid([one], [other], slack).has_same_size.all()
        yield _describe(ChangeKind.BOX_MOVED if is_moved else ChangeKind.BOX_RESIZED, (one, other))
    for pair in pair_off(lambda grid: (grid.overlap >= CLASSED, grid.overlap)):
        yield _describe(ChangeKind.BOX_RECLASSED, pair)
    # What has the same class and size elsewhere was moved there.
    for pair in pair_off(lambda grid: (grid.is_same_class & grid.has_same_size, -grid.distance)):
        yield _describe(ChangeKind.BOX_MOVED, pair)
    yield from (ChangedBoxes(ChangeKind.BOX_WENT, (one,), ()) for one in old)
    yield from (ChangedBoxes(ChangeKind.BOX_CAME, (), (one,)) for one in new)


def _describe(kind: ChangeKind, pair: tuple[Box, Box]) -> ChangedBoxes:
    return ChangedBoxes(kind, pair[:1], pair[1:])


def _pair_off(old: list[Box], new: list[Box], slack: np.ndarray, fit: Fit) -> list[tuple[Box, Box]]:
    """Take the pairs that may be one box out of both lists, those that fit best first."""
    if not old or not new:
        return []
    may_be, how_well = fit(BoxGrid(old, new, slack))
    rows, columns = np.nonzero(may_be)
    taken: dict[int, int] = {}
    for place in np.argsort(-how_well[rows, columns], kind="stable"):
        row, column = int(rows[place]), int(columns[place])
        if row not in taken and column not in taken.values():
            taken[row] = column
    pairs = [(old[row], new[column]) for row, column in sorted(taken.items())]
    old[:] = [one for row, one in enumerate(old) if row not in taken]
    new[:] = [one for column, one in enumerate(new) if column not in taken.values()]
    return pairs


def _find_parted(old: list[Box], new: list[Box], slack: np.ndarray) -> Iterator[ChangedBoxes]:
    """Yield boxes of which several were made, and boxes that were made of several, and take them out of both lists."""
    for kind, wholes, parts in ((ChangeKind.BOX_SPLIT, old, new), (ChangeKind.BOXES_JOINED, new, old)):
        for whole in list(wholes):
            grid = BoxGrid([whole], parts, slack)
            [[area], [areas]], [shared] = grid.areas, grid.shared
            is_inside = grid.is_same_class[0] & (shared >= INSIDE * areas)
            if is_inside.sum() > 1 and shared[is_inside].sum() >= WHOLE * area:
                inside = tuple(one for one, is_part in zip(parts, is_inside, strict=True) if is_part)
                wholes.remove(whole)
                parts[:] = [one for one in parts if one not in inside]
                yield ChangedBoxes(kind, *(((whole,), inside) if kind is ChangeKind.BOX_SPLIT else (inside, (whole,))))


def _collect_corners(boxes: Sequence[Box]) -> np.ndarray:
    return np.array([[getattr(box, side) for side in SIDES] for box in boxes], np.float64).reshape(-1, 4)
