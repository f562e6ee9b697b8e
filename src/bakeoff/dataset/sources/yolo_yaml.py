"""YOLO's data.yaml, or Darknet's obj.data: the names of the classes, and where the images of each side are.

path: ../datasets/coco8     # a place on another machine, mostly: what is named is looked for by its last folders
train: images/train2017     # a folder, a text file that lists images, or several of these
val: images/val2017
names: [person, yes, 010]   # a scalar is the text that stands there, so `yes` and `010` are classes like any other

obj.data says the same in lines such as `train = data/train.txt`, `valid = data/test.txt` and `names = data/obj.names`.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

import yaml

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import find_side
from bakeoff.dataset.sources.labels import read_labels, require_fit
from bakeoff.dataset.sources.parsing import quote
from bakeoff.dataset.sources.paths import blaming, read_lines, read_text

MOST_BYTES = 100_000  # some 5,000 names; a larger one takes PyYAML seconds
KEY = "the class names"
DARKNET = ".data"  # how Darknet's file ends
SIDE_KEYS = ("train", "val", "valid", "validation", "test")
NULLS = ("", "~", "null", "Null", "NULL")


@dataclass
class Sides:
    """Who is on which side, as data.yaml says it."""

    places: dict[str, str] = field(default_factory=dict)  # a folder or a file in the dataset -> its side
    lost: list[tuple[str, str]] = field(default_factory=list)  # (list and line, why it cannot be used)
    problem: str | None = None  # why they are not known, though data.yaml has them

    def find(self, path: str) -> str | None:
        """Return the side of an image: its own, else that of the nearest folder above it."""
        return next((self.places[place] for place in _list_above(path) if place in self.places), None)


def read_names(root: Path, name: str) -> list[str]:
    if name.endswith(DARKNET):
        return _read_darknet_names(root, name)
    tree = _read_tree(root, name)
    with blaming(root, name, KEY):
        node = tree.get("names")
        nodes = node.value if isinstance(node, yaml.SequenceNode) else []
        if isinstance(node, yaml.MappingNode):
            numbered = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
            keys = [str(number) for number in range(len(node.value))]
            nodes = [numbered[key] for key in keys] if numbered.keys() == set(keys) else []
        if not nodes:
            place = "nothing" if node is None else f"line {node.start_mark.line + 1}"
            raise ValueError(f"names must list the classes, or map 0, 1, … to them, once each, got {place}")
        for number, one in enumerate(nodes):
            if not isinstance(one, yaml.ScalarNode) or _is_null(one):
                line = one.start_mark.line + 1
                raise ValueError(f"line {line}: class {number} has no name; write one, in quotes if need be")
        names = [one.value.strip() for one in nodes]
        require_fit(names)
    return names


def read_sides(root: Path, name: str, *, keeps_test: bool = False) -> Sides | None:
    """Return None where the file names no images for both sides, or the same for both.

    The test stands in for validation where there is none. With `keeps_test` it does not: whatever else is named is to
    be split.
    """
    entries, home, sides = *_read_entries(root, name), Sides()
    places: dict[str, list[str]] = {TRAIN: [], VALIDATION: [], TEST: []}
    for key in SIDE_KEYS:
        side = find_side(key) or TRAIN
        for line, entry in entries.get(key, ()):
            place = _find_place(root, (home, ""), entry)
            if place is not None:
                places[side].append(place)
            elif side != TEST:
                sides.problem = (
                    f"{(root / name).as_posix()}:{line}: {key} names {quote(entry)}, which is no folder and no list of "
                    "the dataset; correct it, or set data.split.by: fraction"
                )
    order = [TEST, TRAIN, VALIDATION]  # what is on two sides is kept for the last of them
    if keeps_test:
        places[TRAIN], places[VALIDATION], order = places[TRAIN] + places[VALIDATION], [], [TRAIN, TEST]
    elif not places[VALIDATION]:
        places[VALIDATION], places[TEST] = places[TEST], []
    one, other = order[-2:]
    if not sides.problem and (not (places[one] and places[other]) or places[one] == places[other]):
        return None
    for side in order:
        for place in places[side]:
            sides.places |= dict.fromkeys(_list_images(root, place, f"train and val of {name}", sides.lost), side)
    return sides


def _read_entries(root: Path, name: str) -> tuple[dict[str, list[tuple[int, str]]], str]:
    """Return (line, entry) of whatever each key names, and the folder that they start from."""
    if name.endswith(DARKNET):
        return _read_darknet(root, name), ""
    tree = _read_tree(root, name)
    return {key: list(_list_entries(tree.get(key))) for key in SIDE_KEYS}, _read_entry(tree.get("path"))


def _read_darknet(root: Path, name: str) -> dict[str, list[tuple[int, str]]]:
    """Return (line, entry) by key of lines such as `train = data/train.txt`."""
    entries: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(read_text(root, name, KEY, MOST_BYTES).split("\n"), start=1):
        key, _, entry = (part.strip() for part in line.partition("="))
        if entry and not key.startswith("#"):
            entries[key] = [(number, entry)]
    return entries


def _read_darknet_names(root: Path, name: str) -> list[str]:
    [(line, entry)] = _read_darknet(root, name).get("names", [(1, "")])
    with blaming(root, name, KEY):
        place = _find_place(root, ("",), entry)
        if not entry or place is None:
            raise ValueError(
                f"line {line}: names must be the file of the classes' names, got {quote(entry)}; correct it"
            )
    return read_labels(root, place)


def _read_tree(root: Path, name: str) -> dict[str, yaml.Node]:
    """Return the nodes of the first level. Nothing is constructed, so that an alias unfolds nothing."""
    text = read_text(root, name, KEY, MOST_BYTES)
    with blaming(root, name, KEY):
        return _parse(text)


@lru_cache(maxsize=1)  # names and sides are asked for by turns
def _parse(text: str) -> dict[str, yaml.Node]:
    try:
        node = yaml.compose(text, yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"not valid YAML: line {line}: {error.problem or error.context}; correct it") from None
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {' '.join(str(error).split())[:200]}; correct it") from None
    except RecursionError:
        raise ValueError("not valid YAML: nested too deeply; write names, train and val plainly") from None
    tree: dict[str, yaml.Node] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else []:
        if isinstance(key, yaml.ScalarNode) and key.value in tree:
            line = key.start_mark.line + 1
            raise ValueError(f"not valid YAML: line {line}: key {quote(key.value)} is there twice; delete one")
        if isinstance(key, yaml.ScalarNode):
            tree[key.value] = value
    return tree


def _is_null(node: yaml.ScalarNode) -> bool:
    return node.style is None and node.value in NULLS


def _read_entry(node: yaml.Node | None) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) and not _is_null(node) else ""


def _list_entries(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    for one in node.value if isinstance(node, yaml.SequenceNode) else [node]:
        if one is not None and (entry := _read_entry(one)):
            yield one.start_mark.line + 1, entry


def _find_place(root: Path, homes: tuple[str, ...], entry: str) -> str | None:
    """Return the longest end of a path that is in the dataset: `../coco8/images/train` -> `images/train`."""
    for home in homes:
        parts = [part for part in PurePosixPath(home, entry.replace("\\", "/")).parts if part not in ("/", ".", "..")]
        for start in range(max(len(parts) - 12, 0), len(parts)):
            place = "/".join(parts[start:])
            if os.path.exists(root / place):
                return place
    return "." if entry.strip("./") == "" else None


def _list_images(root: Path, place: str, key: str, lost: list[tuple[str, str]]) -> Iterator[str]:
    if not place.endswith(".txt") or os.path.isdir(root / place):
        yield place
        return
    home = PurePosixPath(place).parent.as_posix()
    for number, line in enumerate(read_lines(root, place, key), start=1):
        if entry := line.strip():
            image = _find_place(root, (home, ""), entry)
            if image is None:
                lost.append(
                    (f"{place}:{number}", f"names {quote(entry)}, which is no file of the dataset; correct the list")
                )
            else:
                yield image


def _list_above(path: str) -> Iterator[str]:
    yield path
    yield from map(str, PurePosixPath(path).parents)
