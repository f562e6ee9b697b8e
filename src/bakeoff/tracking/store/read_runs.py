"""The runs of a store, only read: an SQLite file past MLflow, which takes seconds to load, else through its client.

Past MLflow is read only a schema that was looked at; and nothing is written.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import make_printable, without_secrets
from bakeoff.tracking.store.mlflow_names import metric_from_mlflow, name_from_mlflow, params_from_mlflow
from bakeoff.tracking.store.stored_run import StoredRun
from bakeoff.tracking.store.target import RUN_TAG, SQLITE, Target

KNOWN_SCHEMAS = {"dc11669786a5": "3.17"}  # MLflow's name of it, and the MLflow that makes such
CHOSEN = "WHERE run_uuid IN (SELECT value FROM json_each(?))"
# All texts of a run as one row: SQLite puts them together in a third of the time that a row of Python's for each takes.
TAGS = "SELECT run_uuid, json_group_object(key, value) FROM tags GROUP BY run_uuid"
# The names of a run's params as a text of their own, which many runs share and which is parsed once.
PARAMS = f"SELECT run_uuid, json_group_array(key), json_group_array(value) FROM params {CHOSEN} GROUP BY run_uuid"
PATIENCE_S = 10.0  # the longest wait for a process that writes to the file
# Each name of a metric once, by steps through the index, which reads a few names instead of all rows.
NAMES = """WITH RECURSIVE names(key) AS (
    SELECT min(key) FROM latest_metrics
    UNION ALL SELECT (SELECT min(key) FROM latest_metrics WHERE key > names.key) FROM names WHERE key IS NOT NULL
) SELECT key FROM names WHERE key NOT GLOB 'system/*'"""
NUMBERS = "SELECT run_uuid, key, CASE WHEN is_nan THEN NULL ELSE value END FROM latest_metrics"
# Of few runs through the index, and the plus keeps SQLite from that of names; of most runs all rows as they lie.
OF_FEW = f"{NUMBERS} {CHOSEN} AND +key IN (SELECT value FROM json_each(?)) ORDER BY run_uuid, rowid"
OF_MOST = f"{NUMBERS} NOT INDEXED WHERE key IN (SELECT value FROM json_each(?)) ORDER BY rowid"
MOST = 0.25  # the share of a store's runs from which all rows are read
AT_ONCE = 1000  # runs in one request to MLflow's client
Wanted = Callable[[str], bool]  # of the name of a metric: whether its numbers are read


class RunStore(Protocol):
    def runs(self) -> list[StoredRun]:
        """Return what each run of every experiment is; `filled` has its params and numbers, too."""

    def filled(self, runs: Sequence[StoredRun], wanted: Wanted) -> list[StoredRun]:
        """Return them with params and the last of each metric that is wanted, and maybe of others."""


class UnreadableDatabase(Exception):
    """A file that is no database, or not MLflow's: its client would make it one."""


class UnknownSchema(Exception):
    """Its text is the schema's name."""


def runs_in(target: Target) -> tuple[RunStore, list[StoredRun]] | None:
    """Return what each of its runs is, and the store, which has the rest; None if there is no such file."""
    schema = None
    if (file := target.database) is not None:
        if not file.is_file():
            return None
        try:
            database = Database(file)
            return database, database.runs()
        except UnreadableDatabase:
            raise WorkspaceError(f"{target.shown}: must be a database of MLflow's, got another file") from None
        except UnknownSchema as error:
            schema = str(error)
    try:
        server = Server(target.address)
        return server, server.runs()
    except Exception as error:  # whatever a store raises
        reason = _shorten(make_printable(without_secrets(" ".join((str(error) or type(error).__name__).split()))))
        if schema is None:
            raise WorkspaceError(f"{target.shown}: must be a store that gives its runs, got {reason}") from error
        known = ", ".join(f"{name} of MLflow {version}" for name, version in KNOWN_SCHEMAS.items())
        raise WorkspaceError(
            f"{target.shown}: must have a schema that is known here ({known}), got {schema}, and the MLflow that is "
            f"installed does not read it either ({reason}); use the MLflow that made it, or bring a copy of it up to "
            f"date with `mlflow db upgrade {target.shown if ':' in target.shown else SQLITE + target.shown}`"
        ) from None


class Database:
    """An SQLite file's own tables."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._open() as store:
            try:
                [(schema,)] = store.execute("SELECT version_num FROM alembic_version").fetchall()
            except (sqlite3.DatabaseError, ValueError) as error:
                if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
                    raise
                raise UnreadableDatabase from None
        if schema not in KNOWN_SCHEMAS:
            raise UnknownSchema(schema)

    def runs(self) -> list[StoredRun]:
        parse = json.JSONDecoder().raw_decode  # SQLite writes no space around it, which `json.loads` looks for
        with self._open() as store:
            tags = {run: parse(texts)[0] for run, texts in store.execute(TAGS)}
            rows = store.execute(
                "SELECT run_uuid, runs.name, status, start_time, end_time, artifact_uri, runs.lifecycle_stage,"
                " experiments.name FROM runs JOIN experiments USING (experiment_id)"
                " WHERE experiments.lifecycle_stage = 'active'"
            ).fetchall()
        none: dict[str, str] = {}
        with_tags = [(tags.get(row[0], none), *row) for row in rows]
        names = {run: own.get(RUN_TAG, run) for own, run, *_ in with_tags}
        return [
            StoredRun(
                names[run], name_from_mlflow(names[run], name or run, own), status, began, ended, own,
                parent=names.get(own["mlflow.parentRunId"]) if "mlflow.parentRunId" in own else None,
                mlflow_id=run, mlflow_experiment=experiment, artifacts=artifacts, is_deleted=stage != "active",
            )
            for own, run, name, status, began, ended, artifacts, stage, experiment in with_tags
        ]  # fmt: skip

    def filled(self, runs: Sequence[StoredRun], wanted: Wanted) -> list[StoredRun]:
        ids = [run.mlflow_id for run in runs]
        # One after the other: two threads are no faster, as each waits for Python at every row.
        params, metrics = self._params(ids), self._numbers(ids, wanted)
        return [
            replace(
                run,
                params=params_from_mlflow(params.get(run.mlflow_id, {}), run.tags),
                metrics=metrics.get(run.mlflow_id, {}),
            )
            for run in runs
        ]

    def _params(self, ids: Sequence[str | None]) -> dict[str | None, dict[str, str]]:
        names_in = cache(json.loads)
        with self._open() as store:
            rows = store.execute(PARAMS, (json.dumps(ids),))
            return {run: dict(zip(names_in(names), json.loads(texts), strict=True)) for run, names, texts in rows}

    def _numbers(self, ids: Sequence[str | None], wanted: Wanted) -> dict[str | None, dict[str, float]]:
        by_run: dict[str | None, dict[str, float]] = {run: {} for run in ids}
        with self._open() as store:
            names = {name: metric_from_mlflow(name) for (name,) in store.execute(NAMES) if name is not None}
            own_names = {name: own for name, own in names.items() if wanted(own)}
            asked = json.dumps(list(own_names))
            [(total,)] = store.execute("SELECT count(*) FROM runs").fetchall()
            if len(by_run) < MOST * total:
                rows = store.execute(OF_FEW, (json.dumps(ids), asked))
            else:
                rows = store.execute(OF_MOST, (asked,))
            for run, name, value in rows:
                if run in by_run:
                    by_run[run][own_names[name]] = math.nan if value is None else value
        return by_run

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        address = f"{self._file.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE_S)) as store:
                yield store
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(f"{self._file.name}: must be a database that can be read now, got: {error}") from None


class Server:
    """Any store, through MLflow's client: a server's, PostgreSQL's, an SQLite file of another schema."""

    def __init__(self, address: str) -> None:
        from bakeoff.tracking.store.mlflow_client import connect

        self._client = connect(address)
        self._pages = f"{without_secrets(address).rstrip('/')}/#/experiments" if address.startswith("http") else None

    def runs(self) -> list[StoredRun]:
        from mlflow.entities import ViewType

        experiments = {one.experiment_id: one.name for one in _every(self._client.search_experiments)}
        stored = _every(self._client.search_runs, list(experiments), run_view_type=ViewType.ALL) if experiments else ()
        runs = list(stored)
        names = {run.info.run_id: run.data.tags.get(RUN_TAG, run.info.run_id) for run in runs}
        return [
            StoredRun(
                names[run.info.run_id],
                name_from_mlflow(names[run.info.run_id], run.info.run_name or run.info.run_id, run.data.tags),
                run.info.status, run.info.start_time, run.info.end_time, run.data.tags,
                params_from_mlflow(run.data.params, run.data.tags),
                {metric_from_mlflow(key): value for key, value in run.data.metrics.items()},
                parent=names.get(run.data.tags.get("mlflow.parentRunId", "")),
                mlflow_id=run.info.run_id, mlflow_experiment=experiments[run.info.experiment_id],
                artifacts=run.info.artifact_uri, is_deleted=run.info.lifecycle_stage != "active",
                page=self._pages and f"{self._pages}/{run.info.experiment_id}/runs/{run.info.run_id}",
            )
            for run in runs
        ]  # fmt: skip

    def filled(self, runs: Sequence[StoredRun], wanted: Wanted) -> list[StoredRun]:
        return list(runs)  # as they came: the client brings everything at once


def _every(search: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
    token, is_more = None, True
    while is_more:
        part = search(*arguments, max_results=AT_ONCE, page_token=token, **options)
        yield from part
        token, is_more = part.token, bool(part.token)


def _shorten(text: str, most: int = 300) -> str:
    """Cut the middle out of a text. Libraries name first what they did and last what went wrong."""
    return text if len(text) <= most else f"{text[: most // 3]} … {text[-2 * most // 3 :]}"
