"""Copies of checkpoints in a store: written in parts with a manifest last, fetched only whole, removed when superseded.

5d1c…/00000002-0f3a9c11/1-head/00000532.part-00001      under the epoch of the lease under which it was written
5d1c…/00000002-0f3a9c11/1-head/00000532.json            the manifest: sizes, SHA-256, the run's id, its identity
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.checkpoint_store.lease import LEASES, name_of
from bakeoff.experiments.checkpoint_store.store import CheckpointStore
from bakeoff.foundation.files import sync, sync_names
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.input.record_reader import BAD_RECORDS
from bakeoff.tracking.journal.checkpoints import NAME, PART_BYTES

PROBED_BY_THEN_S = 60.0
NEWEST = 2  # whole copies that stay
MANIFEST = re.compile(r"(?P<epoch>\d{8})-[0-9a-f]{8}/(?P<name>(?P<phase>\d+)-[^/\\]+/(?P<step>\d+))\.json")
EPOCH = re.compile(r"(\d{8})-[0-9a-f]{8}/")
RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class File:
    """A file of a run's folder, as a manifest names it."""

    name: str  # in that folder, such as 1-head/00000532
    bytes: int
    sha256: str

    @property
    def parts(self) -> list[str]:
        return [f"{self.name}.part-{number:05d}" for number in range(1, -(-self.bytes // PART_BYTES) + 1)]


@dataclass(frozen=True, order=True)
class Copy:
    """A checkpoint in the store whose manifest is there; the greater, the newer."""

    epoch: int
    phase: int
    step: int
    prefix: str  # the folder of its epoch
    name: str  # in the run's folder, such as 1-head/00000532

    @property
    def manifest(self) -> str:
        return f"{self.prefix}/{self.name}.json"


def copies(store: CheckpointStore, folder: str) -> list[Copy]:
    """Return the copies of a run's checkpoints, the newest first."""
    matches = (MANIFEST.fullmatch(name.removeprefix(f"{folder}/")) for name in store.names(folder))
    return sorted(
        (
            Copy(int(at["epoch"]), int(at["phase"]), int(at["step"]), f"{folder}/{at[0].partition('/')[0]}", at["name"])
            for at in matches
            if at
        ),
        reverse=True,
    )


def send_file(store: CheckpointStore, prefix: str, name: str, path: Path) -> File:
    """Write a file in parts."""
    size, digest, number = path.stat().st_size, hashlib.sha256(), 0
    with path.open("rb") as content:
        while part := content.read(PART_BYTES):
            number += 1
            digest.update(part)
            store.write(f"{prefix}/{name}.part-{number:05d}", part)
    return File(name, size, digest.hexdigest())


def send_manifest(
    store: CheckpointStore, prefix: str, name: str, files: Iterable[File], more: Mapping[str, Any]
) -> None:
    """Write the manifest, which makes a copy whole."""
    listed = [{"name": file.name, "bytes": file.bytes, "sha256": file.sha256} for file in files]
    store.write(f"{prefix}/{name}.json", json.dumps({**more, "name": name, "files": listed}, indent=1).encode())


def fetch(store: CheckpointStore, copy: Copy, into: Path) -> tuple[list[Path], str]:
    """Fetch the files of a copy into a folder. Return them, the checkpoint last, and the run's id.

    Raises Damaged if the copy is not what was sent.
    """
    try:
        manifest = json.loads(store.read(copy.manifest))
        files = [File(str(file["name"]), int(file["bytes"]), str(file["sha256"])) for file in manifest["files"]]
        run_id = str(manifest["run"])
        if not RUN_ID.fullmatch(run_id) or not all(NAME.fullmatch(file.name) for file in files):
            raise ValueError("it names other files than a run's")
        paths = [_fetch_file(store, copy.prefix, file, into) for file in files]
        if manifest.get(BAD_RECORDS):
            (into / BAD_RECORDS).write_text(str(manifest[BAD_RECORDS]), encoding="utf-8")
            paths.insert(0, into / BAD_RECORDS)
        return paths, run_id
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{store.shown}: the copy of {copy.name} is not whole ({error})") from None


def _fetch_file(store: CheckpointStore, prefix: str, file: File, into: Path) -> Path:
    place, digest, size = into / file.name, hashlib.sha256(), 0
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as whole:
        for part in file.parts:
            content = store.read(f"{prefix}/{part}")
            digest.update(content)
            size += whole.write(content)
    if size != file.bytes or digest.hexdigest() != file.sha256:
        raise ValueError(f"{file.name} has other bytes than were sent")
    return place


def put_in_place(files: Iterable[Path], below: Path, folder: Path) -> None:
    """Move files that were fetched below a folder into a run's folder, in their order and lasting."""
    for file in files:
        place = folder / file.relative_to(below)
        place.parent.mkdir(exist_ok=True)
        sync(file)
        file.replace(place)
        sync_names(place.parent)


def has_as_new(folder: Path, name: str) -> bool:
    """Return whether a run's folder has a checkpoint that is at least as new as the one of this name."""
    phase, _, step = name.partition("/")
    wanted = (int(phase.partition("-")[0]), int(step))
    here = folder.glob("*-*/[0-9]*[0-9]")
    return any((int(path.parent.name.partition("-")[0]), int(path.name)) >= wanted for path in here)


def prune(
    store: CheckpointStore, folder: str, epoch: int, staying: Mapping[str, Iterable[File]], *, with_earlier: bool
) -> None:
    """Remove superseded checkpoints of this epoch, and with `with_earlier` all files of earlier epochs.

    `staying` names the checkpoints of this epoch that stay, and their files. Files of later epochs stay, too.
    """
    kept = {f"{name}.json" for name in staying}
    kept |= {part for files in staying.values() for file in files for part in file.parts}
    for name in _sort_manifests_first(store.names(folder)):
        inside = name.removeprefix(f"{folder}/")
        if match := EPOCH.match(inside):
            is_own = int(match[1]) == epoch
            is_removed = inside[match.end() :] not in kept if is_own else with_earlier and int(match[1]) < epoch
        else:
            is_removed = inside.startswith(f"{LEASES}/") and _is_over(store, name, name_of(folder, epoch))
        if is_removed:
            store.remove(name)


def _is_over(store: CheckpointStore, name: str, own: str) -> bool:
    """Return whether a lease is of an earlier epoch, or a probe of the store is left from a kill."""
    if name.rpartition("/")[2].isdigit():
        return name < own
    try:
        return store.modified(own) - store.modified(name) > PROBED_BY_THEN_S
    except FileNotFoundError:
        return False


def _sort_manifests_first(names: Iterable[str]) -> list[str]:
    """Return the names with manifests first, because a copy that loses a part must not have a manifest."""
    return sorted(names, key=lambda name: (not name.endswith(".json"), name))
