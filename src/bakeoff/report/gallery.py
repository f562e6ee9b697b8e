"""Examples as figures: the image with the truth, beside it the same with what the model gave.

The image is in the page once, as a small JPEG; boxes and words are drawn over it, sharp at any size.
"""

import base64
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from PIL import Image

SIDE = 320  # longer side of a picture, pixels
RIGHT = "right"


@dataclass(frozen=True)
class Shown:
    """An example's line in examples.parquet and its image, of a clip the middle one."""

    row: Mapping[str, Any]
    encoded: bytes


def figures(shown: Iterable[Shown], name: str) -> str:
    """`name` tells these pictures from others of the page."""
    return "".join(_figure(example, f"{name}{number}") for number, example in enumerate(shown))


def _figure(shown: Shown, identity: str) -> str:
    row = shown.row
    picture, width, height = _picture(shown.encoded)
    image = f"<image id='{identity}' href='{picture}' width='{width}' height='{height}' preserveAspectRatio=none />"
    truth, answer = (_boxes, _boxes_given) if _has_boxes(row) else (_nothing, _nothing)
    panels = [
        f"<svg viewBox='0 0 {width} {height}'>{image}{truth(row, width)}</svg>",
        f"<svg viewBox='0 0 {width} {height}'><use href='#{identity}' />{answer(row, width)}</svg>",
    ]
    if not _has_boxes(row):
        panels = panels[:1]
    return (
        f"<figure class={'pair' if _has_boxes(row) else 'one'}><div class=panels>{''.join(panels)}</div>"
        f"<figcaption>{_caption(row)}<br><span class=soft>{escape(str(row['file']))}</span></figcaption></figure>"
    )


def _picture(encoded: bytes) -> tuple[str, int, int]:
    """A data: address, and the size of the original, in which boxes are counted."""
    opened = Image.open(io.BytesIO(encoded))
    width, height = opened.size
    opened.draft("RGB", (SIDE * 2, SIDE * 2))
    image = opened.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode(), width, height


def _has_boxes(row: Mapping[str, Any]) -> bool:
    return isinstance(row["prediction"], list) and "scores" not in row


def _nothing(row: Mapping[str, Any], width: int) -> str:
    return ""


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
    size = width / 22  # of the letters, the same on the page whatever the image's size
    x, y = box["xmin"], box["ymin"]
    wide, high = box["xmax"] - x, box["ymax"] - y
    return (
        f"<rect class={kind} x='{x:.1f}' y='{y:.1f}' width='{wide:.1f}' height='{high:.1f}'/>"
        f"<text class={kind} x='{x + size / 6:.1f}' y='{max(y - size / 5, size):.1f}' font-size='{size:.1f}'>"
        f"{escape(text)}</text>"
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
