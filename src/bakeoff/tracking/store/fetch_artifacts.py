"""Files of other runs, from MLflow; weights and the like are kept in `.bakeoff/fetched/`."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.track_settings import Mlflow, Track
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.workspace import fetched
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
    if held.is_file():
        return held
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"train.init.weights: {run_id!r} looks like the id of an MLflow run, but track is none")
    try:
        best = fetch_best(run_id, settings)
    except WorkspaceError as error:
        raise ConfigError(f"train.init.weights: {error}") from None
    with suppress(WorkspaceError):  # without it nobody knows what that run started from, and a line reports that
        _fetch(run_id, STATE, lambda _, info: f"{info.artifact_uri}/{STATE}", settings)
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
    run_id: str, name: str, address_of: Callable[["MlflowClient", "RunInfo"], str], settings: Mlflow | None
) -> Path:
    target = fetched() / run_id / Path(name).name
    if target.is_file():
        return target
    try:
        from bakeoff.tracking.store.mlflow_client import connect, find_id

        client = connect(Target.from_settings(settings or Mlflow()).address)
        from mlflow.artifacts import download_artifacts

        address = address_of(client, client.get_run(find_id(client, run_id) or run_id).info)
        _download(target, lambda folder: download_artifacts(address, dst_path=folder, tracking_uri=client.tracking_uri))
    except Exception as error:  # whatever a server raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise WorkspaceError(f"MLflow does not give {name} of run {run_id} ({reason})") from None
    return target


def _download(target: Path, into: Callable[[str], str]) -> None:
    """Download whole or not at all: `into` a folder, from which the file moves to its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        Path(into(folder)).replace(target)


def _address_of_best(client: "MlflowClient", run: "RunInfo") -> str:
    from bakeoff.tracking.store.mlflow_client import REFERENCE, models_of

    models = (model for model in models_of(client, run.experiment_id, run.run_id) if model.name == BEST)
    model = max(models, key=lambda model: model.creation_timestamp, default=None)
    if model and REFERENCE in model.tags:
        raise LookupError(f"its model {model.name} is {model.tags[REFERENCE]}")
    return f"{model.artifact_location}/{WEIGHTS}" if model else f"{run.artifact_uri}/{AS_ARTIFACT}"
