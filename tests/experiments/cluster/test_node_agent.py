"""An agent, as an ordinary object without Ray: it runs a job's process and reports on it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import cloudpickle
import pytest

from bakeoff.experiments.cluster import far_folder, node_agent, node_orders
from bakeoff.experiments.cluster.far_folder import (
    REPORTS_LINK,
    FarFolder,
    _clone,
    _remove_abandoned,
    _restore_reports,
    _share,
)
from bakeoff.experiments.cluster.mirror_logs import Mirror
from bakeoff.experiments.cluster.node_agent import NOT_STARTED, Agent
from bakeoff.experiments.cluster.node_orders import FarJob, FilePart, JobCommand, JobNews, JobOrder
from bakeoff.experiments.sweep.job import JobFiles
from support.messages import missing_in
from support.repository import git

pytestmark = pytest.mark.usefixtures("place")

SITE = str(Path(cloudpickle.__file__).parents[1])  # the folder of installed packages, without links to this code


pytestmark = pytest.mark.usefixtures("place")


def order(place: Path, code: str, token: str = "7f") -> JobOrder:
    (place / "seen").write_text("7f")
    near = JobCommand(("-c", code), str(place), str(place / "log"), {"OF_HOME": "1"})
    return JobOrder(str(place / "seen"), token, near, far=None)


def far_job(log_size: int = 0, snapshot: str = "", remote: str = "", ref: str = "") -> FarJob:
    return FarJob("sweep-1.1", "5d", remote, ref, snapshot, "", "sweep", (), {}, {}, log_size)


def end_of(agent: Agent) -> JobNews:
    while not (news := agent.news({})).is_over:
        pass
    return news


def write_files(folder: FarFolder, **texts: str) -> None:
    for name, text in texts.items():
        (folder.home / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.home / name).write_text(text)


def test_a_node_that_sees_the_mark_runs_the_job_in_the_workspace(place: Path) -> None:
    news = end_of(Agent(order(place, "import os; print(os.environ['OF_HOME'], os.getcwd()); raise SystemExit(3)")))
    assert (news.is_near, news.code, news.error, news.files) == (True, 3, "", ())
    assert (place / "log").read_text() == f"1 {place}\n"


def test_a_node_with_another_file_of_that_name_is_far_and_says_why_it_cannot_run_the_job(place: Path) -> None:
    news = end_of(Agent(order(place, "print('never')", token="other")))
    assert (news.is_near, news.code) == (False, None)
    assert missing_in(news.error, "RuntimeError: ", "not see the workspace") == []


def test_a_signal_reaches_all_of_the_job(place: Path) -> None:
    agent = Agent(order(place, "import time; open('there', 'w'); time.sleep(60)"))
    while not (place / "there").exists():
        time.sleep(0.02)
    agent.ask(15)
    assert end_of(agent).code == -15


def test_ctrl_c_reaches_a_job_whose_agent_runs_where_it_is_blocked_as_in_workers_of_ray(place: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        agent = Agent(order(place, "import time; open('there', 'w'); time.sleep(60)"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    while not (place / "there").exists():
        time.sleep(0.02)
    agent.ask(signal.SIGINT)
    assert end_of(agent).code == -signal.SIGINT


def test_one_that_was_asked_before_it_began_does_not_begin(place: Path) -> None:
    agent = Agent.__new__(Agent)
    agent._lock, agent._is_asked = threading.Lock(), True
    assert agent._run(order(place, "open('there', 'w')").near) == NOT_STARTED
    assert not (place / "there").exists()


def test_what_a_far_job_writes_comes_home_once_and_in_an_order_that_a_sender_can_read(place: Path) -> None:
    folder = FarFolder(place / "node", far_job(log_size=4))
    files = {"runs/5d/status.json": "{}", "journal/7f/journal.jsonl": "one\n", "journal/7f/files/ab": "content"}
    write_files(folder, **files)
    folder.log.write_text("begins\n")
    home = JobFiles(place, 1)
    home.log.write_text("old\n")
    mirror = Mirror(home)
    parts = folder.collect_parts(mirror.known)
    assert [part.name for part in parts] == [
        "runs/5d/status.json", "journal/7f/files/ab", "journal/7f/journal.jsonl", "log"
    ]  # fmt: skip
    assert mirror.apply(parts) and not mirror.apply(folder.collect_parts(mirror.known))
    with (folder.home / "journal/7f/journal.jsonl").open("a") as journal:
        journal.write("two\n")
    parts = folder.collect_parts(mirror.known)
    assert parts == [FilePart("journal/7f/journal.jsonl", 4, b"two\n")]
    mirror.apply(parts)
    mirror.apply(parts)
    assert {name: (place / ".bakeoff" / name).read_text() for name in files} == files | {
        "journal/7f/journal.jsonl": "one\ntwo\n"
    }
    assert home.log.read_text() == "old\nbegins\n"


def test_large_files_come_in_parts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_folder, "MOST_AT_ONCE", 4)
    folder = FarFolder(place / "node", far_job())
    write_files(folder, **{"journal/7f/files/ab": "0123456789"})
    mirror, contents = Mirror(JobFiles(place, 1)), []
    while parts := folder.collect_parts(mirror.known):
        contents += [part.content for part in parts]
        mirror.apply(parts)
    assert contents == [b"0123", b"4567", b"89"]
    assert (place / ".bakeoff/journal/7f/files/ab").read_text() == "0123456789"


def test_of_files_that_a_node_got_from_home_it_sends_back_only_what_grew(place: Path) -> None:
    sent = {".bakeoff/journal/7f/journal.jsonl": b"one\n", ".bakeoff/runs/5d/run": b"7f"}
    assert Mirror(JobFiles(place, 1), sent).known == {"journal/7f/journal.jsonl": 4}


def test_a_stop_that_somebody_asks_for_at_home_is_passed_on_once(place: Path) -> None:
    mirror = Mirror(JobFiles(place, 1))
    mirror.apply([FilePart("runs/5d/status.json", 1, b"{}")])
    (place / ".bakeoff/runs/5d/stop_requested").touch()
    assert mirror.stops() == ["runs/5d/stop_requested"] and mirror.stops() == []


def test_a_far_folder_is_a_clone_of_the_snapshot_alone(place: Path) -> None:
    git("init", "--quiet", "--bare", "remote.git")
    git("init", "--quiet", "home")
    (place / "home/file").write_text("content")
    git("-C", "home", "add", "file")
    git("-C", "home", "commit", "--quiet", "-m", "one")
    commit = git("-C", "home", "rev-parse", "HEAD")
    remote, ref = str(place / "remote.git"), "refs/bakeoff-far/s/snapshot"
    git("-C", "home", "push", "--quiet", remote, f"{commit}:{ref}")
    for name in ("1", "2"):  # the second takes it from the node's own copy
        _clone(place, place / name, far_job(snapshot=commit, remote=remote, ref=ref))
        assert (place / name / "file").read_text() == "content"


def test_what_a_job_learned_of_networks_and_compiled_is_there_for_the_next_one_on_its_node(place: Path) -> None:
    (place / "bytecode/bakeoff/__pycache__").mkdir(parents=True)
    (place / "bytecode/bakeoff/__pycache__/run.pyc").write_bytes(b"compiled")
    for name in ("1", "2"):
        (place / name / "src").mkdir(parents=True)
        _share(place, place / name)
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


WITHOUT_OUR_CODE = """
import importlib.util, pickle, sys
assert importlib.util.find_spec("bakeoff") is None
agent_class, order = pickle.loads(sys.stdin.buffer.read())
agent = agent_class(order)
while not (news := agent.news({})).is_over:
    pass
print(news.code, news.error, file=sys.stderr)
import cloudpickle
sys.stdout.buffer.write(cloudpickle.dumps(news))
"""


@pytest.mark.parametrize("token", ["7f", "other"])
def test_a_node_needs_no_code_of_ours_for_an_agent_and_its_orders(place: Path, token: str) -> None:
    """Ray pickles with cloudpickle, and both ends of a session know the classes as the same ones."""
    modules = (node_agent, far_folder, node_orders)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed = cloudpickle.dumps((Agent, order(place, "raise SystemExit(3)", token)))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    program = [sys.executable, "-S", "-c", f"import sys; sys.path.append({SITE!r})\n{WITHOUT_OUR_CODE}"]
    done = subprocess.run(program, input=packed, capture_output=True, env=alone, cwd=place, check=False)
    assert done.returncode == 0, done.stderr.decode()
    news = cloudpickle.loads(done.stdout)
    assert isinstance(news, JobNews) and (news.is_near, news.code) == ((True, 3) if token == "7f" else (False, None))
