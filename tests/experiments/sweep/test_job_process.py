"""A log is read as it grows. A job is done only if its experiment is whole, and a failure may be a passing one."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.runs.run_status import Failure, State
from bakeoff.experiments.sweep import job_process
from bakeoff.experiments.sweep.job_process import Following, is_passing, settle
from bakeoff.experiments.sweep.sweep_manifest import JobState
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.results.results import Result
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, sweep_job

pytestmark = pytest.mark.usefixtures("place")

TRAINED = ("render_config", "train", "evaluate")


pytestmark = pytest.mark.usefixtures("place")


def left(monkeypatch: pytest.MonkeyPatch, **state: Any) -> None:
    about = TrainedState.from_tree({"lineage": {"fingerprint": "ab12"}, "run_id": "7f", "step": 200, **state})
    result = Result("", {}, about, "", {"mAP_50": 0.5, "mAP": 0.25})
    monkeypatch.setattr(job_process, "result_of", {f"{ID}-1": result}.__getitem__)


def test_what_is_done_has_the_metric_of_its_task_if_it_was_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    left(monkeypatch, state="SUCCEEDED")
    job = settle(sweep_job(1, stages=TRAINED).begin(1.0), 0, 9.0)
    assert (job.state, job.value, job.fingerprint, job.run_id) == (JobState.DONE, 0.5, "ab12", "7f")
    assert (job.attempts[0].began, job.attempts[0].ended) == (1.0, 9.0)
    assert settle(sweep_job(1, stages=TRAINED[:2]).begin(1.0), 0, 9.0).value is None
    rendered = settle(sweep_job(1).begin(1.0), 0, 9.0)
    assert (rendered.state, rendered.fingerprint) == (JobState.DONE, None)


def test_a_training_that_was_stopped_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    left(monkeypatch, state="STOPPED", step=120)
    job = settle(sweep_job(1, stages=TRAINED).begin(1.0), 0, 9.0)
    assert (job.state, job.attempts[0].why) == (JobState.STOPPED, "stopped after step 120 of 200")


def test_a_job_whose_machine_was_taken_away_resumes_by_itself() -> None:
    job = settle(sweep_job(1, stages=TRAINED).begin(1.0), 75, 9.0)
    assert job.state == JobState.STOPPED and "taken away" in (job.why or "")
    assert job_process.is_interrupted(job) and not is_passing(job)


@pytest.mark.parametrize(
    ("code", "status", "log_end", "why", "passing"),
    [
        (None, None, (), "killed", True),
        (None, {"state": State.STOPPED}, (), "killed", True),
        (-9, {"state": State.STOPPED}, (), "killed", True),
        (1, None, ("ERROR: failed to run: python -m bakeoff.stages.train, exited with -9",),
         "killed: failed to run: python -m bakeoff.stages.train, exited with -9", True),
        (1, {"state": State.FAILED, "failure": Failure("out of memory", "OOM when allocating")}, (),
         "out of memory: OOM when allocating", True),
        (1, {"state": State.TRY_AGAIN_LATER, "failure": Failure("no room", "disk: 3 MB are left")}, (),
         "no room: disk: 3 MB are left", True),
        (1, {"state": State.FAILED, "failure": Failure("diverged", "loss is nan")}, (), "diverged: loss is nan", False),
        (1, {"state": State.FAILED, "failure": Failure("error", "a bug")}, (), "a bug", False),
        (3, None, (), "ended with code 3", False),
        (1, None, ("ERROR: unexpected error - [Errno 28] No space left on device: 'x'", "", "Having any troubles?"),
         "disk: ERROR: unexpected error - [Errno 28] No space left on device: 'x'", True),
        (None, None, ("no space left on the disk: [Errno 122] Disk quota exceeded: 'x'; free some",),
         "disk: no space left on the disk: [Errno 122] Disk quota exceeded: 'x'; free some", True),
    ],
)  # fmt: skip
def test_why_a_job_failed_says_whether_that_may_pass(
    code: int | None, status: dict[str, Any] | None, log_end: tuple[str, ...], why: str, passing: bool, place: Path
) -> None:
    runs = place / ".bakeoff/runs"
    made(runs, "0ther", State.FAILED, experiment=f"{ID}-2", failure=Failure("disk", "of another"), process=NOBODY)
    if status is not None:
        made(runs, "ab12", experiment=f"{ID}-1", process=NOBODY, **status)
    job = settle(sweep_job(1, stages=TRAINED).begin(time.time() - 900), code, time.time(), log_end=log_end)
    assert (job.state, job.attempts[0].why, is_passing(job)) == (JobState.FAILED, why, passing)


@pytest.mark.parametrize("code", [1, None])
def test_a_job_on_a_disk_too_full_for_a_message_failed_for_want_of_room(code: int | None, place: Path) -> None:
    disk = place / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        os.chdir(disk)
        job = settle(sweep_job(1, stages=TRAINED).begin(1.0), code, 2.0)
    finally:
        os.chdir(place)
        subprocess.run(["umount", str(disk)], check=True)
    assert (job.attempts[0].why, is_passing(job)) == ("disk: 2.1 MB are left", True)


def test_what_an_earlier_attempt_reported_does_not_count(place: Path) -> None:
    made(place / ".bakeoff/runs", "ab12", State.FAILED, experiment=f"{ID}-1", failure=Failure("disk", "full"), ago=600)
    job = settle(sweep_job(1, stages=TRAINED).begin(time.time() - 60), 1, time.time())
    assert job.attempts[0].why == "ended with code 1"


def test_what_ctrl_c_or_a_stop_ended_is_stopped(place: Path) -> None:
    job = sweep_job(1, stages=TRAINED).begin(time.time() - 900)
    assert settle(job, 1, time.time(), interrupted=True).attempts[0].why == "stopped by Ctrl-C"
    made(place / ".bakeoff/runs", "ab12", State.CANCELED, experiment=f"{ID}-1")
    assert settle(job, 1, time.time()).state == JobState.STOPPED


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of before\n")
    following = Following(log)
    with log.open("ab") as out:
        for part, lines in [(b"one\ntw", ["one"]), (b"o\n\xc2", ["two"]), (b"\xb7\n", ["·"]), (b"end", [])]:
            out.write(part)
            out.flush()
            assert list(following.lines()) == lines
    assert list(following.lines(ended=True)) == ["end"]
    assert list(following.lines(ended=True)) == []
    assert following.last_lines(3) == ["two", "·", "end"] and following.last_lines(9) == ["one", "two", "·", "end"]
    assert list(Following(tmp_path / "none").lines()) == []
    assert list(Following(log, has_started=True).lines()) == []
    assert Following(log, has_started=True).last_lines(2) == ["·", "end"]
