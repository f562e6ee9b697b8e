"""The store that a run is meant for, the main workspace's own `mlflow.db` or another, and how far it has the run.

Beside the run's journal: target.json names the store, sent-3f80….json says how far that one has the journal.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.files import read_json, write_whole
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.plain_values import load_fields
from bakeoff.foundation.workspace import journals, main_workspace
from bakeoff.tracking.journal.journal_folder import FILE as JOURNAL

if TYPE_CHECKING:
    from bakeoff.config.track_settings import Mlflow, Track

LOCAL = "local"  # the main workspace's own store, wherever the workspace is moved to
FILE = "target.json"
MARKED = 512  # bytes before a place, by which it is recognised
SQLITE = "sqlite:///"
RUN_TAG = "bakeoff.run"  # in a store, our own id of a run, by which it is found again


def store_file() -> Path:
    return main_workspace() / "mlflow.db"


def local_uri() -> str:
    return f"{SQLITE}{store_file().as_posix()}"


def artifacts_uri() -> str:
    return (main_workspace() / "mlartifacts").as_uri()


@dataclass(frozen=True)
class Target:
    uri: str
    experiment: str
    artifacts: str | None = field(default=None, compare=False)  # of a new experiment

    @classmethod
    def from_settings(cls, settings: "Mlflow") -> "Target":
        return cls.at_address(
            settings.uri or os.environ.get("MLFLOW_TRACKING_URI"), settings.experiment, settings.artifacts
        )

    @classmethod
    def at_address(cls, uri: str | None, experiment: str, artifacts: str | None = None) -> "Target":
        return cls(LOCAL if uri in (None, "", local_uri()) else str(uri), experiment, artifacts)

    @property
    def key(self) -> str:
        """Return the store's name in names of files."""
        return hashlib.sha256(f"{self.uri}\n{self.experiment}".encode()).hexdigest()[:12]

    @property
    def address(self) -> str:
        return local_uri() if self.uri == LOCAL else self.uri

    @property
    def shown(self) -> str:
        return "mlflow.db" if self.uri == LOCAL else without_secrets(self.uri)

    @property
    def database(self) -> Path | None:
        """Return the file of a database of SQLite, with what an address may say behind a question mark."""
        return Path(self.address.removeprefix(SQLITE)) if self.address.startswith(SQLITE) else None

    @property
    def lacks_its_file(self) -> bool:
        """Return whether MLflow would make the store now, for it is a database in a file that is not there."""
        return self.database is not None and not Path(str(self.database).partition("?")[0]).is_file()

    def write(self, folder: Path) -> None:
        _write(folder / FILE, asdict(self))


@dataclass(frozen=True)
class SyncProgress:
    """How far a store has a run."""

    offset: int = 0  # of the journal
    run: str | None = None  # MLflow's own id of the run
    created: bool = False  # whether this journal made the run there; it may have been there before
    refused: tuple[str, ...] = ()  # what the store did not take, and why
    trouble: str | None = None  # why the rest is not sent
    tries: int = 0  # that failed since something was sent
    mark: int | None = None  # a sum of the journal's bytes before the offset; None: an earlier version wrote none
    is_doubtful: bool = False  # the journal lost lines that the store has: each point is looked up before it is sent

    @classmethod
    def parse(cls, tree: dict[str, Any]) -> "SyncProgress":
        """Return the beginning, if nothing or something else is there."""
        try:
            place = load_fields(cls, tree)
        except TypeError:
            return cls()
        return place if place.offset >= 0 <= place.tries else cls()

    def move(self, journal: Path, offset: int) -> "SyncProgress":
        """Return the place to which all was sent, without trouble."""
        return replace(self, offset=offset, mark=mark_at(journal, offset), trouble=None, tries=0)

    def begin_again(self) -> "SyncProgress":
        """Return the beginning, in a store that has an unknown part of what was sent."""
        return replace(self, offset=0, mark=None, is_doubtful=True, refused=(), trouble=None, tries=0)

    def is_in(self, journal: Path) -> bool:
        """Return whether the journal still holds what was sent of it. A loss of power may take its last lines."""
        current = mark_at(journal, self.offset)
        return self.offset == 0 or (current is not None and self.mark in (None, current))

    def write(self, folder: Path, target: Target) -> None:
        _write(folder / f"sent-{target.key}.json", asdict(self))


def takes_checkpoints_here(settings: "Track") -> bool:
    """Return whether the checkpoints of a run go to the main workspace's own store, on its disk."""
    from bakeoff.config.track_settings import Mlflow

    return (
        isinstance(settings, Mlflow) and settings.checkpoints != "none" and Target.from_settings(settings).uri == LOCAL
    )


def target_in(folder: Path) -> Target | None:
    tree = read_json(folder / FILE)
    uri, experiment = tree.get("uri"), tree.get("experiment")
    if not (isinstance(uri, str) and isinstance(experiment, str)):
        return None
    return Target(uri, experiment, tree.get("artifacts"))


def place_in(folder: Path, target: Target) -> SyncProgress:
    place = SyncProgress.parse(read_json(folder / f"sent-{target.key}.json"))
    return place if place.is_in(folder / JOURNAL) else replace(place, offset=0, mark=None, is_doubtful=True)


def mark_at(journal: Path, offset: int) -> int | None:
    """Return a number for what the journal holds before an offset; None if it does not reach there."""
    length = min(offset, MARKED)
    try:
        with journal.open("rb") as lines:
            lines.seek(offset - length)
            held = lines.read(length)
    except (OSError, ValueError):  # no file has a place as far as that
        return None
    return zlib.crc32(held) if len(held) == length else None


def first_home(folder: Path, other: Target) -> tuple[Target, str] | None:
    """Return the store that a run was meant for and its id there; None if that is `other`, or has no such run."""
    own = target_in(folder)
    run = place_in(folder, own).run if own and own != other else None
    return (own, run) if own and run else None


def own_id(mlflow_id: str) -> str | None:
    """Return our id of a run with a journal here, by the id that some store gave it."""
    places = (path for path in journals().glob("*/sent-*.json") if read_json(path).get("run") == mlflow_id)
    return next((path.parent.name for path in places), None)


def all_journals(without: Collection[str] = ()) -> list[Path]:
    """List the folders of journals but for those of some runs, those written first before others: a run may name an
    earlier one."""
    folders = [path for path in journals().iterdir() if path.name not in without] if journals().is_dir() else []
    complete = [folder for folder in folders if (folder / FILE).is_file() and (folder / JOURNAL).is_file()]
    return sorted(complete, key=lambda folder: (folder / FILE).stat().st_mtime_ns)


def is_sent(folder: Path, target: Target) -> bool:
    try:
        return place_in(folder, target).offset >= (folder / JOURNAL).stat().st_size
    except FileNotFoundError:  # somebody removed it
        return True


def list_unsent(target: Target) -> list[Path]:
    """List the journals meant for a store that it has not all of, those that failed less often first."""
    waiting = [folder for folder in all_journals() if target_in(folder) == target and not is_sent(folder, target)]
    return sorted(waiting, key=lambda folder: place_in(folder, target).tries)


def _write(path: Path, tree: dict) -> None:
    write_whole(path, json.dumps(tree) + "\n", lasting=True)
