"""Jobs are processes: their words are kept, one that fails stops no other, Ctrl-C ends the one that runs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bakeoff.runs.known import known_runs
from bakeoff.runs.status import STOP_FILE, State
from bakeoff.sweep import launch as launching
from bakeoff.sweep.job import exp_run, run_job
from bakeoff.sweep.launch import DONE, FAILED, NOT_RUN, STOPPED, headline_name, launch
from bakeoff.sweep.points import Point
from bakeoff.sweep.preflight import Job
from imports import SRC
from made_runs import NOBODY, made

STAGE = """
import time
print("ready", flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("saved")
"""
WAITS = f"""
import subprocess, sys
try:
    subprocess.run([sys.executable, "-c", {STAGE!r}])
except KeyboardInterrupt:
    sys.exit(7)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def jobs(number: int) -> list[Job]:
    points = [Point((f"seed={seed}",), (f"seed={seed}",)) for seed in range(1, number + 1)]
    derived = cast(Any, SimpleNamespace(task="detection", steps=200))
    run = cast(Any, SimpleNamespace(name="ssd_tiny · cosine · low"))
    return [Job(at, (point,), run, derived, (), {}, ()) for at, point in enumerate(points, 1)]


def test_a_job_is_one_experiment_with_its_changes() -> None:
    assert exp_run("sweep-1", ("++lr.peak=0.1", "~seed"), "render_config")[1:] == [
        "-m", "dvc", "exp", "run", "--temp", "--name", "sweep-1", "-S", "++lr.peak=0.1", "-S", "~seed", "render_config",
    ]  # fmt: skip
    assert exp_run("sweep-1", (), None)[1:] == ["-m", "dvc", "exp", "run", "--temp", "--name", "sweep-1"]


def test_what_a_job_says_is_shown_and_kept(tmp_path: Path) -> None:
    shown: list[str] = []
    code = "import shutil, sys; print('one'); print('two', file=sys.stderr); print(shutil.which('python'), end='')"
    assert run_job(python(code), tmp_path / "log", shown.append) == 0
    assert shown == ["one", "two", str(Path(sys.executable).with_name("python"))]
    assert (tmp_path / "log").read_text(encoding="utf-8").splitlines() == shown
    assert run_job(python("import sys; sys.exit(3)"), tmp_path / "log", shown.append) == 3


@pytest.mark.skipif(os.name != "posix", reason="Windows gives Ctrl-C to every process of the console by itself")
@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["terminal", "background"])
def test_ctrl_c_ends_the_job_and_the_stage_that_it_runs(inherited: signal.Handlers, tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        assert line == "ready"
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, inherited)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_job(python(WAITS), tmp_path / "log", interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (tmp_path / "log").read_text(encoding="utf-8").splitlines() == ["ready", "saved"]


def test_a_job_that_fails_is_said_at_once_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    codes = {"1": "for n in range(99): print('line', n)\nraise SystemExit(3)", "2": "print('fine')"}
    monkeypatch.setattr(launching, "exp_run", lambda name, options, until: python(codes[name.rpartition("-")[2]]))
    said: list[str] = []
    results = launch(jobs(2), said.append, until=None, quiet=True)
    [folder] = (tmp_path / ".bakeoff/sweeps").iterdir()
    assert [(result.experiment, result.state, result.metric) for result in results] == [
        (f"{folder.name}-1", FAILED, None),
        (f"{folder.name}-2", DONE, None),
    ]
    end = said.index(f"1 of 2 failed with code 3; the end of .bakeoff/sweeps/{folder.name}/1.log:")
    assert said[end + 1 : end + 16] == [f"  line {number}" for number in range(84, 99)]
    assert said[end + 16] == f"2 of 2: seed=2  ({folder.name}-2)"
    assert "fine" not in said
    assert (folder / "2.log").read_text(encoding="utf-8") == "fine\n"


def test_after_ctrl_c_nothing_more_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr(launching, "exp_run", lambda name, options, until: python(f"print({name[-1]} * '=')"))
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line == "==":
            raise KeyboardInterrupt

    results = launch(jobs(3), say, until=None, quiet=False)
    assert [result.state for result in results] == [DONE, STOPPED, NOT_RUN]
    assert said[-1] == "stopped by Ctrl-C"


def test_jobs_whose_turn_has_not_come_are_queued_and_can_be_taken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr(launching, "exp_run", lambda name, options, until: python(f"print({name[-1]} * '=')"))
    queued: list[list[tuple[str, str]]] = []

    def say(line: str) -> None:
        if line.startswith("="):
            runs = known_runs()
            queued.append([(run.fingerprint[-2:], run.state) for run in runs])
            if line == "=":
                (next(run for run in runs if run.fingerprint.endswith("-2")).folder / STOP_FILE).touch()

    results = launch(jobs(3), say, until=None, quiet=False)
    assert [result.state for result in results] == [DONE, NOT_RUN, DONE]
    assert [sorted(names) for names in queued] == [[("-2", "QUEUED"), ("-3", "QUEUED")], []]
    assert list((tmp_path / ".bakeoff/queued").iterdir()) == []


def test_a_queue_dies_with_its_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    made(tmp_path / ".bakeoff/queued", "sweep-1-2", State.QUEUED)
    made(tmp_path / ".bakeoff/queued", "sweep-1-3", State.QUEUED, process=NOBODY)
    assert [run.fingerprint for run in known_runs()] == ["sweep-1-2"]


def test_the_headline_metric_is_the_one_that_the_task_says() -> None:
    """Asked of the tasks in a process of their own, since they load TensorFlow."""
    code = (
        "import json; from bakeoff.tasks.detection import Detection; from bakeoff.tasks import labels;"
        "print(json.dumps([Detection.headline, labels.OneLabel.headline, labels.SeveralLabels.headline]))"
    )
    done = subprocess.run(python(code), cwd=SRC.parent.parent, capture_output=True, text=True, check=True)
    variants = [("detection", False), ("classification", False), ("classification", True)]
    names = [headline_name(cast(Any, SimpleNamespace(task=task, multi_label=several))) for task, several in variants]
    assert names == json.loads(done.stdout.splitlines()[-1])
