"""Files of other runs, from MLflow; weights and the like are kept in `.bakeoff/fetched/`."""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.track_settings import Mlflow, Track
from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError
from bakeoff.foundation.files import require_whole
from bakeoff.foundation.workspace import fetched
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.artifacts import BEST, SUFFIX
from bakeoff.tracking.store.target import Target

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import RunInfo

WEIGHTS = f"{BEST}{SUFFIX}"
AS_ARTIFACT = f"train/{WEIGHTS}"  # where runs of version 0.3.0 and before have it
STATE = "train/state.json"
CONFIG = "config/run.yaml"  # where train puts it among a run's artifacts


def fetch_weights(settings: Track, run_id: str) -> Path:
    """Fetch what `train.init.weights` names: the best weights of a run."""
    held = fetched() / run_id / WEIGHTS
    if _is_whole(held):
        return held
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"train.init.weights: {run_id!r} looks like the id of an MLflow run, but track is none")
    try:
        best = fetch_best(run_id, settings)
    except WorkspaceError as error:
        raise ConfigError(f"train.init.weights: {error}") from None
    with suppress(WorkspaceError):  # without it nobody knows what that run started from, and a line reports that
        _fetch(run_id, STATE, lambda _, info: (f"{info.artifact_uri}/{STATE}", None), settings)
    return best


def fetch_best(run_id: str, settings: Mlflow | None = None) -> Path:
    return _fetch(run_id, WEIGHTS, _address_of_best, settings)


def fetch_file(address: str, mlflow_id: str, name: str) -> Path | None:
    """Fetch one file of a run, from a store at any address; None if the store does not give it."""
    target = fetched() / mlflow_id / name
    if target.is_file():
        return target
    from bakeoff.tracking.store.mlflow_client import connect

    client = connect(address)
    try:
        _download(target, lambda folder: client.download_artifacts(mlflow_id, name, folder))
    except Exception:  # whatever a server raises
        return None
    return target


def _fetch(
    run_id: str, name: str, address_of: Callable[["MlflowClient", "RunInfo"], tuple[str, str | None]],
    settings: Mlflow | None,
) -> Path:  # fmt: skip
    target = fetched() / run_id / Path(name).name
    if _is_whole(target):
        return target
    try:
        from bakeoff.tracking.store.mlflow_client import connect, find_id

        client = connect(Target.from_settings(settings or Mlflow()).address)
        from mlflow.artifacts import download_artifacts

        address, digest = address_of(client, client.get_run(find_id(client, run_id) or run_id).info)
        _download(
            target,
            lambda folder: download_artifacts(address, dst_path=folder, tracking_uri=client.tracking_uri),
            digest,
        )
    except DataError as error:
        raise WorkspaceError(f"run {run_id}: {error}") from None
    except Exception as error:  # whatever a server raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise WorkspaceError(f"MLflow does not give {name} of run {run_id} ({reason})") from None
    return target


def _is_whole(held: Path) -> bool:
    """Return whether a file was fetched before and is as a state.json says that was fetched with it."""
    if not held.is_file():
        return False
    states = [held.with_name(Path(STATE).name), held.parent / STATE]
    try:
        for state in states:
            require_whole(held, TrainedState.at(state).files.get(held.name), "mlflow")
    except DataError:
        print(f"warning: {held.as_posix()}: damaged, and is fetched again", file=sys.stderr)
        return False
    return True


def _download(target: Path, into: Callable[[str], str], digest: str | None = None) -> None:
    """Download whole or not at all: `into` a folder, from which the file moves to its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        file = Path(into(folder))
        require_whole(file, digest, "mlflow")
        file.replace(target)


def _address_of_best(client: "MlflowClient", run: "RunInfo") -> tuple[str, str | None]:
    """Return where the best weights of a run are, and their SHA-256 if the store has it."""
    from bakeoff.tracking.store.mlflow_client import REFERENCE, SHA256, models_of

    models = (model for model in models_of(client, run.experiment_id, run.run_id) if model.name == BEST)
    model = max(models, key=lambda model: model.creation_timestamp, default=None)
    if model and REFERENCE in model.tags:
        raise LookupError(f"its model {model.name} is {model.tags[REFERENCE]}")
    if model is None:
        return f"{run.artifact_uri}/{AS_ARTIFACT}", None
    return f"{model.artifact_location}/{WEIGHTS}", model.tags.get(SHA256)
