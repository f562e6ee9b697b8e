"""A run as a store or a journal has it: the last value of each metric, and where its files are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.foundation.workspace import DVC_EXPERIMENT, journals
from bakeoff.tracking.journal.entries import (
    FileEntry,
    LinkEntry,
    MetricsEntry,
    ParamsEntry,
    ParentEntry,
    RunEntry,
    StateEntry,
    TagsEntry,
)
from bakeoff.tracking.journal.journal import entries, entries_of
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.results.run_id import Names
from bakeoff.tracking.store.target import all_journals, place_in, target_in

FINGERPRINT = "bakeoff.fingerprint"  # a tag


@dataclass(frozen=True)
class StoredRun:
    run_id: str  # our own; MLflow's if another program made it
    name: str
    status: str  # MLflow's: RUNNING, FINISHED, FAILED, KILLED
    began: int | None = None  # milliseconds since 1970
    ended: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    parent: str | None = None  # the name of the run that it stands under, such as a sweep's
    mlflow_id: str | None = None
    mlflow_experiment: str | None = None
    artifacts: str | None = None  # the address of its files in MLflow
    page: str | None = None  # of MLflow's UI, on a server
    journal: Path | None = None
    is_deleted: bool = False  # somebody deleted it in MLflow

    @property
    def names(self) -> Names:
        return Names(
            self.run_id, self.tags.get(FINGERPRINT, ""), self.mlflow_id or "", self.tags.get(DVC_EXPERIMENT, ""),
            self.name, state=self.tags.get("bakeoff.state") or self.status, began=(self.began or 0) / 1000,
        )  # fmt: skip


def journaled_runs(known: Collection[str]) -> list[StoredRun]:
    """Return what each journal begins with, but for runs that are known; `journaled_in_full` reads the rest."""
    return [_read(folder, whole=False) for folder in all_journals(without=known)]


def journaled_in_full(folder: Path) -> StoredRun:
    return _read(folder, whole=True)


def journal_folders() -> dict[str, Path]:
    """Return the folders of all journals here, by the run's id."""
    folder = journals()
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path for path in paths if (path / FILE).is_file()}


def kept_entry(folder: Path, name: str) -> FileEntry | None:
    """Return the last entry of a file, by its name among the run's artifacts."""
    named = [entry for entry in entries_of(folder, FileEntry) if entry.name == name]
    return named[-1] if named else None


def _read(folder: Path, *, whole: bool) -> StoredRun:
    name, parent, began, ended, status = folder.name, None, None, None, "RUNNING"
    tags: dict[str, str] = {}
    params: dict[str, str] = {}
    metrics: dict[str, float] = {}
    for entry in (entry for entry, _ in entries(folder) if entry):
        match entry:
            case RunEntry():
                name, began = entry.name, entry.at
            case ParentEntry():
                parent = entry.name
            case TagsEntry():
                tags |= entry.values
            case ParamsEntry():
                params = {**entry.values, **params}  # the first value stays, as in MLflow
            case StateEntry() | LinkEntry() if not whole:
                continue
            case _ if not whole:
                break
            case MetricsEntry():
                metrics |= entry.values
            case StateEntry():
                status, ended = entry.state, entry.at if entry.state != "RUNNING" else None
    target = target_in(folder)
    return StoredRun(
        folder.name, name, status, began, ended, tags, params, metrics, parent,
        mlflow_id=place_in(folder, target).run if target else None,
        mlflow_experiment=target.experiment if target else None,
        journal=folder,
    )  # fmt: skip
