"""Answers as lines of JSON, COCO's results with the words that it leaves out, and drawn onto pictures and films."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bakeoff.export.nms_numpy import Predictions

if TYPE_CHECKING:
    pass

DECIMALS, SCORE_DECIMALS = 2, 5
# Okabe and Ito's colours, which the colour-blind can distinguish. A class always has the same colour.
COLOURS = ((86, 180, 233), (230, 159, 0), (0, 190, 140), (240, 228, 66), (213, 94, 0), (204, 121, 167), (90, 130, 255))
INK = (0, 0, 0)
SIDES_PER_LINE, SIDES_PER_LETTER = 260, 36  # a line is so much thinner than the picture's shorter side
SMALLEST_LETTER = 11
CODECS = ("libx264", "mpeg4")  # the first that this FFmpeg has

Row = dict[str, Any]


def rows_of(predictions: Predictions, labels: tuple[str, ...], image: Row) -> list[Row]:
    """Return the lines of an image in results.jsonl, best first; `image` is its line in images.jsonl.

    {"image_id": 1, "category_id": 8, "bbox": [x, y, width, height], "score": 0.93, "category": "7",
     "file_name": "photos/a.jpg"}      pixels of the image, upright; without "bbox" of a classifier
    Where objects are followed through a film there is a "track_id", too: the object's number, or null.
    """
    if "boxes" in predictions:
        columns = zip(predictions["boxes"], predictions["classes"], predictions["scores"], strict=True)
        rows = [
            _row(image, labels, int(label), float(score)) | {"bbox": _corner_and_size(corners, image)}
            for corners, label, score in columns
        ]
        for row, number in zip(rows, predictions.get("tracks", ()), strict=False):
            row["track_id"] = int(number) or None
    elif "probabilities" in predictions:
        best = int(np.argmax(predictions["probabilities"]))
        rows = [_row(image, labels, best + 1, float(predictions["probabilities"][best]))]
    else:
        rows = [_row(image, labels, place + 1, float(score)) for place, score in enumerate(predictions["scores"])]
    return sorted(rows, key=lambda row: -row["score"])


def keep_sure(rows: Sequence[Row], min_score: float, task: str) -> list[Row]:
    """Return the rows with this score or more, best first; a classifier's one answer in any case."""
    sure = [row for row in rows if row["score"] >= min_score]
    return sure or list(rows[:1] if task != "detection" else [])


def image_row(number: int, name: str, pixels: np.ndarray, frame: int | None = None, rate: float = 1.0) -> Row:
    """Return {"id": 1, "file_name": "photos/a.jpg", "width": 640, "height": 480}, of a frame with number and time."""
    height, width = pixels.shape[-3:-1]
    row = {"id": number, "file_name": name, "width": width, "height": height}
    return row if frame is None else row | {"frame": frame, "time_s": round(frame / rate, 3)}


def _row(image: Row, labels: tuple[str, ...], label: int, score: float) -> Row:
    # A model of other software may know of more classes than it has labels for.
    text = labels[label - 1] if 1 <= label <= len(labels) else f"class {label}"
    row = {"image_id": image["id"], "category_id": label, "score": round(score, SCORE_DECIMALS)}
    return row | {"category": text, "file_name": image["file_name"]}


def _corner_and_size(corners: np.ndarray, image: Row) -> list[float]:
    top, left, bottom, right = (float(side) for side in corners)
    width, height = image["width"], image["height"]
    sides = (left * width, top * height, (right - left) * width, (bottom - top) * height)
    return [round(side, DECIMALS) for side in sides]


def draw_answers(pixels: np.ndarray, rows: Sequence[Row]) -> Image.Image:
    """Draw boxes with label and score, or labels in a corner, of `rows`, best first."""
    image = Image.fromarray(pixels)
    draw, shorter = ImageDraw.Draw(image), min(image.size)
    width, letter = max(2, shorter // SIDES_PER_LINE), max(SMALLEST_LETTER, shorter // SIDES_PER_LETTER)
    for row in reversed(rows):  # the best on top
        if "bbox" in row:
            left, top, wide, high = row["bbox"]
            corners = (left, top, left + wide, top + high)
            draw.rectangle([round(side) for side in corners], outline=_colour(row), width=width)
    for place, row in reversed(list(enumerate(rows))):
        left, top = row["bbox"][:2] if "bbox" in row else (0, place * letter * 1.4 + letter * 1.4)
        _tag(draw, image.size, (left, top), row, letter)
    return image


def _tag(draw: ImageDraw.ImageDraw, size: tuple[int, int], corner: tuple[float, float], row: Row, letter: int) -> None:
    """Write above the corner where there is room, and never out of the picture."""
    font, high = _font(letter), letter * 1.4
    number = f" {row['track_id']}" if row.get("track_id") else ""
    text = f"{row['category']}{number}: {row['score']:.2f}"
    width = draw.textlength(text, font=font) + letter * 0.5
    left = max(0.0, min(corner[0], size[0] - width))
    top = max(0.0, min(corner[1] - high, size[1] - high))
    draw.rectangle((left, top, left + width, top + high), fill=_colour(row))
    draw.text((left + letter * 0.25, top), text, fill=INK, font=font)


def _colour(row: Row) -> tuple[int, int, int]:
    return COLOURS[(row["category_id"] - 1) % len(COLOURS)]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


class Film:
    """Drawn frames as a video file."""

    def __init__(self, path: Path, rate: Fraction) -> None:
        self._container = av.open(str(path), "w", format="mp4")
        self._rate = rate.limit_denominator(60_000)
        self._stream: av.VideoStream | None = None

    def add(self, image: Image.Image) -> None:
        stream = self._stream = self._stream or self._begin(image.size)
        pixels = np.asarray(image)
        missing = (stream.height - pixels.shape[0], stream.width - pixels.shape[1])
        if min(missing) < 0:  # a video may change its size on the way
            pixels, missing = np.asarray(image.resize((stream.width, stream.height))), (0, 0)
        pixels = np.pad(pixels, [(0, missing[0]), (0, missing[1]), (0, 0)], mode="edge")
        self._write(av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24"))

    def close(self) -> bool:
        """Return whether there is anything in it."""
        if self._stream is not None:
            self._write(None)
        self._container.close()
        return self._stream is not None

    def _begin(self, size: tuple[int, int]) -> av.VideoStream:
        codec = next(name for name in CODECS if name in av.codecs_available)
        stream = self._container.add_stream(codec, rate=self._rate)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = (side + side % 2 for side in size)
        stream.pix_fmt = "yuv420p"  # of which sides must be even
        return stream

    def _write(self, frame: "av.VideoFrame | None") -> None:
        assert self._stream is not None
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


@contextmanager
def film(path: Path | None, rate: Fraction) -> Iterator[Film | None]:
    """Yield a film that has its name only when it is whole. What was added stays, also if the block fails: of a broken
    video, the frames before the break."""
    if path is None:
        yield None
        return
    partial = path.with_name(f"{path.name}.partial")
    made = Film(partial, rate)
    try:
        yield made
    finally:
        if made.close():
            partial.replace(path)
        else:
            partial.unlink(missing_ok=True)
