"""Weights by their name -> a folder of `data/weights/zoo/`, whole or not there, with `about.yaml` in it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml
from filelock import FileLock, Timeout

from bakeoff.config.weight_card import CARD, FILES
from bakeoff.foundation.errors import ConfigError, DataError, TryAgainLater
from bakeoff.foundation.files import building, hash_file
from bakeoff.foundation.formatting import without_secrets
from bakeoff.importing.weights.archive import unpack
from bakeoff.importing.weights.download import RetryPolicy, copy, download, drop
from bakeoff.importing.weights.weights_catalogue import Entry

MIRROR = "BAKEOFF_WEIGHTS"
ADDRESSES = ("http://", "https://")
HEAD = "# Whose these weights are. Training takes it into the lineage of the run.\n"


@dataclass(frozen=True)
class Places:
    zoo: Path  # data/weights/zoo
    parts: Path  # what a break left of downloads
    mirror: str | None = None  # a folder or an address that has the files in place of their sources


@dataclass(frozen=True)
class Fetched:
    folder: Path
    came_from: str
    sha256: str
    is_verified: bool  # by a sum that somebody else has published


def get(
    entry: Entry, places: Places, *, licence_accepted: bool = False, patience: RetryPolicy | None = None
) -> Fetched | None:
    """Fetch, check, unpack; None if the folder is there."""
    folder = places.zoo / entry.name
    if folder.is_dir():
        return None
    if entry.forbids and not licence_accepted:
        raise ConfigError(
            f"{entry.name}: its licence, {entry.licence}, forbids {entry.forbids}; if that is no use of yours, say so: "
            f"`bakeoff weights get {entry.name} --accept-licence`"
        )
    part = places.parts / entry.file
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{part}.lock", timeout=0):
            return _fetch(entry, places, part, licence_accepted, patience or RetryPolicy())
    except Timeout:
        raise TryAgainLater(f"{part.name}: is being fetched by another process; wait for it") from None


def _fetch(entry: Entry, places: Places, part: Path, licence_accepted: bool, patience: RetryPolicy) -> Fetched:
    came_from = _bring(entry, places, part, patience)
    try:
        sha256 = _check(part, entry, came_from)
        fetched = Fetched(places.zoo / entry.name, came_from, sha256, bool(entry.sha256 or entry.md5))
        with building(fetched.folder) as partial:
            unpack(part, partial)
            unpacked = {path.relative_to(partial).as_posix(): path for path in partial.rglob("*") if path.is_file()}
            files = {name: hash_file(path) for name, path in sorted(unpacked.items())}
            (partial / CARD).write_text(HEAD + _card(entry, fetched, licence_accepted, files), encoding="utf-8")
    except DataError:
        drop(part)  # or the next try would go on with what is no good
        raise
    drop(part)
    return fetched


def _bring(entry: Entry, places: Places, part: Path, patience: RetryPolicy) -> str:
    """Return where it came from."""
    mirror = places.mirror
    if mirror and mirror.startswith(ADDRESSES):
        address = f"{mirror.rstrip('/')}/{quote(entry.file)}"
        download(address, part, entry.size, patience)
        return without_secrets(address)
    if mirror:
        file = Path(mirror).expanduser() / entry.file
        if not file.is_file():
            raise ConfigError(f"${MIRROR}: {mirror} has no {entry.file}; put it there, or unset ${MIRROR}")
        copy(file, part)
        return file.as_posix()
    if entry.source is None:
        raise ConfigError(
            f"{entry.name}: has no address that a command can fetch; {entry.page.name} names its folder "
            f"({entry.page.address}); put its checkpoint into {(places.zoo / entry.name).as_posix()}/, "
            f"or {entry.file} into the folder that ${MIRROR} names"
        )
    download(entry.source, part, entry.size, patience)
    return entry.source


def _check(part: Path, entry: Entry, came_from: str) -> str:
    """Return the file's SHA-256."""
    if entry.size is not None and part.stat().st_size != entry.size:
        raise DataError(f"{came_from}: must have {entry.size:,} bytes, has {part.stat().st_size:,}; nothing is kept")
    sha256 = hash_file(part)
    with part.open("rb") as file:
        md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    for name, stated, digest in (("SHA-256", entry.sha256, sha256), ("MD5", entry.md5, md5)):
        if stated is not None and digest != stated:
            raise DataError(
                f"{came_from}: must have the {name} {stated}, has {digest}; it is damaged or another file, "
                "and nothing is kept"
            )
    return sha256


def _card(entry: Entry, fetched: Fetched, licence_accepted: bool, files: Mapping[str, str]) -> str:
    card = {
        "name": entry.name, "source": entry.source, "came_from": fetched.came_from, "page": entry.page.name,
        "licence": entry.licence, "forbids": entry.forbids, "accepted": licence_accepted, "data": entry.data,
        "classes": entry.classes, "sha256": fetched.sha256, "verified": fetched.is_verified,
        FILES: dict(files),
    }  # fmt: skip
    return yaml.safe_dump(card, sort_keys=False)
