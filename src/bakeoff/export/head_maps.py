"""What a detector's heads answer, as maps, and how boxes and scores become of them; nothing here needs TensorFlow.

A file of the layout `heads` ends at the last convolutions of its network. For each level it has two maps: `boxes_0`
(1, c, h, w) and `classes_0` (1, c, h, w), both as the convolution gives them. What is behind them is in its metadata,
and in postprocess.json of a device's files:

{"scores": "sigmoid", "has_background": false, "x_first": false, "box_scales": [], "levels": [{"boxes": "boxes_0",
 "classes": "classes_0", "objects": "", "stride": 8, "rows": [0.0125, ...], "columns": [..], "sizes": []}, ...]}

Without `sizes`, a point answers how far the sides of its box are away in strides: left, up, right and down, each as a
distribution over 0, 1, 2 and so on. With them, each (height, width) is an anchor at each place, and a box is a code of
it: y, x, height and width, divided by `box_scales`; if `x_first`, x, y, width and height. Where a level has a map
`objects` (1, 1, h, w), its score is whether there is an object at all, and those of the classes are times it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

HEADS: Literal["heads"] = "heads"  # the layout, and the key of a file's metadata
MOST_LOGARITHM = 10.0  # of a box's growth, as in networks/boxes.py


@dataclass(frozen=True)
class HeadLevel:
    boxes: str  # the name of the map
    classes: str
    stride: float  # pixels of the input from one place to the next
    rows: tuple[float, ...]  # places of the middles, as shares of the input
    columns: tuple[float, ...]
    sizes: tuple[tuple[float, float], ...] = ()  # height and width of each anchor; nothing: there are none
    objects: str = ""  # the name of a map; nothing: there is none


@dataclass(frozen=True)
class Heads:
    scores: Literal["sigmoid", "softmax"]
    has_background: bool  # the first class of each anchor
    box_scales: tuple[float, ...]
    levels: tuple[HeadLevel, ...]
    x_first: bool = False

    @property
    def names(self) -> list[str]:
        """Return the outputs' names in order."""
        return [name for level in self.levels for name in (level.boxes, level.objects, level.classes) if name]

    def as_tree(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> "Heads":
        """Return what a file tells of its heads. Raises KeyError, TypeError or ValueError if that is none."""
        levels = tuple(
            HeadLevel(
                str(level["boxes"]), str(level["classes"]), float(level["stride"]), _numbers(level["rows"]),
                _numbers(level["columns"]), tuple((float(height), float(width)) for height, width in level["sizes"]),
                str(level.get("objects", "")),
            )
            for level in tree["levels"]
        )  # fmt: skip
        if not levels or tree["scores"] not in ("sigmoid", "softmax"):
            raise ValueError("it must have levels, and scores of sigmoid or softmax")
        is_turned = bool(tree.get("x_first", False))
        return cls(tree["scores"], bool(tree["has_background"]), _numbers(tree["box_scales"]), levels, is_turned)

    def candidates(self, maps: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return boxes (a, 4), ymin xmin ymax xmax in shares of the input, and scores (a, k), from maps (c, h, w)."""
        boxes = [self._boxes_of(level, maps[level.boxes]) for level in self.levels]
        scores = [self._scores_of(level, maps) for level in self.levels]
        return np.concatenate(boxes), np.concatenate(scores)

    def _boxes_of(self, level: HeadLevel, answers: np.ndarray) -> np.ndarray:
        y, x = np.meshgrid(_array(level.rows), _array(level.columns), indexing="ij")
        if not level.sizes:
            return _from_distances(level, answers, y, x)
        codes = _by_anchor(answers, len(level.sizes)) / _array(self.box_scales)
        codes = codes[..., [1, 0, 3, 2]] if self.x_first else codes
        sizes = _array(level.sizes)  # (anchors, 2)
        middle = codes[..., :2] * sizes + np.stack([y, x], axis=-1)[:, :, None]
        half = np.exp(np.minimum(codes[..., 2:], MOST_LOGARITHM)) * sizes / 2
        return np.concatenate([middle - half, middle + half], axis=-1).reshape(-1, 4)

    def _scores_of(self, level: HeadLevel, maps: Mapping[str, np.ndarray]) -> np.ndarray:
        logits = _by_anchor(maps[level.classes], max(len(level.sizes), 1))
        scores = _softmax(logits) if self.scores == "softmax" else _sigmoid(logits)
        if level.objects:
            scores = scores * _sigmoid(_by_anchor(maps[level.objects], 1))
        return scores[..., int(self.has_background) :].reshape(-1, scores.shape[-1] - self.has_background)


def _from_distances(level: HeadLevel, answers: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    shares = _softmax(answers.reshape(4, -1, *y.shape), axis=1)
    bins = np.arange(shares.shape[1], dtype=np.float32)[:, None, None]
    step_y, step_x = (np.float32(1 / len(places)) for places in (level.rows, level.columns))
    left, up, right, down = (shares * bins).sum(axis=1)
    return np.stack([y - up * step_y, x - left * step_x, y + down * step_y, x + right * step_x], axis=-1).reshape(-1, 4)


def _by_anchor(answers: np.ndarray, anchors: int) -> np.ndarray:
    """Return (h, w, anchors, numbers of each)."""
    _, height, width = answers.shape
    return answers.transpose(1, 2, 0).reshape(height, width, anchors, -1)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def _softmax(values: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _array(values: Sequence[Any]) -> np.ndarray:
    return np.array(values, np.float32)


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
