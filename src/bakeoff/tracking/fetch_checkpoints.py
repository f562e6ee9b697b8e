"""The checkpoints of a run that a store has -> files on this machine, each whole or refused."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import hash_file
from bakeoff.foundation.workspace import journals
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.tracking.journal.checkpoints import STORED_IDENTITY
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.resolve_name import candidates, stored_runs, unknown
from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from bakeoff.tracking.store.mlflow_names import name_from_mlflow
from bakeoff.tracking.store.stored_run import StoredRun
from bakeoff.tracking.store.target import RUN_TAG, SyncProgress, Target
from bakeoff.tracking.sync.system_metrics import FIRST

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel, Run


class MissingCheckpoint(WorkspaceError):
    """A checkpoint that the store names and does not give."""


@dataclass(frozen=True)
class StoredCheckpoint:
    name: str  # in the run's folder, such as 1-head/00000532
    step: int
    needs: tuple[str, ...]  # names of best weights


class StoredWork:
    def __init__(self, target: Target, run: "Run", models: dict[str, "LoggedModel"]) -> None:
        self.target, self.mlflow_id = target, str(run.info.run_id)
        self.run_id = run.data.tags.get(RUN_TAG, self.mlflow_id)
        self.name = name_from_mlflow(self.run_id, run.info.run_name, run.data.tags)
        self.is_running = run.info.status == "RUNNING"
        self._models = models

    @property
    def short(self) -> str:
        return self.run_id[:SHOWN_OF_ID]

    @property
    def checkpoints(self) -> list[StoredCheckpoint]:
        """List them, the newest first."""
        from bakeoff.tracking.sync.send_checkpoints import NEEDS, is_checkpoint, step_of

        names = sorted((name for name in self._models if is_checkpoint(name)), key=_order, reverse=True)
        needs = {name: tuple(self._models[name].tags.get(NEEDS, "").split()) for name in names}
        return [StoredCheckpoint(name, step_of(name), needs[name]) for name in names]

    def identity(self, folder: Path) -> dict[str, Any]:
        """Return what the run's fingerprint is a hash of."""
        from bakeoff.tracking.store.mlflow_client import connect, explain

        client = connect(self.target.address)
        try:
            file = Path(client.download_artifacts(self.mlflow_id, STORED_IDENTITY, str(folder)))
            tree = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise WorkspaceError(f"run {self.short}: its {STORED_IDENTITY} in MLflow cannot be read") from None
        except Exception as error:  # whatever a store raises
            problem = f"MLflow does not give its {STORED_IDENTITY} ({explain(error)})"
            raise WorkspaceError(f"run {self.short}: {problem}") from None
        return tree

    def fetch(self, wanted: StoredCheckpoint, folder: Path) -> list[Path]:
        """Put a checkpoint and what it needs below `folder`, all of it or an error; what it needs comes first."""
        for name in wanted.needs:
            if name not in self._models:
                raise MissingCheckpoint(f"MLflow lacks {name}, which it goes with")
        return [self._fetch(name, self._models[name], folder) for name in (*wanted.needs, wanted.name)]

    def _fetch(self, name: str, model: "LoggedModel", folder: Path) -> Path:
        from mlflow.artifacts import download_artifacts

        from bakeoff.tracking.store.mlflow_client import REFERENCE, explain
        from bakeoff.tracking.sync.send_models import BYTES, SHA256

        if REFERENCE in model.tags:
            raise MissingCheckpoint(f"MLflow has only the place of {name}: it is {model.tags[REFERENCE]}")
        place, parts = folder / name, folder / "parts" / name
        for needed in (place.parent, parts):
            needed.mkdir(parents=True, exist_ok=True)
        try:
            download_artifacts(model.artifact_location, dst_path=str(parts), tracking_uri=self.target.address)
        except Exception as error:  # whatever a store raises
            raise MissingCheckpoint(f"MLflow does not give {name} ({explain(error)})") from None
        with place.open("wb") as whole:
            for part in sorted(path for path in parts.rglob("*") if path.is_file()):
                with part.open("rb") as content:
                    shutil.copyfileobj(content, whole)
                part.unlink()
        size, expected = place.stat().st_size, model.tags.get(BYTES, "")
        if str(size) != expected:
            raise Damaged(f"{name}: damaged (it has {size:,} bytes, MLflow was given {expected})")
        if hash_file(place) != model.tags.get(SHA256):
            raise Damaged(f"{name}: damaged (its SHA-256 is another)")
        checkpoint.read(place)
        return place

    def take_over(self) -> None:
        """Begin the run's journal on this machine, so that MLflow's run continues and has nothing twice."""
        from bakeoff.tracking.store.mlflow_client import connect

        if (journals() / self.run_id).is_dir():
            return
        seen = connect(self.target.address).get_metric_history(self.mlflow_id, FIRST)
        journal = Journal(self.run_id)
        self.target.write(journal.folder)
        SyncProgress(run=self.mlflow_id, is_doubtful=True).write(journal.folder, self.target)
        journal.run(self.name)
        if seen:  # the points of this machine come after the last one of the store
            last = max(seen, key=lambda point: point.step)
            journal.metrics(last.step, {FIRST: last.value})
        journal.close()


def find_work(target: Target, name: str) -> StoredWork:
    """Find the checkpoints of a run by any of its names. Of several runs those count that have some, and an id names
    one of them."""
    if target.lacks_its_file:
        raise WorkspaceError(f"{name}: {target.shown} is not here; set track.uri to the store that has the run")
    from bakeoff.tracking.store.mlflow_client import explain

    try:
        runs = [run for run in stored_runs(target) if not run.is_deleted]
        meant = candidates(name, runs)
        alike = {run.names.fingerprint for run in meant} - {""}
        works = [_work_of(target, run) for run in runs if run in meant or run.names.fingerprint in alike]
    except Exception as error:  # whatever a store raises
        raise WorkspaceError(f"{name}: MLflow ({target.shown}) says: {explain(error.__cause__ or error)}") from None
    if not works:
        raise unknown(name, runs)
    with_some = [work for work in works if work.checkpoints]
    if not with_some:
        raise WorkspaceError(
            f"{name}: MLflow ({target.shown}) has no checkpoint of run {works[0].short}: it ended before its first, or "
            "track.checkpoints was best or none"
        )
    with_id = [work for work in with_some if any(one.startswith(name) for one in (work.run_id, work.mlflow_id))]
    chosen = with_id or with_some
    if len(chosen) > 1:
        named = ", ".join(f"{work.short} at step {work.checkpoints[0].step:,}" for work in chosen)
        raise WorkspaceError(f"{name}: must name one run, got {len(chosen)}: {named}; give one of these short names")
    return chosen[0]


def _work_of(target: Target, stored: StoredRun) -> StoredWork:
    from bakeoff.tracking.store.mlflow_client import connect, models_of

    client = connect(target.address)  # before the next line, which imports MLflow as well
    from bakeoff.tracking.sync.send_checkpoints import whole_checkpoints

    run = client.get_run(str(stored.mlflow_id))
    return StoredWork(target, run, whole_checkpoints(models_of(client, run.info.experiment_id, run.info.run_id)))


def _order(name: str) -> tuple[int, str]:
    """Return a key that sorts by phases, then steps."""
    phase, _, file = name.partition("/")
    return int(phase.partition("-")[0]), file
