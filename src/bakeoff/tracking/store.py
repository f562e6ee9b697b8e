"""A client on the store: the main workspace's own, or a server.

Several processes that open a new SQLite store at once break it, so it is created and migrated under a
file lock, and whoever comes later finds it ready.
"""

import logging
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from filelock import FileLock

from bakeoff.errors import WorkspaceError
from bakeoff.tracking.local import artifacts_uri, store_file
from bakeoff.tracking.target import LOCAL, Target, without_secrets
from bakeoff.workspace import IN_FLIGHT, main_workspace

# What failed is tried again by whoever asked, not within a request for minutes; whoever sets these knows better.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # what runs here is nobody else's business

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells every table that it creates
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # what fails is raised as well, and said once
logging.getLogger("alembic").setLevel(logging.WARNING)

EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # the UI shows runs of training, not of prompts

OTHER_SCHEMA = re.compile(r"out-of-date database schema \(found version (\w+),")
MIGRATIONS = Path(mlflow.__file__).parent / "store/db_migrations/versions"
HOLD_ADDRESSES = (
    ("experiments", "artifact_location"), ("runs", "artifact_uri"), ("logged_models", "artifact_location"),
    ("model_versions", "source"), ("model_versions", "storage_location"),
)  # fmt: skip

REFUSALS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "ENDPOINT_NOT_FOUND")  # the last by a server without MLflow 3
RUN_TAG = "bakeoff.run"  # our own id of a run, by which it is found again


def open_store(target: Target) -> tuple[MlflowClient, str]:
    """A client on a store that exists, and the id of the experiment."""
    try:
        return _opened(target)
    except MlflowException as error:
        if versions := OTHER_SCHEMA.search(str(error)):
            raise WorkspaceError(_of_another_mlflow(versions[1], target)) from None
        raise


def _opened(target: Target) -> tuple[MlflowClient, str]:
    if target.uri.startswith(("http:", "https:", "databricks")):  # a server sees to its own store
        client = MlflowClient(tracking_uri=target.uri)
        return client, _experiment(client, target.experiment, target.artifacts)
    folder = main_workspace() / IN_FLIGHT
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "mlflow.lock"):
        artifacts = _artifacts(target)
        if target.uri == LOCAL:
            _follow_moved_workspace(artifacts_uri())
        client = MlflowClient(tracking_uri=target.address)
        return client, _experiment(client, target.experiment, artifacts)


def mlflow_id(client: MlflowClient, run_id: str) -> str | None:
    """MLflow's id of a run that is named by it, or by our own; None if the store has no such run."""
    try:
        return client.get_run(run_id).info.run_id
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    found = client.search_runs(experiments, f"tags.`{RUN_TAG}` = '{run_id}'", max_results=1) if experiments else []
    return found[0].info.run_id if found else None


def _of_another_mlflow(schema: str, target: Target) -> str:
    if any(MIGRATIONS.glob(f"{schema}_*.py")):
        address = without_secrets(target.address)
        return f"its database is of an older MLflow; keep a copy of it and run `mlflow db upgrade {address}`"
    return (
        f"its database is of a newer MLflow than the {mlflow.__version__} here; install that one, or use another store"
    )


def _artifacts(target: Target) -> str:
    """Of a database that no server stands before: beside an SQLite file, else in the workspace."""
    file = target.uri.removeprefix("sqlite:///")
    beside = (Path(file).resolve().parent / "mlartifacts").as_uri() if file != target.uri else artifacts_uri()
    return target.artifacts or beside


def _follow_moved_workspace(artifacts: str) -> None:
    """MLflow keeps absolute addresses of artifacts; a clone that was moved takes its artifacts along."""
    if not store_file().is_file():
        return
    with closing(sqlite3.connect(store_file())) as store, store:
        has = set(store.execute("SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c"))
        if HOLD_ADDRESSES[0] not in has:
            return
        places = store.execute("SELECT DISTINCT artifact_location FROM experiments").fetchall()
        for (place,) in places:
            if place and place.endswith("/mlartifacts") and place != artifacts:
                for table, column in has.intersection(HOLD_ADDRESSES):
                    store.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (place, artifacts))


def _experiment(client: MlflowClient, name: str, artifacts: str | None) -> str:
    found = client.get_experiment_by_name(name)
    if not found:
        try:
            return client.create_experiment(name, artifact_location=artifacts, tags=EXPERIMENT_TAGS)
        except MlflowException:
            # On a server, someone else may have made it a moment ago.
            found = client.get_experiment_by_name(name)
            if not found:
                raise
    if found.lifecycle_stage != "active":
        raise WorkspaceError(
            f"the experiment {name} was deleted there; `mlflow experiments restore --experiment-id "
            f"{found.experiment_id}` brings it back, or choose another in track.experiment"
        )
    return found.experiment_id
