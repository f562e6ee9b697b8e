"""What MLflow has of a run that was made earlier, here or elsewhere."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.errors import WorkspaceError
from bakeoff.tracking.local import local_uri, store_file
from bakeoff.tracking.settings import Mlflow

CONFIG = "config/run.yaml"  # where train puts it among a run's artifacts


def run_yaml(run_id: str) -> str | None:
    """The text of the run's run.yaml, or None if the store has no such run."""
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # for one small file
    from bakeoff.tracking.store import MlflowClient, MlflowException, tracking_uri

    uri = tracking_uri(Mlflow())
    if uri == local_uri() and not store_file().is_file():
        return None
    client = MlflowClient(tracking_uri=uri)
    try:
        client.get_run(run_id)
    except MlflowException:
        return None
    with TemporaryDirectory() as folder:
        try:
            return Path(client.download_artifacts(run_id, CONFIG, folder)).read_text(encoding="utf-8")
        except (MlflowException, OSError) as error:
            raise WorkspaceError(f"MLflow run {run_id}: has no {CONFIG} ({str(error).splitlines()[0]})") from None
