"""Copies of checkpoints in a store: written in parts with a manifest last, fetched only whole, removed when superseded.

5d1c…/00000002-0f3a9c11/1-head/00000532.part-00001      under the epoch of the lease under which it was written
5d1c…/00000002-0f3a9c11/1-head/00000532.json            the manifest: sizes, SHA-256, the run's id, its identity
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.checkpoint_store.lease import LEASES, name_of
from bakeoff.experiments.checkpoint_store.store import CheckpointStore
from bakeoff.foundation.plain_values import load_fields
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.checkpoints.run_folder import RUN_ID
from bakeoff.learning.input.record_reader import BAD_RECORDS
from bakeoff.tracking.journal.checkpoint_copies import (
    NAME,
    CheckpointCopy,
    count_parts,
    join_parts,
    part_name,
    read_parts,
)

PROBED_BY_THEN_S = 60.0
NEWEST = 2  # whole copies that stay
MANIFEST = re.compile(r"(?P<prefix>[^/]+/(?P<epoch>\d{8})-[0-9a-f]{8})/(?P<name>.+)\.json")
EPOCH = re.compile(r"(\d{8})-[0-9a-f]{8}/")


@dataclass(frozen=True)
class File:
    """A file of a run's folder, as a manifest names it."""

    name: str  # in that folder, such as 1-head/00000532
    bytes: int
    sha256: str

    @property
    def parts(self) -> list[str]:
        return [part_name(self.name, number) for number in range(1, count_parts(self.bytes) + 1)]


def copies(store: CheckpointStore, folder: str) -> list[CheckpointCopy]:
    """Return the copies of a run's checkpoints whose manifests are there, the newest first."""
    matches = (MANIFEST.fullmatch(name) for name in store.names(folder))
    found = (CheckpointCopy.parse(at["name"], int(at["epoch"]), at["prefix"]) for at in matches if at)
    return sorted(filter(None, found), reverse=True)


def manifest_of(copy: CheckpointCopy) -> str:
    return f"{copy.prefix}/{copy.name}.json"


def send_file(store: CheckpointStore, prefix: str, name: str, path: Path) -> File:
    """Write a file in parts."""
    size, digest = path.stat().st_size, hashlib.sha256()
    for number, part in enumerate(read_parts(path), start=1):
        digest.update(part)
        store.write(f"{prefix}/{part_name(name, number)}", part)
    return File(name, size, digest.hexdigest())


def send_manifest(
    store: CheckpointStore, prefix: str, name: str, files: Iterable[File], more: Mapping[str, Any]
) -> None:
    """Write the manifest, which makes a copy whole."""
    listed = [asdict(file) for file in files]
    store.write(f"{prefix}/{name}.json", json.dumps({**more, "name": name, "files": listed}, indent=1).encode())


def fetch(store: CheckpointStore, copy: CheckpointCopy, into: Path) -> tuple[list[Path], str]:
    """Fetch the files of a copy into a folder. Return them, the checkpoint last, and the run's id.

    Raises Damaged if the copy is not what was sent.
    """
    try:
        manifest = json.loads(store.read(manifest_of(copy)))
        files = [load_fields(File, file) for file in manifest["files"]]
        run_id = str(manifest["run"])
        if not RUN_ID.fullmatch(run_id) or not all(NAME.fullmatch(file.name) for file in files):
            raise ValueError("it names other files than a run's")
        paths = [into / file.name for file in files]
        for file, path in zip(files, paths, strict=True):
            join_parts((store.read(f"{copy.prefix}/{part}") for part in file.parts), path, file.bytes, file.sha256)
        if manifest.get(BAD_RECORDS):
            (into / BAD_RECORDS).write_text(str(manifest[BAD_RECORDS]), encoding="utf-8")
            paths.insert(0, into / BAD_RECORDS)
        return paths, run_id
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{store.shown}: the copy of {copy.name} is not whole ({error})") from None


def prune(
    store: CheckpointStore, folder: str, epoch: int, staying: Mapping[str, Iterable[File]], *, with_earlier: bool
) -> None:
    """Remove superseded checkpoints of this epoch, and with `with_earlier` all files of earlier epochs.

    `staying` names the checkpoints of this epoch that stay, and their files. Files of later epochs stay, too.
    """
    kept = {f"{name}.json" for name in staying}
    kept |= {part for files in staying.values() for file in files for part in file.parts}
    for name in sort_manifests_first(store.names(folder)):
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
    if name.rpartition("/")[2].isdecimal():
        return name < own
    try:
        return store.modified(own) - store.modified(name) > PROBED_BY_THEN_S
    except FileNotFoundError:
        return False


def sort_manifests_first(names: Iterable[str]) -> list[str]:
    """Return the names with manifests first, because a copy that loses a part must not have a manifest."""
    return sorted(names, key=lambda name: (not name.endswith(".json"), name))
