"""What MLflow has of an evaluation, and an evaluation of a run of which nothing but MLflow's copy is left."""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.foundation import workspace
from bakeoff.stages.render_config import render_config
from support.commands import run_bakeoff
from support.three_splits import Enter


def ask(query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect("mlflow.db")) as store:
        return store.execute(query).fetchall()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of MLflow's libraries
def test_an_evaluation_is_numbers_of_its_run_with_the_digest_of_its_split(
    enter: Enter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enter("classification")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    params = workspace.PARAMS.read_text(encoding="utf-8")
    workspace.PARAMS.write_text(params.replace("track: none", "track: {use: mlflow, wait_s: 300}"), encoding="utf-8")
    render_config(workspace.PARAMS, workspace.CONF, workspace.RECORDS, workspace.RUN, facts=Path("networks"))
    code, output, errors = run_bakeoff(monkeypatch, capsys, "evaluate")
    assert code == 0, errors
    assert "evaluation_test/ of the run in MLflow" in output
    digest = read_manifest(workspace.RECORDS).digest_of("test")
    [(run,)] = ask("SELECT run_uuid FROM runs")
    numbers = dict(ask("SELECT key, value FROM latest_metrics"))
    assert 0 < numbers["evaluation_test/accuracy"] < 1 and "evaluation/accuracy" in numbers
    assert ask("SELECT value FROM tags WHERE key = 'bakeoff.judged_on.test'") == [(digest,)]
    assert (("test", digest[:36])) in ask("SELECT name, digest FROM datasets")
    assert ("test",) in ask("SELECT value FROM input_tags WHERE name = 'mlflow.data.context'")
    assert list(Path("mlartifacts").rglob("evaluation_test/report.html"))

    while list(Path(".bakeoff/journal").glob("*/files/*")):  # the sender removes what has arrived
        time.sleep(0.05)
    for path in (workspace.TRAINED, workspace.EVALUATION, Path(".bakeoff"), workspace.JUDGED):
        shutil.rmtree(path)
    code, output, errors = run_bakeoff(monkeypatch, capsys, "evaluate", run[:10])
    assert code == 0, errors
    assert f"accuracy {numbers['evaluation_test/accuracy']:.3f}" in output
    assert len(ask("SELECT run_uuid FROM runs")) == 1
