"""Files of other runs, from MLflow."""

import tempfile
from pathlib import Path

from bakeoff.errors import ConfigError
from bakeoff.tracking.settings import Mlflow, Track
from bakeoff.tracking.target import Target
from bakeoff.tracking.trained_models import BEST, SUFFIX
from bakeoff.workspace import fetched

WEIGHTS = f"{BEST}{SUFFIX}"
AS_ARTIFACT = f"train/{WEIGHTS}"  # where runs of version 0.3.0 and before have it


def fetch_weights(settings: Track, run_id: str) -> Path:
    """The best weights of a run, in `.bakeoff/fetched/`."""
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"train.init.weights: {run_id!r} looks like the id of an MLflow run, but track is none")
    target = fetched() / run_id / WEIGHTS
    if target.is_file():
        return target
    try:
        from bakeoff.tracking.model_of_run import REFERENCE, download_artifacts, model_named
        from bakeoff.tracking.store import MlflowClient, mlflow_id

        client = MlflowClient(tracking_uri=Target.of(settings).address)
        run = client.get_run(mlflow_id(client, run_id) or run_id).info
        model = model_named(client, run.experiment_id, run.run_id, BEST)
        if model and REFERENCE in model.tags:
            raise LookupError(f"its model {model.name} is {model.tags[REFERENCE]}")
        uri = f"{model.artifact_location}/{WEIGHTS}" if model else f"{run.artifact_uri}/{AS_ARTIFACT}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            Path(download_artifacts(uri, dst_path=folder, tracking_uri=client.tracking_uri)).replace(target)
    except Exception as error:  # whatever a server raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"train.init.weights: MLflow does not give {WEIGHTS} of run {run_id} ({reason})") from None
    return target
