"""What MLflow has of a run that was made earlier, here or elsewhere."""

from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.errors import WorkspaceError
from bakeoff.run.options import Mlflow
from bakeoff.tracking.local import store_file
from bakeoff.tracking.target import LOCAL, Target

CONFIG = "config/run.yaml"  # where train puts it among a run's artifacts


def run_yaml(run_id: str) -> str | None:
    """The text of the run's run.yaml, or None if the store has no such run."""
    from bakeoff.tracking.store import MlflowClient, MlflowException, mlflow_id

    target = Target.of(Mlflow())
    if target.uri == LOCAL and not store_file().is_file():
        return None
    client = MlflowClient(tracking_uri=target.address)
    try:
        found = mlflow_id(client, run_id)
    except MlflowException:
        return None
    if found is None:
        return None
    with TemporaryDirectory() as folder:
        try:
            return Path(client.download_artifacts(found, CONFIG, folder)).read_text(encoding="utf-8")
        except (MlflowException, OSError) as error:
            raise WorkspaceError(f"MLflow run {run_id}: has no {CONFIG} ({str(error).splitlines()[0]})") from None
