"""A server that lies, drips or never ends holds nobody up, takes no memory, and writes nothing to the terminal."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bakeoff.foundation import steady_answers
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.bounded_answers import bound_answers
from bakeoff.tracking.store.read_runs import runs_in
from bakeoff.tracking.store.target import Target, place_in
from support.messages import missing_in
from support.mlflow_store import sync

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
EXPERIMENT = {"experiment_id": "1", "name": "bakeoff", "lifecycle_stage": "active", "artifact_location": "file:///no"}
INFO = {"run_id": "abc", "run_uuid": "abc", "experiment_id": "1", "status": "RUNNING", "start_time": 1}
RUN = {"info": INFO | {"lifecycle_stage": "active"}, "data": {"tags": [{"key": "bakeoff.run", "value": "0f"}]}}
AGAIN = {"next_page_token": "again"}


class Answers(BaseHTTPRequestHandler):
    server: "Hostile"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.kind == "head":
            self._drip_head()
            return
        code, piece, is_endless = self.server.answers(self.path)
        self.send_response(code)
        self.end_headers()
        try:
            self.wfile.write(piece)
            while is_endless and not self.server.over.wait(0.001 if len(piece) > 1 else 0.2):
                self.wfile.write(piece)
        except OSError:
            pass  # it hung up

    def _drip_head(self) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not self.server.over.wait(0.05):
                self.wfile.write(b"x")
        except OSError:
            pass  # it hung up

    do_POST = do_HEAD = do_GET

    def log_message(self, *given: object) -> None:
        pass


class Hostile(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.over, self.kind = threading.Event(), ""

    def answers(self, path: str) -> tuple[int, bytes, bool]:
        """Return a code, what is sent, and whether it is sent again and again."""
        if self.kind == "endless":
            return 200, b" " * (1 << 20), True
        if self.kind == "drip":
            return 200, b" ", True
        if self.kind == "escape":
            return 413, b"\x1b]0;owned\x07\xc2\x9b2J no", False
        if self.kind == "garbage":
            return 200, b"\xff{", False
        tree: dict[str, Any] = {"experiment": EXPERIMENT, "experiments": [EXPERIMENT], "runs": [RUN], "run": RUN}
        return 200, json.dumps(tree | {"metrics": []} | AGAIN).encode(), False


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hostile]:
    import bakeoff.tracking.store.bounded_answers as bounded_answers

    monkeypatch.setattr(bounded_answers, "MOST_BYTES", 20_000_000)
    monkeypatch.setattr(bounded_answers, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(steady_answers, "PATIENCE_S", 0.5)
    hostile = Hostile()
    threading.Thread(target=hostile.serve_forever, args=(0.01,), daemon=True).start()
    yield hostile
    hostile.over.set()
    hostile.shutdown()
    hostile.server_close()


@pytest.fixture
def target(server: Hostile, workspace: object) -> Target:
    target = Target(f"http://127.0.0.1:{server.server_port}", "bakeoff")
    journal = Journal("0f")
    target.write(journal.folder)
    journal.run("ssd · cosine · low")
    journal.metrics(1, {"train/loss": 0.5})
    journal.close()
    return target


MEANT = {
    "endless": "20,000,000",
    "drip": "timed out",
    "head": "timed out",
    "escape": "413",
    "garbage": "JSON",
    "again": "no end",
}


@pytest.mark.parametrize("kind", sorted(MEANT))
def test_a_hostile_server_is_refused_in_a_line(server: Hostile, target: Target, kind: str) -> None:
    server.kind = kind
    with pytest.raises(WorkspaceError) as error:
        runs_in(target)
    assert missing_in(str(error.value), target.uri, MEANT[kind]) == []
    assert str(error.value).isprintable()


@pytest.mark.parametrize("kind", sorted(MEANT))
def test_what_is_not_sent_to_a_hostile_server_stays_in_the_journal(server: Hostile, target: Target, kind: str) -> None:
    server.kind = kind
    lines: list[str] = []
    assert not sync(None, lines.append)
    assert len(lines) == 1 and lines[0].isprintable() and missing_in(lines[0], "0f", target.uri) == []
    folder = journals() / "0f"
    assert place_in(folder, target).offset < (folder / FILE).stat().st_size


@pytest.mark.parametrize("kind", ["drip", "head"])
def test_a_proxy_that_drips_is_refused_in_a_line(
    server: Hostile, target: Target, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the proxy that answers: nobody is at the address behind it."""
    monkeypatch.setenv("http_proxy", target.uri)
    monkeypatch.setenv("no_proxy", "")
    server.kind, behind = kind, Target("http://mlflow.invalid:5000", "bakeoff")
    with pytest.raises(WorkspaceError) as error:
        runs_in(behind)
    assert missing_in(str(error.value), behind.uri, "timed out") == []


def test_the_client_of_s3_waits_for_no_dripping_store(server: Hostile, tmp_path: Path) -> None:
    """As the one of boto3 that MLflow uses for artifacts at s3://, if it is installed."""
    boto3 = pytest.importorskip("boto3")
    bound_answers()
    server.kind = "head"
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server.server_port}", **keys)
    with pytest.raises(Exception, match="timed out"):
        client.download_file("models", "best.weights.h5", str(tmp_path / "best.weights.h5"))
