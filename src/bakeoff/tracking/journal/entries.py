"""The entries of a journal, and the lines of a file that hold them. Nothing else knows the JSON in these lines.

4f0a11c2 {"kind": "metrics", "at": 1763740000000, "step": 20, "values": {"train/loss": 0.5}}
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

STAMPS = ("at", "restored")  # fields that the journal sets when it writes an entry
ALWAYS_WRITTEN = {"is_always_written": True}  # of a field that a line has even if it holds its default
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """What all entries have. A subclass has the content of one kind."""

    kind: ClassVar[str]
    at: int = 0  # milliseconds since 1970
    restored: bool = False  # whether it is of an old run, which a store may have


@dataclass(frozen=True)
class MetricsEntry(JournalEntry):
    kind = "metrics"
    step: int
    values: Mapping[str, float]
    revised: bool = False  # whether it takes the place of an earlier value of the step
    weights: str | None = None  # those that were measured, if they are not simply those of the step


@dataclass(frozen=True)
class ParamsEntry(JournalEntry):
    kind = "params"
    values: Mapping[str, str]


@dataclass(frozen=True)
class TagsEntry(JournalEntry):
    kind = "tags"
    values: Mapping[str, str]


@dataclass(frozen=True)
class ArtifactFile:
    """A file as it was when it was handed over."""

    name: str
    sha256: str
    bytes: int
    path: str = ""  # none if its content came as a text
    shown: str = ""  # the path as a user knows it


@dataclass(frozen=True)
class FileEntry(ArtifactFile, JournalEntry):
    """A file among the run's artifacts, with its name there."""

    kind = "file"


@dataclass(frozen=True)
class ModelEntry(JournalEntry):
    kind = "model"
    name: str
    step: int
    weights: str
    by_reference: bool  # whether the store gets only the place of its files
    files: tuple[ArtifactFile, ...]


@dataclass(frozen=True)
class PredictorEntry(ModelEntry):
    """A model that was exported, with what makes it a predictor."""

    answers: str  # detection, one label, several labels
    clips: bool
    requirements: tuple[str, ...]
    register: str | None = field(default=None, metadata=ALWAYS_WRITTEN)  # the name under which it is registered


@dataclass(frozen=True)
class CheckpointFile:
    name: str  # in the run's folder
    bytes: int
    path: str
    needs: tuple[str, ...]  # names of best weights that it goes with
    by_reference: bool


@dataclass(frozen=True)
class CheckpointEntry(JournalEntry):
    kind = "checkpoint"
    name: str
    step: int
    files: tuple[CheckpointFile, ...]
    stay: tuple[str, ...] | None = None  # what the store is to have from now on; if None, nothing is removed there


@dataclass(frozen=True)
class RunEntry(JournalEntry):
    kind = "run"
    name: str
    differs: str = ""  # what was changed in its variant


@dataclass(frozen=True)
class StateEntry(JournalEntry):
    kind = "state"
    state: str  # MLflow's: RUNNING, FINISHED, FAILED, KILLED
    ended: bool = True  # a run that may resume has not ended


@dataclass(frozen=True)
class DatasetEntry(JournalEntry):
    kind = "dataset"
    name: str
    digest: str
    source: str
    counts: Mapping[str, Any]
    context: str = field(default="training", metadata=ALWAYS_WRITTEN)


@dataclass(frozen=True)
class ParentEntry(JournalEntry):
    """The run under which MLflow shows this one, with others."""

    kind = "parent"
    name: str


@dataclass(frozen=True)
class LinkEntry(JournalEntry):
    """A tag that holds MLflow's id of another run."""

    kind = "link"
    tag: str
    run: str


KINDS: dict[str, type[JournalEntry]] = {
    entry.kind: entry
    for entry in (
        MetricsEntry, ParamsEntry, TagsEntry, FileEntry, ModelEntry, CheckpointEntry, RunEntry, StateEntry,
        DatasetEntry, ParentEntry, LinkEntry,
    )
}  # fmt: skip


def format_line(entry: JournalEntry) -> bytes:
    restored = {"restored": True} if entry.restored else {}
    tree = {"kind": entry.kind, "at": entry.at, **dump_fields(entry), **restored}
    content = json.dumps(tree, ensure_ascii=False).encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def parse_line(line: bytes) -> JournalEntry | None:
    """Return None for a line that was cut off or damaged, or is not of this journal."""
    try:
        checksum, content = line.rstrip(b"\n").split(b" ", 1)
        tree: Any = json.loads(content) if int(checksum, 16) == zlib.crc32(content) else None
        stamps = {"at": _expect(int, tree["at"]), "restored": _expect(bool, tree.get("restored", False))}
        kind = KINDS[tree["kind"]]
        return load_model(tree, **stamps) if kind is ModelEntry else load_fields(kind, tree, **stamps)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def load_model(tree: Mapping[str, Any], **stamps: Any) -> ModelEntry:
    """Return a model from its content. One that was exported says what it answers."""
    return load_fields(PredictorEntry if "answers" in tree else ModelEntry, tree, **stamps)


def dump_fields(value: Any) -> dict[str, Any]:
    """Return the content of an entry, or of a value in one, as a line holds it."""
    return {
        name: [dump_fields(one) if is_dataclass(one) else one for one in content] if type(content) is tuple else content
        for name, (_, default, is_always_written) in _describe_fields(value.__class__).items()
        if (content := getattr(value, name)) != default or is_always_written
    }


def load_fields(kind: Callable[..., Value], tree: Mapping[str, Any], **stamps: Any) -> Value:
    """Return a value from its content. Keys that it does not know are left out; other mistakes raise an error."""
    for name, (load, default, _) in _describe_fields(kind).items():
        if name in tree:
            stamps[name] = load(tree[name])
        elif default is MISSING:
            raise KeyError(name)
    return kind(**stamps)


@cache
def _describe_fields(kind: Any) -> dict[str, tuple[Callable[[Any], Any], Any, bool]]:
    """Return how each field is read, its default, and whether it is always written."""
    hints = get_type_hints(kind)
    return {
        field.name: (_make_loader(hints[field.name]), field.default, "is_always_written" in field.metadata)
        for field in fields(kind)
        if field.name not in STAMPS
    }


def _make_loader(hint: Any) -> Callable[[Any], Any]:
    """Return a function that takes what JSON has for a type, and raises TypeError for anything else."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        load = _make_loader(arguments[0])
        return lambda value: None if value is None else load(value)
    if origin is tuple:
        load = _make_loader(arguments[0])
        return lambda value: tuple(map(load, _expect(list, value)))
    if origin is Mapping:
        return partial(_load_mapping, {float: (int, float), Any: object}.get(arguments[1], arguments[1]))
    take: Callable[..., Any] = load_fields if is_dataclass(hint) else _expect
    return partial(take, hint)


def _load_mapping(kind: Any, value: Any) -> Any:
    if not all(isinstance(one, kind) for one in _expect(dict, value).values()):
        raise TypeError
    return value


def _expect(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value
