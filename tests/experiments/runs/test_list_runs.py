"""The state of each run as it is now, whatever status its process last wrote; and which run a name means."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.runs import list_runs as module
from bakeoff.experiments.runs.list_runs import known_runs, read_run
from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import Failure, ResourceUsage, State, write_status
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.tracking.resolve_name import resolve
from support.made_runs import NOBODY, made
from support.messages import missing_in

ELSEWHERE = replace(Process.current(), host="elsewhere")
WRITE = """
import sys, time
from pathlib import Path
from bakeoff.experiments.runs.status_writer import StatusReport
with StatusReport(Path(sys.argv[1]), "ssd_tiny", 200, memory_estimate_bytes=1, can_resume=lambda: True) as report:
    print("runs", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the runs of a workspace, in which one stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".bakeoff/runs"


def test_a_run_is_as_it_says_while_its_process_lives(tmp_path: Path) -> None:
    for state in (State.QUEUED, State.PREPARING, State.RUNNING, State.STOPPING):
        assert read_run(made(tmp_path, state.value, state)).state == state


def test_a_run_that_was_asked_to_stop_says_so_until_it_has_noticed(tmp_path: Path) -> None:
    for state, shown in [
        (State.QUEUED, State.STOP_REQUESTED),
        (State.PREPARING, State.STOP_REQUESTED),
        (State.RUNNING, State.STOP_REQUESTED),
        (State.STOPPING, State.STOPPING),
        (State.STOPPED, State.STOPPED),
    ]:
        folder = made(tmp_path, state.value, state)
        (folder / "stop_requested").touch()
        assert read_run(folder).state == shown


def missing_in_failure(failure: Failure | None, kind: str, *parts: str) -> list[str]:
    assert failure and failure.kind == kind
    return missing_in(failure.message, *parts)


def test_a_killed_process_is_shown_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "5d1c"
    folder.mkdir()
    command = [sys.executable, "-c", WRITE, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "runs\n"
        assert read_run(folder).state.is_live
        child.kill()
    run = read_run(folder)
    assert run.state == State.FAILED
    assert missing_in_failure(run.failure, "error", f"process {child.pid} ", "killed", "without a word") == []
    assert run.status and run.status.state.is_live  # it had no time to say otherwise


def test_a_run_that_was_cut_off_with_the_machine_says_so(tmp_path: Path) -> None:
    run = read_run(made(tmp_path, "5d1c", process=replace(Process.current(), boot="before")))
    assert missing_in_failure(run.failure, "error", "machine was restarted", f"process {os.getpid()} ") == []


def test_a_kill_by_the_kernel_for_want_of_memory_is_seen_by_its_counter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path, "5d1c", process=NOBODY, machine=ResourceUsage(5_100_000_000, 1, 1, oom_kills=3))
    monkeypatch.setattr(module, "oom_kills", lambda: 3)
    failure = read_run(folder).failure
    assert failure and failure.kind == "error"
    monkeypatch.setattr(module, "oom_kills", lambda: 4)
    failure = read_run(folder).failure
    assert missing_in_failure(failure, "out of memory", f"process {os.getpid()} ", "kernel", "5.1 GB") == []


def test_a_run_on_another_machine_counts_as_lost_when_it_is_silent_for_too_long(tmp_path: Path) -> None:
    assert read_run(made(tmp_path, "a", process=ELSEWHERE, ago=60)).state == State.RUNNING
    run = read_run(made(tmp_path, "b", process=ELSEWHERE, ago=600))
    assert run.state == State.FAILED
    assert missing_in_failure(run.failure, "error", "no word", "elsewhere", "10 minutes") == []


def test_a_last_status_that_is_written_meanwhile_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path, "5d1c", process=NOBODY)
    real = module._why_lost

    def meanwhile(status):  # type: ignore[no-untyped-def]
        write_status(folder, replace(status, state=State.SUCCEEDED))
        return real(status)

    monkeypatch.setattr(module, "_why_lost", meanwhile)
    assert read_run(folder).state == State.SUCCEEDED


def test_what_cannot_be_read_is_unspecified(tmp_path: Path) -> None:
    folder = made(tmp_path, "5d1c")
    (folder / "status.json").write_text('{"version": 99}', encoding="utf-8")
    run = read_run(folder)
    assert (run.state, run.status) == (State.STATE_UNSPECIFIED, None)
    assert missing_in(str(run.unreadable), "status.json", "version 99", "reads 1") == []
    assert run.as_tree()["state"] == "STATE_UNSPECIFIED" and run.as_tree()["steps"] is None


@pytest.mark.parametrize("content", [bytes(32), b"..", b"a/b", b"\xff", b""])
def test_a_damaged_id_of_a_run_is_none(content: bytes, tmp_path: Path) -> None:
    folder = made(tmp_path, "0f", State.FAILED, run_id=None)
    (folder / "run").write_bytes(content)
    assert read_run(folder).run_id == read_run(folder).names.run_id == ""


def test_for_scripts_a_run_has_the_same_keys_whether_it_can_be_read_or_not(folder: Path) -> None:
    made(folder, "5d1c", checkpoint=True)
    (folder / "77aa").mkdir()
    one, other = (run.as_tree() for run in known_runs())
    assert one.keys() == other.keys() and "version" not in one
    assert (one["can_go_on"], other["can_go_on"]) == (True, False)


def test_without_any_run_none_is_known(folder: Path) -> None:
    assert known_runs() == []


def test_those_under_way_come_first_then_those_that_wait_in_their_order(folder: Path) -> None:
    made(folder, "old", State.SUCCEEDED, ago=900)
    made(folder, "new", State.SUCCEEDED, ago=5)
    made(folder, "going", State.RUNNING, ago=20)
    for number, ago in ((3, 70.0), (2, 71.0)):
        made(folder.parent / "queued", f"sweep-{number}", State.QUEUED, ago=ago)
    assert [run.fingerprint for run in known_runs()] == ["going", "sweep-2", "sweep-3", "new", "old"]


def test_a_name_of_several_runs_and_one_of_none_are_refused(folder: Path) -> None:
    made(folder, "5d1c9a3e00", State.RUNNING, name="ssd")
    made(folder, "5d77aaaa00", State.SUCCEEDED, name="ssd")
    runs = known_runs()
    several = r"^ssd: .*\b2: 5d77aaaa \(ssd\) SUCCEEDED, 5d1c9a3e \(ssd\) RUNNING"
    with pytest.raises(WorkspaceError, match=several):
        resolve("ssd", runs)
    with pytest.raises(WorkspaceError, match=r"^5d1c9a4e: no run\b.*'5d1c9a3e'"):
        resolve("5d1c9a4e", runs)
