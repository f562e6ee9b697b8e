"""Labels in the order of their ids: read from a file, one a line or a label map, checked and compared."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.dataset.sources.parsing import parse_json, quote
from bakeoff.dataset.sources.paths import blaming, read_text
from bakeoff.foundation.errors import DataError, show
from bakeoff.foundation.formatting import CONTROL, make_printable

if TYPE_CHECKING:
    from google.protobuf.message import Message

LONGEST = 200  # characters of a label
NUMBERED = re.compile(r"\s*(\d+)\s*[:,;\s]\s*(\S.*)|(\S.*?)\s*[:,;]\s*(\d+)\s*$")
LABEL_MAP = re.compile(r"\s*(?:#[^\n]*\n\s*)*item\s*:?\s*\{")  # how one begins, whatever the file is called


def find_unfit_label(label: str) -> str | None:
    """Return why a label cannot be a line of labels.txt; every id after it would be another's."""
    if not label.strip():
        return "is empty"
    if CONTROL.search(label):
        return "has a line break or another character that cannot be shown"
    return f"has more than {LONGEST} characters" if len(label) > LONGEST else None


def require_fit(labels: Sequence[str]) -> None:
    """Raise ValueError unless each of the labels that a file lists is one line and there once."""
    for number, label in enumerate(labels, start=1):
        if unfit := find_unfit_label(label):
            raise ValueError(f"class {number}, {quote(label)}, {unfit}; rename it")
    label, times = Counter(labels).most_common(1)[0] if labels else ("", 0)
    if times > 1:
        raise ValueError(f"holds {quote(label)} twice; each label is one class, rename or delete one")


def read_labels(root: Path, name: str) -> list[str]:
    text = read_text(root, name, "data.labels")
    path = (root / name).as_posix()
    is_map = name.endswith(".pbtxt") or LABEL_MAP.match(text)
    labels = _parse_label_map(path, text) if is_map else _parse_lines(path, text)
    if not labels:
        raise DataError(f"{path}: holds no label; it needs one a line, in the order of their ids")
    with blaming(root, name, "data.labels"):
        require_fit(labels)
    return labels


def require_known(labels: Iterable[str], known: list[str], root: Path, name: str) -> None:
    """Raise DataError unless all labels of a dataset are in its labels file."""
    missing = sorted(set(labels) - set(known))
    if missing:
        nearest = {label: find_nearest(label, known) for label in missing[:5]}
        names = (f"{make_printable(one)!r}" + (f" (it has {near!r})" if near else "") for one, near in nearest.items())
        raise DataError(
            f"{(root / name).as_posix()}: lacks {len(missing)} of the labels that the data have: {', '.join(names)}; "
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
                near = find_nearest(label, there)
                beside = f"; nearest in {elsewhere}: {make_printable(near)!r}" if near else ""
                lines.append(f"  only {owner} has {make_printable(label)!r}{beside}")
        lines.append("  correct the labels, or name both datasets' labels in one labels file (data.labels)")
        raise DataError("\n".join(lines))


def find_nearest(label: str, others: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(label, others, n=1, cutoff=0.6)), None)


def _parse_lines(path: str, text: str) -> list[str]:
    lines = [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []
    for number, line in enumerate(lines, start=1):
        if not line:
            raise DataError(f"{path}:{number}: is empty; a labels file has one label a line, without gaps")
    if lines and (lines[0].startswith(("{", "[")) or _is_json(text)):
        raise DataError(
            f"{path}: must have one label a line, or be a label map that begins with `item {{`, looks like JSON"
        )
    if long := next((number for number, line in enumerate(lines, start=1) if len(line) > LONGEST), 0):
        raise DataError(f"{path}:{long}: has more than {LONGEST} characters; a labels file has one label a line")
    numbered = [NUMBERED.fullmatch(line) for line in lines]
    if len(lines) > 1 and all(numbered) and (first := numbered[0]):
        raise DataError(
            f"{path}:1: must be a label alone, got {lines[0]!r}; write {(first[2] or first[3]).strip()!r}: "
            "ids follow from the order of the lines, from 1"
        )
    return lines


def _is_json(text: str) -> bool:
    try:
        return isinstance(parse_json(text), (dict, list))
    except ValueError:
        return False


def _parse_label_map(path: str, text: str) -> list[str]:
    by_id: dict[int, str] = {}
    for item in _read_items(path, text):
        if not (item.HasField("id") and item.HasField("name")):
            raise DataError(f"{path}: an item lacks its id or its name: {quote(' '.join(str(item).split()))}")
        number, label = item.id, item.name.strip()
        if number == 0 and label == "background":
            continue
        if number in by_id:
            raise DataError(f"{path}: id {number} is there twice, for {by_id[number]!r} and {label!r}; correct one")
        by_id[number] = label
    if sorted(by_id) != list(range(1, len(by_id) + 1)):
        raise DataError(f"{path}: ids must be 1 to {len(by_id)}, each once, got {sorted(by_id)[:20]}")
    return [by_id[number] for number in sorted(by_id)]


def _read_items(path: str, text: str) -> "Iterable[Message]":
    """Return the items of a label map; what else stands in them is passed over."""
    from google.protobuf import text_format

    try:
        return text_format.Parse(text, _new_label_map(), allow_unknown_field=True).item
    except text_format.ParseError as error:
        reason = str(error).rpartition("': ")[2].rpartition(" : ")[2]  # without the line itself
        raise DataError(f"{path}:{error.GetLine()}: no label map: {show(reason[:LONGEST])[1:-1]}; correct it") from None
    except RecursionError:
        raise DataError(f"{path}: no label map: its blocks are nested too deep; correct it") from None


def _new_label_map() -> "Message":
    """Return a StringIntLabelMap of the Object Detection API, as far as it is read here."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    proto = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="label_map.proto", package="own")
    item = file.message_type.add(name="Item")
    item.field.add(name="name", number=1, type=proto.TYPE_STRING, label=proto.LABEL_OPTIONAL)
    item.field.add(name="id", number=2, type=proto.TYPE_INT32, label=proto.LABEL_OPTIONAL)
    items = file.message_type.add(name="Labels").field
    items.add(name="item", number=1, type=proto.TYPE_MESSAGE, type_name=".own.Item", label=proto.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("own.Labels"))()
