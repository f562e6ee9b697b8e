"""What stages write into journals, and that nothing delays them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.track_settings import Mlflow, Untracked
from bakeoff.foundation.workspace import journals
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.results.results import last_here, params_of
from bakeoff.tracking.store.target import target_in
from support.messages import missing_in


class Waits:
    """Stands for the thread that keeps a sender alive: how long each run waited at its end."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def __call__(self, journal: object, target: object, every: float) -> "Waits":
        return self

    def end(self, wait_s: float) -> None:
        self.waited.append(wait_s)


@pytest.fixture(autouse=True)
def waits(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Waits:
    waits = Waits()
    monkeypatch.setattr(tracker, "Watch", waits)
    return waits


def read_entries(run_id: str) -> list[Any]:
    return [entry for entry, _ in entries(journals() / run_id) if entry]


def states(run_id: str) -> list[str]:
    return [entry.state for entry in read_entries(run_id) if entry.kind == "state"]


def test_a_run_that_is_not_tracked_writes_no_journal(tmp_path: Path) -> None:
    copy = tracker.start(Untracked(), "a run", {"a": "tag"}, run_id="0f")
    copy.params({"lr": 1})
    copy.metrics(1, {"loss": 0.5})
    copy.folder(tmp_path, "all")
    copy.changes()
    copy.dataset("digits", "9f", "data", {})
    copy.close()
    assert copy.run_id == "0f" and not journals().exists()


@pytest.mark.parametrize(
    ("error", "state", "waited"), [(None, "FINISHED", 3.0), (KeyboardInterrupt, "KILLED", 0), (ValueError, "FAILED", 0)]
)
def test_a_run_ends_as_its_block_does_and_only_a_fine_one_waits(
    error: type[BaseException] | None, state: str, waited: float, waits: Waits
) -> None:
    copy = tracker.start(Mlflow(wait_s=3.0), "a run", {}, run_id="0f")
    with suppress(KeyboardInterrupt, ValueError), copy.ending():
        if error:
            raise error
    assert states("0f") == ["RUNNING", state] and waits.waited == [waited]
    assert last_here() == ("0f" if state == "FINISHED" else None)


def test_a_disk_that_takes_no_journal_costs_a_warning_and_not_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".bakeoff").write_text("a file where a folder should be")
    with tracker.start(Mlflow(), "a run", {"a": "tag"}, run_id="0f").ending():
        pass
    warning = capsys.readouterr().err
    assert missing_in(warning, "warning: ", "no journal", "MLflow") == [] and warning.count("\n") == 1


def test_the_name_has_the_experiment_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "falling")
    tracker.start(Mlflow(), "ssd · cosine · low", {}, run_id="0f").close()
    assert read_entries("0f")[0].name == "ssd · cosine · low (falling)"


def test_stages_share_one_run_and_may_add_a_store_later() -> None:
    tracker.start(Mlflow(uri="http://one"), "a run", {"a": "tag"}, run_id="0f").close()
    with tracker.attach(Mlflow(uri="http://two"), "0f") as copy:
        copy.metrics(6, {"evaluation/accuracy": 0.5}, revised=True)
    assert [entry.kind for entry in read_entries("0f")] == ["run", "tags", "metrics"]
    target = target_in(journals() / "0f")
    assert target and target.uri == "http://two"


def test_nothing_is_added_to_the_journal_of_a_run_that_is_over() -> None:
    with tracker.start(Mlflow(), "a run", {"bakeoff.git_commit": "5d1c"}, run_id="0f").ending():
        pass
    before = read_entries("0f")
    copy = tracker.start(Mlflow(), "a run", {"bakeoff.git_commit": "77aa"}, run_id="0f", is_over=True)
    with copy.ending():
        copy.tags({"bakeoff.seconds": "3"})
        copy.metrics(9, {"loss": 0.5})
        copy.changes()
    assert read_entries("0f") == before != []


def test_a_run_that_is_over_and_lost_its_journal_is_written_as_one_that_a_store_may_have() -> None:
    tags = {"bakeoff.git_commit": "77aa", "bakeoff.processor": "x86_64", "bakeoff.fingerprint": "1f"}
    with tracker.start(Mlflow(), "a run", tags, run_id="0f", is_over=True).ending():
        pass
    assert [entry.kind for entry in read_entries("0f") if not entry.restored] == ["run"]
    [entry] = [entry for entry in read_entries("0f") if entry.kind == "tags"]
    assert entry.values == {"bakeoff.fingerprint": "1f", "bakeoff.restored": "true"}
    assert states("0f") == ["RUNNING", "FINISHED"]


def test_a_folder_is_written_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "train/plots").mkdir(parents=True)
    for name in ("state.json", "plots/training.tsv"):
        (tmp_path / "train" / name).write_text(name)
    copy = tracker.start(Mlflow(), "a run", {}, run_id="0f")
    copy.folder(tmp_path / "train", "train")
    copy.file(tmp_path / "missing", "train")
    copy.close()
    names = [entry.name for entry in read_entries("0f") if entry.kind == "file"]
    assert names == ["train/plots/training.tsv", "train/state.json"]


def test_weights_are_models_and_no_files_and_large_ones_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = tmp_path / "trained"
    trained.mkdir()
    for name, size in (("best.weights.h5", 20), ("final.weights.h5", 1_000_001), ("state.json", 10)):
        (trained / name).write_bytes(bytes(size))
    copy = tracker.start(Mlflow(largest_model_mb=1), "a run", {}, run_id="0f")
    copy.folder(trained, "train")
    copy.weights(trained, TrainedState(step=6, best_step=4))
    copy.close()
    assert [entry.name for entry in read_entries("0f") if entry.kind == "file"] == ["train/state.json"]
    models = [entry for entry in read_entries("0f") if entry.kind == "model"]
    assert [(model.name, model.step, model.by_reference) for model in models] == [
        ("final", 6, True), ("best", 4, False),
    ]  # fmt: skip
    kept = {path.stat().st_size for path in (journals() / "0f/files").iterdir()}
    printed = capsys.readouterr().out
    assert kept == {10, 20} and printed.count("\n") == 2
    assert missing_in(printed, "only the digest", "model final", "1 MB", "track.largest_model_mb=1") == []


def test_params_are_flat_and_leave_out_what_nobody_compares_by() -> None:
    tree = {
        "variant": {"lr": "cosine", "track": "mlflow"},
        "train": {"batch_size": 8, "fresh": True, "phases": [{"name": "head", "steps": 5, "lr": {"peak": 0.1}}]},
        "model": {"aspect_ratios": [0.5, 1.0], "names": []},
        "track": {"kind": "mlflow", "uri": None},
        "derived": {"steps": 60},
    }
    assert params_of(tree) == {
        "variant.lr": "cosine", "train.batch_size": "8", "train.phases.head.steps": "5",
        "train.phases.head.lr.peak": "0.1", "model.aspect_ratios": "[0.5, 1.0]", "model.names": "[]",
        "derived.steps": "60",
    }  # fmt: skip


@pytest.mark.parametrize("key", ["wait_s", "system_every_s", "largest_model_mb"])
def test_a_time_or_size_below_nothing_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key}: must be 0 or more, got -1"):
        Mlflow(**{key: -1})


def test_another_text_can_be_sent_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "judged").mkdir()
    for name in ("report.html", "metrics.json"):
        (tmp_path / "judged" / name).write_text("as it is", encoding="utf-8")
    copy = tracker.start(Mlflow(), "a run", {}, run_id="0f")
    copy.folder(tmp_path / "judged", "evaluation", {"report.html": "with the run"})
    copy.close()
    files = {entry.name: entry.sha256 for entry in read_entries("0f") if entry.kind == "file"}
    kept = {name: (journals() / "0f/files" / digest).read_text(encoding="utf-8") for name, digest in files.items()}
    assert kept == {"evaluation/report.html": "with the run", "evaluation/metrics.json": "as it is"}


def test_what_mlflow_sets_side_by_side_is_in_no_folder_and_sent_once(tmp_path: Path) -> None:
    for name in ("judged/metrics.json", "judged/pictures.jpg", "config/lr.svg", "config/run.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    copy = tracker.start(Mlflow(), "a run", {}, run_id="0f")
    copy.folder(tmp_path / "judged", "evaluation")
    copy.folder(tmp_path / "config", "config")
    copy.close()
    names = [entry.name for entry in read_entries("0f") if entry.kind == "file"]
    assert sorted(names) == ["config/run.yaml", "evaluation/metrics.json", "lr.svg", "pictures.jpg"]
