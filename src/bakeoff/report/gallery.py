"""Examples as figures: the image with the truth, beside it the same with what the model gave.

The image is in the page once, as a small JPEG; boxes and words are drawn over it, sharp at any size.
"""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.pages.svg import Element, Frame, draw, draw_svg, draw_text
from bakeoff.pages.template import embed_jpeg
from bakeoff.quiet import quiet_pillow
from bakeoff.records.wire import decode_features

SIDE = 320  # longer side of a picture, pixels
OF_CLIP = 4  # frames shown
RIGHT = "right"


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
    words: str  # what the model gave
    truth: str | None  # None if the words say it
    file: str


class Originals:
    """Images of a split's examples, from their records."""

    def __init__(self, read: Callable[[np.ndarray], list[bytes | None]]) -> None:
        self._read = read

    def images(self, number: int) -> list[bytes]:
        """The encoded image; of a clip a few, evenly apart."""
        [data] = self._read(np.array([number]))
        features = decode_features(data or b"")
        encoded = features.get("image/encoded") or features["clip/frames"]
        frames = [frame for frame in encoded if isinstance(frame, bytes)]
        last = len(frames) - 1
        return [frames[place] for place in sorted({round(step * last / (OF_CLIP - 1)) for step in range(OF_CLIP)})]


def draw_figure(shown: Shown, identity: str) -> Figure:
    """`identity` tells this picture from others of the page."""
    row = shown.row
    picture, width, height = _join(shown.encoded)
    image = draw("image", id=identity, href=picture, width=width, height=height, preserveAspectRatio="none")
    frame = Frame(width, height, 0, 0, 0, 0)
    is_of_boxes = isinstance(row["prediction"], list) and "scores" not in row
    if not is_of_boxes:
        return Figure("strip" if len(shown.encoded) > 1 else "one", [draw_svg(frame, image)], *_caption(row))
    again = draw("use", href=f"#{identity}")
    panels = [draw_svg(frame, image, *_true_boxes(row, width)), draw_svg(frame, again, *_given_boxes(row, width))]
    return Figure("pair", panels, *_caption_of_boxes(row))


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


def _given_boxes(row: Mapping[str, Any], width: int) -> list[Element]:
    """The surest last, on top."""
    return [
        part
        for box in reversed(row["prediction"]) if box["error"]
        for part in _box(box, width, RIGHT if box["error"] == RIGHT else "wrong", f"{box['label']} {box['score']:.2f}")
    ]  # fmt: skip


def _box(box: Mapping[str, Any], width: int, kind: str, text: str) -> list[Element]:
    size = width / 18  # of the letters, the same on the page whatever the image's size
    x, y = box["xmin"], box["ymin"]
    at, anchor = (x, None) if x < 0.7 * width else (box["xmax"], "end")  # so that the words stay inside
    return [
        draw("rect", class_=kind, x=x, y=y, width=box["xmax"] - x, height=box["ymax"] - y),
        draw_text(at, max(y - size / 5, size), text, anchor=anchor, class_=kind, font_size=size),
    ]


def _caption(row: Mapping[str, Any]) -> tuple[bool, str, str | None, str]:
    truth, given, sure = row["truth"], row["prediction"], f"{row['score']:.2f}"
    is_right = truth == given
    if isinstance(given, list):
        truth, given, sure = ", ".join(truth) or "nothing", ", ".join(given) or "nothing", f"score {sure}"
    return is_right, f"{given} {sure}", None if is_right else truth, str(row["file"])


def _caption_of_boxes(row: Mapping[str, Any]) -> tuple[bool, str, str | None, str]:
    errors = [box["error"].replace("_", " ") for box in row["prediction"] if box["error"] not in ("", RIGHT)]
    right = sum(box["error"] == RIGHT for box in row["prediction"])
    missing = len(row["truth"]) - sum(box["found"] for box in row["truth"])
    words = [f"{right} of {len(row['truth'])} found", *(f"{count} {kind}" for kind, count in Counter(errors).items())]
    return not (errors or missing), ", ".join(words), None, str(row["file"])
