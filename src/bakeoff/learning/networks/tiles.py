"""`model.tiles`: a detector looks at overlapping parts of a large picture, so that small objects have enough pixels.

The idea is that of SAHI (arXiv:2202.06934). A picture of 720 x 960 pixels in tiles of 400 with an overlap of 0.2 makes
2 x 3 tiles, from the rows 0 and 320 and the columns 0, 280 and 560; with `whole` the picture is one tile more.
TensorFlow is not needed here: programs on a robot cut pictures by the same arithmetic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.foundation.errors import require, require_between

MOST_PARTS, LARGEST_TILE = 64, 65_536
PARTS_OF_OVERLAP = 1000  # of a tile's side: so fine is the overlap of a grid
ROUNDING = 1e-4  # a box on the edge of a tile may seem to reach beyond it by so much of its area


@dataclass(frozen=True)
class Tiles:
    size: int | None = None  # side of a tile, in pixels of the stored, upright picture
    grid: tuple[int, ...] = ()  # instead of a size: rows and columns of tiles
    overlap: float = 0.2  # share of a tile's side that the next one shows, too, at least
    whole: bool = True  # the whole picture is a tile, too
    max_overlap: float = 0.5  # detections of two tiles that overlap by more, where both see, are one object
    max_detections: int = 300  # of a picture
    min_seen: float = 0.5  # a true box of which a tile shows less is not asked for there
    object_share: float = 0.7  # of the crops in training that show an object, if the picture has one
    whole_share: float = 0.1  # of the examples in training that are the whole picture, if `whole`

    def __post_init__(self) -> None:
        is_one = (self.size is None) != (not self.grid)
        require(is_one, "size", self.size, "set, or grid instead of it; exactly one of both")
        if self.size is not None:
            require(16 <= self.size <= LARGEST_TILE, "size", self.size, f"between 16 and {LARGEST_TILE:,}")
        is_grid = len(self.grid) == 2 and all(1 <= parts <= MOST_PARTS for parts in self.grid)
        several = is_grid and self.grid != (1, 1)
        require(not self.grid or several, "grid", list(self.grid), f"rows and columns, up to {MOST_PARTS}, not both 1")
        require_between(
            self, overlap=(0, 0.8), max_detections=(1, 10_000), min_seen=(0, 1), object_share=(0, 1), whole_share=(0, 1)
        )
        require(0 < self.max_overlap < 1, "max_overlap", self.max_overlap, "above 0 and under 1")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Tiles":
        """Return those that a file tells of."""
        return cls(**{**settings, "grid": tuple(settings["grid"])})

    def divisor(self, axis: int) -> int:
        """Return how many thousandths of a tile's side cover an axis of a picture in a grid."""
        parts = self.grid[axis]
        return PARTS_OF_OVERLAP * parts - (parts - 1) * round(PARTS_OF_OVERLAP * self.overlap)

    def side(self, extent: int, axis: int) -> int:
        """Return pixels of a tile along an axis, 0 for rows, of a picture that has `extent` pixels there."""
        if self.size is not None:
            return min(self.size, extent)
        return min(extent, -(-PARTS_OF_OVERLAP * extent // self.divisor(axis)))

    def starts(self, extent: int, axis: int) -> list[int]:
        """Return where tiles begin along an axis: evenly apart, from one edge of the picture to the other."""
        side, parts = self.side(extent, axis), min(self.grid[axis], extent) if self.grid else 1
        if self.size is not None and extent > side:
            shared = min(side - 1, round(side * self.overlap))
            parts = -(-(extent - shared) // (side - shared))
        room, gaps = extent - side, parts - 1
        return [(2 * number * room + gaps) // (2 * gaps) for number in range(parts)] if gaps else [0]

    def windows(self, height: int, width: int) -> np.ndarray:
        """Return every look at a picture, (n, 4) top left bottom right in pixels, by rows; the whole comes last."""
        high, wide = self.side(height, 0), self.side(width, 1)
        corners = [(top, left) for top in self.starts(height, 0) for left in self.starts(width, 1)]
        views = [(top, left, top + high, left + wide) for top, left in corners]
        if self.whole and len(views) > 1:
            views.append((0, 0, height, width))
        return np.array(views, np.int64)

    def cut_truth(self, boxes: np.ndarray, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the true boxes (n, 4) that a window asks for, cut to it in its shares, and their rows.

        Boxes and window are shares of the picture. The rule is that of training: `min_seen`.
        """
        sides = np.tile(window[2:] - window[:2], 2)
        moved = (boxes - np.tile(window[:2], 2)) / sides
        inside = np.clip(moved, 0.0, 1.0)
        seen, whole = area(inside), area(moved)
        rows = np.flatnonzero((seen > 0) & (seen >= (self.min_seen - ROUNDING) * whole))
        return inside[rows].astype(np.float32), rows


def tiles_of(network: object) -> Tiles | None:
    """Return how a network cuts pictures; None for one that looks at whole ones."""
    return getattr(network, "tiles", None)


def area(boxes: np.ndarray) -> np.ndarray:
    return np.prod(np.maximum(boxes[..., 2:] - boxes[..., :2], 0.0), axis=-1)
