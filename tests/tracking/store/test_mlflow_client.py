"""The MLflow store under several processes, moved, out of reach, and shown."""

import itertools
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.tracking.store.target import Target
from support.commands import run_bakeoff
from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import environment

TRACK = """
import sys
from bakeoff.tracking import tracker
from bakeoff.config.track_settings import Mlflow
copy = tracker.start(Mlflow(wait_s=float(sys.argv[3])), sys.argv[1], {"a": "tag"})
with copy.ending():
    copy.params({"lr": {"peak": 0.5}, "name": sys.argv[1]})
    for step in range(3):
        copy.metrics(step, {"loss": 1.0 / (step + 1)})
    copy.file(__import__("pathlib").Path(sys.argv[2]), "config")
"""


PATHS = environment() | {"PYTHONPATH": str(ROOT / "src")}


def track(folder: Path, name: str, wait_s: float = 60, **variables: str) -> subprocess.Popen[str]:
    """A process of its own that tracks one run."""
    (folder / "note.txt").write_text("kept", encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-c", TRACK, name, str(folder / "note.txt"), str(wait_s)], stderr=subprocess.PIPE, text=True,
        cwd=folder, env=PATHS | variables,
    )  # fmt: skip


def tracked(folder: Path, name: str) -> None:
    process = track(folder, name)
    output = process.communicate()[1]
    assert process.returncode == 0 and "warning: MLflow" not in output, output


def rows(folder: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(folder / "mlflow.db")) as store:
        return store.execute(query).fetchall()


@pytest.mark.long
def test_four_processes_that_open_a_new_store_at_once_all_get_their_run(tmp_path: Path) -> None:
    processes = [track(tmp_path, f"run {number}") for number in range(4)]
    outputs = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], outputs
    assert [line for text in outputs for line in text.splitlines() if "warning: MLflow" in line] == []
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT experiment_id) FROM runs WHERE status = 'FINISHED'") == [
        (4, 1)
    ]
    assert rows(tmp_path, "SELECT step, value FROM metrics GROUP BY step HAVING count(*) = 4 ORDER BY step") == [
        (0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3)),
    ]  # fmt: skip
    assert rows(tmp_path, "SELECT DISTINCT value FROM params WHERE key = 'lr.peak'") == [("0.5",)]
    assert len(list(tmp_path.glob("mlartifacts/*/artifacts/config/note.txt"))) == 4


LOADS = """
import importlib.abc, os, sys

class Reports(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "mlflow":
            os.write(1, os.environ.get("MLFLOW_DISABLE_TELEMETRY", "unset").encode())
            os._exit(0)

sys.meta_path.insert(0, Reports())
from pathlib import Path
from bakeoff.tracking.store.target import Target
target = Target("sqlite:///a.db", "bakeoff")
"""


@pytest.mark.parametrize(
    "code",
    [
        "from bakeoff.tracking.sync.process import send_until_done as act; act(target)",
        "from bakeoff.tracking.sync import sync_status; sync_status._sync(target, None, print, anew=False)",
        "from bakeoff.tracking.store.mlflow_client import open_store; open_store(target)",
        "from bakeoff.tracking.store.read_runs import Server; Server(target.uri)",
        "from bakeoff.tracking.store.fetch_artifacts import fetch_file; fetch_file(target.uri, 'm', 'n')",
        "from bakeoff.tracking.store.fetch_artifacts import fetch_best; fetch_best('7f' * 16)",
        "from bakeoff.tracking import find_run; Path('a.db').touch(); find_run._find_in_store(target, '7f')",
        "from bakeoff.tracking import fetch_checkpoints as f; from types import SimpleNamespace as N; "
        "f._work_of(target, N(mlflow_id='7f'))",
    ],
)
def test_mlflow_is_set_up_before_it_is_loaded(code: str, tmp_path: Path) -> None:
    (tmp_path / ".bakeoff/journal").mkdir(parents=True)
    bare = {key: value for key, value in PATHS.items() if not key.startswith("MLFLOW_")}
    done = subprocess.run(
        [sys.executable, "-c", LOADS + code], cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("true", "")


def test_mlflow_keeps_what_a_user_sets_and_logs_little(tmp_path: Path) -> None:
    code = (
        "import logging, os\nfrom bakeoff.tracking.store.mlflow_client import load_mlflow\nload_mlflow()\n"
        "print(os.environ['MLFLOW_HTTP_REQUEST_TIMEOUT'], os.environ['MLFLOW_HTTP_REQUEST_MAX_RETRIES'], "
        "*(logging.getLogger(name).level for name in ('mlflow', 'alembic', 'mlflow.store.db.utils')))"
    )
    env = {**PATHS, "MLFLOW_HTTP_REQUEST_TIMEOUT": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["7", "0", "30", "30", "50"], done.stderr


TABLES = "SELECT type, name FROM sqlite_master ORDER BY type, name"
OPEN_AND_DIE = """
import os, signal
from sqlalchemy import Engine, event
from bakeoff.tracking.store.mlflow_client import Target, open_store

made = 0

@event.listens_for(Engine, "after_cursor_execute")
def count(connection, cursor, statement, *others):
    global made
    made += statement.strip().startswith("CREATE TABLE")
    if made == 20:
        os.kill(os.getpid(), signal.SIGKILL)

open_store(Target.at_address(None, "demo"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_a_store_whose_making_was_killed_is_made_anew(
    new_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow makes a store table by table. It would fail for ever, because one of them exists already."""
    (tmp_path / "mlflow.db").touch()  # what a loss of power leaves
    done = subprocess.run([sys.executable, "-c", OPEN_AND_DIE], cwd=tmp_path, env=PATHS)
    assert done.returncode == -signal.SIGKILL and (tmp_path / "mlflow.db").stat().st_size == 0
    assert (tmp_path / "mlflow.db.partial").is_file()
    monkeypatch.chdir(tmp_path)
    from support.mlflow_store import open_store

    client, experiment = open_store(Target.at_address(None, "demo"))
    client.create_run(experiment)
    assert rows(tmp_path, "SELECT count(*) FROM runs") == [(1,)]
    with closing(sqlite3.connect(new_store)) as store:
        assert rows(tmp_path, TABLES) == store.execute(TABLES).fetchall()
    assert [file.name for file in tmp_path.glob("mlflow.db*")] == ["mlflow.db"]


@pytest.mark.long
def test_a_moved_workspace_takes_its_artifacts_along(new_store: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    shutil.copy(new_store, first / "mlflow.db")
    tracked(first, "before")
    first.rename(second)
    tracked(second, "after")
    assert not first.exists()
    places = [place for (place,) in rows(second, "SELECT artifact_uri FROM runs")]
    assert len(places) == 2 and all(place.startswith((second / "mlartifacts").as_uri()) for place in places)
    assert len(list(second.glob("mlartifacts/*/artifacts/config/note.txt"))) == 2


def test_a_server_that_is_down_costs_a_warning_and_nothing_else(
    new_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = track(tmp_path, "lost", MLFLOW_TRACKING_URI=f"http://me:secret@127.0.0.1:{port}")
    output = process.communicate()[1]
    assert process.returncode == 0
    [warning] = re.findall(r"^warning: .*$", output, re.M)
    reason = ("no server", "Connection refused")
    assert missing_in(warning, f"MLflow (http://127.0.0.1:{port})", *reason, "`bakeoff track sync`") == []
    assert "secret" not in warning and not (tmp_path / "mlflow.db").exists()
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)
    _, status, _ = run_bakeoff(monkeypatch, capsys, "track", "status")
    [_, row, count] = status.splitlines()
    assert re.search(rf"lost +http://127.0.0.1:{port} +9 lines", row) and count == "1 run, 0 sent whole"
    shutil.copy(new_store, "mlflow.db")
    code, elsewhere, _ = run_bakeoff(monkeypatch, capsys, "track", "sync", "--uri", f"sqlite:///{tmp_path}/mlflow.db")
    assert (code, elsewhere) == (0, "1 run, 1 sent whole\n")
    [(name, status)] = rows(tmp_path, "SELECT name, status FROM runs")
    assert re.fullmatch(r"[0-9a-f]{8} lost", name) and status == "FINISHED"
    assert rows(tmp_path, "SELECT step, value FROM metrics ORDER BY step")[:2] == [(0, 1.0), (1, 0.5)]


def test_a_table_by_one_number_does_not_compare_each_run_with_all(
    new_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in steps of SQLite's machine: 2,000 runs would take four million comparisons."""
    from support.mlflow_store import open_store

    monkeypatch.chdir(tmp_path)
    store = shutil.copy(new_store, tmp_path / "mlflow.db")
    target = Target(f"sqlite:///{store}", "many")
    _, experiment = open_store(target)
    with closing(sqlite3.connect(store)) as filled, filled:
        for number in range(2000):
            run = f"{number:032x}"
            filled.execute(
                "INSERT INTO runs (run_uuid, name, user_id, status, start_time, lifecycle_stage, artifact_uri,"
                " experiment_id) VALUES (?, '', 'me', 'FINISHED', ?, 'active', '', ?)",
                (run, number, experiment),
            )
            filled.executemany(
                "INSERT INTO latest_metrics (run_uuid, key, value, timestamp, step, is_nan) VALUES (?, ?, ?, 0, 0, 0)",
                [(run, key, number % 7) for key in ("loss", "mAP")],
            )
    before = steps_of_sorting(target, experiment)
    open_store(target)
    assert steps_of_sorting(target, experiment) < 500_000 < 5_000_000 < before


def steps_of_sorting(target: Target, experiment: str) -> int:
    """Return how many steps MLflow's own question for the best runs takes SQLite, to the nearest thousand."""
    from mlflow.entities import ViewType
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy import event

    store, thousands = SqlAlchemyStore(target.uri, "nowhere"), itertools.count()
    event.listen(store.engine, "checkout", lambda it, *_: it.set_progress_handler(lambda: next(thousands) and 0, 1000))
    try:
        best = store.search_runs([experiment], "", ViewType.ACTIVE_ONLY, 5, ["metrics.mAP DESC"])
        assert [run.data.metrics["mAP"] for run in best] == [6.0] * 5
    finally:
        store.engine.dispose()
    return 1000 * next(thousands)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.parametrize("ending", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_the_ui_serves_this_machine_only_and_ends_with_all_its_processes(
    ending: signal.Signals, new_store: Path, tmp_path: Path
) -> None:
    """Also while somebody waits for an answer. SIGTERM ends it as Ctrl-C does, so it also goes the way of SIGINT."""
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "conf").mkdir()
    shutil.copy(new_store, tmp_path / "mlflow.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bakeoff", "ui", "--port", str(port)]
    ui = subprocess.Popen(command, cwd=tmp_path, env=PATHS, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert ui.stdout and "server starts" in ui.stdout.readline()
        assert ui.stdout.readline().startswith(f"MLflow's UI: http://127.0.0.1:{port} ")
        table = ui.stdout.readline().partition(f"http://127.0.0.1:{port}/")[2].strip()
        assert table.startswith("#/experiments/") and table.endswith("&viewStateShareKey=bakeoff")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()  # it was said when it answers
        assert b"<title>MLflow</title>" in page and table.encode() in page
        telemetry = urllib.request.urlopen(f"http://127.0.0.1:{port}/ajax-api/3.0/mlflow/ui-telemetry", timeout=60)
        assert json.load(telemetry)["disable_ui_telemetry"] is True
        stranger = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "stranger.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(stranger, timeout=60)
        assert {address for address in _listening(port)} == {"0100007F"}  # 127.0.0.1 as the kernel writes it
        with socket.create_connection(("127.0.0.1", port)) as unfinished:  # a question that it cannot answer
            unfinished.sendall(
                b"POST /api/2.0/mlflow/runs/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"
            )
            os.kill(ui.pid, ending)
            assert ui.wait(timeout=60) == 0
        assert _listening(port) == set()
    finally:
        if ui.poll() is None:
            os.killpg(ui.pid, signal.SIGKILL)
        ui.communicate()


def _listening(port: int) -> set[str]:
    """Addresses on which some process listens at the port, from the kernel's table."""
    addresses = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else []:
            local, state = line.split()[1], line.split()[3]
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                addresses.add(address)
    return addresses
