"""Each run once, from the store where that has it whole and from its journal where not."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.foundation import workspace
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.target import SyncProgress, target_in
from support.commands import Bakeoff
from support.messages import missing_in
from support.run_journals import scores, write_run

TABLES = """
CREATE TABLE alembic_version (version_num);
CREATE TABLE experiments (experiment_id, name, lifecycle_stage);
CREATE TABLE runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, artifact_uri, experiment_id);
CREATE TABLE params (run_uuid, key, value);
CREATE TABLE tags (run_uuid, key, value);
CREATE TABLE latest_metrics (run_uuid, key, value, is_nan);
INSERT INTO alembic_version VALUES ('dc11669786a5');
INSERT INTO experiments VALUES (1, 'bakeoff', 'active'), (2, 'other', 'active');
"""  # of MLflow's tables what is read; tests/tracking/store/test_read_runs.py reads those that MLflow makes


@pytest.fixture
def store(here: Path) -> Path:
    with closing(sqlite3.connect(here / "mlflow.db")) as new:
        new.executescript(TABLES)
    return here / "mlflow.db"


def stored(
    store: Path, run_id: str, metrics: Mapping[str, float], *, project: int = 1, stage: str = "active", **params: str
) -> None:
    with closing(sqlite3.connect(store)) as made, made:
        row = (f"mlflow-{run_id}", run_id, "FINISHED", 1, 2, stage, "", project)
        made.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        rows = {"params": params, "tags": {"bakeoff.run": run_id, "bakeoff.state": "SUCCEEDED"}}
        for table, values in rows.items():
            made.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", [(row[0], *pair) for pair in values.items()])
        made.executemany(
            "INSERT INTO latest_metrics VALUES (?, ?, ?, 0)", [(row[0], *pair) for pair in metrics.items()]
        )


def arrived(run_id: str, share: float = 1.0) -> None:
    """The store that the run is meant for has that much of its journal."""
    folder = workspace.journals() / run_id
    target = target_in(folder)
    assert target is not None
    size = (folder / FILE).stat().st_size
    SyncProgress(int(share * size), run=f"mlflow-{run_id}", created=True).write(folder, target)


def values(bakeoff: Bakeoff, *options: str) -> dict[str, float | None]:
    runs = json.loads(bakeoff("compare", "--json", "--no-fold", *options).out)["runs"]
    return {run["run"]: run["numbers"].get("mAP_50", {}).get("value") for run in runs}


def test_a_run_is_read_where_it_is_whole(store: Path, bakeoff: Bakeoff) -> None:
    """What the store says differs from the journals here, so that it shows which was read."""
    write_run("whole", scores(0.1))
    arrived("whole")
    stored(store, "whole", scores(0.2))
    write_run("half", scores(0.3))
    arrived("half", 0.5)
    stored(store, "half", {"evaluation/mAP_50": 0.4})
    write_run("unsent", scores(0.5))
    write_run("lost", scores(0.6))  # the store was another one
    arrived("lost")
    stored(store, "elsewhere", scores(0.7))
    stored(store, "stranger", scores(0.8), project=2)
    write_run("deleted", scores(0.9))
    stored(store, "deleted", scores(0.9), stage="deleted")
    assert values(bakeoff) == {"elsewhere": 0.7, "lost": 0.6, "unsent": 0.5, "half": 0.3, "whole": 0.2}
    assert values(bakeoff, "mlflow-whole", "unse") == {"whole": 0.2, "unsent": 0.5}
    assert values(bakeoff, "--experiment", "other") == {"stranger": 0.8}
    assert values(bakeoff, "--uri", f"sqlite:///{store}") == {"elsewhere": 0.7, "half": 0.4, "whole": 0.2}


def test_runs_of_another_experiment_are_reported(store: Path, bakeoff: Bakeoff) -> None:
    stored(store, "stranger", scores(0.8), project=2)
    assert missing_in(bakeoff("compare").err, "'bakeoff'", "no runs", "mlflow.db", "--experiment", "other\n") == []
    stored(store, "deleted", scores(0.9), stage="deleted")
    error = bakeoff("compare", "deleted").err
    assert missing_in(error, "deleted:", "MLflow", "`mlflow runs restore --run-id mlflow-deleted`") == []
    error = bakeoff("compare", "--experiment", "othr").err
    assert missing_in(error, "--experiment:", "mlflow.db", "'othr'", "'other'", "bakeoff, other\n") == []


def test_a_store_that_gives_nothing_is_a_warning_while_there_are_journals(here: Path, bakeoff: Bakeoff) -> None:
    (here / "mlflow.db").write_text("no database")
    output = bakeoff("compare")
    assert (output.code, missing_in(output.err, "mlflow.db:", "another file")) == (2, [])
    write_run("aaaa1111", scores(0.8))
    output = bakeoff("compare")
    assert (output.code, missing_in(output.err, "warning: mlflow.db:", "another file", "journals")) == (0, [])
    assert output.rows[1][0] == "aaaa1111"


def test_the_store_is_the_one_that_the_variant_names(here: Path, store: Path, bakeoff: Bakeoff) -> None:
    stored(store, "stranger", scores(0.8), project=2)
    (here / workspace.RUN).parent.mkdir(parents=True)
    (here / workspace.RUN).write_text(
        f"seed: 0\ntrack:\n  kind: mlflow\n  experiment: other\n  uri: sqlite:///{store}\n"
    )
    assert values(bakeoff) == {"stranger": 0.8}


def test_a_result_that_nobody_tracks_is_compared_too(here: Path, bakeoff: Bakeoff) -> None:
    for folder in (workspace.RUN.parent, workspace.TRAINED, workspace.EVALUATION):
        (here / folder).mkdir(parents=True)
    (here / workspace.RUN).write_text("variant: {model: ssd_tiny, lr: cosine, memory: low}\ntrack: {kind: none}\n")
    (here / "models/train/state.json").write_text('{"run_id": "ffff9999", "steps": 5, "step": 5}')
    (here / "models/evaluation/metrics.json").write_text('{"mAP_50": 0.4}')
    assert values(bakeoff) == {"ffff9999": 0.4}
    write_run("aaaa1111", scores(0.8))
    assert values(bakeoff) == {"aaaa1111": 0.8, "ffff9999": 0.4}
