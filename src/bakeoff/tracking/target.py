"""The store that a run is meant for, and how far it has the run."""

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bakeoff.files import write_whole
from bakeoff.run.options import Mlflow
from bakeoff.tracking.local import local_uri
from bakeoff.workspace import journals

LOCAL = "local"  # the main workspace's own store, wherever the workspace is moved to
FILE = "target.json"


@dataclass(frozen=True)
class Target:
    uri: str
    experiment: str
    artifacts: str | None = field(default=None, compare=False)  # of a new experiment

    @classmethod
    def of(cls, settings: Mlflow) -> "Target":
        uri = settings.uri or os.environ.get("MLFLOW_TRACKING_URI")
        return cls.at(uri, settings.experiment, settings.artifacts)

    @classmethod
    def at(cls, uri: str | None, experiment: str, artifacts: str | None = None) -> "Target":
        return cls(LOCAL if uri in (None, "", local_uri()) else str(uri), experiment, artifacts)

    @property
    def key(self) -> str:
        """Names it in file names."""
        return hashlib.sha256(f"{self.uri}\n{self.experiment}".encode()).hexdigest()[:12]

    @property
    def address(self) -> str:
        return local_uri() if self.uri == LOCAL else self.uri

    @property
    def shown(self) -> str:
        return "mlflow.db" if self.uri == LOCAL else without_secrets(self.uri)

    def write(self, folder: Path) -> None:
        _write(folder / FILE, asdict(self))


def target_in(folder: Path) -> Target | None:
    tree = _read(folder / FILE)
    return Target(**tree) if tree else None


@dataclass(frozen=True)
class Place:
    """How far a store has a run."""

    offset: int = 0  # of the journal
    run: str | None = None  # MLflow's own id of the run
    created: bool = False  # whether this journal made the run there; it may have been there before
    refused: tuple[str, ...] = ()  # what the store did not take, and why
    trouble: str | None = None  # why the rest is not sent
    tries: int = 0  # that failed since something was sent

    def write(self, folder: Path, target: Target) -> None:
        _write(folder / f"sent-{target.key}.json", asdict(self))


def place_in(folder: Path, target: Target) -> Place:
    tree = _read(folder / f"sent-{target.key}.json")
    return Place(**(tree | {"refused": tuple(tree["refused"])})) if tree else Place()


def own_id(mlflow_id: str) -> str | None:
    """Of a run that was told of here, by the id that some store gave it."""
    places = (path for path in journals().glob("*/sent-*.json") if (_read(path) or {}).get("run") == mlflow_id)
    return next((path.parent.name for path in places), None)


def without_secrets(text: str) -> str:
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", text)


def _write(path: Path, tree: dict) -> None:
    write_whole(path, json.dumps(tree) + "\n")


def _read(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
