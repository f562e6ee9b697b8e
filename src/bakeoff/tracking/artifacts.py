"""Files of other runs, from MLflow."""

import tempfile
from pathlib import Path

from bakeoff.errors import ConfigError, WorkspaceError
from bakeoff.tracking.settings import Mlflow, Track
from bakeoff.tracking.target import Target
from bakeoff.workspace import fetched

WEIGHTS = "train/best.weights.h5"


def fetch_weights(settings: Track, run_id: str) -> Path:
    """The best weights of a run, in `.bakeoff/fetched/`."""
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"train.init.weights: {run_id!r} looks like the id of an MLflow run, but track is none")
    try:
        return fetch(run_id, WEIGHTS, settings)
    except WorkspaceError as error:
        raise ConfigError(f"train.init.weights: {error}") from None


def fetch(run_id: str, artifact: str, settings: Mlflow | None = None) -> Path:
    """Any file of a run's, such as `train/best.weights.h5`."""
    target = fetched() / run_id / Path(artifact).name
    if target.is_file():
        return target
    try:
        from bakeoff.tracking.store import MlflowClient, mlflow_id

        client = MlflowClient(tracking_uri=Target.of(settings or Mlflow()).address)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            found = client.download_artifacts(mlflow_id(client, run_id) or run_id, artifact, folder)
            Path(found).replace(target)
    except Exception as error:  # whatever a server raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise WorkspaceError(f"MLflow does not give {artifact} of run {run_id} ({reason})") from None
    return target


def fetch_file(address: str, mlflow_id: str, name: str) -> Path | None:
    """One file of a run, in `.bakeoff/fetched/`; None if the store does not give it."""
    target = fetched() / mlflow_id / name
    if target.is_file():
        return target
    from bakeoff.tracking.store import MlflowClient

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            Path(MlflowClient(tracking_uri=address).download_artifacts(mlflow_id, name, folder)).replace(target)
    except Exception:  # whatever a server raises
        return None
    return target
