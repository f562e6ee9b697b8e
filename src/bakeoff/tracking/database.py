"""The runs of an SQLite store, read past MLflow, which takes seconds to load: its tables, and nothing is written.

Only of a schema that was looked at; what reads every store is `listed`.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from bakeoff.errors import WorkspaceError
from bakeoff.tracking.stored_run import StoredRun

KNOWN_SCHEMAS = {"dc11669786a5": "3.17"}  # MLflow's name of it, and the MLflow that makes such
RUN_TAG = "bakeoff.run"
CHOSEN = "WHERE run_uuid IN (SELECT value FROM json_each(?))"
PATIENCE_S = 10.0  # with who writes to it
NOT_OF_CLASSES = "AND (key NOT GLOB 'evaluation/*.*' OR key GLOB 'evaluation/interval.*')"


class NoStore(Exception):
    """A file that is no database, or not MLflow's: its client would make it one."""


class UnknownSchema(Exception):
    """Its text is the schema's name."""


class Database:
    def __init__(self, file: Path) -> None:
        self._file = file
        with self._open() as store:
            try:
                [(schema,)] = store.execute("SELECT version_num FROM alembic_version").fetchall()
            except (sqlite3.DatabaseError, ValueError) as error:
                if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
                    raise
                raise NoStore from None
        if schema not in KNOWN_SCHEMAS:
            raise UnknownSchema(schema)

    def runs(self) -> list[StoredRun]:
        """What each run of every experiment is, without its params and numbers: `filled` adds those."""
        with self._open() as store:
            tags: dict[str, dict[str, str]] = {}
            for run, key, value in store.execute("SELECT run_uuid, key, value FROM tags"):
                tags.setdefault(run, {})[key] = value
            rows = store.execute(
                "SELECT run_uuid, runs.name, status, start_time, end_time, artifact_uri, runs.lifecycle_stage,"
                " experiments.name FROM runs JOIN experiments USING (experiment_id)"
                " WHERE experiments.lifecycle_stage = 'active'"
            ).fetchall()
        names = {run: tags.get(run, {}).get(RUN_TAG, run) for run, *_ in rows}
        return [
            StoredRun(
                names[run], name or run, status, began, ended, tags.get(run, {}),
                parent=names.get(tags.get(run, {}).get("mlflow.parentRunId", "")),
                mlflow_id=run, mlflow_experiment=experiment, artifacts=artifacts, is_deleted=stage != "active",
            )
            for run, name, status, began, ended, artifacts, stage, experiment in rows
        ]  # fmt: skip

    def filled(self, runs: Sequence[StoredRun], *, by_class: bool) -> list[StoredRun]:
        """With params and the last of each metric; numbers of single classes, of which there are many, if asked."""
        params: dict[str | None, dict[str, str]] = {run.mlflow_id: {} for run in runs}
        metrics: dict[str | None, dict[str, float]] = {run.mlflow_id: {} for run in runs}
        ids = (json.dumps(list(params)),)
        with self._open() as store:
            for run, key, value in store.execute(f"SELECT run_uuid, key, value FROM params {CHOSEN}", ids):
                params[run][key] = value
            numbers = f"SELECT run_uuid, key, value, is_nan FROM latest_metrics {CHOSEN} AND key NOT GLOB 'system/*'"
            for run, key, value, is_nan in store.execute(numbers if by_class else f"{numbers} {NOT_OF_CLASSES}", ids):
                metrics[run][key] = float("nan") if is_nan else value
        return [replace(run, params=params[run.mlflow_id], metrics=metrics[run.mlflow_id]) for run in runs]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        address = f"{self._file.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE_S)) as store:
                yield store
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(f"{self._file.name}: must be a database that can be read now, got: {error}") from None
