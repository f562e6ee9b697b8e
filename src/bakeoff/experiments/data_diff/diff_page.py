"""A difference of two data sets -> one page with the pictures of what changed, before and after."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from bakeoff.dataset.records.record import Box
from bakeoff.experiments.data_diff.data_change import DataChange, DataDiff
from bakeoff.experiments.data_diff.diff_text import summarize
from bakeoff.experiments.data_diff.open_data import Example
from bakeoff.foundation.html import template
from bakeoff.foundation.html.svg import Element, Frame, draw, draw_svg, draw_text
from bakeoff.foundation.tf_loading import quiet_pillow

SHOWN = 12  # changes of a kind
SIDE = 320  # pixels of the longer side of a picture
LETTERS = 18  # of a label's size across a picture


@dataclass(frozen=True)
class ChangeFigure:
    panels: Sequence[Element]
    change: DataChange


def write_page(file: Path, diff: DataDiff) -> None:
    sections = [
        (kind.value, [ChangeFigure(_draw_panels(one), one) for one in some[:SHOWN]], some[SHOWN:])
        for kind, some in diff.by_kind.items()
    ]
    template.write_page(
        file, "data_diff.html.jinja", title=f"{diff.a.name} → {diff.b.name}", summary=summarize(diff), diff=diff,
        sections=sections,
    )  # fmt: skip


def _draw_panels(one: DataChange) -> list[Element]:
    """Return the picture in A and in B, or the one of both that there is."""
    sides = [("A", one.before, one.boxes_before, "missed"), ("B", one.after, one.boxes_after, "right")]
    drawn = (_draw(letter, example, boxes, kind) for letter, example, boxes, kind in sides if example)
    return [panel for panel in drawn if panel]


def _draw(letter: str, example: Example, changed: Sequence[Box], kind: str) -> Element | None:
    """Draw a picture with all its boxes; those that changed stand out."""
    if (encoded := example.read()) is None:
        return None
    with quiet_pillow():
        opened = Image.open(io.BytesIO(encoded))
    opened.draft("RGB", (SIDE * 2, SIDE * 2))
    small = opened.convert("RGB")
    small.thumbnail((SIDE, SIDE))
    width, height = example.width, example.height
    image = draw("image", href=template.embed_jpeg(small), width=width, height=height, preserveAspectRatio="none")
    others = [box for box in example.boxes if not any(_has_corners_of(box, one) for one in changed)]
    marks = [part for box in others for part in _mark(box, "true", (width, height), has_label=False)]
    for place, box in enumerate(changed):  # parts of one box have one label
        has_label = box.label not in [one.label for one in changed[:place]]
        marks += _mark(box, kind, (width, height), has_label=has_label)
    heard = f"{letter}: {example.name}, {', '.join(box.label for box in changed) or ', '.join(example.labels)}"
    return draw_svg(Frame(width, height, 0, 0, 0, 0), image, *marks, label=heard)


def _has_corners_of(box: Box, other: Box) -> bool:
    return (box.ymin, box.xmin, box.ymax, box.xmax) == (other.ymin, other.xmin, other.ymax, other.xmax)


def _mark(box: Box, look: str, size: tuple[int, int], *, has_label: bool) -> list[Element]:
    width, height = size
    x, y, letters = box.xmin * width, box.ymin * height, width / LETTERS
    sides = {"width": (box.xmax - box.xmin) * width, "height": (box.ymax - box.ymin) * height}
    rectangle = draw("rect", class_=look, x=x, y=y, **sides)
    if not has_label:
        return [rectangle]
    anchor = "end" if box.xmin > 0.7 else None
    at = box.xmax * width if anchor else x
    return [
        rectangle,
        draw_text(at, max(y - letters / 5, letters), box.label, anchor=anchor, class_=look, font_size=letters),
    ]
