"""The boxes of a picture: as a browser sends them, and as a Pascal VOC file holds them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree

from bakeoff.app.web.safe_paths import CONTROL
from bakeoff.dataset.sources.parsing import parse_xml
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.pre_annotate import MARK, SIDES, PixelBox, make_voc_object

MOST_BOXES, LONGEST_CLASS = 1000, 100


def read_boxes(data: bytes) -> tuple[list[PixelBox], bool]:
    """Return the boxes of a label, and whether they are proposals. What is damaged is left out."""
    try:
        root = parse_xml(data)
        is_proposed = root.findtext("source/annotation") == MARK
    except (ValueError, TypeError):
        return [], False
    boxes = [_read_box(node) for node in root.findall("object")]
    return [box for box in boxes if box is not None], is_proposed


def _read_box(node: ElementTree.Element) -> PixelBox | None:
    """Return the box of an object; None if it has no class or no place."""
    try:
        left, top, right, bottom = (float(node.findtext(f"bndbox/{side}") or "nan") for side in SIDES)
        score = float(node.findtext("score") or "nan")
        return make_box(node.findtext("name"), (left, top, right, bottom), None if math.isnan(score) else score)
    except ValueError:
        return None


def make_box(label: Any, corners: Sequence[Any], score: Any) -> PixelBox:
    """Return a box of a file. Raises ValueError if its class is no text, or a number none that JSON can hold."""
    if not isinstance(label, str) or not label.strip():
        raise ValueError(f"a box of the class {label!r}")
    left, top, right, bottom = map(float, corners)
    if not all(map(math.isfinite, (left, top, right, bottom, score or 0))):
        raise ValueError(f"a box of {label!r} at {corners}")
    return PixelBox(label.strip(), left, top, right, bottom, score)


def parse_boxes(given: Any) -> list[PixelBox]:
    """Return boxes of a request. Raises DataError."""
    if not isinstance(given, list) or len(given) > MOST_BOXES:
        raise DataError(f"boxes: must be a list of at most {MOST_BOXES}; reload the page")
    return [_parse_box(one) for one in given]


def _parse_box(given: Any) -> PixelBox:
    tree = given if isinstance(given, dict) else {}
    values, label, score = [tree.get(side) for side in SIDES], tree.get("label"), tree.get("score")
    if not isinstance(label, str) or not all(type(value) in (int, float) for value in (*values, score or 0)):
        raise DataError("boxes: must have a label and four numbers each; reload the page")
    require_class(label)
    left, top, right, bottom = (round(float(value or 0), 2) for value in values)
    if not (0 <= left < right <= 100_000 and 0 <= top < bottom <= 100_000):
        raise DataError(f"{label}: a box must lie in the picture and have an area")
    if not 0 <= (score or 0) <= 1:
        raise DataError(f"{label}: the score of a proposal must be from 0 to 1, got {score}")
    return PixelBox(label, left, top, right, bottom, None if score is None else float(score))


def parse_size(given: Any) -> tuple[int, int]:
    if not isinstance(given, list) or len(given) != 2 or not all(type(one) is int and one > 0 for one in given):
        raise DataError("size: must be the width and the height of the picture; reload the page")
    return given[0], given[1]


def is_class(label: str) -> bool:
    return bool(label.strip()) and len(label) <= LONGEST_CLASS and label.isprintable() and not CONTROL.search(label)


def require_class(label: str) -> None:
    if not is_class(label):
        raise DataError(f"{label[:LONGEST_CLASS]!r}: a class must be 1 to {LONGEST_CLASS} printable letters")


def make_voc(before: bytes | None, frame: str, size: tuple[int, int], boxes: Sequence[PixelBox]) -> str:
    """Return the label; what else it held of the picture, and of boxes that stay as they were, stays."""
    root, own = ElementTree.Element("annotation"), list[ElementTree.Element]()
    try:
        known = parse_xml(before) if before is not None else None
    except ValueError:
        known = None
    if known is not None and known.tag == "annotation":
        own = known.findall("object")
        root.extend(node for node in known if node.tag not in ("object", "filename", "size", "source"))
        if known.findtext("source/annotation") != MARK:
            root.extend(known.findall("source"))
    ElementTree.SubElement(root, "filename").text = PurePosixPath(frame).name
    sides = ElementTree.SubElement(root, "size")
    for key, value in zip(("width", "height", "depth"), (*size, 3), strict=True):
        ElementTree.SubElement(sides, key).text = str(value)
    for box in boxes:
        same = next((node for node in own if _is_same(node, box)), None)
        root.append(make_voc_object(replace(box, score=None)) if same is None else same)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _is_same(node: ElementTree.Element, box: PixelBox) -> bool:
    there = _read_box(node)
    return there is not None and there.score is None and there.label == box.label and there.corners == box.corners
