"""A store that MLflow made, read past it and through its client; and stores that are none, or of another MLflow."""

import shutil
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.tracking.store import read_runs
from bakeoff.tracking.store.mlflow_names import is_of_all_classes
from bakeoff.tracking.store.read_runs import Database, Server, runs_in
from bakeoff.tracking.store.target import Target

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's libraries
NAN = float("nan")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two runs of a sweep, one of another project, one that was deleted."""
    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fill(file)
    yield file


def _fill(file: Path) -> None:
    from mlflow.entities import Metric, Param, RunTag

    from bakeoff.tracking.store.mlflow_client import connect

    client = connect(f"sqlite:///{file}")
    own, other = (client.create_experiment(name, "file:///nowhere") for name in ("bakeoff", "other"))
    head = client.create_run(own, start_time=1, run_name="sweep", tags={"bakeoff.run": "sweep-20260101-000000"})
    for number in range(2):
        tags = {
            "bakeoff.run": f"own{number}",
            "mlflow.parentRunId": head.info.run_id,
            "DVC_EXP_NAME": f"point-{number}",
        }
        run = client.create_run(own, start_time=10 + number, run_name=f"run · {number}", tags=tags).info.run_id
        metrics = [Metric("evaluation/mAP_50", 0.1 * step, step, step) for step in range(3)]
        metrics += [Metric("evaluation/AP_50.cat", 0.5, 0, 2), Metric("evaluation/interval.mAP_50.low", 0.1, 0, 2)]
        metrics += [Metric("train/loss", NAN, 0, 2), Metric("system/cpu", 50.0, 0, 2)]
        params = [Param("lr.peak", str(number)), Param("variant.lr", "cosine")]
        client.log_batch(run, metrics=metrics, params=params, tags=[RunTag("bakeoff.state", "SUCCEEDED")])
        client.set_terminated(run, end_time=20 + number)
    client.create_run(other, start_time=30, run_name="a stranger")
    client.delete_run(client.create_run(own, start_time=40, run_name="gone").info.run_id)


@pytest.mark.parametrize("most", [0.0, 1.1])
def test_past_mlflow_a_store_holds_what_its_client_says(
    store: Path, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_runs, "MOST", most)
    listed = Server(f"sqlite:///{store}")
    past = Database(store)
    direct = {run.mlflow_id: run for run in past.filled(past.runs(), lambda name: True)}
    listed_runs = {run.mlflow_id: run for run in listed.filled(listed.runs(), lambda name: True)}
    assert len(direct) == 5 and direct.keys() == listed_runs.keys()
    for run_id, run in listed_runs.items():
        fields = ("run_id", "name", "status", "began", "ended", "parent", "mlflow_experiment", "artifacts", "params")
        for name in fields:
            assert getattr(direct[run_id], name) == getattr(run, name), name
        assert direct[run_id].is_deleted == run.is_deleted == (run.name == "gone")
        assert direct[run_id].tags == run.tags
        others = {key: value for key, value in run.metrics.items() if not key.startswith("system/")}
        assert str(dict(sorted(direct[run_id].metrics.items()))) == str(dict(sorted(others.items())))  # nan is not nan
    first = next(run for run in direct.values() if run.run_id == "own0")
    assert first.parent == "sweep-20260101-000000" and first.metrics["evaluation/mAP_50"] == 0.2


@pytest.mark.parametrize("most", [0.0, 1.1])
def test_of_numbers_only_those_that_are_wanted_are_read(
    store: Path, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way they are read: row by row, or through the index of runs."""
    monkeypatch.setattr(read_runs, "MOST", most)
    past = Database(store)
    [run] = past.filled([run for run in past.runs() if run.run_id == "own1"], lambda name: name.endswith("mAP_50"))
    assert run.metrics == {"evaluation/mAP_50": 0.2} and run.params == {"lr.peak": "1", "variant.lr": "cosine"}
    [run] = past.filled([run], is_of_all_classes)
    assert run.metrics.keys() == {"evaluation/mAP_50", "evaluation/interval.mAP_50.low", "train/loss"}


def test_reading_writes_nothing(store: Path) -> None:
    before = store.read_bytes()
    assert runs_in(Target(f"sqlite:///{store}", "bakeoff")) is not None
    assert store.read_bytes() == before and [path.name for path in store.parent.iterdir()] == ["mlflow.db"]


def test_a_store_of_another_mlflow_is_named_with_its_schema(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    shutil.copy(store, other)
    with closing(sqlite3.connect(other)) as changed, changed:
        changed.execute("UPDATE alembic_version SET version_num = 'abcdef012345'")
    with pytest.raises(WorkspaceError, match=r"other\.db: .*\bdc11669786a5 of MLflow 3\.17\b.*\babcdef012345\b"):
        runs_in(Target(f"sqlite:///{other}", "bakeoff"))


def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    for content in (b"no database", b""):
        file.write_bytes(content)
        with pytest.raises(WorkspaceError, match=r"notes\.db: .*another file"):
            runs_in(Target(f"sqlite:///{file}", "bakeoff"))
        assert file.read_bytes() == content


def test_a_store_that_another_process_locks_is_reported_as_locked(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_runs, "PATIENCE_S", 0.05)
    shutil.copy(store, tmp_path / "held.db")
    with closing(sqlite3.connect(tmp_path / "held.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(WorkspaceError, match=r"held\.db: .*locked"):
            runs_in(Target(f"sqlite:///{tmp_path / 'held.db'}", "bakeoff"))


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(WorkspaceError, match=r"http://127\.0\.0\.1:9: .*refused"):
        runs_in(Target("http://me:secret@127.0.0.1:9", "bakeoff"))
