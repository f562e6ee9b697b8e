"""Examples as figures: the image with the truth, beside it the same with what the model gave.

The image is in the page once, as a small JPEG; boxes and words are drawn over it, sharp at any size.
"""

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from PIL import Image

SIDE = 320  # longer side of a picture, pixels
RIGHT = "right"


@dataclass(frozen=True)
class Shown:
    """An example's line in examples.parquet and its image, of a clip several."""

    row: Mapping[str, Any]
    encoded: Sequence[bytes]


def figures(shown: Iterable[Shown], name: str) -> str:
    """`name` tells these pictures from others of the page."""
    return "".join(_figure(example, f"{name}{number}") for number, example in enumerate(shown))


def _figure(shown: Shown, identity: str) -> str:
    row = shown.row
    picture, width, height = _picture(shown.encoded)
    image = f"<image id='{identity}' href='{picture}' width='{width}' height='{height}' preserveAspectRatio=none />"
    kind, panels = "strip" if len(shown.encoded) > 1 else "one", [image]
    if _has_boxes(row):
        kind, panels = "pair", [image + _boxes(row, width), f"<use href='#{identity}' />" + _boxes_given(row, width)]
    drawn = "".join(f"<svg viewBox='0 0 {width} {height}'>{panel}</svg>" for panel in panels)
    return (
        f"<figure class={kind}><div class=panels>{drawn}</div>"
        f"<figcaption>{_caption(row)}<br><span class=soft>{escape(str(row['file']))}</span></figcaption></figure>"
    )


def _picture(encoded: Sequence[bytes]) -> tuple[str, int, int]:
    """A data: address, and the size of the original, in which boxes are counted; several images stand in a row."""
    opened = [Image.open(io.BytesIO(data)) for data in encoded]
    width, height = sum(image.width for image in opened), max(image.height for image in opened)
    small = [_small(image, SIDE if len(opened) == 1 else SIDE // 2) for image in opened]
    sheet = Image.new("RGB", (sum(image.width for image in small), max(image.height for image in small)))
    left = 0
    for image in small:
        sheet.paste(image, (left, 0))
        left += image.width
    buffer = io.BytesIO()
    sheet.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode(), width, height


def _small(image: Image.Image, side: int) -> Image.Image:
    image.draft("RGB", (side * 2, side * 2))
    image = image.convert("RGB")
    image.thumbnail((side, side))
    return image


def _has_boxes(row: Mapping[str, Any]) -> bool:
    return isinstance(row["prediction"], list) and "scores" not in row


def _boxes(row: Mapping[str, Any], width: int) -> str:
    return "".join(_box(box, width, "true" if box["found"] else "missed", box["label"]) for box in row["truth"])


def _boxes_given(row: Mapping[str, Any], width: int) -> str:
    """The surest last, on top."""
    counted = [box for box in row["prediction"] if box["error"]]
    return "".join(
        _box(box, width, "right" if box["error"] == RIGHT else "wrong", f"{box['label']} {box['score']:.2f}")
        for box in reversed(counted)
    )


def _box(box: Mapping[str, Any], width: int, kind: str, text: str) -> str:
    size = width / 18  # of the letters, the same on the page whatever the image's size
    x, y = box["xmin"], box["ymin"]
    wide, high = box["xmax"] - x, box["ymax"] - y
    at, anchor = (x, "start") if x < 0.7 * width else (box["xmax"], "end")  # so that the words stay inside
    return (
        f"<rect class={kind} x='{x:.1f}' y='{y:.1f}' width='{wide:.1f}' height='{high:.1f}'/>"
        f"<text class={kind} x='{at:.1f}' y='{max(y - size / 5, size):.1f}' font-size='{size:.1f}' "
        f"text-anchor={anchor}>{escape(text)}</text>"
    )


def _caption(row: Mapping[str, Any]) -> str:
    if _has_boxes(row):
        return _told_of_boxes(row)
    truth, given = row["truth"], row["prediction"]
    if isinstance(given, list):
        return _told(truth, given, lambda labels: ", ".join(labels) or "nothing", f"score {row['score']:.2f}")
    return _told(truth, given, str, f"{row['score']:.2f}")


def _told(truth: Any, given: Any, named: Callable[[Any], str], sure: str) -> str:
    mark = "right" if truth == given else "wrong"
    instead = "" if truth == given else f", is <b>{escape(named(truth))}</b>"
    return f"<span class={mark}>{'✓' if truth == given else '✗'}</span> {escape(named(given))} {sure}{instead}"


def _told_of_boxes(row: Mapping[str, Any]) -> str:
    errors = [box["error"].replace("_", " ") for box in row["prediction"] if box["error"] not in ("", RIGHT)]
    right = sum(box["error"] == RIGHT for box in row["prediction"])
    missing = len(row["truth"]) - sum(box["found"] for box in row["truth"])
    told = [f"{right} of {len(row['truth'])} found"]
    told += [f"{errors.count(kind)} {kind}" for kind in dict.fromkeys(errors)]
    mark = "wrong" if errors or missing else "right"
    return f"<span class={mark}>{'✗' if errors or missing else '✓'}</span> {escape(', '.join(told))}"
