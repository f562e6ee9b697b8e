"""Examples as figures: the image with the truth, beside it the same with what the model gave.

The image is in the page once, as a small JPEG; boxes and labels are drawn over it, sharp at any size.
"""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.dataset.records.wire import Value, decode_features, frames_in
from bakeoff.evaluation.drawing import MOST_BOXES
from bakeoff.foundation.html.svg import Element, Frame, draw, draw_svg, draw_text
from bakeoff.foundation.html.template import embed_jpeg
from bakeoff.foundation.tf_loading import quiet_pillow

SIDE = 320  # longer side of a picture, pixels
OF_CLIP = 4  # frames shown
RIGHT = "right"
LETTER = 0.62  # the width of a letter, as a share of its height, about


@dataclass(frozen=True)
class Shown:
    """An example's line in examples.parquet and its image, of a clip several."""

    row: Mapping[str, Any]
    encoded: Sequence[bytes]


@dataclass(frozen=True)
class Figure:
    kind: str  # one, or a pair of truth and answer, or the strip of a clip
    panels: Sequence[Element]
    is_right: bool
    answer: str  # what the model gives
    truth: str | None  # None of boxes, which are drawn
    file: str


class Originals:
    """Images of a split's examples, from their records."""

    def __init__(self, read: Callable[[np.ndarray], list[bytes | None]]) -> None:
        self._read = read

    def images(self, number: int) -> list[bytes]:
        [data] = self._read(np.array([number]))
        return choose_frames(decode_features(data or b""))


def choose_frames(features: Mapping[str, Value]) -> list[bytes]:
    """Return the encoded image of a record; of a clip a few frames, evenly apart."""
    frames = frames_in(features)
    last = len(frames) - 1
    return [frames[place] for place in sorted({round(step * last / (OF_CLIP - 1)) for step in range(OF_CLIP)})]


def draw_figure(shown: Shown, identity: str, *, is_weak: bool = False) -> Figure:
    """`identity` tells this picture from others of the page. What a weak model is surest of is drawn though all of it
    scores too little to count."""
    row = shown.row
    picture, width, height = _join(shown.encoded)
    image = draw("image", id=identity, href=picture, width=width, height=height, preserveAspectRatio="none")
    frame = Frame(width, height, 0, 0, 0, 0)
    is_of_boxes = isinstance(row["prediction"], list) and "scores" not in row
    if not is_of_boxes:
        is_right, answer, truth, file = _caption(row)
        heard = f"{file}: truth {truth}, model {answer}"
        return Figure(
            "strip" if len(shown.encoded) > 1 else "one",
            [draw_svg(frame, image, label=heard)],
            is_right,
            answer,
            truth,
            file,
        )
    again = draw("use", href=f"#{identity}")
    given = _surest(row, is_weak=is_weak)
    panels = [
        draw_svg(frame, image, *_true_boxes(row, width), label=f"{row['file']}, truth: {_name_labels(row['truth'])}"),
        draw_svg(frame, again, *_given_boxes(given, width), label=f"{row['file']}, model: {_name_labels(given)}"),
    ]
    return Figure("pair", panels, *_caption_of_boxes(row))


def _surest(row: Mapping[str, Any], *, is_weak: bool) -> list[Mapping[str, Any]]:
    """The surest first, in which order a score gives them."""
    return [box for box in row["prediction"] if is_weak or box["error"]][:MOST_BOXES]


def _name_labels(boxes: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(box["label"] for box in boxes) or "nothing"


def _join(encoded: Sequence[bytes]) -> tuple[str, int, int]:
    """A data: address, and the size of the original, in which boxes are counted; several images stand in a row."""
    with quiet_pillow():
        opened = [Image.open(io.BytesIO(data)) for data in encoded]
    width, height = sum(image.width for image in opened), max(image.height for image in opened)
    small = [_shrink(image, SIDE if len(opened) == 1 else SIDE // 2) for image in opened]
    sheet = Image.new("RGB", (sum(image.width for image in small), max(image.height for image in small)))
    left = 0
    for image in small:
        sheet.paste(image, (left, 0))
        left += image.width
    return embed_jpeg(sheet), width, height


def _shrink(image: Image.Image, side: int) -> Image.Image:
    image.draft("RGB", (side * 2, side * 2))
    image = image.convert("RGB")
    image.thumbnail((side, side))
    return image


def _true_boxes(row: Mapping[str, Any], width: int) -> list[Element]:
    drawn = (_box(box, width, "true" if box["found"] else "missed", box["label"]) for box in row["truth"])
    return [part for parts in drawn for part in parts]


def _given_boxes(given: Sequence[Mapping[str, Any]], width: int) -> list[Element]:
    """The surest last, on top. Of labels that would lie on each other only the surest is written."""
    drawn: list[Element] = []
    written: list[tuple[float, float, float]] = []
    for box in given:
        kind, text = {RIGHT: RIGHT, "": "unsure"}.get(box["error"], "wrong"), f"{box['label']} {box['score']:.2f}"
        start, height, size = _place_label(box, width)
        length = LETTER * size * len(text)
        start = max(0.0, box["xmax"] - length) if start > box["xmin"] else start
        is_free = not any(
            abs(height - other) < size and start < end and begin < start + length for begin, end, other in written
        )
        if is_free:
            written.append((start, start + length, height))
        parts = _box(box, width, kind, text)
        drawn = [*(parts if is_free else parts[:1]), *drawn]
    return drawn


def _place_label(box: Mapping[str, Any], width: int) -> tuple[float, float, float]:
    """Return where a box's label is anchored, so that it stays inside, its height in the picture and its size."""
    size = width / 18  # of the letters, the same on the page whatever the image's size
    return box["xmin"] if box["xmin"] < 0.7 * width else box["xmax"], max(box["ymin"] - size / 5, size), size


def _box(box: Mapping[str, Any], width: int, kind: str, text: str) -> list[Element]:
    x, y = box["xmin"], box["ymin"]
    at, height, size = _place_label(box, width)
    return [
        draw("rect", class_=kind, x=x, y=y, width=box["xmax"] - x, height=box["ymax"] - y),
        draw_text(at, height, text, anchor="end" if at > x else None, class_=kind, font_size=size),
    ]


def _caption(row: Mapping[str, Any]) -> tuple[bool, str, str, str]:
    truth, given, sure = row["truth"], row["prediction"], f"{row['score']:.2f}"
    is_right = truth == given
    if isinstance(given, list):
        truth, given, sure = ", ".join(truth) or "nothing", ", ".join(given) or "nothing", f"score {sure}"
    return is_right, f"{given} {sure}", truth, str(row["file"])


def _caption_of_boxes(row: Mapping[str, Any]) -> tuple[bool, str, None, str]:
    errors = [box["error"].replace("_", " ") for box in row["prediction"] if box["error"] not in ("", RIGHT)]
    right = sum(box["error"] == RIGHT for box in row["prediction"])
    missing = len(row["truth"]) - sum(box["found"] for box in row["truth"])
    answer = [f"{right} of {len(row['truth'])} found", *(f"{count} {kind}" for kind, count in Counter(errors).items())]
    return not (errors or missing), ", ".join(answer), None, str(row["file"])
