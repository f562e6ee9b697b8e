"""The sweep that is added first starts first. The queue outlives the process that runs it."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.launch import LaunchOptions
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.sweep_manifest import JobAttempt, JobState, SweepManifest, load_manifest, one_launcher
from bakeoff.experiments.sweep.sweep_queue import (
    QueueRun,
    add_sweep,
    append_sweep,
    find_queued_sweep,
    list_queued_sweeps,
    list_resumed_sweeps,
    remove_sweep,
    resume_sweep,
)
from bakeoff.foundation import git
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.workspace import STOP_FILE
from support.commands import run_bakeoff
from support.made_runs import NOBODY, made
from support.made_sweeps import states, sweep, sweep_job
from support.messages import missing_in

pytestmark = pytest.mark.usefixtures("place")

DONE, FAILED, STOPPED, WAITING = JobState.DONE, JobState.FAILED, JobState.STOPPED, JobState.WAITING
Instead = Callable[[Mapping[int, str]], None]
Bakeoff = Callable[..., tuple[int, str]]
FIRST, SECOND = "sweep-1", "sweep-2"


pytestmark = pytest.mark.usefixtures("place")


def add_queued(sweep_id: str, *numbers: int, overrides: tuple[str, ...] = (), **more: object) -> SweepManifest:
    jobs = [sweep_job(number, experiment=f"{sweep_id}-{number}", training=f"{sweep_id}-{number}") for number in numbers]
    manifest = sweep(*jobs, id=sweep_id, overrides=overrides, **more)
    manifest.write()
    add_sweep(manifest)
    return manifest


def run_queue(lines: list[str] | None = None, side_by_side: int = 1, **more: bool) -> QueueRun:
    queue = QueueRun(
        [].append if lines is None else lines.append, LaunchOptions(side_by_side, again=False, queued=True, **more),
        seats=Seats(side_by_side, 100),
    )  # fmt: skip
    queue.run()
    return queue


def test_the_queue_is_on_the_disk_before_anybody_counts_on_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a loss of power would bring back a removed sweep, or forget an added one."""
    seen, real = [], os.fsync

    def sync(number: int) -> None:
        if os.readlink(f"/proc/self/fd/{number}") == str(place / ".bakeoff/queue"):
            seen.append(list_queued_sweeps())
        real(number)

    monkeypatch.setattr(os, "fsync", sync)
    append_sweep(FIRST)
    append_sweep(SECOND)
    add_queued("sweep-3", 1)
    remove_sweep("sweep-3")
    assert seen == [[FIRST], [FIRST, SECOND], [FIRST, SECOND, "sweep-3"], [FIRST, SECOND]]


def test_sweeps_run_in_the_order_in_which_they_were_added(instead: Instead, place: Path) -> None:
    instead({1: "end(0)", 2: "end(0)"})
    first, second = add_queued(FIRST, 1, 2, overrides=("seed=1,2",)), add_queued(SECOND, 1)
    assert [(run.fingerprint, run.state) for run in known_runs()] == [
        (name, "QUEUED") for name in ("sweep-1-1", "sweep-1-2", "sweep-2-1")
    ]
    lines: list[str] = []
    assert run_queue(lines).states == {DONE}
    assert [line for line in lines if " done in " not in line] == [
        "sweep-1: seed=1,2", "sweep-1: 1 of 2: seed=1  (sweep-1-1)", "sweep-1: 2 of 2: seed=2  (sweep-1-2)",
        "sweep-1: 2 done",
        "sweep-2: params.yaml", "sweep-2: 1 of 1: seed=1  (sweep-2-1)", "sweep-2: 1 done",
    ]  # fmt: skip
    assert states(load_manifest(first.folder)) == [DONE, DONE] and states(load_manifest(second.folder)) == [DONE]
    assert list_queued_sweeps() == [] and list((place / ".bakeoff/queued").iterdir()) == []


def test_where_a_sweep_leaves_room_the_next_begins(instead: Instead) -> None:
    """The only job of the first sweep ends when one of the second has started."""
    instead({
        1: "until = time.time() + 20\nwhile not os.path.exists('go') and time.time() < until: time.sleep(0.02)\n"
           "end(0 if os.path.exists('go') else 3)",
        2: "open('go', 'w').close()\nend(0)",
    })  # fmt: skip
    add_queued(FIRST, 1)
    jobs = [sweep_job(1, state=DONE), sweep_job(2, experiment="sweep-2-2")]
    manifest = sweep(*jobs, id=SECOND)
    manifest.write()
    add_sweep(manifest)
    assert run_queue(side_by_side=2).states == {DONE}


def test_what_ctrl_c_ends_stays_in_line_and_what_failed_is_not_tried_again(instead: Instead, place: Path) -> None:
    waits = """
        try: print("ready", flush=True); time.sleep(60)
        except KeyboardInterrupt: pass
        end(130)
    """
    instead({1: "end(3)", 2: waits, 3: "end(0)"})
    manifest, other = add_queued(FIRST, 1, 2, 3), add_queued(SECOND, 1)

    class Impatient(list[str]):
        def append(self, text: str) -> None:
            if text == "sweep-1: ready":
                raise KeyboardInterrupt
            super().append(text)

    lines = Impatient()
    assert run_queue(lines, follow=True).states == {FAILED, STOPPED, WAITING}
    assert missing_in(lines[-2], "Ctrl-C", "queue") == [] and lines[-1] == "sweep-1: 1 waiting, 1 failed, 1 stopped"
    assert list_queued_sweeps() == [FIRST, SECOND]
    assert {run.fingerprint for run in known_runs() if run.waits} == {"sweep-1-3", "sweep-2-1"}
    instead({1: "end(0)", 2: "end(0)", 3: "end(0)"})
    assert run_queue().states == {FAILED, DONE}
    assert states(load_manifest(manifest.folder)) == [FAILED, DONE, DONE]
    assert states(load_manifest(other.folder)) == [DONE]
    assert len(load_manifest(manifest.folder).job(1).attempts) == 1
    assert list_queued_sweeps() == []


def test_a_job_that_was_killed_with_its_runner_resumes(instead: Instead) -> None:
    instead({1: "end(0)"})
    manifest = sweep(sweep_job(1, state=JobState.RUNNING, attempts=(JobAttempt(1.0),)), id=FIRST)
    manifest.write()
    add_sweep(manifest)
    lines: list[str] = []
    assert run_queue(lines).states == {DONE}
    assert lines[1] == "sweep-1: 1 of 1 failed meanwhile: killed"


def test_what_bakeoff_stop_takes_off_is_not_started_also_if_nobody_ran_the_queue_then(instead: Instead) -> None:
    instead({2: "end(0)"})
    manifest = add_queued(FIRST, 1, 2)
    (next(run for run in known_runs() if run.fingerprint == "sweep-1-1").folder / STOP_FILE).touch()
    assert run_queue().states == {STOPPED, DONE}
    assert load_manifest(manifest.folder).job(1).attempts[-1].why == "not started, as `bakeoff stop` asked"
    assert list_queued_sweeps() == []


def test_the_line_changes_while_it_runs(instead: Instead, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job adds a sweep, takes the last one out of the queue, and then the rest of its own."""
    monkeypatch.setattr("bakeoff.experiments.sweep.sweep_queue.SECONDS_BETWEEN_READS", 0.0)
    instead({1: "print('now', flush=True)\ntime.sleep(1)\nend(0)", 2: "end(0)"})
    own, last = add_queued(FIRST, 1, 2), add_queued(SECOND, 1)

    class Busy(list[str]):
        def append(self, text: str) -> None:
            if text == "sweep-1: now":
                add_queued("sweep-3", 1)
                remove_sweep(SECOND)
                remove_sweep(FIRST)
            super().append(text)

    lines = Busy()
    assert run_queue(lines, follow=True).states == {DONE, WAITING}
    assert sum(missing_in(line, "sweep-1:", "taken out") == [] for line in lines) == 1
    assert states(load_manifest(own.folder)) == [DONE, WAITING] and states(load_manifest(last.folder)) == [WAITING]
    assert "sweep-3: 1 done" in lines and list_queued_sweeps() == []


def test_a_sweep_that_cannot_be_run_does_not_hold_up_those_behind_it(instead: Instead) -> None:
    instead({1: "end(0)"})
    (add_queued(FIRST, 1).folder / "manifest.json").write_text("{}")
    add_queued(SECOND, 1)
    lines: list[str] = []
    assert run_queue(lines).states == {DONE}
    assert missing_in(lines[0], "sweep-1:", "manifest.json", "'version'", "leaves the queue") == []


def test_a_run_that_waits_to_resume_is_one_run_and_goes_on_in_its_turn(instead: Instead, place: Path) -> None:
    instead({1: "end(0)", 2: "end(0)"})
    manifest = sweep(sweep_job(1, state=STOPPED, attempts=(JobAttempt(1.0, 2.0, STOPPED),)), sweep_job(2), id=FIRST)
    manifest.write()
    job = manifest.job(1).experiment
    made(place / ".bakeoff/runs", "a" * 16, State.STOPPED, experiment=job, steps_done=50, process=NOBODY)
    made(place / ".bakeoff/runs", "b" * 16, State.FAILED, experiment=job, ago=60, process=NOBODY)
    assert (resume_sweep(manifest), resume_sweep(manifest)) == (1, 1)  # a second press changes nothing
    assert list_queued_sweeps() == list_resumed_sweeps() == [FIRST]
    resumed, second, earlier = known_runs()
    assert (resumed.fingerprint, resumed.state, resumed.waits, resumed.status.steps_done) == (
        "a" * 16,
        "QUEUED",
        False,
        50,
    )
    assert second.waits and (earlier.fingerprint, earlier.state) == ("b" * 16, "FAILED")
    resumed.stop_file.touch()
    assert known_runs()[0].state == "STOP_REQUESTED"
    assert run_queue().states == {STOPPED, DONE}
    assert load_manifest(manifest.folder).job(1).why == "not started, as `bakeoff stop` asked"
    resume_sweep(load_manifest(manifest.folder))
    assert run_queue().states == {DONE} and list_queued_sweeps() == []


def test_a_sweep_may_resume_while_it_still_ends_here_or_in_another_process(instead: Instead) -> None:
    """Its place in the queue is not lost: neither to the launcher that ends, nor to one that holds its lock."""
    instead({1: "print('now', flush=True)\nend(3)"})
    manifest = add_queued(FIRST, 1)

    class Impatient(list[str]):
        def append(self, text: str) -> None:
            if text == "sweep-1: now":
                instead({1: "end(0)"})
                resume_sweep(load_manifest(manifest.folder))
            super().append(text)

    assert run_queue(Impatient(), follow=True).states == {FAILED, DONE}
    assert len(load_manifest(manifest.folder).job(1).attempts) == 2
    other = add_queued(SECOND, 1)

    class Ends(list[str]):
        def append(self, text: str) -> None:
            if "another process" in text:
                held.close()
            super().append(text)

    with ExitStack() as held:
        held.enter_context(one_launcher(other.folder))
        lines = Ends()
        assert run_queue(lines).states == {DONE}
    assert missing_in(lines[0], SECOND, "another process", "keeps its place") == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sweep", r"^sweep: .*\b2: sweep-1, sweep-2$"),
        ("swep-1", r"^swep-1: .*'sweep-1'.*one of: sweep-1, sweep-2$"),
    ],
)
def test_a_name_must_be_that_of_one(name: str, message: str) -> None:
    for sweep_id in (FIRST, SECOND):
        append_sweep(sweep_id)
    with pytest.raises(WorkspaceError, match=message):
        find_queued_sweep(name)
    assert find_queued_sweep("sweep-2") == SECOND


def test_places_are_given_once_though_many_add_at_once(place: Path) -> None:
    children = []
    for number in range(4):
        if not (child := os.fork()):
            for count in range(5):
                append_sweep(f"sweep-{number}-{count}")
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert len(list_queued_sweeps()) == 20
    assert [name for name in list_queued_sweeps() if name.startswith("sweep-2")] == [
        f"sweep-2-{count}" for count in range(5)
    ]
    places = [file.name[:6] for file in (place / ".bakeoff/queue").glob("*sweep*")]
    assert sorted(places) == [f"{number:06}" for number in range(1, 21)]


@pytest.fixture
def bakeoff(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    """Return a function that runs `bakeoff queue …` and returns its exit code and output."""
    (place / "dvc.yaml").touch()
    (place / "conf").mkdir()
    monkeypatch.setattr(git, "experiments", list)

    def run(*overrides: str) -> tuple[int, str]:
        code, *lines = run_bakeoff(monkeypatch, capsys, "queue", *overrides)
        return code, "".join(lines)

    return run


def test_the_line_is_listed_run_and_empty(bakeoff: Bakeoff, instead: Instead) -> None:
    instead({1: "end(0)", 2: "end(3)"})
    assert bakeoff("list") == (0, "the queue is empty\n")
    add_queued(FIRST, 1, 2, overrides=("seed=1,2",)), add_queued(SECOND, 1)
    rows = ["sweep    jobs       question", "1  sweep-1  2 waiting  seed=1,2", "2  sweep-2  1 waiting  params.yaml"]
    assert [row.strip() for row in bakeoff("list")[1].splitlines()] == rows
    code, lines = bakeoff("start", "--quiet")
    assert code == 1 and "sweep-1: 1 done, 1 failed" in lines and "sweep-2: 1 done" in lines
    code, lines = bakeoff("start")
    assert code == 0 and missing_in(lines, "empty", "`bakeoff queue add lr=cosine`") == []


def test_a_sweep_is_put_back_by_its_id_unless_it_is_done(bakeoff: Bakeoff) -> None:
    manifest = sweep(sweep_job(1, state=STOPPED, max_minutes=5.0), id=FIRST)
    manifest.write()
    code, lines = bakeoff("add", "--resume", FIRST)
    assert code == 0 and lines.startswith("sweep-1: 1 in the queue") and list_resumed_sweeps() == [FIRST]
    sweep(sweep_job(1, state=DONE), id=SECOND).write()
    for arguments, parts in (((SECOND,), ("sweep-2", "done")), ((FIRST, "seed=1"), ("--resume", "overrides"))):
        code, lines = bakeoff("add", "--resume", *arguments)
        assert code == 2 and missing_in(lines, *parts) == []


def test_what_is_taken_out_is_not_run(bakeoff: Bakeoff) -> None:
    for name in (FIRST, SECOND):
        add_queued(name, 1)
    code, lines = bakeoff("remove", "sweep-2")
    assert code == 0 and missing_in(lines, "sweep-2:", "queue", "`bakeoff sweep --resume sweep-2`") == []
    assert list_queued_sweeps() == [FIRST] and [run.fingerprint for run in known_runs()] == ["sweep-1-1"]
    assert bakeoff("remove", "--all")[0] == 0 and list_queued_sweeps() == []
    for overrides in (("remove",), ("remove", "sweep-1", "--all")):
        code, lines = bakeoff(*overrides)
        assert code == 2 and missing_in(lines, "queue remove:", "ids", "--all") == []


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (("start", "-j", "0"), ("--jobs:", "1", "0")),
        (("add", "seed=1", "hydra/launcher=x"), ("queue add:", "Hydra", "hydra/launch")),
        (("add", "seed=1", "hydra.verbose=1"), ("queue add:", "Hydra", "hydra.verbose=1;")),
        (("add", "seed=1", "--trials", "3"), ("--trials:", "--search", "--search tpe")),
    ],
)
def test_what_makes_no_sense_is_refused(bakeoff: Bakeoff, overrides: tuple[str, ...], parts: tuple[str, ...]) -> None:
    code, lines = bakeoff(*overrides)
    assert code == 2 and missing_in(lines, *parts) == [] and list_queued_sweeps() == []


def test_one_at_a_time_runs_the_queue(bakeoff: Bakeoff, place: Path) -> None:
    (place / ".bakeoff/queue").mkdir(parents=True)
    with one_launcher(place / ".bakeoff/queue"):
        code, lines = bakeoff("start")
    assert code == 2 and missing_in(lines, "queue:", "another process") == []
