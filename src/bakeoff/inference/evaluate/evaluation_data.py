"""Records that models are judged on: the workspace's own, or those of another option of conf/data/.

The others are kept in `.bakeoff/judged/`, each by a name that says settings, labels, code and files.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from bakeoff.config.compose.data_source import ChosenSource, choose_source
from bakeoff.dataset.building.build import build
from bakeoff.dataset.building.shard_assignment import require_judgeable
from bakeoff.dataset.building.write_shards import make_records
from bakeoff.dataset.records.manifest import FILE, Manifest, Split, read_manifest
from bakeoff.dataset.records.record import TEST
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.machine import cores
from bakeoff.foundation.result_code import deciding_digest

OWN = "data/records"


@dataclass(frozen=True)
class Material:
    """One split of some records."""

    folder: Path
    manifest: Manifest
    name: str  # of the split
    option: str | None = None  # of conf/data/; None: the workspace's own records

    @property
    def split(self) -> Split:
        return self.manifest.splits[self.name]

    @property
    def title(self) -> str:
        """Name it among the evaluations of a run: `test`, or `flowers_test` of other data."""
        return f"{self.option}_{self.name}" if self.option else self.name

    @property
    def where(self) -> str:
        return f"data option {self.option}" if self.option else OWN

    @property
    def digest(self) -> str:
        return self.manifest.digest_of(self.name)

    @property
    def is_seen(self) -> bool:
        """Whether every run of these records has seen it by rule."""
        return self.option is None and self.name != TEST


def open_material(option: str | None, split: str, labels: Sequence[str], task: str) -> Material:
    """Return the split, whose examples have no other labels than these. Raises DataError."""
    folder = _build_option(option, labels, task) if option else workspace.RECORDS
    manifest = read_manifest(folder)
    material = Material(folder, manifest, split, option)
    _require_task(material.where, manifest.task, task)
    if manifest.classes != tuple(labels):
        raise DataError(f"{material.where}: {_describe_labels(manifest.classes, labels)}")
    if split not in manifest.splits or not material.split.examples:
        there = ", ".join(f"{part.examples:,} {name}" for name, part in manifest.splits.items() if part.examples)
        remedy = "; give the dataset a test folder or list, or set data.split.test" if split == TEST else ""
        raise DataError(f"{material.where}: has no {split} example, it has {there or 'none at all'}{remedy}")
    return material


def _require_task(where: str, theirs: str, task: str) -> None:
    if theirs != task:
        raise DataError(f"{where}: is for {theirs}, the model is for {task}; judge it on data for {task}")


def _describe_labels(theirs: Sequence[str], labels: Sequence[str]) -> str:
    only = [
        f"only {owner} {verb} {', '.join(map(repr, sorted(set(mine) - set(others))))}"
        for owner, verb, mine, others in (("it", "has", theirs, labels), ("the model", "knows", labels, theirs))
        if set(mine) - set(others)
    ]
    different = " and ".join(only) or "they are the same in another order"
    return f"its labels are not the model's: {different}; judge a model that was trained on them"


def _build_option(option: str, labels: Sequence[str], task: str) -> Path:
    chosen = choose_source(workspace.PARAMS, workspace.CONF, option)
    source = chosen.source[0].dataset if isinstance(chosen.source, list) else chosen.source
    _require_task(f"data option {option}", source.task, task)
    shelf = workspace.judged_records()
    folder = shelf / _name(chosen, labels)
    shelf.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / FILE).is_file():
            _build(chosen, folder, labels)
    return folder


def _build(chosen: ChosenSource, folder: Path, labels: Sequence[str]) -> None:
    if not isinstance(chosen.source, (Dataset, list)):
        require_judgeable(chosen.source.classes(), labels, "the drawn data")
        make_records(chosen.source, folder, chosen.digest)
        return
    build(_parts(chosen), folder, cores(), chosen.digest, labels=labels)


def _parts(chosen: ChosenSource) -> list[Part]:
    if isinstance(chosen.source, list):
        return chosen.source
    return [Part("", chosen.source)] if isinstance(chosen.source, Dataset) else []


def _name(chosen: ChosenSource, labels: Sequence[str]) -> str:
    """Return what changes when the records would: by its size and time a file is known, as DVC knows it."""
    content = hashlib.sha256(json.dumps([chosen.digest, list(labels), deciding_digest("build_records")]).encode())
    for part in _parts(chosen):
        for line in stamp_files(part.dataset.folder()):
            content.update(line)
    return content.hexdigest()[:16]


def stamp_files(folder: Path) -> Iterator[bytes]:
    """Yield what changes when a file of a folder does, in a fixed order."""
    for place, folders, files in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(place, name)
            try:
                state = os.stat(path)
            except OSError:
                continue
            yield os.fsencode(f"{os.path.relpath(path, folder)}\0{state.st_size}\0{state.st_mtime_ns}\n")


def load_own_records() -> Manifest | None:
    """Return the manifest of the workspace's own records, if there are any."""
    return read_manifest(workspace.RECORDS) if (workspace.RECORDS / FILE).is_file() else None
