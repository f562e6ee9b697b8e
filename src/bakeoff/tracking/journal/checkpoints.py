"""Checkpoints that are handed to a journal. A second name (a hard link) keeps each until MLflow has it.

Nothing is read or copied here, for training goes on meanwhile: the sender digests what it sends.
"""

import os
from contextlib import suppress
from pathlib import Path

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.run_folder import IDENTITY, CheckpointList
from bakeoff.tracking.journal.checkpoint_copies import PART_BYTES, count_parts
from bakeoff.tracking.journal.entries import CheckpointEntry, CheckpointFile
from bakeoff.tracking.journal.journal import Journal

KEPT = "checkpoint-"  # the prefix of a checkpoint's second name
STORED_IDENTITY = f"train/{IDENTITY}"  # among the run's artifacts
ALL, BEST, WITH_KEPT, NONE = "all", "best", "kept", "none"


def report_checkpoints(journal: Journal, stock: CheckpointList, settings: Mlflow) -> CheckpointEntry | None:
    """Write the newest checkpoint into the journal, as far as the settings ask for it, and return the entry."""
    if settings.checkpoints == NONE:
        return None
    new = [*stock.bests[stock.newest[0]], *([] if settings.checkpoints == BEST else stock.newest[:1])]
    new = [path for path in new if path.is_file()]
    files = tuple(_describe(path, stock, settings) for path in new)
    if not files:
        return None
    stay = None
    if settings.checkpoints != ALL:
        stay = tuple(_name(path, stock) for path in _wanted(stock, settings.checkpoints))
        _drop({second_name(journal.folder, name) for name in stay}, journal.folder / "files")
    for path, file in zip(new, files, strict=True):
        if not file.by_reference:
            _keep(path, second_name(journal.folder, file.name))
    entry = CheckpointEntry(_name(stock.newest[0], stock), stock.step, files, stay)
    journal.checkpoint(entry)
    return entry


def describe_sending(entry: CheckpointEntry, settings: Mlflow) -> list[str]:
    """Return lines for the screen about the size of checkpoints that go to the store; none for small ones."""
    largest = max(entry.files, key=lambda file: file.bytes)
    size = f"{largest.bytes / 1e6:.0f} MB"
    if largest.by_reference:
        limit = f"track.largest_model_mb={settings.largest_model_mb:g} is the limit"
        return [f"MLflow gets only the place of checkpoints, of which one has {size}: {limit}"]
    if count_parts(largest.bytes) > 1:
        parts = f"parts of {PART_BYTES / 1e6:.0f} MB, and after a failure those that are missing"
        return [f"MLflow gets checkpoints, of which one has {size}, in {parts}"]
    return []


def second_name(folder: Path, name: str) -> Path:
    """Return where a journal keeps a checkpoint that is called so."""
    return folder / "files" / f"{KEPT}{name.replace('/', '-')}"


def _wanted(stock: CheckpointList, which: str) -> list[Path]:
    checkpoints = [*stock.newest, *(stock.kept if which == WITH_KEPT else ())]
    if which == BEST:
        return list(stock.bests[stock.newest[0]])
    return [*checkpoints, *dict.fromkeys(best for path in checkpoints for best in stock.bests[path])]


def _describe(path: Path, stock: CheckpointList, settings: Mlflow) -> CheckpointFile:
    size = path.stat().st_size
    needs = tuple(_name(best, stock) for best in stock.bests.get(path, ()))
    is_too_large = size > settings.largest_model_mb * 1e6
    return CheckpointFile(_name(path, stock), size, str(path.resolve()), needs, by_reference=is_too_large)


def _name(path: Path, stock: CheckpointList) -> str:
    return path.relative_to(stock.folder).as_posix()


def _keep(path: Path, place: Path) -> None:
    """Give it a second name. Where a disk has none, the sender takes the file itself as long as it is there."""
    partial = place.with_name(f"{place.name}.partial")
    with suppress(OSError):  # the sender may have taken it away a moment ago
        if place.exists() and place.samefile(path):
            return
        place.parent.mkdir(exist_ok=True)
        partial.unlink(missing_ok=True)
        os.link(path, partial)
        partial.replace(place)


def _drop(staying: set[Path], files: Path) -> None:
    """Remove the copies of files that were not sent while they counted. They are not sent any more."""
    for path in files.glob(f"{KEPT}*"):
        if path not in staying:
            path.unlink(missing_ok=True)
