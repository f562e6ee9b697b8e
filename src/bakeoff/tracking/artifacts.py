"""Files of other runs, from MLflow."""

import tempfile
from pathlib import Path

from bakeoff.errors import ConfigError
from bakeoff.tracking.settings import Mlflow, Track
from bakeoff.tracking.target import Target
from bakeoff.workspace import fetched

WEIGHTS = "train/best.weights.h5"


def fetch_weights(settings: Track, run_id: str) -> Path:
    """The best weights of a run, in `.bakeoff/fetched/`."""
    target = fetched() / run_id / Path(WEIGHTS).name
    if target.is_file():
        return target
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"train.init.weights: {run_id!r} looks like the id of an MLflow run, but track is none")
    try:
        from bakeoff.tracking.store import MlflowClient, mlflow_id

        client = MlflowClient(tracking_uri=Target.of(settings).address)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            found = client.download_artifacts(mlflow_id(client, run_id) or run_id, WEIGHTS, folder)
            Path(found).replace(target)
    except Exception as error:  # whatever a server raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"train.init.weights: MLflow does not give {WEIGHTS} of run {run_id} ({reason})") from None
    return target
