"""A logged model of a run, by its name."""

from mlflow.artifacts import download_artifacts
from mlflow.entities import LoggedModel

from bakeoff.tracking.store import MlflowClient

__all__ = ["REFERENCE", "download_artifacts", "model_named"]

REFERENCE = "bakeoff.reference"  # a tag: why its files are not here, and where they are


def model_named(client: MlflowClient, experiment: str, run: str, name: str) -> LoggedModel | None:
    """The newest of that name."""
    found = client.search_logged_models([experiment], filter_string=f"source_run_id = '{run}' AND name = '{name}'")
    return max(found, key=lambda model: model.creation_timestamp, default=None)
