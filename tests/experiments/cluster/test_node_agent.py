"""An agent, as an ordinary object without Ray: it runs a job's process and reports on it."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.cluster import node_agent as module
from bakeoff.experiments.cluster.mirror_logs import Mirror
from bakeoff.experiments.cluster.node_agent import (
    NOT_STARTED,
    REPORTS_LINK,
    Agent,
    _clone,
    _remove_abandoned,
    _restore_reports,
    _share,
)
from bakeoff.experiments.sweep.job import JobFiles


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


def order(place: Path, code: str, token: str = "7f") -> dict[str, Any]:
    (place / "seen").write_text("7f")
    near = {"command": ["-c", code], "folder": str(place), "log": str(place / "log"), "environment": {"OF_HOME": "1"}}
    return {"mark": str(place / "seen"), "token": token, "near": near, "far": None}


def end_of(agent: Agent) -> dict[str, Any]:
    while not (news := agent.news({}))["is_over"]:
        pass
    return news


def test_a_node_that_sees_the_mark_runs_the_job_in_the_workspace(place: Path) -> None:
    news = end_of(Agent(order(place, "import os; print(os.environ['OF_HOME'], os.getcwd()); raise SystemExit(3)")))
    assert (news["is_near"], news["code"], news["error"], news["files"]) == (True, 3, "", [])
    assert (place / "log").read_text() == f"1 {place}\n"


def test_a_node_with_another_file_of_that_name_is_far_and_says_why_it_cannot_run_the_job(place: Path) -> None:
    news = end_of(Agent(order(place, "print('never')", token="other")))
    assert (news["is_near"], news["code"]) == (False, None)
    assert news["error"].startswith("RuntimeError: this node does not see the workspace")


def test_a_signal_reaches_all_of_the_job(place: Path) -> None:
    agent = Agent(order(place, "import time; open('there', 'w'); time.sleep(60)"))
    while not (place / "there").exists():
        time.sleep(0.02)
    agent.ask(15)
    assert end_of(agent)["code"] == -15


def test_ctrl_c_reaches_a_job_whose_agent_runs_where_it_is_blocked_as_in_workers_of_ray(place: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        agent = Agent(order(place, "import time; open('there', 'w'); time.sleep(60)"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    while not (place / "there").exists():
        time.sleep(0.02)
    agent.ask(signal.SIGINT)
    assert end_of(agent)["code"] == -signal.SIGINT


def test_one_that_was_asked_before_it_began_does_not_begin(place: Path) -> None:
    agent = Agent.__new__(Agent)
    agent._lock, agent._is_asked = module.threading.Lock(), True
    assert agent._run(order(place, "open('there', 'w')")["near"]) == NOT_STARTED
    assert not (place / "there").exists()


def test_what_a_far_job_writes_comes_home_once_and_in_an_order_that_a_sender_can_read(place: Path) -> None:
    agent, node = Agent.__new__(Agent), place / "node/.bakeoff"
    agent._home, agent._log, agent._order = node, place / "node/log", {"far": {"log_size": 4}}
    files = {"runs/5d/status.json": "{}", "journal/7f/journal.jsonl": "one\n", "journal/7f/files/ab": "content"}
    for name, text in files.items():
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).write_text(text)
    (place / "node/log").write_text("begins\n")
    home = JobFiles(place, 1)
    home.log.write_text("old\n")
    mirror = Mirror(home)
    pieces = agent._collect_files(mirror.known)
    assert [name for name, _, _ in pieces] == [
        "runs/5d/status.json", "journal/7f/files/ab", "journal/7f/journal.jsonl", "log"
    ]  # fmt: skip
    assert mirror.apply(pieces) and not mirror.apply(agent._collect_files(mirror.known))
    with (node / "journal/7f/journal.jsonl").open("a") as journal:
        journal.write("two\n")
    pieces = agent._collect_files(mirror.known)
    assert [(name, at, content) for name, at, content in pieces] == [("journal/7f/journal.jsonl", 4, b"two\n")]
    mirror.apply(pieces)
    mirror.apply(pieces)
    assert {name: (place / ".bakeoff" / name).read_text() for name in files} == files | {
        "journal/7f/journal.jsonl": "one\ntwo\n"
    }
    assert home.log.read_text() == "old\nbegins\n"


def test_large_files_come_in_parts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 4)
    agent, node = Agent.__new__(Agent), place / "node/.bakeoff"
    agent._home, agent._log, agent._order = node, place / "node/log", {"far": {"log_size": 0}}
    (node / "journal/7f/files").mkdir(parents=True)
    (node / "journal/7f/files/ab").write_text("0123456789")
    mirror, parts = Mirror(JobFiles(place, 1)), []
    while pieces := agent._collect_files(mirror.known):
        parts += [content for _, _, content in pieces]
        mirror.apply(pieces)
    assert parts == [b"0123", b"4567", b"89"]
    assert (place / ".bakeoff/journal/7f/files/ab").read_text() == "0123456789"


def test_a_stop_that_somebody_asks_for_at_home_is_passed_on_once(place: Path) -> None:
    mirror = Mirror(JobFiles(place, 1))
    mirror.apply([("runs/5d/status.json", 1, b"{}")])
    (place / ".bakeoff/runs/5d/stop_requested").touch()
    assert mirror.stops() == ["runs/5d/stop_requested"] and mirror.stops() == []


def test_a_far_folder_is_a_clone_of_the_snapshot_alone(place: Path) -> None:
    def git(*arguments: str) -> str:
        own = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        return subprocess.run(["git", *own, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet", "--bare", "remote.git")
    git("init", "--quiet", "home")
    (place / "home/file").write_text("content")
    git("-C", "home", "add", "file")
    git("-C", "home", "commit", "--quiet", "-m", "one")
    commit = git("-C", "home", "rev-parse", "HEAD")
    remote, ref = str(place / "remote.git"), "refs/bakeoff-far/s/snapshot"
    git("-C", "home", "push", "--quiet", remote, f"{commit}:{ref}")
    part = {"repository": "5d", "snapshot": commit, "remote": remote, "ref": ref, "prefix": ""}
    for name in ("1", "2"):  # the second takes it from the node's own copy
        assert (_clone(place, place / name, part) / "file").read_text() == "content"


def test_what_a_job_learned_of_networks_and_compiled_is_there_for_the_next_one_on_its_node(place: Path) -> None:
    (place / "bytecode/bakeoff/__pycache__").mkdir(parents=True)
    (place / "bytecode/bakeoff/__pycache__/run.pyc").write_bytes(b"compiled")
    for name in ("1", "2"):
        (place / name / "src").mkdir(parents=True)
        _share(place, place / name, place / name / ".bakeoff")
        assert (place / name / "src/bakeoff/__pycache__/run.pyc").read_bytes() == b"compiled"
    (place / "1/.bakeoff/networks/ab.json").write_text("{}")
    assert (place / "2/.bakeoff/networks/ab.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("received", "resumed_with"),
    [
        (None, "one\ntwo\n"),  # home heard nothing before the node died
        ("one\n", "one\ntwo\n"),
        ("one\nother\n", "one\nother\n"),  # the job went on elsewhere meanwhile
    ],
)
def test_reports_of_a_job_whose_node_died_are_there_for_its_next_attempt(
    place: Path, received: str | None, resumed_with: str
) -> None:
    dead, home = place / "jobs/sweep-1.1/workspace/.bakeoff", place / "jobs/sweep-1.2/workspace/.bakeoff"
    for name, content in {
        "journal/5d/journal.jsonl": "one\ntwo\n",
        "journal/5d/target.json": "{}",
        "runs/7f/run": "5d",
    }.items():
        (dead / name).parent.mkdir(parents=True, exist_ok=True)
        (dead / name).write_text(content)
    (place / "jobs/sweep-1.1" / REPORTS_LINK).symlink_to(dead)
    (place / "jobs/sweep-1.1.lock").touch()
    _remove_abandoned(place)
    assert not dead.exists() and not (place / "jobs/sweep-1.1").exists()
    if received is not None:
        (home / "journal/5d").mkdir(parents=True)
        (home / "journal/5d/journal.jsonl").write_text(received)
    _restore_reports(place, "sweep-2.1", home)  # another job
    assert (home / "runs/7f/run").exists() is False
    _restore_reports(place, "sweep-1.2", home)
    assert (home / "journal/5d/journal.jsonl").read_text() == resumed_with
    assert (home / "runs/7f/run").exists() == (resumed_with == "one\ntwo\n")


def test_reports_of_jobs_that_never_came_back_are_removed_after_a_week(place: Path) -> None:
    for name, days in {"old": 8, "new": 6}.items():
        (place / REPORTS_LINK / name).mkdir(parents=True)
        os.utime(place / REPORTS_LINK / name, (time.time() - days * 86400,) * 2)
    (place / "jobs").mkdir()
    _remove_abandoned(place)
    assert [path.name for path in (place / REPORTS_LINK).iterdir()] == ["new"]
