"""Anchor boxes of a detector.

One row per anchor, `[ymin, xmin, ymax, xmax]` as shares of the image, levels from fine to coarse, cells in
reading order, shapes of a cell last: the order in which the heads' outputs are laid out.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.foundation.errors import require, require_at_most

MOST_SCALE, MOST_RATIOS, FLATTEST = 100, 32, 100.0
Level = tuple[np.ndarray, list[tuple[float, float]]]  # of cells: their centres on a side; of their boxes: height, width


@dataclass(frozen=True)
class Anchors:
    """On each level boxes of `scale` times the level's stride, in every octave step and aspect ratio."""

    scale: float = 4.0
    octave_steps: int = 1
    aspect_ratios: tuple[float, ...] = (0.5, 1.0)  # width / height

    def __post_init__(self) -> None:
        require(self.scale > 0, "scale", self.scale, "above 0")
        require_at_most(self, scale=MOST_SCALE)
        require(1 <= self.octave_steps <= 8, "octave_steps", self.octave_steps, "between 1 and 8")
        _require_ratios(self.aspect_ratios)

    @property
    def per_cell(self) -> int:
        return self.octave_steps * len(self.aspect_ratios)

    def levels(self, input_size: int, strides: tuple[int, ...]) -> list[Level]:
        """Return the anchors of a square input, level by level."""
        levels = []
        for stride in strides:
            centres = (np.arange(math.ceil(input_size / stride)) + 0.5) * stride / input_size
            octave = [2 ** (step / self.octave_steps) for step in range(self.octave_steps)]
            sides = [self.scale * stride / input_size * size for size in octave]
            levels.append((centres, [_shape(side, ratio) for side in sides for ratio in self.aspect_ratios]))
        return levels

    def boxes(self, input_size: int, strides: tuple[int, ...]) -> np.ndarray:
        return _grid(self.levels(input_size, strides))


@dataclass(frozen=True)
class MultiboxAnchors:
    """Boxes whose scale, a share of the image, grows from map to map: `ssd_anchor_generator`.

    A map of scale s has one box of s for each aspect ratio and one more between s and the next map's scale.
    """

    min_scale: float = 0.2
    max_scale: float = 0.95
    aspect_ratios: tuple[float, ...] = (1.0, 2.0, 0.5, 3.0, 0.3333)  # width / height
    interpolated_scale_aspect_ratio: float = 1.0  # of the box between two scales; 0: there is none
    reduce_boxes_in_lowest_layer: bool = True  # to three: a square of 0.1, and ratios 2 and 0.5 of the map's scale

    def __post_init__(self) -> None:
        require(0 < self.min_scale <= 1, "min_scale", self.min_scale, "above 0, at most 1")
        rule = f"between min_scale ({self.min_scale:g}) and 1"
        require(self.min_scale <= self.max_scale <= 1, "max_scale", self.max_scale, rule)
        between = self.interpolated_scale_aspect_ratio
        require(between >= 0, "interpolated_scale_aspect_ratio", between, "0 or more")
        require_at_most(self, interpolated_scale_aspect_ratio=100)
        _require_ratios(self.aspect_ratios)

    def shapes(self, num_maps: int) -> list[list[tuple[float, float]]]:
        """Return for each map the boxes of a cell, height and width as shares of the image."""
        scales = [*np.linspace(self.min_scale, self.max_scale, num_maps), 1.0]
        shapes = []
        for number, (scale, following) in enumerate(itertools.pairwise(scales)):
            if number == 0 and self.reduce_boxes_in_lowest_layer:
                specs = [(0.1, 1.0), (scale, 2.0), (scale, 0.5)]
            else:
                specs = [(scale, ratio) for ratio in self.aspect_ratios]
                if self.interpolated_scale_aspect_ratio:
                    specs.append((math.sqrt(scale * following), self.interpolated_scale_aspect_ratio))
            shapes.append([_shape(side, ratio) for side, ratio in specs])
        return shapes

    def per_cell(self, num_maps: int) -> list[int]:
        return [len(shapes) for shapes in self.shapes(num_maps)]

    def levels(self, input_size: int, strides: tuple[int, ...]) -> list[Level]:
        """Return the anchors of a square input, map by map. The cells of a map share the image evenly."""
        cells = [math.ceil(input_size / stride) for stride in strides]
        shapes = self.shapes(len(strides))
        return [((np.arange(number) + 0.5) / number, own) for number, own in zip(cells, shapes, strict=True)]

    def boxes(self, input_size: int, strides: tuple[int, ...]) -> np.ndarray:
        return _grid(self.levels(input_size, strides))


@dataclass(frozen=True)
class PyramidAnchors:
    """Boxes of `scale` times a level's stride, every size of an octave for each ratio: `multiscale_anchor_generator`.

    Unlike `Anchors` they are in order of ratio, then size, and a level whose stride does not divide the input has its
    first centre in the corner of the image, as the Object Detection API has them.
    """

    scale: float = 4.0
    aspect_ratios: tuple[float, ...] = (1.0, 2.0, 0.5)  # width / height
    scales_per_octave: int = 2

    def __post_init__(self) -> None:
        require(self.scale > 0, "scale", self.scale, "above 0")
        require_at_most(self, scale=MOST_SCALE)
        require(1 <= self.scales_per_octave <= 8, "scales_per_octave", self.scales_per_octave, "between 1 and 8")
        _require_ratios(self.aspect_ratios)

    @property
    def per_cell(self) -> int:
        return len(self.aspect_ratios) * self.scales_per_octave

    def levels(self, input_size: int, strides: tuple[int, ...]) -> list[Level]:
        """Return the anchors of a square input, level by level."""
        octave = [2 ** (step / self.scales_per_octave) for step in range(self.scales_per_octave)]
        levels = []
        for stride in strides:
            first = stride / 2 if input_size % stride == 0 else 0.0
            centres = (first + np.arange(math.ceil(input_size / stride)) * stride) / input_size
            side = self.scale * stride / input_size
            shapes = [_shape(side * size, ratio) for ratio in self.aspect_ratios for size in octave]
            levels.append((centres, shapes))
        return levels

    def boxes(self, input_size: int, strides: tuple[int, ...]) -> np.ndarray:
        return _grid(self.levels(input_size, strides))


def _require_ratios(ratios: tuple[float, ...]) -> None:
    positive = bool(ratios) and all(ratio > 0 for ratio in ratios)
    require(positive, "aspect_ratios", list(ratios), "a list of numbers above 0")
    fits = len(ratios) <= MOST_RATIOS and 1 / FLATTEST <= min(ratios) <= max(ratios) <= FLATTEST
    require(
        fits, "aspect_ratios", list(ratios), f"at most {MOST_RATIOS} numbers between {1 / FLATTEST:g} and {FLATTEST:g}"
    )


def _shape(side: float, ratio: float) -> tuple[float, float]:
    """Return height and width of a box with the area of a square of `side`."""
    return side / math.sqrt(ratio), side * math.sqrt(ratio)


def _grid(levels: Sequence[Level]) -> np.ndarray:
    """Return all boxes of all levels, the shapes of a cell together: (n, 4)."""
    boxes = []
    for centres, shapes in levels:
        centre = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1)[
            :, :, None
        ]  # (rows, columns, 1, 2) y, x
        half = np.array(shapes) / 2
        boxes.append(np.concatenate([centre - half, centre + half], axis=-1).reshape(-1, 4))
    return np.concatenate(boxes).astype(np.float32)
