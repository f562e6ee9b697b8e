"""Search, pruning, queue, status, stop, Ctrl-C and --resume on far nodes of a real cluster of Ray. Ten minutes."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs.faults.far_sweeps import Trial
from proofs.faults.sweep_checks import experiments, manifests, mlflow_runs, repeated_points
from support.messages import missing_in
from support.workspace_copy import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mount namespaces"),
]
LONG = "train.steps=6000"  # a training lasts longer than word of it takes to come home
BAKEOFF = (sys.executable, "-m", "bakeoff")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    far_trial = Trial(tmp_path_factory.mktemp("far"))
    try:
        far_trial.start_nodes()
        yield far_trial
    finally:
        far_trial.close()


def begin(trial: Trial, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*BAKEOFF, *arguments], cwd=trial.workspace.folder, env=environment() | trial.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def run(trial: Trial, *arguments: str) -> str:
    process = begin(trial, *arguments)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


def under_way(trial: Trial) -> list[dict[str, Any]]:
    """Return the trainings in `bakeoff status` that have taken a step and not the last."""
    runs = json.loads(trial.workspace.run(*BAKEOFF, "status", "--json").stdout)
    return [one for one in runs["runs"] if one["state"] == "RUNNING" and 0 < one["steps_done"] < one["steps"]]


def wait_for(launcher: "subprocess.Popen[str]", is_so: Callable[[], Any]) -> Any:
    while not (result := is_so()):
        assert launcher.poll() is None, launcher.communicate()[0]
        time.sleep(0.2)
    return result


def newest(trial: Trial) -> dict[str, Any]:
    return manifests(trial.workspace)[-1]


def test_a_queue_is_run_and_what_bakeoff_stop_ends_trains_on_when_it_is_resumed(trial: Trial) -> None:
    run(trial, "queue", "add", "--until", "train", LONG, "seed=1,2")
    launcher = begin(trial, "queue", "start", "--on", "ray")
    one = wait_for(launcher, lambda: under_way(trial))[0]
    trial.workspace.run(*BAKEOFF, "stop", one["fingerprint"])
    output, _ = launcher.communicate()
    stopped, done = sorted(newest(trial)["jobs"], key=lambda job: job["experiment"] != one["experiment"])
    assert (stopped["state"], done["state"]) == ("stopped", "done"), output
    assert re.fullmatch(r"stopped after step \d+ of 6,000", stopped["attempts"][0]["why"])
    run(trial, "sweep", "--resume")
    assert [job["state"] for job in newest(trial)["jobs"]] == ["done", "done"] and newest(trial)["place"] == "ray"
    log = (trial.workspace.folder / ".bakeoff/sweeps" / newest(trial)["id"] / f"{stopped['number']}.log").read_text()
    assert "resumes after step" in log
    assert experiments(trial.workspace) == sorted(job["experiment"] for job in newest(trial)["jobs"])


def test_ctrl_c_saves_what_runs_and_resume_continues_at_its_step(trial: Trial) -> None:
    launcher = begin(trial, "sweep", "--on", "ray", "--until", "train", "--yes", LONG, "seed=3,4")
    wait_for(launcher, lambda: under_way(trial))
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate()
    assert launcher.returncode == 130 and missing_in(output, "stopped by Ctrl-C", "is saved") == []
    assert not any(job["state"] == "done" for job in newest(trial)["jobs"]) and not under_way(trial)
    run(trial, "sweep", "--resume")
    manifest = newest(trial)
    assert [job["state"] for job in manifest["jobs"]] == ["done", "done"]
    logs = [path.read_text() for path in (trial.workspace.folder / ".bakeoff/sweeps" / manifest["id"]).glob("*.log")]
    assert any("resumes after step" in log for log in logs)


def test_a_search_prunes_what_trains_on_a_far_node(trial: Trial) -> None:
    space = (LONG, "train.validate_every_steps=500", "lr.peak=tag(log,interval(0.00001,0.3))")
    options = ("--search", "asha", "--trials", "6", "--metric", "validation/accuracy", "--until", "train", "--yes")
    run(trial, "sweep", "--on", "ray", *options, *space)
    jobs = newest(trial)["jobs"]
    pruned = [job for job in jobs if job["state"] == "pruned"]
    assert {job["state"] for job in jobs} == {"done", "pruned"} and len(jobs) == 6, jobs
    assert all("best of 3 " in job["attempts"][-1]["why"] for job in pruned)
    assert all(job["value"] is not None for job in jobs if job["state"] == "done")


def test_mlflow_has_each_run_once_under_the_run_of_its_sweep(trial: Trial) -> None:
    trial.workspace.run(*BAKEOFF, "track", "sync")
    runs = mlflow_runs(trial.workspace)
    for manifest in manifests(trial.workspace):
        [parent] = [one for one in runs if one.get("bakeoff.run") == manifest["id"]]
        children = [one for one in runs if one.get("mlflow.parentRunId") == parent["id"]]
        experiments = sorted(one["DVC_EXP_NAME"] for one in children)
        assert experiments == sorted(job["experiment"] for job in manifest["jobs"] if job["attempts"])
    assert repeated_points(trial.workspace) == []


def test_no_process_of_a_job_is_left_on_a_node(trial: Trial) -> None:
    lines = [" ".join(process.cmdline()) for node in trial.workers for process in node.processes()]
    assert not [line for line in lines if "bakeoff" in line]
    assert not list(Path(trial.environment["RAY_TMPDIR"]).glob("node*/jobs/*/workspace"))
