"""Results that DVC brought back get runs of their own, and nothing else does. No MLflow is needed to see it."""

import json
from pathlib import Path

import pytest

from bakeoff.tracking import ledger
from bakeoff.tracking.journal import Journal, entries
from bakeoff.tracking.reconcile import reconcile
from bakeoff.tracking.target import Target, target_in
from bakeoff.workspace import journals

TARGET = Target("http://somewhere", "bakeoff")


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def result(run_id: str, lr: str, track: str = "{kind: mlflow, experiment: bakeoff, uri: 'http://somewhere'}") -> None:
    """What the stages leave in the workspace, or DVC brings back."""
    for folder in ("models/config", "models/train", "models/evaluation"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    run = f"variant: {{model: ssd_tiny, lr: {lr}, memory: low}}\nlr: {{kind: {lr}}}\ntrack: {track}\n"
    Path("models/config/run.yaml").write_text(run)
    state = {"run_id": run_id, "steps": 2, "weights_sha256": f"5d{run_id}"}
    Path("models/train/state.json").write_text(json.dumps(state))
    lines = [{"step": step, "phase": "all", "train/loss": step / 4} for step in (1, 2)]
    Path("models/train/history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("models/evaluation/metrics.json").write_text(json.dumps({"accuracy": 0.5, "recall": {"cat": 0.25}}))


def train(run_id: str, lr: str) -> None:
    """A training that tells of itself."""
    journal = Journal(run_id)
    TARGET.write(journal.folder)
    journal.run(f"ssd_tiny · {lr} · low")
    journal.close()
    result(run_id, lr)
    ledger.note(run_id)


def runs() -> list[str]:
    """Our ids of all runs, without those that the tests name."""
    return sorted(path.parent.name for path in journals().glob("*/journal.jsonl"))


def told(run_id: str, kind: str) -> dict:
    """The values of all entries of a kind."""
    found: dict = {}
    for entry, _ in entries(journals() / run_id):
        if entry and entry["kind"] == kind:
            found |= {(entry["step"], key): value for key, value in entry["values"].items()} if kind == "metrics" else (
                entry["values"] if "values" in entry else entry
            )  # fmt: skip
    return found


def test_a_b_a_gives_three_runs_of_two_trainings_and_looking_again_adds_none() -> None:
    train("a", "cosine")
    reconcile()
    train("b", "constant")
    reconcile()
    assert runs() == ["a", "b"]
    result("a", "cosine")  # restored by DVC
    for _ in range(3):
        reconcile()
    [reused] = set(runs()) - {"a", "b"}
    assert told(reused, "run")["name"] == "ssd_tiny · cosine · low (reused)"
    assert told(reused, "tags") == {"bakeoff.reused": "true", "bakeoff.made_by": "a"}
    assert told(reused, "link")["run"] == "a"
    assert told(reused, "metrics") == {
        (1, "train/loss"): 0.25, (2, "train/loss"): 0.5,
        (2, "evaluation/accuracy"): 0.5, (2, "evaluation/recall.cat"): 0.25,
    }  # fmt: skip
    assert told(reused, "params")["lr.kind"] == "cosine" and told(reused, "state")["state"] == "FINISHED"
    assert target_in(journals() / reused) == TARGET


def test_b_again_is_another_run_that_reuses() -> None:
    train("a", "cosine")
    train("b", "constant")
    for run_id, lr in (("a", "cosine"), ("b", "constant")):
        result(run_id, lr)
        reconcile()
    assert len(runs()) == 4


def test_a_result_that_came_with_the_clone_is_told_of_from_its_files() -> None:
    result("a", "cosine")
    reconcile()
    reconcile()
    assert runs() == ["a"]
    assert told("a", "tags") == {"bakeoff.restored": "true", "bakeoff.weights_sha256": "5da"}
    assert told("a", "metrics")[1, "train/loss"] == 0.25
    assert all(entry and entry["restored"] for entry, _ in entries(journals() / "a"))


def test_a_restored_variant_of_a_run_that_is_not_known_here_gives_both() -> None:
    train("b", "constant")
    result("a", "cosine")  # pulled from another clone's cache
    reconcile()
    [reused] = set(runs()) - {"a", "b"}
    assert told("a", "tags")["bakeoff.restored"] == "true" and told(reused, "tags")["bakeoff.made_by"] == "a"


def test_an_experiment_that_is_applied_adds_none(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("b", "constant")
    copy = workspace / "tmp/exp"
    copy.mkdir(parents=True)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DVC_ROOT", str(workspace))
        elsewhere.chdir(copy)
        train("a", "cosine")
    result("a", "cosine")
    reconcile()
    assert runs() == ["a", "b"]
    train("b2", "constant")
    result("a", "cosine")  # now it was here before
    reconcile()
    assert len(runs()) == 4


@pytest.mark.parametrize("track", ["{kind: none}", "null"])
def test_a_variant_that_is_not_tracked_is_told_to_nobody(track: str) -> None:
    result("a", "cosine", track)
    reconcile()
    assert not journals().exists()


def test_a_workspace_without_results_is_told_to_nobody() -> None:
    reconcile()
    Path("models/train").mkdir(parents=True)
    Path("models/train/state.json").write_text("{not whole")
    reconcile()
    assert not journals().exists()


def test_a_line_of_the_ledger_that_a_crash_cut_off_is_passed_over() -> None:
    train("a", "cosine")
    with (journals() / "ledger.jsonl").open("a") as lines:
        lines.write('{"run": "b", "he\n')
    assert ledger.last_here() == "a"
