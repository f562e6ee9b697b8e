"""An image or a clip of any size -> what a network is shown of it, in NumPy: where no TensorFlow is installed.

The pixels are those of `fit` in input/augment_and_resize.py, to a hundredth of a grey level. That one is a graph,
which cuts and decodes at once.
"""

from dataclasses import dataclass

import numpy as np

from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import GREY, LETTERBOX, shown_sides
from bakeoff.learning.networks.network import Sampling

NEARLY = 1e-3  # pixels; a window that ends so near to the edge of a pixel ends there
MILD = 1.25  # where no side shrinks by more, smooth is bilinear
LEGACY = "legacy_bilinear"


def fit(image: np.ndarray, view: View) -> np.ndarray:
    """Return float32 pixels (size, size, 3) of an image (h, w, 3), or (frames, size, size, 3) of a clip."""
    frames = choose_frames(image, view) if image.ndim == 4 else image[None]
    shown = np.stack([_resize(frame, view) for frame in frames])
    if image.ndim == 3:
        return shown[0]
    black = are_black(view.sampling, view.frames, len(image))
    shown[black] = 0
    return shown


def choose_frames(clip: np.ndarray, view: View) -> np.ndarray:
    """Return the frames of a clip that a network is shown outside training."""
    numbers, available = _numbers(view.sampling, view.frames, len(clip)), len(clip)
    is_loop = view.sampling.cover == "part" and view.sampling.short == "loop"
    return clip[numbers % available if is_loop else np.minimum(numbers, available - 1)]


def are_black(sampling: Sampling, wanted: int, available: int) -> np.ndarray:
    """Return which of the frames lie behind the end of the clip and are to be black."""
    if sampling.cover == "whole" or sampling.short != "zeros":
        return np.zeros(wanted, bool)
    return _numbers(sampling, wanted, available) >= available


def _numbers(sampling: Sampling, wanted: int, available: int) -> np.ndarray:
    """Return which frames are wanted, also behind the end of the clip."""
    if sampling.cover == "whole":  # a shorter clip shows some twice
        return np.round(np.linspace(0, available - 1, wanted, dtype=np.float32)).astype(int)
    room = max(available - (wanted - 1) * sampling.stride - 1, 0)
    return room // 2 + sampling.stride * np.arange(wanted)


def _resize(frame: np.ndarray, view: View) -> np.ndarray:
    sides, counts, is_square = frame.shape[:2], (view.size, view.size), view.fit == LETTERBOX
    if is_square:
        counts = shown_sides(sides[0], sides[1], view.size)
    is_whole = view.central_crop == 1 and not is_square
    is_legacy = view.resizing == LEGACY
    widens = view.resizing == "smooth" and not (is_whole and max(sides) <= int(view.size * MILD))
    for axis, side in enumerate(sides):
        margin, extent = np.float32((1 - view.central_crop) / 2), np.float32(side)  # as the graph rounds them
        low, high = float(margin * extent), float((np.float32(1) - margin) * extent)
        first = int(np.clip(np.floor(low + NEARLY), 0, side - 1))
        end = int(np.clip(np.ceil(high - NEARLY), first + 1, side))
        taps = _taps(end - first, counts[axis], (low - first, high - first), widens=widens, is_legacy=is_legacy)
        frame = taps.apply(frame, axis, first)
    if not is_square:
        return frame
    square = np.full((view.size, view.size, 3), GREY, np.float32)
    top, left = ((view.size - count) // 2 for count in counts)
    square[top : top + counts[0], left : left + counts[1]] = frame
    return square


@dataclass(frozen=True)
class Taps:
    """How the pixels of a resized side are made: `weights` (pixels, taps) of neighbours, the first at `starts`."""

    starts: np.ndarray
    weights: np.ndarray

    def apply(self, pixels: np.ndarray, axis: int, offset: int) -> np.ndarray:
        """Resize one axis, a neighbour after another: so it takes as long as there are pixels, and little memory."""
        last = pixels.shape[axis] - 1
        broad = (slice(None), None, None) if axis == 0 else (None, slice(None), None)
        total: np.ndarray | float = 0.0
        for tap, weights in enumerate(self.weights.T):
            chosen = np.take(pixels, np.minimum(self.starts + tap + offset, last), axis=axis)
            total = total + chosen * weights[broad]
        return np.asarray(total, np.float32)


def _taps(side: int, size: int, window: tuple[float, float], *, widens: bool, is_legacy: bool) -> Taps:
    """Return the taps of a triangle that is as wide as a pixel of the result where that is larger, and `widens`."""
    low, high = window
    step = (high - low) / size
    places = np.arange(size) * step + low if is_legacy else (np.arange(size) + 0.5) * step + low - 0.5
    radius = max(step, 1.0) if widens else 1.0
    starts = np.clip(np.ceil(places - radius), 0, side - 1).astype(int)
    ends = np.clip(np.floor(places + radius), 0, side - 1).astype(int)
    neighbours = starts[:, None] + np.arange(int((ends - starts).max()) + 1)
    weights = np.maximum(1 - np.abs(neighbours - places[:, None]) / radius, 0) * (neighbours < side)
    return Taps(starts, (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))
