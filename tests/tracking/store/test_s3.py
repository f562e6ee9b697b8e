"""Files of a run in S3, by MLflow's own client for it, which the proof installs. The bucket is a dict."""

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.artifacts import exported_model, kept_weights
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.fetch_artifacts import fetch_weights
from bakeoff.tracking.store.target import Target, place_in
from bakeoff.tracking.sync.send_all import Courier
from bakeoff.tracking.sync.sync_status import sync
from proofs.faults.s3_store import PACKAGES
from support.extra_packages import extra_packages
from support.messages import missing_in

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of MLflow's and Amazon's libraries


class Bucket(ThreadingHTTPServer):
    """As much of S3 as putting, getting and listing objects takes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Objects)
        self.objects: dict[str, bytes] = {}
        self.key = "key"


class Objects(BaseHTTPRequestHandler):
    server: Bucket

    def do_PUT(self) -> None:
        if self._is_allowed():
            self.server.objects[unquote(urlsplit(self.path).path)] = self._body()
            self._answer(200)

    def do_HEAD(self) -> None:
        if self._is_allowed():
            content = self.server.objects.get(unquote(urlsplit(self.path).path))
            self._answer(404 if content is None else 200, length=len(content or b""))

    def do_GET(self) -> None:
        if not self._is_allowed():
            return
        place = urlsplit(self.path)
        content = self.server.objects.get(unquote(place.path))
        if content is not None:
            self._answer(200, content)
            return
        prefix = parse_qs(place.query).get("prefix", [""])[0]
        bucket = unquote(place.path).rstrip("/")
        names = [name.removeprefix(f"{bucket}/") for name in self.server.objects]
        below = [name for name in names if name.startswith(prefix)]
        folders = {
            prefix + name.removeprefix(prefix).partition("/")[0] + "/" for name in below if "/" in name[len(prefix) :]
        }
        files = [name for name in below if "/" not in name[len(prefix) :]]
        listed = "".join(
            f"<Contents><Key>{name}</Key><Size>{len(self.server.objects[f'{bucket}/{name}'])}</Size></Contents>"
            for name in files
        ) + "".join(f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" for name in sorted(folders))
        self._answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode())

    def _is_allowed(self) -> bool:
        if f"Credential={self.server.key}/" in self.headers.get("Authorization", ""):
            return True
        self._body()
        self._answer(403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
        return False

    def _body(self) -> bytes:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return content
        whole = b""
        while content:  # size in hexadecimal, line end, that many bytes, line end; size 0 ends it
            size, _, content = content.partition(b"\r\n")
            count = int(size.partition(b";")[0], 16)
            if not count:
                break
            whole, content = whole + content[:count], content[count + 2 :]
        return whole

    def _answer(self, code: int, content: bytes = b"", length: int | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.send_header("ETag", '"0"')
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.syspath_prepend(extra_packages(*PACKAGES))
    server = Bucket()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "MLFLOW_S3_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield server
    server.shutdown()
    server.server_close()


def test_the_files_and_models_of_a_run_are_in_s3_and_come_back_from_there(
    bucket: Bucket, new_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    store = f"sqlite:///{Path(shutil.copy(new_store, tmp_path))}"
    journal = Journal("0f" * 16)
    settings = Mlflow(uri=store, artifacts="s3://models/of the team", register="cats")
    target = Target.from_settings(settings)
    target.write(journal.folder)
    journal.run("a run")
    (tmp_path / "report.html").write_text("<p>fine</p>")
    journal.file(tmp_path / "report.html", "evaluation/report.html")
    (tmp_path / "best.weights.h5").write_bytes(b"weights" * 1000)
    (tmp_path / "saved_model").mkdir()
    (tmp_path / "saved_model/saved_model.pb").write_bytes(b"graph")
    (tmp_path / "labels.txt").write_text("cat\n")
    state = TrainedState(step=6)
    for model in kept_weights(tmp_path, state, settings):
        journal.model(model)
    journal.model(exported_model(tmp_path, state, settings, weights="best", task="detection", multi_label=False))
    journal.state("FINISHED")
    journal.close()
    bucket.key = "another"
    assert not Courier(target).send([journal.folder])
    trouble = place_in(journal.folder, target).trouble
    assert trouble and missing_in(trouble, "AccessDenied", "$AWS_ACCESS_KEY_ID", "$AWS_SECRET_ACCESS_KEY") == []
    bucket.key = "key"
    assert sync(None, print)
    run = place_in(journal.folder, target).run
    assert bucket.objects[f"/models/of the team/{run}/artifacts/evaluation/report.html"] == b"<p>fine</p>"
    kept = {name.rpartition("/artifacts/")[2]: content for name, content in bucket.objects.items()}
    assert kept["best.weights.h5"] == b"weights" * 1000 and kept["data/model/saved_model/saved_model.pb"] == b"graph"
    assert b"loader_module: pyfunc_model" in kept["MLmodel"]
    assert fetch_weights(settings, "0f" * 16).read_bytes() == b"weights" * 1000
