"""The boxes of a picture: as a browser sends them, and as a Pascal VOC file holds them."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree

from bakeoff.app.web.safe_paths import CONTROL
from bakeoff.dataset.sources.parsing import parse_xml
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.pre_annotate import MARK, PixelBox, add_texts

MOST_BOXES, LONGEST_CLASS = 1000, 100
SIDES = ("xmin", "ymin", "xmax", "ymax")


def read_boxes(data: bytes) -> tuple[list[PixelBox], bool]:
    """Return the boxes of a label, and whether they are proposals. Of a label that is damaged there are none."""
    try:
        root = parse_xml(data)
        is_proposed = root.findtext("source/annotation") == MARK
        return [_read_box(node) for node in root.findall("object")], is_proposed
    except (ValueError, TypeError):
        return [], False


def _read_box(node: ElementTree.Element) -> PixelBox:
    left, top, right, bottom = (float(node.findtext(f"bndbox/{side}") or "nan") for side in SIDES)
    score = node.findtext("score")
    label = (node.findtext("name") or "").strip()
    return PixelBox(label, left, top, right, bottom, float(score) if score else None)


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
    return PixelBox(label, left, top, right, bottom, None if score is None else float(score))


def parse_size(given: Any) -> tuple[int, int]:
    if not isinstance(given, list) or len(given) != 2 or not all(type(one) is int and one > 0 for one in given):
        raise DataError("size: must be the width and the height of the picture; reload the page")
    return given[0], given[1]


def require_class(label: str) -> None:
    if not label.strip() or len(label) > LONGEST_CLASS or CONTROL.search(label) or not label.isprintable():
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
    add_texts(root, filename=PurePosixPath(frame).name)
    add_texts(ElementTree.SubElement(root, "size"), width=size[0], height=size[1], depth=3)
    for box in boxes:
        same = next((node for node in own if _is_same(node, box)), None)
        root.append(_make_object(box) if same is None else same)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _is_same(node: ElementTree.Element, box: PixelBox) -> bool:
    try:
        there = _read_box(node)
    except ValueError:
        return False
    return there.score is None and there.label == box.label and there.corners == box.corners


def _make_object(box: PixelBox) -> ElementTree.Element:
    node = ElementTree.Element("object")
    add_texts(node, name=box.label, pose="Unspecified", truncated=0, difficult=0)
    corners = ElementTree.SubElement(node, "bndbox")
    for side, value in zip(SIDES, box.corners, strict=True):
        ElementTree.SubElement(corners, side).text = f"{value:g}" if value < 1000 else str(value)
    return node
