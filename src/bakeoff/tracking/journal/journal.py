"""The journal of a run: `.bakeoff/journal/<run id>/`, appended to by the run's stages and read by the sender.

journal.jsonl  the entries, a line each
files/5d1c…    what artifacts held when they were handed over, until MLflow has them
writing        locked while a process writes; `running` is there from the beginning of a training to its end
"""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.artifacts import keep, keep_as, keep_text
from bakeoff.tracking.journal.entries import (
    CheckpointEntry,
    DatasetEntry,
    FileEntry,
    JournalEntry,
    LinkEntry,
    MetricsEntry,
    ModelEntry,
    NetworkEntry,
    ParamsEntry,
    ParentEntry,
    RunEntry,
    StateEntry,
    TagsEntry,
    format_line,
    parse_line,
)
from bakeoff.tracking.journal.journal_folder import FILE, LONGEST_PARAM, LONGEST_TAG, RUNNING

LONGEST_LINE = 2**24  # bytes; a longer one is no line of ours
Kind = TypeVar("Kind", bound=JournalEntry)


def entries(folder: Path, start: int = 0) -> Iterator[tuple[JournalEntry | None, int]]:
    """Yield each line that has its end, and the offset after it."""
    if not (folder / FILE).is_file():
        return
    with (folder / FILE).open("rb") as lines:
        lines.seek(start)
        while line := lines.readline(LONGEST_LINE):
            entry = parse_line(line)
            while line and not line.endswith(b"\n"):  # it is longer, or has no end yet
                line, entry = lines.readline(LONGEST_LINE), None
            if not line:
                return
            yield entry, lines.tell()


def entries_of(folder: Path, kind: type[Kind]) -> Iterator[Kind]:
    """Yield the whole entries of a kind."""
    return (entry for entry, _ in entries(folder) if isinstance(entry, kind))


class Journal:
    """The writing end of a journal. Nothing waits for a tracker, and a full disk costs nothing but time."""

    def __init__(self, run_id: str) -> None:
        from filelock import FileLock, Timeout

        self.run_id, self.folder = run_id, journals() / run_id
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trouble: OSError | None = None
        self._one_at_a_time, self._unwritten = Lock(), b""
        self.is_silent: Callable[[], bool] = lambda: False  # whether another machine reports the run by now
        self.restoring = False  # whether the entries are of an old run, which a store may have
        self._points: dict[str, tuple[int, float]] = {}  # the last of each metric: step, value
        self._last: dict[tuple[str, str], str] = {}  # the last value of each param, tag, file, …
        self._models: dict[str, ModelEntry] = {}  # the last of each name
        self._network: NetworkEntry | None = None
        self._writing = FileLock(self.folder / "writing", thread_local=False)
        with suppress(Timeout):  # another stage of the run writes, too; lines are appended whole
            self._writing.acquire(timeout=1)  # whoever asks whether somebody writes holds it for a moment
        self.is_alone = self._writing.is_locked
        self._file = self._open()
        self._torn = _ends_within_a_line(self.folder / FILE)  # a killed process left half a line
        with suppress(OSError):  # a full disk
            self._torn = self._torn and os.write(self._file, b"\n") == 0  # only the end of the line may be missing
        self.is_new = True
        for entry in (entry for entry, _ in entries(self.folder) if entry):
            self.is_new = False
            self._remember(entry)

    def close(self) -> None:
        self._append(b"")
        self.settle()
        os.close(self._file)
        self._writing.release()

    def settle(self) -> None:
        """Bring to the disk all that was written until now."""
        with suppress(OSError):
            os.fsync(self._file)

    @property
    def is_finished(self) -> bool:
        """Return whether the journal's last state is that the run came to its end."""
        return self._last.get(("state", "")) == "FINISHED"

    @property
    def has_metrics(self) -> bool:
        return bool(self._points)

    def next_step(self, metric: str) -> int:
        return self._points[metric][0] + 1 if metric in self._points else 0

    def last_value(self, metric: str) -> float | None:
        return self._points[metric][1] if metric in self._points else None

    def metrics(
        self, step: int, values: Mapping[str, float], *, revised: bool = False, weights: str | None = None
    ) -> None:
        """Write each metric once per step, in order; a `revised` one again if its value differs. `weights` names those
        that were measured, if they are not simply those of the step.
        """
        with self._one_at_a_time:
            new = {key: value for key, value in values.items() if self._is_new_point(key, step, value, revised)}
            if new:
                self._write(MetricsEntry(step, new, revised, weights or None))

    def params(self, values: Mapping[str, str]) -> None:
        """Write params. MLflow's params never change, so a changed one becomes a tag."""
        new, changed = {}, {}
        with self._one_at_a_time:
            for key, value in values.items():
                if ("params", key) not in self._last:
                    new[key] = self._within("params", key, value, LONGEST_PARAM)
                elif self._last["params", key] != self._within("params", key, value, LONGEST_PARAM):
                    changed[f"changed.{key}"] = value
            if new:
                self._write(ParamsEntry(new))
        self.tags(changed)

    def tags(self, values: Mapping[str, str]) -> None:
        with self._one_at_a_time:
            cut = {key: self._within("tags", key, value, LONGEST_TAG) for key, value in values.items()}
            new = {key: value for key, value in cut.items() if self._last.get(("tags", key)) != value}
            if new:
                self._write(TagsEntry(new))

    def file(self, path: Path, name: str) -> None:
        """Write the path of a file among the run's artifacts, and keep its content as it is now."""
        with self._one_at_a_time:
            self._write_file(keep(path, name, self.folder / "files"))

    def text(self, content: str | bytes, name: str) -> None:
        with self._one_at_a_time:
            self._write_file(keep_text(content, name, self.folder / "files"))

    def model(self, entry: ModelEntry) -> None:
        """Write a model. It is written again only after it changed."""
        with self._one_at_a_time:
            if self._models.get(entry.name) != entry:
                for file in () if entry.by_reference else entry.files:
                    keep_as(file, Path(file.path), self.folder / "files")
                self._write(entry)

    def checkpoint(self, checkpoint: CheckpointEntry) -> None:
        self._write_entry(checkpoint)

    def network(self, model: Mapping[str, Any], classes: Sequence[str], *, multi_label: bool) -> None:
        """Write what builds the network. It is written again only after it changed."""
        entry = NetworkEntry(model, tuple(classes), multi_label)
        with self._one_at_a_time:
            if self._network != entry:
                self._write(entry)

    def run(self, name: str, differs: str = "") -> None:
        """Write the run's name, and what was changed in its variant."""
        self._write_entry(RunEntry(name, differs))

    def state(self, state: str, *, ended: bool = True) -> None:
        """Write one of MLflow's states: RUNNING, FINISHED, FAILED, KILLED. A run that may resume has not `ended`."""
        self._write_entry(StateEntry(state, ended))
        with suppress(OSError):
            if state == "RUNNING":
                (self.folder / RUNNING).write_text(f"{platform.node()}\n", encoding="utf-8")
            else:
                (self.folder / RUNNING).unlink()

    def dataset(
        self, name: str, digest: str, source: str, counts: Mapping[str, Any], context: str = "training"
    ) -> None:
        if ("dataset", name) not in self._last:
            self._write_entry(DatasetEntry(name, digest, source, counts, context))

    def parent(self, name: str) -> None:
        """Write the name of the run under which MLflow shows this one, with others."""
        if ("parent", name) not in self._last:
            self._write_entry(ParentEntry(name))

    def link(self, tag: str, run_id: str) -> None:
        """Write a tag that holds MLflow's id of another run."""
        self._write_entry(LinkEntry(tag, run_id))

    def _write_entry(self, entry: JournalEntry) -> None:
        with self._one_at_a_time:
            self._write(entry)

    def _is_new_point(self, key: str, step: int, value: float, revised: bool) -> bool:
        if key not in self._points:
            return True
        last, before = self._points[key]
        return step > last or (revised and step == last and value != before)

    def _within(self, kind: str, key: str, value: str, longest: int) -> str:
        """Cut the value, with the whole of it among the artifacts."""
        if len(value) <= longest:
            return value
        name = f"long/{kind}/{key.replace('/', '_')}.txt"
        self._write_file(keep_text(value, name, self.folder / "files"))
        mark = f" [cut; all {len(value):,} characters: {name}]"
        return value[: longest - len(mark)] + mark

    def _write_file(self, entry: FileEntry) -> None:
        if self._last.get(("file", entry.name)) != entry.sha256:
            self._write(entry)

    def _write(self, entry: JournalEntry) -> None:
        if self.is_silent():
            return
        self._remember(entry)
        self._append(format_line(replace(entry, at=time.time_ns() // 1_000_000, restored=self.restoring)))

    def _remember(self, entry: JournalEntry) -> None:
        match entry:
            case MetricsEntry():
                self._points |= {key: (entry.step, value) for key, value in entry.values.items()}
            case ParamsEntry() | TagsEntry():
                self._last |= {(entry.kind, key): value for key, value in entry.values.items()}
            case StateEntry():
                self._last[entry.kind, ""] = entry.state
            case FileEntry():
                self._last[entry.kind, entry.name] = entry.sha256
            case DatasetEntry() | ParentEntry():
                self._last[entry.kind, entry.name] = ""
            case ModelEntry():
                self._models[entry.name] = replace(entry, at=0, restored=False)
            case NetworkEntry():
                self._network = replace(entry, at=0, restored=False)

    def _append(self, line: bytes) -> None:
        self._unwritten += line
        if not self._unwritten:
            return
        content = (b"\n" if self._torn else b"") + self._unwritten
        try:
            if not os.fstat(self._file).st_nlink:
                self._write_anew()
            written = content[: os.write(self._file, content)]
        except OSError as error:  # the disk is full, most likely; the next line tries again
            self.trouble = error
            return
        self._torn = not written.endswith(b"\n")
        self._unwritten = content[written.rfind(b"\n") + 1 :]

    def _open(self) -> int:
        return os.open(self.folder / FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)

    def _write_anew(self) -> None:
        """Put a journal that somebody removed back: without it the store would never learn how its run ended."""
        from filelock import Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / FILE).write_bytes(os.pread(self._file, os.fstat(self._file).st_size, 0))
        os.close(self._file)
        self._file = self._open()
        self._writing.release()
        with suppress(Timeout):
            self._writing.acquire(timeout=1)


def _ends_within_a_line(file: Path) -> bool:
    with file.open("rb") as lines:
        lines.seek(max(0, lines.seek(0, os.SEEK_END) - 1))
        return lines.read() not in (b"", b"\n")
