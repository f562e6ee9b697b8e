"""The MLflow store of the main workspace: `mlflow.db` (SQLite) and `mlartifacts/`.

Several processes that open a new SQLite store at once break it, so it is created and migrated under a
file lock, and whoever comes later finds it ready.
"""

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from filelock import FileLock

from bakeoff.tracking.settings import Mlflow
from bakeoff.workspace import IN_FLIGHT, main_workspace

# A server that is down must not hold a run up for minutes; whoever sets these knows better.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells every table that it creates
logging.getLogger("alembic").setLevel(logging.WARNING)


def local_uri() -> str:
    return f"sqlite:///{(main_workspace() / 'mlflow.db').as_posix()}"


def tracking_uri(settings: Mlflow) -> str:
    return settings.uri or os.environ.get("MLFLOW_TRACKING_URI") or local_uri()


def open_store(settings: Mlflow) -> tuple[MlflowClient, str]:
    """A client on a store that exists, and the id of the experiment."""
    uri = tracking_uri(settings)
    folder = main_workspace() / IN_FLIGHT
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "mlflow.lock"):
        if uri != local_uri():
            client = MlflowClient(tracking_uri=uri)
            return client, _experiment(client, settings.experiment, None)
        artifacts = (main_workspace() / "mlartifacts").as_uri()
        _follow_moved_workspace(artifacts)
        client = MlflowClient(tracking_uri=uri)
        return client, _experiment(client, settings.experiment, artifacts)


def _follow_moved_workspace(artifacts: str) -> None:
    """MLflow keeps absolute addresses of artifacts; a clone that was moved takes its artifacts along."""
    file = main_workspace() / "mlflow.db"
    if not file.is_file():
        return
    with closing(sqlite3.connect(file)) as store, store:
        if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'experiments'").fetchone():
            return
        places = store.execute("SELECT DISTINCT artifact_location FROM experiments").fetchall()
        for (place,) in places:
            if place and place.endswith("/mlartifacts") and place != artifacts:
                store.execute(
                    "UPDATE experiments SET artifact_location = replace(artifact_location, ?, ?)", (place, artifacts)
                )
                store.execute("UPDATE runs SET artifact_uri = replace(artifact_uri, ?, ?)", (place, artifacts))


def _experiment(client: MlflowClient, name: str, artifacts: str | None) -> str:
    found = client.get_experiment_by_name(name)
    if found:
        return found.experiment_id
    try:
        return client.create_experiment(name, artifact_location=artifacts)
    except MlflowException:
        # On a server, someone else may have made it a moment ago.
        found = client.get_experiment_by_name(name)
        if not found:
            raise
        return found.experiment_id


def ui_arguments(port: int) -> list[str]:
    """MLflow's own server on the local store, for this machine only."""
    root = main_workspace()
    return [
        "server",
        f"--backend-store-uri={local_uri()}",
        f"--default-artifact-root={(root / 'mlartifacts').as_uri()}",
        "--host=127.0.0.1",
        f"--port={port}",
        "--workers=1",
    ]


def local_store_exists() -> bool:
    return Path(main_workspace() / "mlflow.db").is_file()
