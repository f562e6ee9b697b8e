"""All processes of a killed job end, and no other process does."""

import json
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.sweep import process_group

pytestmark = pytest.mark.skipif(not process_group.POSIX, reason="sessions are POSIX's")
HEAD = """
import subprocess, sys, time
from pathlib import Path
from bakeoff.experiments.sweep import process_group
process_group.note_leader(Path(sys.argv[1]))
own = subprocess.Popen([sys.executable, "-c", sys.argv[2]], stdout=subprocess.PIPE)
away = subprocess.Popen(["sleep", "60"], start_new_session=True)
own.stdout.readline()
print(own.pid, away.pid, flush=True)
time.sleep(60)
"""
LISTENS = """
import time
try:
    print(1, flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    open({0!r}, "w").close()
"""
DEAF = "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint(1, flush=True); time.sleep(60)"


def pids(number: int) -> set[int]:
    return {process.pid for process in process_group.list_members(number)}


@pytest.mark.parametrize("stage", ["listens", "is deaf"])
def test_what_a_killed_job_leaves_is_asked_and_then_killed(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "SECONDS_TO_END", 20.0 if stage == "listens" else 0.3)
    noted, saved = tmp_path / "process.json", tmp_path / "saved"
    code = LISTENS.format(str(saved)) if stage == "listens" else DEAF
    head = subprocess.Popen(
        [sys.executable, "-c", HEAD, str(noted), code], stdout=subprocess.PIPE, start_new_session=True
    )
    assert head.stdout
    own, away = map(int, head.stdout.readline().split())
    assert pids(head.pid) == {head.pid, own} and process_group.find_noted_session(noted) == head.pid
    head.kill()
    head.wait()
    assert process_group.find_noted_session(noted) == head.pid and pids(head.pid) == {own}
    process_group.end(head.pid)
    assert pids(head.pid) == set()
    assert saved.exists() == (stage == "listens")
    sender = process_group.psutil.Process(away)
    assert sender.status() != "zombie"
    sender.send_signal(signal.SIGKILL)
    head.stdout.close()


@pytest.mark.parametrize(
    "other", [{"started": "1"}, {"boot": "another"}, {"host": "another"}, {"namespace": "pid:[1]"}]
)
def test_a_number_that_another_process_has_now_is_nobody_s(other: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "process.json"
    file.write_text(json.dumps(asdict(replace(Process.current(), **other))))
    assert process_group.find_noted_session(file) is None
    file.write_text(json.dumps(asdict(Process.current())))
    assert process_group.find_noted_session(file) == Process.current().pid
    file.write_text("{")
    assert (
        process_group.find_noted_session(file) is None and process_group.find_noted_session(tmp_path / "none") is None
    )
