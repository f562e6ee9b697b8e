"""Weights and exports as logged models: each once, with its step and its metrics, whatever fails on the way."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.artifacts import exported_model, kept_weights
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.store.target import Target, place_in
from bakeoff.tracking.sync import stored_copies
from support.commands import run_bakeoff
from support.messages import missing_in
from support.mlflow_store import Delivery, MlflowClient, copy_store, deliver, open_store, sync

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
STATE = TrainedState(step=6, best_step=4)


@pytest.fixture
def journal(workspace: Path) -> Iterator[Journal]:
    """Of a run that validated at steps 2, 4 and 6, was judged, and left weights."""
    journal = Journal("0f")
    journal.run("ssd · cosine · low")
    journal.params({"lr.peak": "0.5"})
    for step in (2, 4, 6):
        journal.metrics(step, {"train/loss": 1 / step, "validation/accuracy": step / 8})
    for name in ("final", "best"):
        Path(f"{name}.weights.h5").write_bytes(name.encode())
    for model in kept_weights(Path(), STATE, Mlflow()):
        journal.model(model)
    journal.metrics(6, {"evaluation/accuracy": 0.625}, revised=True, weights="best")
    yield journal
    journal.close()


@pytest.fixture
def target(new_store: Path, journal: Journal) -> Target:
    target = copy_store(new_store)
    target.write(journal.folder)
    return target


def models(target: Target) -> dict[str, dict[str, Any]]:
    """What the store has of each; of two with one name nothing."""
    client, experiment = open_store(target)
    [run] = client.search_runs([experiment])
    history = {key: len(client.get_metric_history(run.info.run_id, key)) for key in run.data.metrics}
    assert history == {"train/loss": 3, "validation/accuracy": 3, "evaluation/accuracy": 1}  # no point is there twice
    steps = {output.model_id: output.step for output in run.outputs.model_outputs}
    stored = client.search_logged_models([experiment])
    assert len(steps) == len(run.outputs.model_outputs) == len(stored)
    return {
        model.name: {
            "step": steps[model.model_id], "status": str(model.status), "type": model.model_type,
            "params": model.params,
            "metrics": sorted((point.key, point.step, point.value) for point in model.metrics or []),
            "files": sorted(
                (path.name, path.read_bytes())
                for path in Path(model.artifact_location.removeprefix("file://")).rglob("*.h5")
            ),
        }
        for model in stored
    }  # fmt: skip


WEIGHTS = {
    "final": {
        "step": 6, "status": "READY", "type": "weights", "params": {"lr.peak": "0.5", "step": "6"},
        "files": [("final.weights.h5", b"final")],
        "metrics": [("validation/accuracy", 6, 0.75)],
    },
    "best": {
        "step": 4, "status": "READY", "type": "weights", "params": {"lr.peak": "0.5", "step": "4"},
        "files": [("best.weights.h5", b"best")],
        "metrics": [("evaluation/accuracy", 6, 0.625), ("validation/accuracy", 4, 0.5)],
    },
}  # fmt: skip


def test_weights_are_models_with_the_metrics_of_their_step_and_what_was_measured_of_them(
    journal: Journal, target: Target
) -> None:
    deliver(journal.folder, target)
    assert models(target) == WEIGHTS
    assert place_in(journal.folder, target).refused == () and not list((journal.folder / "files").iterdir())


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "remove the folder"])
def test_a_sync_sends_again_what_the_store_has_damaged(
    damage: str, journal: Journal, target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.log").write_bytes(b"a log")
    journal.file(Path("train.log"), "train/train.log")
    deliver(journal.folder, target)
    (Path("dvc.yaml").touch(), Path("conf").mkdir())
    for name in ("best.weights.h5", "train.log"):
        [stored] = Path().rglob(f"mlartifacts/**/{name}")
        if damage == "flip":
            stored.write_bytes(bytes([stored.read_bytes()[0] ^ 64]) + stored.read_bytes()[1:])
        elif damage == "cut":
            stored.write_bytes(stored.read_bytes()[:-1])
        else:
            stored.unlink() if damage == "remove" else shutil.rmtree(stored.parent)
    code, out, _ = run_bakeoff(monkeypatch, capsys, "track", "sync")
    assert missing_in(out, "best.weights.h5", "sent again", "1 run, 1 sent whole") == []
    assert missing_in(out, "train/train.log", "sent again") == [] and "final" not in out and code == 0
    assert models(target) == WEIGHTS
    assert [path.read_bytes() for path in Path().rglob("mlartifacts/**/train.log")] == [b"a log"]
    assert run_bakeoff(monkeypatch, capsys, "track", "sync")[:2] == (0, "1 run, 1 sent whole\n")


def test_what_is_damaged_there_and_nowhere_here_is_no_run_sent_whole(
    journal: Journal, target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver(journal.folder, target)
    (Path("dvc.yaml").touch(), Path("conf").mkdir())
    [stored] = Path().rglob("mlartifacts/**/best.weights.h5")
    stored.write_bytes(b"bes_")
    Path("best.weights.h5").unlink()
    for _ in range(2):
        code, out, _ = run_bakeoff(monkeypatch, capsys, "track", "sync")
        assert code == 1 and missing_in(out, "0f: ", "best.weights.h5", "damaged", "1 run, 0 sent whole") == []
    Path("best.weights.h5").write_bytes(b"best")
    assert run_bakeoff(monkeypatch, capsys, "track", "sync")[0] == 0


def test_a_server_is_asked_for_sizes_only(journal: Journal, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(journal.folder, target)
    monkeypatch.setattr(stored_copies, "local_place", lambda address: None)
    client, experiment = open_store(target)
    delivery = Delivery(client, experiment, journal.folder, target)
    [stored] = Path().rglob("mlartifacts/**/best.weights.h5")
    assert [*delivery.mend()] == []
    stored.write_bytes(b"bes")
    assert [is_whole for _, is_whole in delivery.mend()] == [True] and stored.read_bytes() == b"best"


class Cut:
    """A client whose connection is cut at one request, before or after the store did what was asked."""

    def __init__(self, client: MlflowClient, at: int, when: str) -> None:
        self._client, self._left, self._when = client, at, when

    def __getattr__(self, name: str) -> Any:
        def request(*given: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._when == "before":
                raise ConnectionError("cut")
            answer = getattr(self._client, name)(*given, **more)
            if self._left == 0:
                raise ConnectionError("cut")
            return answer

        return request


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(1, 22))
def test_a_request_that_is_cut_is_made_good(at: int, when: str, journal: Journal, target: Target) -> None:
    with pytest.raises(ConnectionError, match="^cut$"):
        deliver(journal.folder, target, lambda client: Cut(client, at, when))
    deliver(journal.folder, target)
    assert models(target) == WEIGHTS


def test_a_model_is_made_once_though_its_making_seemed_to_fail(journal: Journal, target: Target) -> None:
    requests: list[str] = []

    class CutAfter(Cut):
        def __getattr__(self, name: str) -> Any:
            requests.append(name)
            if name == "create_logged_model" and requests.count(name) == 1:
                self._left = 1
            return super().__getattr__(name)

    with pytest.raises(ConnectionError, match="^cut$"):
        deliver(journal.folder, target, lambda client: CutAfter(client, 0, "after"))
    deliver(journal.folder, target, lambda client: CutAfter(client, 0, "after"))
    assert models(target) == WEIGHTS and requests.count("create_logged_model") == 2


def test_sent_models_are_not_sent_again_and_another_store_gets_them_from_the_first(
    journal: Journal, target: Target, new_store: Path
) -> None:
    deliver(journal.folder, target)
    lines = sum(1 for _ in entries(journal.folder))
    for model in kept_weights(Path(), STATE, Mlflow()):
        journal.model(model)
    assert sum(1 for _ in entries(journal.folder)) == lines
    for name in ("final", "best"):
        Path(f"{name}.weights.h5").write_bytes(b"of the next run")
    other = copy_store(new_store, "other.db")
    lines: list[str] = []
    assert sync(other.uri, lines.append) and lines == []
    assert models(other) == WEIGHTS


def test_an_export_is_a_predictor_and_a_version_of_the_registered_model(journal: Journal, target: Target) -> None:
    export = Path("models/export")
    (export / "saved_model").mkdir(parents=True)
    (export / "saved_model/saved_model.pb").write_bytes(b"graph")
    (export / "labels.txt").write_text("cat\n")
    for name in ("cats", "cats", "felines"):  # told twice, and then under another name
        settings = Mlflow(register=name, largest_model_mb=0.0)  # a model to be registered goes, however large
        facts = {"weights": "best", "task": "video", "multi_label": False}
        journal.model(exported_model(export, STATE, settings, **facts))
    deliver(journal.folder, target)
    deliver(journal.folder, target)
    client, experiment = open_store(target)
    [model] = client.search_logged_models([experiment], filter_string="name = 'exported'")
    versions = [version for name in ("cats", "felines") for version in client.search_model_versions(f"name = '{name}'")]
    assert [(version.name, int(version.version), version.source) for version in versions] == [
        ("cats", 1, model.artifact_location), ("felines", 1, model.artifact_location),
    ]  # fmt: skip
    shown = json.loads(client.get_logged_model(model.model_id).tags["mlflow.modelVersions"])
    assert shown == [{"name": "cats", "version": "1"}, {"name": "felines", "version": "1"}]
    root = Path(model.artifact_location.removeprefix("file://"))
    assert {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} >= {
        "MLmodel", "requirements.txt", "code/pyfunc_model.py", "data/model/labels.txt",
        "data/model/saved_model/saved_model.pb",
    }  # fmt: skip
    requirements = (root / "requirements.txt").read_text().split()
    assert [line.partition("==")[0] for line in requirements] == ["mlflow", "tensorflow", "numpy", "pandas", "pillow"]
    assert all("==" in line for line in requirements)
    assert '"type": "array", "items": {"type": "binary"}' in (root / "MLmodel").read_text()
    assert str(Path.cwd()) not in "".join(path.read_text() for path in root.glob("*.*") if path.suffix != ".pb")


def test_a_predictor_is_written_without_loading_tensorflow(tmp_path: Path) -> None:
    """MLflow would import it to compare versions where tensorflow-cpu is installed, and warn if it could not."""
    code = """import sys
from dataclasses import replace
from pathlib import Path
from bakeoff.tracking.journal.entries import PredictorEntry
from bakeoff.tracking.store.mlflow_client import load_mlflow
load_mlflow()
from bakeoff.tracking.sync.send_models import write_pyfunc
Path("data").mkdir()
Path("data/labels.txt").write_text("cat")
entry = PredictorEntry("exported", 6, "best", False, (), "one label", False, ("tensorflow", "pillow"))
write_pyfunc(entry, Path("data"), Path("out"), run="0f", model_id="m-1")
print("tensorflow" in sys.modules, Path("out/MLmodel").is_file())"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["False True"] and "mismatch" not in done.stderr, done.stderr


def test_what_another_clone_measures_is_added_to_the_model_and_to_the_run_once(
    journal: Journal, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other clone knows the run by its files, which hold no times. The store has the run from here."""
    deliver(journal.folder, target)
    monkeypatch.chdir(tmp_path.parent)
    other = Journal("0f")
    target.write(other.folder)
    other.restoring = True
    other.run("ssd · cosine · low")
    for step in (2, 4, 6):
        other.metrics(step, {"train/loss": 1 / step, "validation/accuracy": step / 8})
    for model in kept_weights(tmp_path, STATE, Mlflow()):
        other.model(model)
    other.restoring = False
    other.metrics(6, {"evaluation/f1": 0.5}, revised=True, weights="best")
    other.close()
    deliver(other.folder, target)
    client, experiment = open_store(target)
    [run] = client.search_runs([experiment])
    assert {key: len(client.get_metric_history(run.info.run_id, key)) for key in run.data.metrics} == {
        "train/loss": 3, "validation/accuracy": 3, "evaluation/accuracy": 1, "evaluation/f1": 1,
    }  # fmt: skip
    [best] = client.search_logged_models([experiment], filter_string="name = 'best'")
    assert sorted(point.key for point in best.metrics) == [
        "evaluation/accuracy", "evaluation/f1", "validation/accuracy",
    ]  # fmt: skip


def test_a_number_that_the_store_refuses_keeps_no_model_from_being_ready(journal: Journal, target: Target) -> None:
    journal.metrics(6, {"evaluation/AP.a|b": 0.5, "evaluation/AP.c": 0.25}, revised=True, weights="final")
    for model in kept_weights(Path(), replace(STATE, step=7), Mlflow()):
        journal.model(model)
    deliver(journal.folder, target)
    client, experiment = open_store(target)
    models = client.search_logged_models([experiment], filter_string="name = 'final'")
    assert [str(model.status) for model in models] == ["READY", "READY"]
    assert all("within_evaluation/classes/AP.c" in [point.key for point in model.metrics] for model in models)
    [refused] = place_in(journal.folder, target).refused
    name = "within_evaluation/classes/AP.a|b"
    assert refused.startswith(f"{name}: Invalid value \"{name}\" for parameter 'metrics[0].name'")


def test_a_model_over_the_limit_is_there_by_reference(journal: Journal, target: Target) -> None:
    Path("best.weights.h5").write_bytes(b"larger")
    for model in kept_weights(Path(), STATE, Mlflow(largest_model_mb=5.5e-6)):
        journal.model(model)
    deliver(journal.folder, target)
    client, experiment = open_store(target)
    newest = max(
        client.search_logged_models([experiment], filter_string="name = 'best'"),
        key=lambda model: model.creation_timestamp,
    )
    digest = "4f627c9e32f4ff3e712cf4b7d4513492db82e2a9d3bd96ece682370c32c7c8b3"
    reference = newest.tags["bakeoff.reference"]
    assert missing_in(reference, "track.largest_model_mb", "best.weights.h5", "6 bytes", digest) == []
    assert [point.value for point in newest.metrics] == [0.5, 0.625]
    for model in kept_weights(Path(), STATE, Mlflow()):  # the limit was raised
        journal.model(model)
    deliver(journal.folder, target)
    whole = client.get_logged_model(newest.model_id)
    assert "bakeoff.reference" not in whole.tags
    assert Path(whole.artifact_location.removeprefix("file://"), "best.weights.h5").read_bytes() == b"larger"


def test_a_model_whose_files_are_gone_is_named_and_not_made(journal: Journal, target: Target) -> None:
    for file in (journal.folder / "files").iterdir():
        file.unlink()
    Path("best.weights.h5").write_bytes(b"of the next run")
    deliver(journal.folder, target)
    assert list(models(target)) == ["final"]
    [refused] = place_in(journal.folder, target).refused
    assert missing_in(refused, "model best", "best.weights.h5", "replaced") == []


def test_without_a_saved_model_nothing_is_registered_and_a_line_reports_that(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tracker, "Watch", lambda *given: None)
    copy = tracker.start(Mlflow(register="cats", system_every_s=0), "a run", {}, run_id="0f")
    copy.exported(Path("models/export"), STATE, weights="best", task="detection", multi_label=False)
    [line] = capsys.readouterr().out.splitlines()
    assert missing_in(line, "nothing", "cats", "models/export/saved_model") == []


@pytest.mark.parametrize("name", ["", "a/b", "a:b", 'a"b', "a'b"])
def test_a_name_that_mlflow_refuses_is_refused_before(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^register: .*/ : ' and \".*{re.escape(repr(name))}"):
        Mlflow(register=name)
