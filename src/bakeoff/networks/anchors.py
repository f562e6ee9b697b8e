"""Anchor boxes of a detector, and the coding of boxes against them.

One row per anchor, `[ymin, xmin, ymax, xmax]` as shares of the image, levels from fine to coarse, cells in
reading order, shapes of a cell last: the order in which the heads' outputs are laid out.
"""

import math
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import require

BOX_SCALES = (10.0, 10.0, 5.0, 5.0)  # how much finer centres (y, x) and sizes (h, w) are coded than shares of an anchor


@dataclass(frozen=True)
class Anchors:
    """On each level boxes of `scale` times the level's stride, in every octave step and aspect ratio."""

    scale: float = 4.0
    octave_steps: int = 1
    aspect_ratios: tuple[float, ...] = (0.5, 1.0)  # width / height

    def __post_init__(self) -> None:
        require(self.scale > 0, "scale", self.scale, "above 0")
        require(1 <= self.octave_steps <= 8, "octave_steps", self.octave_steps, "between 1 and 8")
        positive = bool(self.aspect_ratios) and all(ratio > 0 for ratio in self.aspect_ratios)
        require(positive, "aspect_ratios", list(self.aspect_ratios), "a list of numbers above 0")

    @property
    def per_cell(self) -> int:
        return self.octave_steps * len(self.aspect_ratios)

    def boxes(self, input_size: int, strides: tuple[int, ...]) -> np.ndarray:
        """All anchors of a square input, (anchors, 4)."""
        return np.concatenate([self._level(input_size, stride) for stride in strides]).astype(np.float32)

    def _level(self, input_size: int, stride: int) -> np.ndarray:
        cells = math.ceil(input_size / stride)
        centres = (np.arange(cells) + 0.5) * stride / input_size
        y, x = np.meshgrid(centres, centres, indexing="ij")
        shapes = []
        for step in range(self.octave_steps):
            side = self.scale * stride / input_size * 2 ** (step / self.octave_steps)
            shapes += [(side / math.sqrt(ratio), side * math.sqrt(ratio)) for ratio in self.aspect_ratios]
        half = np.array(shapes) / 2  # (shapes, 2) height, width
        low = np.stack([y, x], axis=-1)[:, :, None] - half  # (cells, cells, shapes, 2)
        high = np.stack([y, x], axis=-1)[:, :, None] + half
        return np.concatenate([low, high], axis=-1).reshape(-1, 4)
