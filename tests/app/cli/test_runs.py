"""bakeoff status, stop and clean, on runs that are files and processes that are others."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.app.cli import status
from bakeoff.experiments.runs import run_status as module
from bakeoff.experiments.runs.run_status import Failure, State
from bakeoff.tracking.resolve_name import KINDS
from support.commands import Bakeoff
from support.imports import ROOT
from support.made_runs import NOBODY, made
from support.messages import missing_in


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a workspace, in a folder of which one stands."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf/model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "conf/model")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path / ".bakeoff/runs"


def test_a_reader_that_has_seen_enough_is_no_error(runs: Path) -> None:
    for number in range(300):  # more than a pipe holds
        made(runs, f"{number:016x}", State.SUCCEEDED, failure=Failure("error", "x" * 500))
    command = [sys.executable, "-m", "bakeoff", "status", "--all"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        assert child.stdout and child.stderr and child.stdout.readline().startswith(b"run ")
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_before_any_run_status_says_what_begins_one(runs: Path, bakeoff: Bakeoff) -> None:
    printed = bakeoff("status")
    assert (printed.code, printed.err) == (0, "") and missing_in(printed.out, "no run", "`dvc repro`") == []
    assert json.loads(bakeoff("status", "--json").out) == {"version": 1, "runs": []}


def test_status_is_a_table(runs: Path, bakeoff: Bakeoff) -> None:
    metrics = {"train/loss": 0.5123, "train/loss_boxes": 0.2, "validation/mAP": 0.43, "validation/AR": 0.1}
    made(
        runs, "5d1c9a3e77", State.RUNNING, steps=2000, steps_done=1200, training_seconds=3725, seconds_left=48.4,
        examples_per_second=181.3, metrics=metrics, experiment="tall-kite",
    )  # fmt: skip
    disk = Failure("disk", "No space left on device")
    made(runs, "77aa000011", State.FAILED, ago=60, failure=disk, metrics={"train/loss": 0.5})
    assert bakeoff("status").out.splitlines() == [
        "run       state    steps           left  metric      trained  examples/s  variant",
        "5d1c9a3e  RUNNING  1,200 of 2,000  0:48  mAP 0.430   1:02:05  181         ssd_tiny · cosine · low (tall-kite)",
        "77aa0000  FAILED   50 of 200             loss 0.500  0:00                 ssd_tiny · cosine · low           "
        "   disk: No space left on device",
    ]  # fmt: skip


def test_status_shows_all_that_run_and_the_last_that_ended(runs: Path, bakeoff: Bakeoff) -> None:
    for number in range(8):
        made(runs, f"run{number}", State.SUCCEEDED, ago=1000 + 10 * number)  # writing them takes a moment
        made(runs, f"live{number}", State.RUNNING, ago=10 * number)
    shown = [line.split()[0] for line in bakeoff("status").out.splitlines()[1:]]
    assert shown == [f"live{number}" for number in range(8)] + [f"run{number}" for number in range(5)]
    assert len(bakeoff("status", "--all").out.splitlines()) == 1 + 16


def test_what_waits_goes_by_its_experiment_and_what_is_silent_says_so(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs.parent / "queued", "sweep-1-2", State.QUEUED, ago=90, experiment="sweep-1-2", steps_done=0)
    made(runs, "5d1c9a3e77", State.RUNNING, ago=2 * 3600)
    lines = bakeoff("status").out.splitlines()
    assert re.fullmatch(r"5d1c9a3e  RUNNING  50 of 200 +0:00 +ssd_tiny .* no word .*2\.0 hours", lines[1])
    assert re.fullmatch(r"          QUEUED   0 of 200 +0:00 +ssd_tiny · cosine · low \(sweep-1-2\)", lines[2])
    assert missing_in(bakeoff("stop", "sweep-1-2").out, "waits", "not to begin") == []
    assert re.search(r"STOP_REQUESTED  0 of 200 .*\(sweep-1-2\)", bakeoff("status").out)
    assert bakeoff("stop").out.startswith("5d1c9a3e ")


def test_a_run_that_ended_early_says_why(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", State.SUCCEEDED, ended_by="early_stopping", metrics={"train/loss": 0.5})
    assert re.search(r" loss 0.500 .* ended by train.early_stopping\n$", bakeoff("status").out)


def test_status_of_one_run_says_all_that_is_known(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", checkpoint=True, phase="head", learning_rate=0.004, metrics={"train/loss": 0.5})
    lines = bakeoff("status", "5d1c").out.splitlines()
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in lines)
    assert (facts["run"], facts["fingerprint"]) == ("5d1c9a3e", "5d1c9a3e77")
    assert facts["steps"] == "50 of 200, phase head"
    assert (facts["rate"], facts["train/loss"]) == ("0.004", "0.5")
    assert facts["checkpoint"] == "yes, it can resume"
    assert facts["work in flight"] == (runs / "5d1c9a3e77").as_posix()


def test_status_from_a_temporary_experiment_shows_the_main_workspace(
    runs: Path, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(runs, "5d1c9a3e77")
    root = runs.parents[1]
    temporary = root / ".dvc/tmp/exps/standalone/tmpabc"
    (temporary / "conf").mkdir(parents=True)
    (temporary / "dvc.yaml").touch()
    monkeypatch.chdir(temporary)
    assert "5d1c9a3e" in bakeoff("status").out
    monkeypatch.chdir(root)
    monkeypatch.setenv("DVC_ROOT", str(root))
    assert "5d1c9a3e" in bakeoff("status").out


def test_status_in_json_has_what_the_docs_say(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", metrics={"train/loss": 0.5})
    tree = json.loads(bakeoff("status", "--json").out)
    docs = (ROOT / "docs/runs.md").read_text(encoding="utf-8")
    assert tree["version"] == 1
    [run] = tree["runs"]
    assert (run["state"], run["steps_done"], run["metrics"]) == ("RUNNING", 50, {"train/loss": 0.5})
    for key in (*run, *run["process"], *run["machine"]):
        assert f"`{key}`" in docs, key


def test_watching_a_run_through_a_pipe_is_a_line_for_each_change_until_it_ends(
    runs: Path, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(runs, "5d1c9a3e77", seconds_left=30.0)
    looks = iter([State.RUNNING, State.STOPPING, State.STOPPED])

    def pass_time(seconds: float) -> None:
        printed = module.read_status(folder)
        module.write_status(folder, replace(printed, state=next(looks), metrics={"train/loss": 0.25}))

    monkeypatch.setattr(status.time, "sleep", pass_time)
    label = "5d1c9a3e (ssd_tiny · cosine · low)"
    assert bakeoff("status", "5d1c", "--watch").out.splitlines() == [
        f"{label} RUNNING, 50 of 200 steps, 30 s left",
        f"{label} STOPPING, 50 of 200 steps, 30 s left, loss 0.250",
        f"{label} STOPPED, 50 of 200 steps, loss 0.250",
    ]
    assert next(looks, None) is None


def test_ctrl_c_ends_watching_without_a_word(runs: Path, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    made(runs, "5d1c9a3e77")

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status.time, "sleep", interrupt)
    for more in ([], ["--json"]):
        printed = bakeoff("status", "--watch", *more)
        assert (printed.code, printed.err) == (0, "") and "RUNNING" in printed.out


def test_stop_asks_the_one_run_that_is_under_way(runs: Path, bakeoff: Bakeoff) -> None:
    folder = made(runs, "5d1c9a3e77")
    made(runs, "77aa000011", State.SUCCEEDED)
    printed = bakeoff("stop")
    assert (printed.code, printed.err) == (0, "")
    assert missing_in(printed.out, "5d1c9a3e (ssd_tiny · cosine · low): ", "asked to stop") == []
    assert (folder / "stop_requested").exists() and not (runs / "77aa000011/stop_requested").exists()
    assert "STOP_REQUESTED" in bakeoff("status").out


def test_of_several_runs_stop_wants_a_name_or_all(runs: Path, bakeoff: Bakeoff) -> None:
    for fingerprint in ("5d1c9a3e77", "77aa000011"):
        made(runs, fingerprint, name=f"ssd {fingerprint[:2]}", ago=int(fingerprint[0]))
    printed = bakeoff("stop")
    assert printed.code == 2
    those = "5d1c9a3e (ssd 5d) RUNNING, 77aa0000 (ssd 77) RUNNING"
    assert missing_in(printed.err, "2 runs", those, "--all") == [] and printed.err.count("\n") == 1
    assert not list(runs.glob("*/stop_requested"))
    assert bakeoff("stop", "ssd 77").code == 0
    assert [file.parent.name for file in runs.glob("*/stop_requested")] == ["77aa000011"]
    assert bakeoff("stop", "--all").code == 0 and len(list(runs.glob("*/stop_requested"))) == 2


def test_of_several_runs_of_a_variant_the_one_under_way_is_stopped(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", State.SUCCEEDED)
    made(runs, "77aa000011")
    assert bakeoff("stop", "ssd_tiny").code == 0 and (runs / "77aa000011/stop_requested").exists()


def test_what_is_not_under_way_is_not_stopped(runs: Path, bakeoff: Bakeoff) -> None:
    printed = bakeoff("stop")
    assert (printed.code, printed.out) == (2, "") and missing_in(printed.err, "no run", "`bakeoff status`") == []
    assert bakeoff("stop", "--all") == (0, "no run is under way\n", "")
    made(runs, "5d1c9a3e77", process=NOBODY)
    printed = bakeoff("stop", "5d1c")
    assert printed.code == 2 and not list(runs.glob("*/stop_requested"))
    assert re.fullmatch(r"5d1c9a3e \(.*\) FAILED, 50 of 200 .*process \d+ .*killed.*nothing to stop\n", printed.err)
    assert missing_in(bakeoff("stop", "5d1c", "--all").err, "5d1c: ", "--all") == []


@pytest.mark.parametrize(("state", "code"), [(State.STOPPED, 0), (State.FAILED, 1)])
def test_stop_waits_for_the_end(runs: Path, bakeoff: Bakeoff, state: State, code: int) -> None:
    folder = made(runs, "5d1c9a3e77")

    def answer() -> None:
        while not (folder / "stop_requested").exists():
            time.sleep(0.01)
        failure = Failure("disk", "full") if state == State.FAILED else None
        module.write_status(folder, replace(module.read_status(folder), state=state, failure=failure))

    training = threading.Thread(target=answer)
    training.start()
    printed = bakeoff("stop", "--wait")
    training.join()
    assert printed.code == code and f" {state}" in printed.out.splitlines()[-1]


def test_clean_lists_and_removes_nothing_without_a_yes(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", State.SUCCEEDED, ago=3600 * 30, checkpoint=True)
    made(runs, "77aa000011", State.SUCCEEDED, ago=60)
    printed = bakeoff("clean")
    head, newest, old, last = printed.out.splitlines()
    assert head.split() == ["what", "state", "updated", "size", "named", "by"]
    assert newest.startswith("77aa0000  ssd_tiny") and newest.endswith("stays: the newest")
    assert re.match(r"5d1c9a3e  ssd_tiny .*  SUCCEEDED  30.0 hours ago +\d\S* kB +goes$", old)
    assert re.fullmatch(r"nothing .*--yes .*1 of 2, \d\S* kB", last)
    assert len(list(runs.iterdir())) == 2
    assert re.fullmatch(r"freed \d\S* kB", bakeoff("clean", "--yes").out.splitlines()[-1])
    assert [path.name for path in runs.iterdir()] == ["77aa000011"]
    assert "nothing to remove" in bakeoff("clean", "--yes").out.splitlines()[-1]


def test_clean_removes_what_is_named_and_nothing_else(runs: Path, bakeoff: Bakeoff) -> None:
    made(runs, "5d1c9a3e77", State.STOPPED, checkpoint=True)
    made(runs, "77aa000011", State.SUCCEEDED, ago=60)
    made(runs, "99aa000011", State.RUNNING)
    assert bakeoff("clean", "5d1c", "99aa", "--yes").code == 0
    assert sorted(path.name for path in runs.iterdir()) == ["77aa000011", "99aa000011"]


@pytest.mark.parametrize(("answer", "left"), [("yes", 1), ("y", 2), ("", 2), ("no", 2)])
def test_on_a_terminal_clean_asks(
    runs: Path, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    made(runs, "5d1c9a3e77", State.CANCELED, ago=60)
    made(runs, "77aa000011", State.SUCCEEDED)
    asked: list[str] = []
    monkeypatch.setattr("bakeoff.app.cli.terminal._is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or answer)
    bakeoff("clean")
    assert len(list(runs.iterdir())) == left
    assert len(asked) == 1 and re.fullmatch(r"remove 1 of 2, \S+ k?B\? \(yes/no\) ", asked[0])


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["5d1c", "--keep", "2"], ("clean: ", "runs", "rules", "both")),
        (["--keep", "-1"], ("--keep: ", "0", "-1")),
        (["--older-than", "soon"], ("--older-than: ", "m, h, d", "w", "30d", "'soon'")),
        (["nobody"], ("nobody: no run", KINDS, "(none)")),
    ],
)
def test_clean_refuses_what_makes_no_sense(
    runs: Path, bakeoff: Bakeoff, arguments: list[str], parts: tuple[str, ...]
) -> None:
    printed = bakeoff("clean", *arguments)
    assert (printed.code, printed.out) == (2, "")
    assert missing_in(printed.err, *parts) == [] and printed.err.count("\n") == 1
