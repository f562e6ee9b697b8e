"""Journals -> runs as they stand, whether a store has them or not."""

from collections.abc import Collection
from pathlib import Path

from bakeoff.tracking.dispatch import all_journals
from bakeoff.tracking.journal import FILE, Entry, entries
from bakeoff.tracking.stored_run import StoredRun
from bakeoff.tracking.target import place_in, target_in
from bakeoff.workspace import journals


def journaled_runs(known: Collection[str]) -> list[StoredRun]:
    """What each journal begins with, but for those of runs that are known; `journaled_in_full` reads the rest."""
    return [_read(folder, whole=False) for folder in all_journals() if folder.name not in known]


def journal_folders() -> dict[str, Path]:
    """By the run's id, of all that were told of here."""
    folder = journals()
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path for path in paths if (path / FILE).is_file()}


def journaled_in_full(folder: Path) -> StoredRun:
    return _read(folder, whole=True)


def kept_entry(folder: Path, name: str) -> Entry | None:
    """The last that was told of a file, by its name among the run's artifacts."""
    found = [entry for entry, _ in entries(folder) if entry and entry["kind"] == "file" and entry["name"] == name]
    return found[-1] if found else None


def _read(folder: Path, *, whole: bool) -> StoredRun:
    name, parent, began, ended, status = folder.name, None, None, None, "RUNNING"
    tags: dict[str, str] = {}
    params: dict[str, str] = {}
    metrics: dict[str, float] = {}
    for entry, _ in entries(folder):
        kind = entry["kind"] if entry else None
        if entry is None:
            continue
        if kind == "run":
            name, began = entry["name"], entry["at"]
        elif kind == "parent":
            parent = entry["name"]
        elif kind == "tags":
            tags |= entry["values"]
        elif kind == "params":
            params = entry["values"] | params  # the first that was told stays, as in MLflow
        elif not whole:
            if kind not in ("state", "link"):
                break
        elif kind == "metrics":
            metrics |= entry["values"]
        elif kind == "state":
            status, ended = entry["state"], entry["at"] if entry["state"] != "RUNNING" else None
    target = target_in(folder)
    return StoredRun(
        folder.name, name, status, began, ended, tags, params, metrics, parent,
        mlflow_id=place_in(folder, target).run if target else None,
        mlflow_experiment=target.experiment if target else None,
        journal=folder,
    )  # fmt: skip
