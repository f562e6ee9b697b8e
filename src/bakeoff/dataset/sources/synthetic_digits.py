"""The built-in demo data: scikit-learn's handwritten digits drawn over crops of its two photographs.

No download and no raw files. Training and validation share neither a digit nor a part of a
photograph: validation takes the last 30 % of the digits, which other people wrote, and the right
third of the photographs. Every record depends only on (seed, split, index).
"""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image

from bakeoff.dataset.records.record import SPLITS, TRAIN, VALIDATION, Box, Record
from bakeoff.foundation.errors import require

VALIDATION_DIGITS = 0.3
TRAIN_COLUMNS, VALIDATION_COLUMNS = slice(0, 416), slice(432, 640)  # 16 columns between them are never shown
MIN_CONTRAST = 75  # between the lightness (0..255) of a digit and of what lies behind it
INK = 48  # an opacity (0..255) from which a pixel counts as part of the digit
DIRECTIONS = {"down": (1, 0), "left": (0, -1), "right": (0, 1), "still": (0, 0), "up": (-1, 0)}  # (y, x)


class SyntheticSource(ABC):
    """What the built-in sources share: how many records, and a generator for each of them."""

    train_examples: int
    validation_examples: int
    seed: int

    def count(self, split: str) -> int:
        return {TRAIN: self.train_examples, VALIDATION: self.validation_examples}[split]

    def records(self, split: str) -> Iterator[Record]:
        for index in range(self.count(split)):
            draw = np.random.default_rng([self.seed, SPLITS.index(split), index])
            yield self._draw_record(draw, split, f"{split}/{index:06d}")

    def classes(self) -> list[str]:
        return [str(digit) for digit in range(10)]

    @abstractmethod
    def _draw_record(self, draw: np.random.Generator, split: str, name: str) -> Record: ...

    def _require_counts(self) -> None:
        for key in ("train_examples", "validation_examples"):
            value = getattr(self, key)
            require(1 <= value <= 1_000_000, key, value, "between 1 and 1,000,000")
        require(self.seed >= 0, "seed", self.seed, "0 or more")


@dataclass(frozen=True)
class DigitScenes(SyntheticSource):
    """Detection: several digits of varied size and colour in one scene."""

    task: ClassVar[str] = "detection"
    train_examples: int = 600
    validation_examples: int = 150
    min_side: int = 160
    max_side: int = 192
    max_digits: int = 5
    min_digit: int = 28
    max_digit: int = 80
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_counts()
        require(32 <= self.min_side, "min_side", self.min_side, "32 or more")
        require(self.min_side <= self.max_side <= 400, "max_side", self.max_side, "at least min_side and at most 400")
        require(1 <= self.max_digits <= 20, "max_digits", self.max_digits, "between 1 and 20")
        require(8 <= self.min_digit, "min_digit", self.min_digit, "8 or more")
        fits = self.min_digit <= self.max_digit <= self.min_side
        require(fits, "max_digit", self.max_digit, f"between min_digit={self.min_digit} and min_side={self.min_side}")

    def _draw_record(self, draw: np.random.Generator, split: str, name: str) -> Record:
        width, height = (int(side) for side in draw.integers(self.min_side, self.max_side + 1, size=2))
        canvas = _draw_background(draw, split, width, height)
        wanted = int(draw.integers(1, self.max_digits + 1))
        boxes: list[Box] = []
        for _ in range(wanted * 10):  # a crowded scene may end with fewer digits than wanted, never with none
            if len(boxes) == wanted:
                break
            label, mask = _draw_digit(draw, split, int(draw.integers(self.min_digit, self.max_digit + 1)))
            top, left = _draw_place(draw, mask, height, width)
            rows, columns = mask.shape
            box = Box(top / height, left / width, (top + rows) / height, (left + columns) / width, label)
            if not any(_touch(box, other) for other in boxes):
                _paint(draw, canvas, mask, top, left)
                boxes.append(box)
        return Record(name, (_encode_jpeg(canvas),), height, width, boxes=tuple(boxes))


@dataclass(frozen=True)
class SingleDigits(SyntheticSource):
    """Classification: one digit an image."""

    task: ClassVar[str] = "classification"
    train_examples: int = 2000
    validation_examples: int = 500
    side: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_counts()
        require(16 <= self.side <= 200, "side", self.side, "between 16 and 200")

    def _draw_record(self, draw: np.random.Generator, split: str, name: str) -> Record:
        canvas = _draw_background(draw, split, self.side, self.side)
        label, mask = _draw_digit(draw, split, int(draw.integers(self.side * 6 // 10, self.side * 9 // 10)))
        _paint(draw, canvas, mask, *_draw_place(draw, mask, self.side, self.side))
        return Record(name, (_encode_jpeg(canvas),), self.side, self.side, labels=(label,))


@dataclass(frozen=True)
class MovingDigits(SyntheticSource):
    """Video: a digit moves across a background and the class is how.

    It leaves at one edge and comes back at the other, from a uniformly drawn start, so its place in
    any one frame says nothing about the class.
    """

    task: ClassVar[str] = "video"
    train_examples: int = 400
    validation_examples: int = 100
    frames: int = 16
    side: int = 64
    min_speed: float = 2.0
    max_speed: float = 5.0
    frames_per_second: float = 12.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_counts()
        require(2 <= self.frames <= 256, "frames", self.frames, "between 2 and 256")
        require(32 <= self.side <= 200, "side", self.side, "between 32 and 200")
        require(self.frames_per_second > 0, "frames_per_second", self.frames_per_second, "above 0")
        require(self.min_speed > 0, "min_speed", self.min_speed, "above 0")
        in_order = self.min_speed <= self.max_speed < self.side / 2
        require(in_order, "max_speed", self.max_speed, "at least min_speed and under half the side (pixels a frame)")

    def classes(self) -> list[str]:
        return list(DIRECTIONS)

    def _draw_record(self, draw: np.random.Generator, split: str, name: str) -> Record:
        label = list(DIRECTIONS)[int(draw.integers(len(DIRECTIONS)))]
        frames = tuple(self._draw_frames(draw, split, DIRECTIONS[label]))
        rate = self.frames_per_second
        return Record(name, frames, self.side, self.side, labels=(label,), frames_per_second=rate)

    def _draw_frames(self, draw: np.random.Generator, split: str, direction: tuple[int, int]) -> Iterator[bytes]:
        background = _draw_background(draw, split, self.side, self.side)
        _, mask = _draw_digit(draw, split, int(draw.integers(self.side // 4, self.side // 2)))
        colour = _draw_colour(draw, background)
        start = draw.integers(0, self.side, size=2)
        speed = draw.uniform(self.min_speed, self.max_speed)
        whole = np.zeros((self.side, self.side), np.uint8)
        whole[: mask.shape[0], : mask.shape[1]] = mask
        for frame in range(self.frames):
            shift = [int(start[axis] + round(frame * speed * direction[axis])) for axis in (0, 1)]
            yield _encode_jpeg(_blend(background, colour, np.roll(whole, shift, axis=(0, 1))))


@cache
def _load_digits(split: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.loadtxt(_find_data("data/digits.csv.gz"), delimiter=",")  # 64 pixels from 0 to 16, and the digit
    first_validation = round(len(rows) * (1 - VALIDATION_DIGITS))
    part = rows[:first_validation] if split == TRAIN else rows[first_validation:]
    return (part[:, :-1] * 255 / 16).astype(np.uint8).reshape(-1, 8, 8), part[:, -1].astype(np.int64)


@cache
def _load_photographs(split: str) -> list[Image.Image]:
    columns = TRAIN_COLUMNS if split == TRAIN else VALIDATION_COLUMNS
    photographs = [np.asarray(Image.open(_find_data(f"images/{name}.jpg"))) for name in ("china", "flower")]
    return [Image.fromarray(photograph[:, columns]) for photograph in photographs]


def _find_data(name: str) -> Path:
    """Return a file of scikit-learn's datasets, whose own functions take a second to import."""
    spec = find_spec("sklearn")
    assert spec is not None and spec.origin is not None  # the project depends on it
    return Path(spec.origin).parent / "datasets" / name


def _draw_background(draw: np.random.Generator, split: str, width: int, height: int) -> np.ndarray:
    photographs = _load_photographs(split)
    photo = photographs[int(draw.integers(len(photographs)))]
    side = int(draw.integers(96, 201))
    left, top = int(draw.integers(0, photo.width - side + 1)), int(draw.integers(0, photo.height - side + 1))
    crop = photo.crop((left, top, left + side, top + side)).resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(crop)
    if draw.random() < 0.5:
        pixels = pixels[:, ::-1]
    light = int(draw.integers(70, 131))  # per cent
    return np.clip(pixels.astype(np.int32) * light // 100, 0, 255).astype(np.uint8)


def _draw_digit(draw: np.random.Generator, split: str, height: int) -> tuple[str, np.ndarray]:
    """Return one digit's label and its opacity (rows, columns), cut to its ink, `height` pixels high."""
    images, labels = _load_digits(split)
    chosen = int(draw.integers(len(images)))
    large = Image.fromarray(images[chosen]).resize((96, 96), Image.Resampling.BICUBIC)
    turned = np.asarray(large.rotate(float(draw.uniform(-12, 12)), Image.Resampling.BILINEAR))
    rows, columns = np.flatnonzero(turned.max(axis=1) >= INK), np.flatnonzero(turned.max(axis=0) >= INK)
    cut = Image.fromarray(turned[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    width = max(4, min(height, round(height * cut.width / cut.height)))
    return str(labels[chosen]), np.asarray(cut.resize((width, height), Image.Resampling.BILINEAR))


def _draw_place(draw: np.random.Generator, mask: np.ndarray, height: int, width: int) -> tuple[int, int]:
    """Return the top and the left of a digit somewhere in an image."""
    rows, columns = mask.shape
    return int(draw.integers(0, height - rows + 1)), int(draw.integers(0, width - columns + 1))


def _paint(draw: np.random.Generator, canvas: np.ndarray, mask: np.ndarray, top: int, left: int) -> None:
    rows, columns = mask.shape
    behind = canvas[top : top + rows, left : left + columns]
    canvas[top : top + rows, left : left + columns] = _blend(behind, _draw_colour(draw, behind), mask)


def _blend(behind: np.ndarray, colour: np.ndarray, opacity: np.ndarray) -> np.ndarray:
    """Whole-number arithmetic, so that every machine makes the same pixels."""
    share = opacity.astype(np.int32)[..., None]
    return ((behind.astype(np.int32) * (255 - share) + colour * share + 127) // 255).astype(np.uint8)


def _draw_colour(draw: np.random.Generator, behind: np.ndarray) -> np.ndarray:
    """Return a colour that differs from what lies behind it."""
    around = _measure_lightness(behind.reshape(-1, 3).mean(axis=0))
    for _ in range(100):
        colour = draw.integers(0, 256, size=3).astype(np.int32)
        if abs(_measure_lightness(colour) - around) >= MIN_CONTRAST:
            return colour
    return np.full(3, 0 if around > 127 else 255, np.int32)


def _measure_lightness(colour: np.ndarray) -> float:
    return float(colour @ np.array([0.299, 0.587, 0.114]))


def _touch(a: Box, b: Box) -> bool:
    return a.ymin < b.ymax and b.ymin < a.ymax and a.xmin < b.xmax and b.xmin < a.xmax


def _encode_jpeg(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()
