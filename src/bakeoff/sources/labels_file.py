"""A file that lists labels in the order of their ids: one a line, or a label map (`.pbtxt`)."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.sources.paths import read_text, shown

ITEM = re.compile(r"item\s*:?\s*\{([^{}]*)\}")
PAIR = re.compile(r"""(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+)""")
NUMBERED = re.compile(r"\s*(\d+)\s*[:,;\s]\s*(\S.*)|(\S.*?)\s*[:,;]\s*(\d+)\s*$")


def read_labels(root: Path, name: str) -> list[str]:
    text = read_text(root, name, "data.labels")
    path = (root / name).as_posix()
    labels = _label_map(path, text) if name.endswith(".pbtxt") else _lines(path, text)
    if not labels:
        raise DataError(f"{path}: holds no label; it needs one a line, in the order of their ids")
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise DataError(f"{path}: holds {twice[0]!r} twice; each label is one class")
    return labels


def require_known(labels: Iterable[str], known: list[str], root: Path, name: str) -> None:
    """The labels found in a dataset must all be in its labels file."""
    missing = sorted(set(labels) - set(known))
    if missing:
        pairs = ", ".join(f"{shown(label)!r}{_near(label, known)}" for label in missing[:5])
        raise DataError(
            f"{(root / name).as_posix()}: lacks {len(missing)} of the labels that the data have: {pairs}; "
            "add what is missing, in its place, or correct the data"
        )


def _near(label: str, known: list[str]) -> str:
    near = get_close_matches(label, known, n=1, cutoff=0.6)
    return f" (it has {near[0]!r})" if near else ""


def _lines(path: str, text: str) -> list[str]:
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise DataError(f"{path}:{number}: is empty; a labels file has one label a line, without gaps")
    if lines and (lines[0].lstrip().startswith(("{", "[", "item {")) or _is_json(text)):
        raise DataError(f"{path}: must have one label a line, looks like JSON or a label map (which ends in .pbtxt)")
    if len(lines) > 1 and all(NUMBERED.fullmatch(line) for line in lines):
        found = NUMBERED.fullmatch(lines[0])
        assert found
        raise DataError(
            f"{path}:1: must be a label alone, got {lines[0]!r}; write {(found[2] or found[3]).strip()!r}: "
            "ids follow from the order of the lines, from 1"
        )
    return [line.strip() for line in lines]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


def _label_map(path: str, text: str) -> list[str]:
    by_id: dict[int, str] = {}
    for item in ITEM.findall(re.sub(r"#[^\n]*", "", text)):
        pairs = {key: value for key, value in PAIR.findall(item)}
        if "id" not in pairs or "name" not in pairs:
            raise DataError(f"{path}: an item lacks its id or its name: {' '.join(item.split())[:80]!r}")
        number, label = int(pairs["id"]), _unquoted(pairs["name"])
        if number == 0 and label == "background":
            continue
        if number in by_id:
            raise DataError(f"{path}: id {number} is there twice, for {by_id[number]!r} and {label!r}")
        by_id[number] = label
    if sorted(by_id) != list(range(1, len(by_id) + 1)):
        raise DataError(f"{path}: ids must be 1 to {len(by_id)}, each once, got {sorted(by_id)[:20]}")
    return [by_id[number] for number in sorted(by_id)]


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "\"'" else value
