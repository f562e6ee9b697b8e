"""The checkpoints of a run that a store has -> files on this machine, each whole or refused."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.workspace import journals
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.tracking.journal.checkpoint_contents import ARCHIVE, CONTENTS, EXACT, Contents, list_rest
from bakeoff.tracking.journal.checkpoint_copies import NAME, CheckpointCopy, join_parts
from bakeoff.tracking.journal.checkpoints import STORED_IDENTITY
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.keras_archive import join
from bakeoff.tracking.resolve_name import candidates, stored_runs, unknown
from bakeoff.tracking.store.stored_run import StoredRun
from bakeoff.tracking.store.target import SyncProgress, Target
from bakeoff.tracking.sync.system_metrics import FIRST

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel


@dataclass(frozen=True)
class StoredWork:
    """The checkpoints of a run in a store, and the best weights that they need."""

    target: Target
    run: StoredRun
    models: Mapping[str, "LoggedModel"]  # by their names in the run's folder

    @property
    def short(self) -> str:
        return self.run.names.short

    @property
    def copies(self) -> list[CheckpointCopy]:
        """List the checkpoints, the newest first."""
        return sorted(filter(None, map(CheckpointCopy.parse, self.models)), reverse=True)

    @property
    def newest_step(self) -> int:
        return max(int(match["step"]) for match in map(NAME.fullmatch, self.models) if match)

    def identity(self, folder: Path) -> dict[str, Any]:
        """Return what the run's fingerprint is a hash of."""
        from bakeoff.tracking.store.mlflow_client import connect, explain

        client = connect(self.target.address)
        try:
            file = Path(client.download_artifacts(str(self.run.mlflow_id), STORED_IDENTITY, str(folder)))
            tree = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise WorkspaceError(f"run {self.short}: its {STORED_IDENTITY} in MLflow cannot be read") from None
        except Exception as error:  # whatever a store raises
            problem = f"MLflow does not give its {STORED_IDENTITY} ({explain(error)})"
            raise WorkspaceError(f"run {self.short}: {problem}") from None
        return tree

    def fetch(self, wanted: CheckpointCopy, folder: Path) -> list[Path]:
        """Put a checkpoint and what it needs below `folder`, all of it or Damaged; what it needs comes first."""
        from bakeoff.tracking.sync.send_checkpoints import NEEDS

        needs = self.models[wanted.name].tags.get(NEEDS, "").split()
        return [self._fetch(name, folder) for name in (*needs, wanted.name)]

    def _fetch(self, name: str, folder: Path) -> Path:
        from mlflow.artifacts import download_artifacts

        from bakeoff.tracking.store.mlflow_client import REFERENCE, SHA256, explain
        from bakeoff.tracking.sync.send_models import BYTES

        if name not in self.models:
            raise Damaged(f"MLflow lacks {name}, which it goes with")
        model, place, parts = self.models[name], folder / name, folder / "parts" / name
        if REFERENCE in model.tags:
            raise Damaged(f"MLflow has only the place of {name}: it is {model.tags[REFERENCE]}")
        parts.mkdir(parents=True)
        try:
            own = self.target.address
            files = Path(download_artifacts(model.artifact_location, dst_path=str(parts), tracking_uri=own))
        except Exception as error:  # whatever a store raises
            raise Damaged(f"MLflow does not give {name} ({explain(error)})") from None
        try:
            join_parts(_take_whole(files), place, int(model.tags.get(BYTES, "")), model.tags.get(SHA256))
        except ValueError as error:
            raise Damaged(f"{name}: damaged ({error})") from None
        checkpoint.read(place)
        return place

    def take_over(self) -> None:
        """Begin the run's journal on this machine, so that MLflow's run continues and has nothing twice."""
        from bakeoff.tracking.store.mlflow_client import connect

        if (journals() / self.run.run_id).is_dir():
            return
        seen = connect(self.target.address).get_metric_history(str(self.run.mlflow_id), FIRST)
        journal = Journal(self.run.run_id)
        self.target.write(journal.folder)
        SyncProgress(run=self.run.mlflow_id, is_doubtful=True).write(journal.folder, self.target)
        journal.run(self.run.name)
        if seen:  # the points of this machine come after the last one of the store
            last = max(seen, key=lambda point: point.step)
            journal.metrics(last.step, {FIRST: last.value})
        journal.close()


def find_work(target: Target, name: str, *, to_resume: bool = True) -> StoredWork:
    """Find the checkpoints of a run by any of its names. Of several runs those count that have some, and an id names
    one of them. Best weights alone are none `to_resume` from."""
    if target.lacks_its_file:
        raise WorkspaceError(f"{name}: {target.shown} is not here; set track.uri to the store that has the run")
    from bakeoff.tracking.store.mlflow_client import explain

    try:
        runs = [run for run in stored_runs(target) if not run.is_deleted]
        meant = candidates(name, runs)
        alike = {run.names.fingerprint for run in meant} - {""}
        works = [_work_of(target, run) for run in runs if run in meant or run.names.fingerprint in alike]
    except ModuleNotFoundError:
        raise  # the extra is missing, and no store is asked
    except Exception as error:  # whatever a store raises
        raise WorkspaceError(f"{name}: MLflow ({target.shown}) says: {explain(error.__cause__ or error)}") from None
    if not works:
        raise unknown(name, runs)
    with_some = [work for work in works if (work.copies if to_resume else work.models)]
    if not with_some:
        raise WorkspaceError(
            f"{name}: MLflow ({target.shown}) has no checkpoint of run {works[0].short}: it ended before its first, or "
            "track.checkpoints was best or none"
        )
    with_id = [
        work for work in with_some if work.run.run_id.startswith(name) or str(work.run.mlflow_id).startswith(name)
    ]
    chosen = with_id or with_some
    if len(chosen) > 1:
        named = ", ".join(f"{work.short} at step {work.newest_step:,}" for work in chosen)
        raise WorkspaceError(f"{name}: must name one run, got {len(chosen)}: {named}; give one of these short names")
    return chosen[0]


def _work_of(target: Target, stored: StoredRun) -> StoredWork:
    from bakeoff.tracking.store.mlflow_client import connect, models_of

    client = connect(target.address)  # before the next line, which imports MLflow as well
    from bakeoff.tracking.sync.send_checkpoints import whole_checkpoints

    run = client.get_run(str(stored.mlflow_id)).info
    return StoredWork(target, stored, whole_checkpoints(models_of(client, run.experiment_id, run.run_id)))


def _take_whole(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of the checkpoint whose files are in a folder. Earlier versions sent it as it is."""
    if not (folder / EXACT).is_dir():
        yield from _take_parts(path for path in folder.rglob("*") if path.is_file())
    elif contents := Contents.read(folder / CONTENTS):
        yield from join(_take_parts(list_rest(folder)), folder / ARCHIVE, contents.weights)
    else:
        raise ValueError(f"its {CONTENTS} is gone or cannot be read")


def _take_parts(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield the parts of a file, and remove each before the next, so that the disk has no part twice."""
    for part in sorted(files):
        content = part.read_bytes()
        part.unlink()
        yield content
