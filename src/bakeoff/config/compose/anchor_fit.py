"""How well a detector's anchors fit the boxes of the records, and which scales and aspect ratios fit them better.

`advise(model, boxes)` returns one sentence with the keys to set, or None if enough boxes fit or there are no anchors.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bakeoff.learning.networks.anchors import FLATTEST, Anchors, Level, MultiboxAnchors, PyramidAnchors

AnyAnchors = Anchors | MultiboxAnchors | PyramidAnchors
FITTING_OVERLAP = 0.5
MOST_UNFIT = 0.1  # share of boxes
MOST_BOXES = 1000  # looked at; more say the same
MOST_RATIOS, MOST_SIZES, ROUNDS = 5, 3, 20  # of what is tried
SCALES = [float(f"{scale:.2g}") for scale in np.geomspace(0.5, 16, 21)]
SMALL, LARGE = (0.0, 0.1, 0.25), (0.75, 0.9, 1.0)  # quantiles of the boxes' sides, for the scales of the outer maps


@runtime_checkable
class StridedDetector(Protocol):
    """A detector with anchors on maps of these strides; a detector of one's own need not state them."""

    input_size: int
    anchors: Any

    @property
    def strides(self) -> tuple[int, ...]: ...


def advise(model: object, boxes: np.ndarray) -> str | None:
    if not isinstance(model, StridedDetector) or not isinstance(model.anchors, AnyAnchors):
        return None
    anchors, input_size, strides = model.anchors, model.input_size, model.strides
    if len(boxes) > MOST_BOXES:
        boxes = boxes[np.linspace(0, len(boxes) - 1, MOST_BOXES).astype(int)]
    return _advise(anchors, input_size, strides, np.ascontiguousarray(boxes, np.float64).tobytes())


@lru_cache(maxsize=32)
def _advise(anchors: AnyAnchors, input_size: int, strides: tuple[int, ...], content: bytes) -> str | None:
    """Advise by the bytes of the boxes: the points of a sweep mostly share them, and their anchors."""
    boxes = np.frombuffer(content).reshape(-1, 4)
    levels = anchors.levels(input_size, strides)
    nearest = [find_nearest(centres, boxes) for centres, _ in levels]

    def measure(some: AnyAnchors) -> float:
        best = best_overlaps(some.levels(input_size, strides), nearest, boxes)
        return float(np.mean(best < FITTING_OVERLAP)) if len(best) else 0.0

    unfit = measure(anchors)
    if unfit <= MOST_UNFIT:
        return None
    wrong = f"{unfit:.0%} of the training boxes overlap no anchor by {FITTING_OVERLAP}"
    better, share = find_better(anchors, boxes, unfit, measure)
    values = {field.name: getattr(better, field.name) for field in dataclasses.fields(better)}
    keys = [f"{key}: {json.dumps(value)}" for key, value in values.items() if value != getattr(anchors, key)]
    if not keys:
        return f"{wrong}; no other scales and ratios that were tried fit more of them"
    return f"{wrong}; with model.anchors: {{{', '.join(keys)}}} it is {share:.0%}"


def find_nearest(centres: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the centre, y and x, of the cell that is nearest to each box, (n, 2): there an anchor fits it best."""
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    return centres[np.abs(middles[..., None] - centres).argmin(axis=-1)]


def best_overlaps(levels: Sequence[Level], nearest: Sequence[np.ndarray], boxes: np.ndarray) -> np.ndarray:
    """Return for each box the intersection over union with the anchor that fits it best, (n,)."""
    best, areas = np.zeros(len(boxes)), np.prod(boxes[:, 2:] - boxes[:, :2], axis=-1)
    for (_, shapes), middles in zip(levels, nearest, strict=True):
        for shape in shapes:
            half = np.array(shape) / 2
            both = np.minimum(boxes[:, 2:], middles + half) - np.maximum(boxes[:, :2], middles - half)
            shared = np.prod(np.maximum(both, 0), axis=-1)
            best = np.maximum(best, shared / (areas + np.prod(shape) - shared))
    return best


def find_better(anchors: AnyAnchors, boxes: np.ndarray, unfit: float, measure: Any) -> tuple[AnyAnchors, float]:
    """Return the anchors that leave the fewest boxes without one, and that share; of those that do, the fewest anchors.

    More anchors are tried only as long as too many boxes have none.
    """
    best, least = anchors, unfit
    tried = sorted(_vary(anchors, boxes), key=lambda pair: pair[0])
    for _, group in itertools.groupby(tried, key=lambda pair: pair[0]):
        for _, candidate in group:
            if (share := measure(candidate)) < least:
                best, least = candidate, share
        if least <= MOST_UNFIT:
            break
    return best, least


def _vary(anchors: AnyAnchors, boxes: np.ndarray) -> Iterator[tuple[int, AnyAnchors]]:
    """Yield other anchors of the same kind, each with how many of them a cell has."""
    sizes = boxes[:, 2:] - boxes[:, :2]
    sizes = sizes[(sizes > 0).all(axis=1)]
    for number in range(1, MOST_RATIOS + 1) if len(sizes) else ():
        ratios = {"aspect_ratios": cluster_ratios(sizes[:, 1] / sizes[:, 0], number)}
        if isinstance(anchors, MultiboxAnchors):
            sides = np.sqrt(np.prod(sizes, axis=1)).clip(0.01, 1)
            for low, high in itertools.product(np.quantile(sides, SMALL), np.quantile(sides, LARGE)):
                scales = {"min_scale": _round(low), "max_scale": max(_round(low), _round(high))}
                some: Any = {**scales, **ratios, "reduce_boxes_in_lowest_layer": False}
                yield number, dataclasses.replace(anchors, **some)
            continue
        steps = "octave_steps" if isinstance(anchors, Anchors) else "scales_per_octave"
        for octave, scale in itertools.product(range(1, MOST_SIZES + 1), SCALES):
            some = {"scale": scale, steps: octave, **ratios}
            yield number * octave, dataclasses.replace(anchors, **some)


def cluster_ratios(ratios: np.ndarray, number: int) -> tuple[float, ...]:
    """Return the centres of so many clusters of aspect ratios, by k-means on overlap, as YOLO has it.

    Of two boxes of one area and one centre the overlap falls with the distance of the logarithms of their ratios.
    """
    given = np.log(ratios.clip(1 / FLATTEST, FLATTEST))
    centres = np.quantile(given, (np.arange(number) + 0.5) / number)
    for _ in range(ROUNDS):
        nearest = np.abs(given[:, None] - centres).argmin(axis=1)
        centres = np.array([np.mean(given[nearest == own]) for own in np.unique(nearest)])
    return tuple(sorted({_round(ratio) for ratio in np.exp(centres)}))


def _round(number: float) -> float:
    return float(f"{number:.2g}")
