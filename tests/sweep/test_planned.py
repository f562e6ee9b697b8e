"""What a sweep asks of each job, and what MLflow and a table are told of the sweep."""

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bakeoff.sweep.job import environment, exp_run
from bakeoff.sweep.manifest import JobState
from bakeoff.sweep.parent_run import ParentRun
from bakeoff.sweep.planned import headline_name
from bakeoff.sweep.point_tags import tag_points
from bakeoff.sweep.standing import write_results
from bakeoff.tracking.journal import Journal, entries
from bakeoff.tracking.sync import tell_interrupted
from bakeoff.tracking.target import Target, target_in
from bakeoff.workspace import journals
from imports import SRC
from made_sweeps import ID, sweep, sweep_job


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_job_is_one_experiment_with_its_changes() -> None:
    job = sweep_job(1, options=("++lr.peak=0.1", "~seed"), stages=("render_config", "train"))
    assert exp_run(job)[1:] == [
        "-m", "dvc", "exp", "run", "--name", f"{ID}-1", "-S", "++lr.peak=0.1", "-S", "~seed",
        "--single-item", "render_config", "train",
    ]  # fmt: skip


def test_stages_find_this_python_and_compute_with_as_many_threads_whatever_their_cores() -> None:
    own = {"PATH": "/usr/bin", "HOME": "/home/ada"}
    always = {"PATH": f"{Path(sys.executable).parent}:/usr/bin", "PYTHONUNBUFFERED": "1", "BAKEOFF_DVC_CACHE": "/cache"}
    threads = str(len(os.sched_getaffinity(0)))
    assert environment(own, Path("/cache"), (0, 2)) == own | always | {
        "BAKEOFF_CORES": "0,2", "TF_NUM_INTRAOP_THREADS": threads
    }  # fmt: skip
    own |= {"TF_NUM_INTRAOP_THREADS": "7"}
    assert environment(own, Path("/cache"), (0,)) == own | always | {"BAKEOFF_CORES": "0"}
    assert environment(own, Path("/cache"), ()) == own | always


def test_mlflow_is_told_of_the_sweep_itself_once_and_of_its_end_each_time(place: Path) -> None:
    done = sweep_job(1, state=JobState.DONE, value=0.5, fingerprint="ab12", run_id="7f")
    manifest = sweep(done, sweep_job(2), track={"kind": "mlflow", "experiment": "ours", "uri": None, "artifacts": None})
    manifest.write()
    parent = ParentRun.of(manifest.track)
    for state in ("KILLED", "FINISHED"):
        parent.began(manifest)
        assert tell_interrupted() == []  # whoever looks meanwhile
        parent.ended(manifest)
        told = [entry for entry, _ in entries(journals() / ID) if entry]
        assert told[-1]["state"] == state
        manifest = manifest.with_job(sweep_job(2, state=JobState.DONE, value=0.75))
        manifest.write()
    assert [entry["name"] for entry in told if entry["kind"] == "run"] == [ID]
    tags: dict[str, str] = {}
    for entry in told:
        tags |= entry["values"] if entry["kind"] == "tags" else {}
    assert tags["bakeoff.sweep"] == ID and tags["bakeoff.sweep_question"] == "seed=range(1,3)"
    assert (tags["bakeoff.best"], tags["bakeoff.best_mAP_50"], tags["bakeoff.sweep_done"]) == (f"{ID}-2", "0.75", "2")
    files = {entry["name"] for entry in told if entry["kind"] == "file"}
    assert files == {"sweep/manifest.json", "sweep/results.tsv", "sweep/report.html"}
    target = target_in(journals() / ID)
    assert target is not None and (target.uri, target.experiment) == ("local", "ours")


def test_the_runs_of_points_say_which_they_are_and_no_other_run_does(place: Path) -> None:
    manifest = sweep(sweep_job(1), sweep_job(2, points=(("lr=cosine", "seed=2"), ("lr=cosine", "seed=02"))))
    experiments = {"own": f"{ID}-2", "reused": f"{ID}-1", "other": "sweep-20250101-000000-1", "alone": None}
    for run, experiment in experiments.items():
        journal = Journal(run)
        Target("local", "ours").write(journal.folder)
        journal.run(run)
        journal.tags({"bakeoff.host": "here"} | ({"DVC_EXP_NAME": experiment} if experiment else {}))
        journal.close()
    tag_points(manifest)
    tag_points(manifest)
    told = {
        run: [entry["values"] for entry, _ in entries(journals() / run) if entry and entry["kind"] == "tags"][1:]
        for run in experiments
    }
    assert told == {
        "own": [{"bakeoff.sweep": ID, "bakeoff.sweep_job": "2", "bakeoff.sweep_point": "lr=cosine seed=2"}],
        "reused": [{"bakeoff.sweep": ID, "bakeoff.sweep_job": "1", "bakeoff.sweep_point": "seed=1"}],
        "other": [],
        "alone": [],
    }


def test_a_sweep_that_is_not_tracked_is_told_to_nobody(place: Path) -> None:
    manifest = sweep(sweep_job(1))
    manifest.write()
    parent = ParentRun.of(manifest.track)
    parent.began(manifest)
    parent.ended(manifest)
    assert not journals().exists()


def test_the_table_of_results_has_a_column_for_each_key(tmp_path: Path) -> None:
    job = (
        sweep_job(1, points=(("lr=cosine", "+lr.peak=0.1"),))
        .begun(5.0)
        .over(7.25, JobState.DONE, value=0.5, run_id="7f")
    )
    write_results(sweep(job, sweep_job(2, points=(("lr=constant", "+lr.peak=0.2"),))), tmp_path / "results.tsv")
    head, first, second = [line.split("\t") for line in (tmp_path / "results.tsv").read_text().splitlines()]
    assert dict(zip(head, first, strict=True)) == {
        "number": "1", "experiment": f"{ID}-1", "lr": "cosine", "lr.peak": "0.1", "variant": "ssd_tiny · cosine · low",
        "state": "done", "mAP_50": "0.5", "attempts": "1", "seconds": "2.2", "fingerprint": "", "run": "7f", "why": "",
    }  # fmt: skip
    assert dict(zip(head, second, strict=True))["state"] == "waiting"


@pytest.mark.parametrize(
    ("file", "cls", "derived"),
    [
        ("detection", "Detection", {"task": "detection"}),
        ("labels", "OneLabel", {"task": "classification", "multi_label": False}),
        ("labels", "SeveralLabels", {"task": "video", "multi_label": True}),
    ],
)
def test_the_headline_metric_is_the_one_that_the_task_says(file: str, cls: str, derived: dict[str, Any]) -> None:
    """Read from the tasks' own files, for they load TensorFlow."""
    source = (SRC / f"tasks/{file}.py").read_text(encoding="utf-8")
    [said] = re.findall(rf'^class {cls}\b.*?^    headline: ClassVar\[str\] = "(\w+)"', source, re.DOTALL | re.MULTILINE)
    assert headline_name(cast(Any, SimpleNamespace(**derived))) == said
