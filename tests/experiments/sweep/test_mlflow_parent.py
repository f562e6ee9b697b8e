"""What MLflow gets of a sweep and of its configurations."""

from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.sweep import mlflow_parent
from bakeoff.experiments.sweep.mlflow_parent import parent_run, report_lost_end, tag_configurations
from bakeoff.experiments.sweep.sweep_manifest import JobState
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries, entries_of
from bakeoff.tracking.store.target import Target, target_in
from bakeoff.tracking.sync.sync_status import report_interrupted
from support.made_sweeps import ID, sweep, sweep_job


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_mlflow_gets_the_sweep_itself_once_and_its_end_each_time(place: Path) -> None:
    done = sweep_job(1, state=JobState.DONE, value=0.5, fingerprint="ab12", run_id="7f")
    manifest = sweep(done, sweep_job(2), track={"kind": "mlflow", "experiment": "ours", "uri": None, "artifacts": None})
    manifest = replace(manifest, note="which seed")
    manifest.write()
    for state in ("KILLED", "FINISHED"):
        with parent_run(manifest):
            assert report_interrupted() == []  # whoever looks meanwhile
        sent = [entry for entry, _ in entries(journals() / ID) if entry]
        assert sent[-1].state == state
        manifest = manifest.with_job(sweep_job(2, state=JobState.DONE, value=0.75))
        manifest.write()
    assert [entry.name for entry in sent if entry.kind == "run"] == [ID]
    tags: dict[str, str] = {}
    for entry in sent:
        tags |= entry.values if entry.kind == "tags" else {}
    assert tags["mlflow.note.content"] == "which seed" and "<p>which seed</p>" in (
        manifest.folder / "report.html"
    ).read_text(encoding="utf-8")
    assert tags["bakeoff.sweep"] == ID and tags["bakeoff.sweep_question"] == "seed=range(1,3)"
    assert (tags["bakeoff.best"], tags["bakeoff.best_mAP_50"], tags["bakeoff.sweep_done"]) == (f"{ID}-2", "0.75", "2")
    files = {entry.name for entry in sent if entry.kind == "file"}
    assert files == {"sweep/manifest.json", "sweep/results.tsv", "sweep/report.html"}
    target = target_in(journals() / ID)
    assert target is not None and (target.uri, target.experiment) == ("local", "ours")


def test_the_end_of_a_sweep_whose_launcher_was_killed_after_its_last_job_is_reported_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_parent, "send_beside", lambda: None)
    done = sweep_job(1, state=JobState.DONE, value=0.5, fingerprint="ab12", run_id="7f")
    manifest = sweep(done, track={"kind": "mlflow", "experiment": "ours", "uri": None, "artifacts": None})
    manifest.write()
    journal = Journal(ID)
    Target("local", "ours").write(journal.folder)
    journal.run(ID)
    for state in ("RUNNING", "KILLED"):  # the second as whoever looks next notes it
        journal.state(state)
    journal.close()
    for _ in range(2):
        report_lost_end(manifest)
    states = [entry.state for entry, _ in entries(journals() / ID) if entry and entry.kind == "state"]
    assert states == ["RUNNING", "KILLED", "RUNNING", "FINISHED"]


def test_the_runs_of_configurations_are_tagged_and_no_other_run_is(place: Path) -> None:
    manifest = sweep(sweep_job(1), sweep_job(2, configurations=(("lr=cosine", "seed=2"), ("lr=cosine", "seed=02"))))
    experiments = {"own": f"{ID}-2", "reused": f"{ID}-1", "other": "sweep-20250101-000000-1", "alone": None}
    for run, experiment in experiments.items():
        journal = Journal(run)
        Target("local", "ours").write(journal.folder)
        journal.run(run)
        journal.tags({"bakeoff.host": "here"} | ({"DVC_EXP_NAME": experiment} if experiment else {}))
        journal.close()
    tag_configurations(manifest)
    tag_configurations(manifest)
    sent = {run: [entry.values for entry in entries_of(journals() / run, TagsEntry)][1:] for run in experiments}
    assert sent == {
        "own": [{"bakeoff.sweep": ID, "bakeoff.sweep_job": "2", "bakeoff.sweep_point": "lr=cosine seed=2"}],
        "reused": [{"bakeoff.sweep": ID, "bakeoff.sweep_job": "1", "bakeoff.sweep_point": "seed=1"}],
        "other": [],
        "alone": [],
    }


def test_a_sweep_that_is_not_tracked_is_sent_to_nobody(place: Path) -> None:
    manifest = sweep(sweep_job(1))
    manifest.write()
    with parent_run(manifest):
        pass
    assert not journals().exists()
