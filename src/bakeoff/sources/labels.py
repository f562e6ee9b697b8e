"""Labels in the order of their ids: read from a file, one a line or a label map (`.pbtxt`), and compared."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.sources.raw_files import make_printable, read_text

ITEM = re.compile(r"item\s*:?\s*\{([^{}]*)\}")
PAIR = re.compile(r"""(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+)""")
NUMBERED = re.compile(r"\s*(\d+)\s*[:,;\s]\s*(\S.*)|(\S.*?)\s*[:,;]\s*(\d+)\s*$")


def read_labels(root: Path, name: str) -> list[str]:
    text = read_text(root, name, "data.labels")
    path = (root / name).as_posix()
    labels = _parse_label_map(path, text) if name.endswith(".pbtxt") else _parse_lines(path, text)
    if not labels:
        raise DataError(f"{path}: holds no label; it needs one a line, in the order of their ids")
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise DataError(f"{path}: holds {twice[0]!r} twice; each label is one class")
    return labels


def require_known(labels: Iterable[str], known: list[str], root: Path, name: str) -> None:
    """Raise DataError unless all labels found in a dataset are in its labels file."""
    missing = sorted(set(labels) - set(known))
    if missing:
        nearest = {label: _find_nearest(label, known) for label in missing[:5]}
        told = (f"{make_printable(one)!r}" + (f" (it has {near!r})" if near else "") for one, near in nearest.items())
        raise DataError(
            f"{(root / name).as_posix()}: lacks {len(missing)} of the labels that the data have: {', '.join(told)}; "
            "add what is missing, in its place, or correct the data"
        )


def require_same_labels(labels: Mapping[str, Sequence[str]]) -> None:
    """Raise DataError with what each has and another lacks, of labels by the name of their dataset.

    `ballon` beside `balloon` is no third class.
    """
    (first, mine), *others = labels.items()
    for other, theirs in others:
        if set(mine) == set(theirs):
            continue
        only_mine, only_theirs = sorted(set(mine) - set(theirs)), sorted(set(theirs) - set(mine))
        lines = [f"data.merge: {first} and {other} must have the same labels"]
        for owner, labels_here, elsewhere, there in (
            (first, only_mine, other, only_theirs),
            (other, only_theirs, first, only_mine),
        ):
            for label in labels_here:
                near = _find_nearest(label, there)
                beside = f"; nearest in {elsewhere}: {make_printable(near)!r}" if near else ""
                lines.append(f"  only {owner} has {make_printable(label)!r}{beside}")
        lines.append("  correct the labels, or name both datasets' labels in one labels file (data.labels)")
        raise DataError("\n".join(lines))


def _find_nearest(label: str, others: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(label, others, n=1, cutoff=0.6)), None)


def _parse_lines(path: str, text: str) -> list[str]:
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise DataError(f"{path}:{number}: is empty; a labels file has one label a line, without gaps")
    if lines and (lines[0].lstrip().startswith(("{", "[", "item {")) or _is_json(text)):
        raise DataError(f"{path}: must have one label a line, looks like JSON or a label map (which ends in .pbtxt)")
    numbered = [NUMBERED.fullmatch(line) for line in lines]
    if len(lines) > 1 and all(numbered) and (first := numbered[0]):
        raise DataError(
            f"{path}:1: must be a label alone, got {lines[0]!r}; write {(first[2] or first[3]).strip()!r}: "
            "ids follow from the order of the lines, from 1"
        )
    return [line.strip() for line in lines]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


def _parse_label_map(path: str, text: str) -> list[str]:
    by_id: dict[int, str] = {}
    for item in ITEM.findall(re.sub(r"#[^\n]*", "", text)):
        pairs = dict(PAIR.findall(item))
        if "id" not in pairs or "name" not in pairs:
            raise DataError(f"{path}: an item lacks its id or its name: {' '.join(item.split())[:80]!r}")
        number, label = int(pairs["id"]), _unquote(pairs["name"])
        if number == 0 and label == "background":
            continue
        if number in by_id:
            raise DataError(f"{path}: id {number} is there twice, for {by_id[number]!r} and {label!r}")
        by_id[number] = label
    if sorted(by_id) != list(range(1, len(by_id) + 1)):
        raise DataError(f"{path}: ids must be 1 to {len(by_id)}, each once, got {sorted(by_id)[:20]}")
    return [by_id[number] for number in sorted(by_id)]


def _unquote(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "\"'" else value
