"""What is wrong with the labels of a folder as a whole, and the repair: a class in two spellings, boxes outside.

A photo with a box outside is left out of training (dataset/building/validate.py), and a second spelling is a second
class. Both are said where the photos of the set are, each with a button.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from xml.etree import ElementTree

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web.annotations import AnnotationFolder
from bakeoff.app.web.responses import Tree, changes, plain, text_of
from bakeoff.app.web.work_steps import PHOTOS
from bakeoff.dataset.sources.parsing import parse_xml
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.html import template
from bakeoff.importing.datasets.pre_annotate import SIDES

SHORTEST = 4  # letters of a class, from which on one other letter is a slip: red and bed are two words
ENDS = {"xmin": "width", "xmax": "width", "ymin": "height", "ymax": "height"}
Node = ElementTree.Element


@dataclass(frozen=True)
class Spelling:
    """A class that looks like another one, which has more boxes."""

    label: str
    boxes: int
    of: str
    others: int  # boxes of that one


@dataclass(frozen=True)
class LabelTroubles:
    spellings: tuple[Spelling, ...]
    outside: tuple[str, ...]  # labels with a box that reaches out of the photo


def find_troubles(folder: AnnotationFolder) -> LabelTroubles:
    counts: Counter[str] = Counter()
    outside = []
    for name, root in _read_all(folder):
        counts.update(_name_of(node) for node in root.findall("object"))
        if any(_is_outside(root, node) for node in root.findall("object")):
            outside.append(name)
    return LabelTroubles(tuple(_find_spellings(counts)), tuple(outside))


def _find_spellings(counts: Counter[str]) -> Iterator[Spelling]:
    """Yield the rarer of each two classes that differ by a slip; of equal ones the later in the alphabet."""
    order = sorted(counts, key=lambda label: (-counts[label], label))
    for place, label in enumerate(order):
        if (of := find_slip(label, order[:place])) is not None:
            yield Spelling(label, counts[label], of, counts[of])


def find_slip(label: str, others: list[str]) -> str | None:
    """Return the first of the others of which a label is probably a misspelling."""
    return next((other for other in others if label != other and is_slip(label, other)), None)


def is_slip(one: str, other: str) -> bool:
    """Return whether two classes are probably one: other capitals, blanks or plural, or one letter more, less, other,
    or two exchanged. Numbers tell classes apart.
    """
    first, second = (_flatten(text) for text in (one, other))
    if first == second:
        return True
    if _digits(first) != _digits(second) or min(len(first), len(second)) < SHORTEST:
        return False
    return _is_one_edit(*sorted((first, second), key=len))


def _flatten(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _is_one_edit(short: str, long: str) -> bool:
    at = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(long) == len(short) + 1:
        return short[at:] == long[at + 1 :]
    exchanged = short[:at] + short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :]
    return len(long) == len(short) and (short[at + 1 :] == long[at + 1 :] or exchanged == long)


def join_classes(folder: AnnotationFolder, label: str, of: str) -> int:
    """Give the boxes of a class another one's name, in labels, proposals and classes.txt; return how many."""
    if label == of or not of:
        raise DataError(f"{label}: must be joined with another class; reload the page")

    def rename(root: Node) -> int:
        named = [node.find("name") for node in root.findall("object") if _name_of(node) == label]
        for name in named:
            if name is not None:
                name.text = of
        return len(named)

    with folder.lock():
        renamed = _change_all(folder, rename)
        folder.rename_class(label, of)
    return renamed


def cut_boxes(folder: AnnotationFolder) -> int:
    """Cut boxes that reach out of their photo; a box that lies outside as a whole goes. Return how many there were."""

    def cut(root: Node) -> int:
        outside = [node for node in root.findall("object") if _is_outside(root, node)]
        for node in outside:
            sides = _sides_of(node)
            for name, limit in ENDS.items():
                kept = min(max(sides[name], 0.0), _size_of(root)[limit])
                side = node.find(f"bndbox/{name}")
                if side is not None:
                    side.text, sides[name] = f"{kept:g}", kept
            if sides["xmax"] <= sides["xmin"] or sides["ymax"] <= sides["ymin"]:
                root.remove(node)
        return len(outside)

    with folder.lock():
        return _change_all(folder, cut)


def _change_all(folder: AnnotationFolder, change: Callable[[Node], int]) -> int:
    total = 0
    for name, root in _read_all(folder):
        if changed := change(root):
            write_whole(folder.root / name, ElementTree.tostring(root, encoding="unicode") + "\n")
            total += changed
    return total


def _read_all(folder: AnnotationFolder) -> Iterator[tuple[str, Node]]:
    """Yield the labels that can be read; the report of the records names the others."""
    for name in folder.list_labels():
        try:
            yield name, parse_xml((folder.root / name).read_bytes())
        except (OSError, ValueError):
            continue


def _name_of(node: Node) -> str:
    return (node.findtext("name") or "").strip()


def _sides_of(node: Node) -> dict[str, float]:
    return {side: float(node.findtext(f"bndbox/{side}") or "nan") for side in SIDES}


def _size_of(root: Node) -> dict[str, float]:
    return {side: float(root.findtext(f"size/{side}") or 0) for side in ("width", "height")}


def _is_outside(root: Node, node: Node) -> bool:
    """Return whether a box reaches more than a pixel out of the size that the label names."""
    try:
        size, sides = _size_of(root), _sides_of(node)
    except ValueError:
        return False
    if not all(map(isfinite, sides.values())):
        return False
    return all(size.values()) and any(not -1 <= sides[name] <= size[limit] + 1 for name, limit in ENDS.items())


@plain
def show_troubles(request: Request) -> Response:
    """Return what is wrong as a part of the page, which need not wait for it; nothing where all is well."""
    folder = AnnotationFolder(request.path_params["folder"])
    troubles = find_troubles(folder)
    return HTMLResponse(str(template.render("web_label_troubles.html.jinja", name=folder.name, troubles=troubles)))


@changes
def join(request: Request, tree: Tree) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    renamed = join_classes(folder, text_of(tree, "label"), text_of(tree, "of"))
    return JSONResponse({"renamed": renamed, "goto": f"{PHOTOS}/{folder.name}"})


@changes
def cut(request: Request, tree: Tree) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    return JSONResponse({"cut": cut_boxes(folder), "goto": f"{PHOTOS}/{folder.name}"})


ROUTES = [
    Route("/labels/{folder}/troubles", show_troubles),
    Route("/labels/{folder}/join", join, methods=["POST"]),
    Route("/labels/{folder}/cut", cut, methods=["POST"]),
]
