"""Files of a run in S3, by MLflow's own client for it, which the proof installs with moto's server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.artifacts import exported_model, kept_weights
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.fetch_artifacts import fetch_weights
from bakeoff.tracking.store.target import Target, place_in
from proofs.faults.s3_store import PACKAGES, Bucket
from support.extra_packages import extra_packages
from support.messages import missing_in
from support.mlflow_store import Courier, connect, copy_store, sync

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of MLflow's and Amazon's libraries


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket that this process reaches, and that gives nobody a right once it is made."""
    monkeypatch.syspath_prepend(extra_packages(*PACKAGES))
    server = Bucket()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", "1")
    server.start()
    yield server
    server.kill()


def test_the_files_and_models_of_a_run_are_in_s3_and_come_back_from_there(
    bucket: Bucket, new_store: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copy_store(new_store).uri
    journal = Journal("0f" * 16)
    settings = Mlflow(uri=store, artifacts=bucket.uri, register="cats")
    target = Target.from_settings(settings)
    target.write(journal.folder)
    journal.run("a run")
    (workspace / "report.html").write_text("<p>fine</p>")
    journal.file(workspace / "report.html", "evaluation/report.html")
    (workspace / "best.weights.h5").write_bytes(b"weights" * 1000)
    (workspace / "saved_model").mkdir()
    (workspace / "saved_model/saved_model.pb").write_bytes(b"graph")
    (workspace / "labels.txt").write_text("cat\n")
    state = TrainedState(step=6)
    for model in kept_weights(workspace, state, settings):
        journal.model(model)
    journal.model(exported_model(workspace, state, settings, weights="best", task="detection", multi_label=False))
    journal.state("FINISHED")
    journal.close()
    assert not Courier(target).send([journal.folder])
    trouble = place_in(journal.folder, target).trouble
    assert trouble and missing_in(trouble, "$AWS_ACCESS_KEY_ID", "$AWS_SECRET_ACCESS_KEY") == []
    monkeypatch.delenv("INITIAL_NO_AUTH_ACTION_COUNT")
    bucket.kill()
    bucket.start()
    assert sync(None, print)
    run = place_in(journal.folder, target).run
    report = connect(store).download_artifacts(run, "evaluation/report.html", str(workspace / ".bakeoff"))
    assert Path(report).read_bytes() == b"<p>fine</p>"
    names = {str(path).rpartition("/artifacts/")[2] for path in bucket.files()}
    assert names >= {"evaluation/report.html", "best.weights.h5", "MLmodel", "data/model/saved_model/saved_model.pb"}
    assert fetch_weights(settings, "0f" * 16).read_bytes() == b"weights" * 1000
