"""MLflow's client on a store, the main workspace's own or a server; what its errors mean; its logged models.

MLflow takes seconds to load, and reads some of its settings meanwhile. So this file imports it where it is used, after
`load_mlflow`. Several processes that open a new SQLite store at once break it, so it is created and migrated under a
file lock, and whoever comes later finds it ready.
"""

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import FileLock

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import sync, sync_names
from bakeoff.foundation.formatting import make_printable, without_secrets
from bakeoff.foundation.workspace import IN_FLIGHT, main_workspace
from bakeoff.tracking.store.target import LOCAL, RUN_TAG, SQLITE, Target, artifacts_uri, store_file

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

SETTINGS = {  # variables of MLflow; a user who sets one keeps it
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # what failed is tried again by whoever asked, not in a request for minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",  # nothing about this machine is reported to others
}
LOG_LEVELS = {
    "mlflow": logging.WARNING,  # it logs every table that it creates
    "mlflow.store.db.utils": logging.CRITICAL,  # a failure is raised as well, and printed once
    "mlflow.utils.environment": logging.ERROR,  # it misses pip, which uv needs not
    "mlflow.utils.requirements_utils": logging.ERROR,  # TensorFlow is left out on purpose
    "alembic": logging.WARNING,
}
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # the UI shows runs of training, not of prompts
MOST_POINTS, MOST_TEXTS = 900, 50  # MLflow takes 1,000 things in one request, 100 params and 100 tags, a million bytes
REFUSALS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "ENDPOINT_NOT_FOUND")  # the last by a server without MLflow 3
REFERENCE = "bakeoff.reference"  # a model's tag: why its files are not here, and where they are
SHA256 = "bakeoff.sha256"  # a tag of a logged model that is one file

OTHER_SCHEMA = re.compile(r"out-of-date database schema \(found version (\w+),")
MIGRATIONS = "store/db_migrations/versions"  # below MLflow's own folder
HOLD_ADDRESSES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)

ROWS_COUNTED = 400  # of each index
LONGEST = 300  # characters of an error
# The first pattern that matches decides. MLflow wraps messages of its libraries, so a pattern may match anywhere.
MEANINGS = (
    (
        r"error code 401\b",
        "it refuses the user or the password; $MLFLOW_TRACKING_USERNAME and $MLFLOW_TRACKING_PASSWORD must hold them "
        "where you train or sync",
    ),
    (r"error code 403\b", "the user has no right to write there; whoever runs the server grants it"),
    (r"error code 404\b|not in a valid JSON format", "what answers there is no MLflow server; see track.uri"),
    (r"too many (\d+) error responses|error code (5\d\d)\b", "the server fails (error {}); its own log says why"),
    (r"timed out", "the server does not answer in time"),
    (r"(its list has no end|its answer has more than [\d,]+ bytes)", "{}; it is no sound MLflow server, see track.uri"),
    (r"(Failed to resolve '[^']+')", "{}; see track.uri"),
    (r"(Connection refused|Connection aborted|Connection reset|Remote end closed)", "no server answers ({})"),
    (r"(No space left on device|database or disk is full|Disk quota exceeded)", "the disk is full ({})"),
    (
        r"(AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|Unable to locate credentials)",
        "the place for files refuses the key ({}); $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or what else S3's "
        "tools read, must hold it where you train or sync",
    ),
    (r"No module named '(boto3|psycopg\w*)'", "it needs a package that is not here: pip install {}"),
    (r"attempt to write a readonly database|database is locked", "another program keeps its database locked"),
)
# In the text of an error that may be gone at the next try: nobody answers in time, or a server fails.
PASSING = re.compile(
    r"timed out|Connection refused|Connection aborted|Connection reset|Remote end closed|Failed to resolve|"
    r"Could not connect to the endpoint|too many \d+ error responses|(error code |\b)(429|5\d\d)\b"
)


def load_mlflow() -> None:
    """Import MLflow with this project's settings. Call this before anything else imports it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import mlflow  # noqa: F401  # it sets the levels of its loggers meanwhile

    from bakeoff.tracking.store.bounded_answers import bound_answers

    bound_answers()
    for name, level in LOG_LEVELS.items():
        logging.getLogger(name).setLevel(level)


def connect(address: str) -> "MlflowClient":
    """Return MLflow's client on a store."""
    load_mlflow()
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=address)


def open_store(target: Target) -> "tuple[MlflowClient, str]":
    """Return a client on a store that exists, and the id of the experiment."""
    load_mlflow()
    from mlflow.exceptions import MlflowException

    try:
        return _open(target)
    except MlflowException as error:
        if versions := OTHER_SCHEMA.search(str(error)):
            raise WorkspaceError(_name_other_mlflow(versions[1], target)) from None
        raise


def find_id(client: "MlflowClient", run_id: str) -> str | None:
    """Return MLflow's id of a run that is named by it, or by our own; None if the store has no such run."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run_id).info.run_id
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, f"tags.`{RUN_TAG}` = '{run_id}'", max_results=1) if experiments else []
    return runs[0].info.run_id if runs else None


def models_of(client: "MlflowClient", experiment: str, run: str) -> "Iterator[LoggedModel]":
    """Yield all logged models of a run."""
    token: str | None = None
    while True:
        page = client.search_logged_models([experiment], f"source_run_id = '{run}'", page_token=token)
        yield from page
        if not (token := page.token):
            return


def delete_artifacts(client: "MlflowClient", model: "LoggedModel") -> str | None:
    """Delete the files of a logged model; return why they stay, if the place for files does not delete.

    A failure that may pass is raised, so that whoever asked tries again.
    """
    if model.model_id not in model.artifact_location:  # the location may be a folder that other models share
        return f"its files are not in a place of its own, {model.artifact_location}"
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        get_artifact_repository(model.artifact_location, tracking_uri=client.tracking_uri).delete_artifacts()
    except Exception as error:  # whatever a place for files raises
        if PASSING.search(str(error)):
            raise
        return explain(error)
    return None


def sync_artifacts(address: str, name: str = "") -> None:
    """Bring to the disk what a place on this machine was given; a server sees to its own."""
    if (place := local_place(address)) and (path := place / name).exists():
        sync(path)


def local_place(address: str) -> Path | None:
    """Return the folder of a place for files; None if it is not on this machine's disk."""
    place = urlsplit(address)
    return Path(url2pathname(place.path)) if place.scheme in ("", "file") else None


def explain(error: BaseException) -> str:
    """Return what a store raised as one line by which a user knows what to do, without passwords of addresses."""
    text = str(error)
    for pattern, meaning in MEANINGS:
        if match := re.search(pattern, text):
            return meaning.format(next(filter(None, match.groups()), ""))
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return make_printable(without_secrets(first)[:LONGEST])


def _open(target: Target) -> "tuple[MlflowClient, str]":
    if target.uri.startswith(("http:", "https:", "databricks")):  # a server sees to its own store
        client = connect(target.uri)
        return client, _experiment(client, target.experiment, target.artifacts)
    folder = main_workspace() / IN_FLIGHT
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "mlflow.lock"):
        if target.uri == LOCAL:
            _follow_moved_workspace(artifacts_uri())
        file = target.database
        if file is None or "?" in file.name:
            client = connect(target.address)
        else:
            _make_whole(file)
            client = connect(target.address)
            _let_count(file)
        return client, _experiment(client, target.experiment, _artifacts(target))


def _make_whole(file: Path) -> None:
    """Make a database that is not there, whole or not at all. MLflow makes it table by table, which a kill or a loss of
    power may end; one that lacks some it never opens."""
    if file.is_file() and file.stat().st_size:
        return
    partial = file.with_name(f"{file.name}.partial")
    for left in file.parent.glob(f"{partial.name}*"):
        left.unlink()
    connect(f"{SQLITE}{partial.as_posix()}").search_experiments(max_results=1)
    sync(partial)
    partial.replace(file)
    sync_names(file.parent)


def _let_count(file: Path) -> None:
    """Let SQLite look at some rows of each table, which takes milliseconds.

    As long as it knows nothing of them, MLflow's table of runs by a number goes through that number of all runs for
    each run.
    """
    # What hinders it, as a process that writes or a damaged file, is MLflow's to tell.
    with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=1)) as store:
        store.execute(f"PRAGMA analysis_limit = {ROWS_COUNTED}")
        store.execute("ANALYZE")


def _artifacts(target: Target) -> str:
    """Return where files go of a database that no server stands before: beside an SQLite file, else the workspace."""
    file = target.uri.removeprefix(SQLITE)
    beside = (Path(file).resolve().parent / "mlartifacts").as_uri() if file != target.uri else artifacts_uri()
    return target.artifacts or beside


def _follow_moved_workspace(artifacts: str) -> None:
    """Correct the absolute addresses of artifacts that MLflow keeps, after a clone was moved with its artifacts."""
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


def _experiment(client: "MlflowClient", name: str, artifacts: str | None) -> str:
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if not experiment:
        try:
            return client.create_experiment(name, artifact_location=artifacts, tags=EXPERIMENT_TAGS)
        except MlflowException:
            # On a server, someone else may have made it a moment ago.
            experiment = client.get_experiment_by_name(name)
            if not experiment:
                raise
    if experiment.lifecycle_stage != "active":
        raise WorkspaceError(
            f"the experiment {name} was deleted there; `mlflow experiments restore --experiment-id "
            f"{experiment.experiment_id}` brings it back, or choose another in track.experiment"
        )
    return experiment.experiment_id


def _name_other_mlflow(schema: str, target: Target) -> str:
    import mlflow

    if any((Path(mlflow.__file__).parent / MIGRATIONS).glob(f"{schema}_*.py")):
        address = without_secrets(target.address)
        return f"its database is of an older MLflow; keep a copy of it and run `mlflow db upgrade {address}`"
    here = mlflow.__version__
    return f"its database is of a newer MLflow than the {here} here; install that one, or use another store"
