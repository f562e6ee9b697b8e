"""Stores that refuse, hang, fail, or are not what they should be: one warning with the reason, and all of it later.

Journals and stores are real, and so is MLflow's client; only the detached process of the sender is left out.
"""

import base64
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import SyncProgress, Target, place_in
from bakeoff.tracking.sync import watch
from support.messages import missing_in
from support.mlflow_store import Courier, connect, sync

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries


class Answers(BaseHTTPRequestHandler):
    """A server that answers every request with an error."""

    server: "Broken"

    def do_GET(self) -> None:
        self.server.asked_by.append(self.headers.get("Authorization", ""))
        if self.server.code == 0:
            self.server.over.wait()  # says nothing
            return
        self.send_response(self.server.code)
        self.end_headers()
        self.wfile.write(b"<html>Hello</html>")

    do_POST = do_GET

    def log_message(self, *given: object) -> None:
        pass


class Broken(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.code, self.over, self.asked_by = 500, threading.Event(), list[str]()


@pytest.fixture
def server() -> Iterator[Broken]:
    broken = Broken()
    threading.Thread(target=broken.serve_forever, args=(0.01,), daemon=True).start()
    yield broken
    broken.over.set()
    broken.shutdown()
    broken.server_close()


@pytest.fixture
def store(new_store: Path, journal: Journal) -> Path:
    return Path(shutil.copy(new_store, "store.db")).resolve()


@pytest.fixture
def journal(workspace: Path) -> Iterator[Journal]:
    journal = Journal("0f")
    journal.run("ssd · cosine · low")
    journal.metrics(1, {"train/loss": 0.5})
    yield journal
    journal.close()


@pytest.fixture
def warning_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Journal, Target], str]:
    """Return a function that returns what a stage prints while its store takes nothing, try after try."""
    monkeypatch.setattr(watch, "start_sender", lambda key: None)
    monkeypatch.setattr(watch, "MEASURE_EVERY_S", 0.01)
    monkeypatch.setattr(watch, "TROUBLE_AFTER_S", -1.0)

    def warning_of(journal: Journal, target: Target) -> str:
        target.write(journal.folder)
        stage = watch.Watch(journal, target, 0)
        courier = Courier(target)
        for step in (2, 3):
            assert courier.send([journal.folder]) in (False, bool(courier.deleted))
            journal.metrics(step, {"train/loss": 0.5 / step})
        stage.end(wait_s=5)  # that nobody waits for a store which takes nothing, test_tracker shows by numbers
        return capsys.readouterr().err

    return warning_of


def missing_in_warning(warning: str, uri: str, *reason: str) -> list[str]:
    """Return what the only line of a warning does not name of the store, the reason and the command for later."""
    assert warning.startswith("warning: ") and warning.endswith("\n") and warning.count("\n") == 1
    return missing_in(warning, f"({uri})", *reason, "`bakeoff track sync`")


def arrived(store: Path, experiment: str = "bakeoff") -> list[tuple[int, float]]:
    """The points of the only run in a store."""
    client = connect(f"sqlite:///{store}")
    stored = client.get_experiment_by_name(experiment)
    assert stored
    [run] = client.search_runs([stored.experiment_id])
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "train/loss")]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (500, ("error 500", "log")),
        (503, ("error 503", "log")),
        (403, ("no right",)),
        (404, ("no MLflow server", "track.uri")),
        (200, ("no MLflow server", "track.uri")),
        (0, ("in time",)),
    ],
)
def test_a_server_that_fails_is_reported_once_with_the_reason(
    code: int,
    reason: tuple[str, ...],
    journal: Journal,
    server: Broken,
    warning_of: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    server.code = code
    uri = f"http://127.0.0.1:{server.server_port}"
    assert missing_in_warning(warning_of(journal, Target(uri, "bakeoff")), uri, *reason) == []
    assert place_in(journal.folder, Target(uri, "bakeoff")).tries == 2


def test_a_wrong_password_is_reported_without_it(
    journal: Journal, server: Broken, warning_of: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    server.code = 401
    uri = f"http://127.0.0.1:{server.server_port}"
    warning = warning_of(journal, Target(uri, "bakeoff"))
    named = ("password", "$MLFLOW_TRACKING_USERNAME", "$MLFLOW_TRACKING_PASSWORD")
    assert missing_in_warning(warning, uri, *named) == [] and "wrong" not in warning
    assert set(server.asked_by) == {f"Basic {base64.b64encode(b'me:wrong').decode()}"}


def test_an_experiment_that_does_not_exist_is_made(journal: Journal, store: Path) -> None:
    target = Target(f"sqlite:///{store}", "of another name")
    target.write(journal.folder)
    assert Courier(target).send([journal.folder])
    assert arrived(store, "of another name") == [(1, 0.5)]


def test_a_deleted_experiment_is_reported_with_the_command_that_restores_it(
    journal: Journal, store: Path, warning_of: Callable
) -> None:
    uri = f"sqlite:///{store}"
    client = connect(uri)
    experiment = client.create_experiment("bakeoff")
    client.delete_experiment(experiment)
    restore = f"`mlflow experiments restore --experiment-id {experiment}`"
    warning = warning_of(journal, Target(uri, "bakeoff"))
    assert missing_in_warning(warning, uri, "experiment bakeoff", "deleted", restore, "track.experiment") == []
    client.restore_experiment(experiment)
    assert sync(None, print) and arrived(store) == [(1, 0.5), (2, 0.25), (3, 0.5 / 3)]


def test_a_run_that_is_deleted_while_it_trains_loses_nothing_if_it_is_brought_back(
    journal: Journal, store: Path, warning_of: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    target = Target(f"sqlite:///{store}", "bakeoff")
    target.write(journal.folder)
    courier, client = Courier(target), connect(target.uri)
    assert courier.send([journal.folder])
    run = place_in(journal.folder, target).run
    client.delete_run(run)
    journal.metrics(2, {"train/loss": 0.25})
    assert courier.send([journal.folder]) and courier.deleted == {journal.folder}
    assert place_in(journal.folder, target).refused == ()
    restore = f"`mlflow runs restore --run-id {run}`"
    assert missing_in_warning(warning_of(journal, target), target.uri, "run", "deleted", restore) == []
    client.restore_run(run)
    assert sync(None, print) and arrived(store) == [(1, 0.5), (2, 0.25), (3, 0.5 / 3)]


@pytest.mark.skipif(find_spec("boto3") is not None, reason="boto3 is installed")
def test_files_for_s3_without_boto3_are_reported(journal: Journal, store: Path, warning_of: Callable) -> None:
    Path("note.txt").write_text("kept")
    journal.file(Path("note.txt"), "config/note.txt")
    target = Target(f"sqlite:///{store}", "bakeoff", "s3://bucket/runs")
    assert missing_in_warning(warning_of(journal, target), target.uri, "pip install boto3") == []


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("17e22815139b", ("older", "`mlflow db upgrade {uri}`")),
        ("f" * 12, ("newer", "{version}")),
    ],
)
def test_a_database_of_another_mlflow_is_reported_with_the_remedy(
    schema: str, reason: tuple[str, ...], journal: Journal, store: Path, warning_of: Callable
) -> None:
    import mlflow

    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = ?", (schema,))
    uri = f"sqlite:///{store}"
    named = [part.format(uri=uri, version=mlflow.__version__) for part in reason]
    assert missing_in_warning(warning_of(journal, Target(uri, "bakeoff")), uri, *named) == []


def test_a_store_that_was_restored_from_an_older_copy_gets_what_it_lacks_once(journal: Journal, store: Path) -> None:
    target = Target(f"sqlite:///{store}", "bakeoff")
    target.write(journal.folder)
    assert sync(None, print)
    older = shutil.copy(store, "older.db")
    journal.metrics(2, {"train/loss": 0.25})
    journal.state("FINISHED")
    assert sync(None, print) and arrived(store) == [(1, 0.5), (2, 0.25)]
    shutil.copy(older, store)
    assert sync(None, print) and arrived(store) == [(1, 0.5)]
    for _ in range(2):
        assert sync(None, print, anew=True) and arrived(store) == [(1, 0.5), (2, 0.25)]
    client, run = connect(target.uri), place_in(journal.folder, target).run
    assert run and client.get_run(run).info.status == "FINISHED"


def test_the_id_of_another_projects_run_leads_to_a_run_of_ones_own(journal: Journal, store: Path) -> None:
    """A file about a store's progress from elsewhere would name the store like this."""
    target = Target(f"sqlite:///{store}", "bakeoff")
    client = connect(target.uri)
    theirs = client.create_run(client.create_experiment("theirs")).info.run_id
    target.write(journal.folder)
    SyncProgress(offset=0, run=theirs, created=True).write(journal.folder, target)
    assert Courier(target).send([journal.folder])
    assert client.get_run(theirs).data.metrics == {} and place_in(journal.folder, target).run != theirs
    assert arrived(store) == [(1, 0.5)]


@pytest.mark.slow
def test_a_full_disk_of_the_store_is_reported_and_the_rest_is_sent_later(
    journal: Journal, new_store: Path, warning_of: Callable, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        store = Path(shutil.copy(new_store, disk))
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="No space left"), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        target = Target(f"sqlite:///{store}", "bakeoff")
        assert missing_in_warning(warning_of(journal, target), target.uri, "disk is full") == []
        ballast.unlink()
        assert sync(None, print) and arrived(store) == [(1, 0.5), (2, 0.25), (3, 0.5 / 3)]
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
