"""Results that DVC brought back get runs of their own, and nothing else does. No MLflow is needed to see it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.foundation import git
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.restored_results import reconcile
from bakeoff.tracking.results.results import last_here, note_result
from bakeoff.tracking.store.target import Target, target_in

pytestmark = pytest.mark.usefixtures("workspace")
TARGET = Target("http://somewhere", "bakeoff")


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
    """Write the journal and the results of a training."""
    journal = Journal(run_id)
    TARGET.write(journal.folder)
    journal.run(f"ssd_tiny · {lr} · low")
    journal.close()
    result(run_id, lr)
    note_result(run_id)


def runs() -> list[str]:
    """Our ids of all runs, without those that the tests name."""
    return sorted(path.parent.name for path in journals().glob("*/journal.jsonl"))


def read_values(run_id: str, kind: str) -> dict:
    """The values of all entries of a kind."""
    values: dict = {}
    for entry, _ in entries(journals() / run_id):
        if entry and entry.kind == kind:
            of_entry = getattr(entry, "values", vars(entry))
            values |= {(entry.step, key): of_entry[key] for key in of_entry} if kind == "metrics" else of_entry
    return values


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
    assert read_values(reused, "run")["name"] == "ssd_tiny · cosine · low (reused)"
    assert read_values(reused, "tags") == {"bakeoff.reused": "true", "bakeoff.made_by": "a"}
    assert read_values(reused, "link")["run"] == "a"
    assert read_values(reused, "metrics") == {
        (1, "train/loss"): 0.25, (2, "train/loss"): 0.5,
        (2, "evaluation/accuracy"): 0.5, (2, "evaluation/recall.cat"): 0.25,
    }  # fmt: skip
    assert read_values(reused, "params")["lr.kind"] == "cosine" and read_values(reused, "state")["state"] == "FINISHED"
    assert target_in(journals() / reused) == TARGET


def test_b_again_is_another_run_that_reuses() -> None:
    train("a", "cosine")
    train("b", "constant")
    for run_id, lr in (("a", "cosine"), ("b", "constant")):
        result(run_id, lr)
        reconcile()
    assert len(runs()) == 4


def test_a_result_that_came_with_the_clone_is_reported_from_its_files() -> None:
    result("a", "cosine")
    reconcile()
    reconcile()
    assert runs() == ["a"]
    assert read_values("a", "tags") == {"bakeoff.restored": "true", "bakeoff.weights_sha256": "5da"}
    assert read_values("a", "metrics")[1, "train/loss"] == 0.25
    assert all(entry and entry.restored for entry, _ in entries(journals() / "a"))


def test_a_restored_variant_of_a_run_that_is_not_known_here_gives_both() -> None:
    train("b", "constant")
    result("a", "cosine")  # pulled from another clone's cache
    reconcile()
    [reused] = set(runs()) - {"a", "b"}
    assert (
        read_values("a", "tags")["bakeoff.restored"] == "true" and read_values(reused, "tags")["bakeoff.made_by"] == "a"
    )


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
def test_a_variant_that_is_not_tracked_is_not_reported(track: str) -> None:
    result("a", "cosine", track)
    reconcile()
    assert not journals().exists()


def test_a_workspace_without_results_is_not_reported() -> None:
    reconcile()
    Path("models/train").mkdir(parents=True)
    Path("models/train/state.json").write_text("{not whole")
    reconcile()
    assert not journals().exists()


def test_a_line_of_the_ledger_that_a_crash_cut_off_is_passed_over() -> None:
    train("a", "cosine")
    with (journals() / "ledger.jsonl").open("a") as lines:
        lines.write('{"run": "b", "he\n')
    assert last_here() == "a"


EXPERIMENT = """
schema: '2.0'
stages:
  train:
    params: {models/config/run.yaml: {lr: {kind: cosine, floor: 1e-07}}}
    outs: [{path: models/train, md5: aa11.dir}]
  evaluate:
    deps: [{path: models/train, md5: aa11.dir}]
"""


@pytest.fixture
def experiment(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Git's and DVC's view of an experiment that took everything from the cache."""

    def made(name: str, run_id: str, *, lock: str = EXPERIMENT) -> None:
        run = "variant: {model: ssd_tiny, lr: cosine, memory: low}\nlr: {kind: cosine, floor: 1.0e-07}\n"
        files = {
            "models/config/run.yaml": run + "track: {kind: mlflow, experiment: bakeoff, uri: 'http://somewhere'}\n",
            "dvc.lock": lock,
            "models/evaluation/metrics.json": '{"accuracy": 0.5}',
        }
        cache = workspace / ".dvc/cache/files/md5"
        listed = [{"relpath": "state.json", "md5": "bb22"}, {"relpath": "history.jsonl", "md5": "cc33"}]
        for digest, content in (
            ("aa11.dir", json.dumps(listed)),
            ("bb22", json.dumps({"run_id": run_id, "steps": 2})),
            ("cc33", '{"step": 1, "train/loss": 0.25}\n'),
        ):  # fmt: skip
            (cache / digest[:2]).mkdir(parents=True, exist_ok=True)
            (cache / digest[:2] / digest[2:]).write_text(content)
        monkeypatch.setattr(git, "experiments", lambda: [name])
        monkeypatch.setattr(git, "file_at", lambda revision, path: files.get(path) if revision == name else None)

    return made


def test_an_experiment_that_took_everything_from_the_cache_is_reported_once(experiment: Callable[..., None]) -> None:
    train("a", "cosine")
    experiment("falling", "a")
    reconcile()
    reconcile()
    [reused] = set(runs()) - {"a"}
    assert read_values(reused, "run")["name"] == "ssd_tiny · cosine · low (falling) (reused)"
    assert read_values(reused, "tags") == {"bakeoff.reused": "true", "bakeoff.made_by": "a", "DVC_EXP_NAME": "falling"}
    assert read_values(reused, "metrics") == {(1, "train/loss"): 0.25, (2, "evaluation/accuracy"): 0.5}


def test_an_experiment_that_was_pulled_is_reported_as_the_run_that_it_is(experiment: Callable[..., None]) -> None:
    train("b", "constant")
    experiment("falling", "a")
    reconcile()
    assert runs() == ["a", "b"] and read_values("a", "tags")["bakeoff.restored"] == "true"


def test_an_experiment_that_reported_itself_is_not_reported_again(
    experiment: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as running:
        running.setenv("DVC_EXP_NAME", "falling")
        train("a", "cosine")
    experiment("falling", "a")
    reconcile()
    assert runs() == ["a"]


@pytest.mark.parametrize("old", ["lr: {kind: constant}", "lr: {kind: cosine, floor: 0.5}"])
def test_an_experiment_that_ended_before_training_is_no_result(old: str, experiment: Callable[..., None]) -> None:
    train("a", "cosine")
    experiment("falling", "a", lock=EXPERIMENT.replace("lr: {kind: cosine, floor: 1e-07}", old))
    reconcile()
    assert runs() == ["a"]


def test_an_experiment_that_was_not_evaluated_has_no_number_of_an_older_evaluation(
    experiment: Callable[..., None],
) -> None:
    train("a", "cosine")
    older = EXPERIMENT.replace("deps: [{path: models/train, md5: aa11.dir}]", "deps: [{path: models/train, md5: dd}]")
    experiment("falling", "a", lock=older)
    reconcile()
    [reused] = set(runs()) - {"a"}
    assert read_values(reused, "metrics") == {(1, "train/loss"): 0.25}


def test_a_job_of_a_sweep_that_took_everything_from_the_cache_stands_under_the_sweep(
    experiment: Callable[..., None],
) -> None:
    train("a", "cosine")
    experiment("sweep-20260102-030405-7", "a")
    reconcile()
    [reused] = set(runs()) - {"a"}
    assert read_values(reused, "parent")["name"] == "sweep-20260102-030405"
