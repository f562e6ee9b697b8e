"""The entries of a journal, and the lines of a file that hold them. Nothing else knows the JSON in these lines.

4f0a11c2 {"kind": "metrics", "at": 1763740000000, "step": 20, "values": {"train/loss": 0.5}}
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from bakeoff.foundation.plain_values import load_fields

STAMPS = ("at", "restored")  # fields that the journal sets when it writes an entry
ALWAYS_WRITTEN = {"is_always_written": True}  # of a field that a line has even if it holds its default


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
class NetworkEntry(JournalEntry):
    """What builds the network of which a run's checkpoints hold the weights."""

    kind = "network"
    model: Mapping[str, Any]  # the group of run.yaml
    classes: tuple[str, ...]
    multi_label: bool = False


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
        MetricsEntry, ParamsEntry, TagsEntry, FileEntry, ModelEntry, CheckpointEntry, NetworkEntry, RunEntry,
        StateEntry, DatasetEntry, ParentEntry, LinkEntry,
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
        if "at" not in tree:
            return None
        kind = KINDS[tree["kind"]]
        if kind is ModelEntry and "answers" in tree:  # one that was exported says what it answers
            kind = PredictorEntry
        return load_fields(kind, tree)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def dump_fields(value: Any) -> dict[str, Any]:
    """Return the content of an entry, or of a value in one, as a line holds it."""
    return {
        one.name: list(map(_dump, content)) if type(content) is tuple else content
        for one in fields(value)
        if one.name not in STAMPS
        and ((content := getattr(value, one.name)) != one.default or "is_always_written" in one.metadata)
    }


def _dump(part: Any) -> Any:
    return dump_fields(part) if is_dataclass(part) else part
