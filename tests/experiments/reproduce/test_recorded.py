"""What a journal tells of a run, without any MLflow."""

import hashlib
import json
from pathlib import Path

import pytest

from bakeoff.experiments.reproduce.recorded import recorded
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.workspace import journals
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import find_run
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import SyncProgress, Target
from support.messages import missing_in
from support.repository import git

OURS, MLFLOWS = "0f3a1" + "0" * 27, "d36c0" + "6" * 27
PATCH = "diff --git a/x b/x\n"
STATE = {"weights_sha256": "5d", "run_id": OURS}
TARGET = Target("http://somewhere", "bakeoff")


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_run, "_find_in_store", lambda target, run_id: (None, "connection refused"))


def journal_of(run_id: str, commit: str, **tags: str) -> Journal:
    journal = Journal(run_id)
    TARGET.write(journal.folder)
    SyncProgress(run=MLFLOWS).write(journal.folder, TARGET)
    journal.run("ssd_tiny · cosine · low")
    changes = {"bakeoff.changes_sha256": hashlib.sha256(PATCH.encode()).hexdigest(), "bakeoff.git_dirty": "true"}
    journal.tags({"bakeoff.git_commit": commit, "bakeoff.records_digest": "9c", **changes, **tags})
    journal.text(PATCH, "source/changes.diff")
    journal.text("variant: {model: ssd_tiny, lr: cosine, memory: low}\n", "config/run.yaml")
    journal.text(json.dumps(STATE), "train/state.json")
    journal.text('{"step": 2, "train/loss": 0.5}\n', "train/history.jsonl")
    journal.text('{"accuracy": 0.5}', "evaluation/metrics.json")
    return journal


@pytest.mark.parametrize("name", [OURS, OURS[:5], MLFLOWS, MLFLOWS[:6]])
def test_a_run_is_found_by_the_beginning_of_our_id_and_of_mlflows(commit: str, name: str) -> None:
    journal_of(OURS, commit).close()
    run = recorded(name)
    assert (run.run_id, run.commit, run.variant) == (OURS, commit, "ssd_tiny · cosine · low")
    assert (run.patch, run.is_dirty, run.records_digest) == (PATCH.encode(), True, "9c")
    assert (run.state, run.metrics) == (TrainedState.from_tree(STATE), {"accuracy": 0.5})
    assert run.history == ({"step": 2, "train/loss": 0.5},)


def test_what_the_run_handed_over_is_taken_and_not_what_lies_there_now(commit: str) -> None:
    journal = journal_of(OURS, commit)
    Path("late.json").write_text('{"accuracy": 0.75}', encoding="utf-8")
    journal.file(Path("late.json"), "evaluation/metrics.json")
    journal.close()
    Path("late.json").write_text('{"accuracy": 0.99}', encoding="utf-8")
    assert recorded(OURS).metrics == {"accuracy": 0.75}


def test_the_beginning_of_two_ids_is_refused(commit: str) -> None:
    for last in ("1", "2"):
        journal_of(OURS[:-1] + last, commit).close()
    with pytest.raises(WorkspaceError, match=r"^0f3a1: .*\b2: 0f3a1000 .*, 0f3a1000 "):
        recorded("0f3a1")


def test_a_name_that_nobody_knows_says_what_it_can_be(commit: str) -> None:
    with pytest.raises(WorkspaceError, match=r"^mine: no run\b.*\bshort name\b"):
        recorded("mine")


def test_an_id_that_is_not_here_while_mlflow_is_away_says_both(commit: str) -> None:
    config = Path("models/config/run.yaml")
    config.parent.mkdir(parents=True)
    config.write_text("track: {kind: mlflow, uri: 'http://127.0.0.1:9'}\n", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=rf"^{'7' * 32}: no run here\b.*\bhttp://127\.0\.0\.1:9: "):
        recorded("7" * 32)


def test_a_run_that_dvc_restored_leads_to_the_one_that_made_it(commit: str) -> None:
    journal_of(OURS, commit).close()
    reused = Journal("ab" * 16)
    TARGET.write(reused.folder)
    reused.tags({"bakeoff.reused": "true", "bakeoff.made_by": OURS})
    reused.close()
    run = recorded("ab" * 16)
    assert (run.run_id, run.commit) == (OURS, commit)
    [remark] = run.remarks
    assert missing_in(remark, "DVC restored", OURS) == []


def test_an_experiment_is_its_own_commit_and_needs_no_patch(commit: str) -> None:
    run_yaml = Path("models/config/run.yaml")
    run_yaml.parent.mkdir(parents=True)
    run_yaml.write_text("variant: {model: ssd_tiny, lr: constant, memory: low}\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "the experiment")
    made = git("rev-parse", "HEAD")
    git("update-ref", f"refs/exps/{commit[:2]}/{commit[2:]}/try-1", made)
    git("reset", "--quiet", "--hard", commit)
    run = recorded("try-1")
    assert (run.commit, run.patch, run.patch_sha256) == (made, None, "none")
    assert (run.variant, run.experiment) == ("ssd_tiny · constant · low", "try-1")


def test_a_run_that_is_known_without_its_commit_is_made_from_its_experiment(commit: str) -> None:
    git("update-ref", f"refs/exps/{commit[:2]}/{commit[2:]}/try-2", commit)
    journal_of(OURS, "none", DVC_EXP_NAME="try-2").close()
    assert recorded(OURS).commit == commit


def test_an_artifact_that_came_back_otherwise_is_noticed(commit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    journal_of(OURS, commit).close()
    for kept in (journals() / OURS / "files").iterdir():
        kept.unlink()  # as after it was sent
    monkeypatch.setattr(
        find_run.TrackedRun, "_download", lambda self, name: PATCH[:-4].encode() if "diff" in name else None
    )
    run = recorded(OURS)
    assert run.tracked is not None and run.tracked.damaged == ["source/changes.diff"]
    assert (run.state, run.metrics, run.history) == (TrainedState(), {}, ())
