"""A launcher starts jobs that fit, reports ends, and takes up jobs of an earlier one. Ctrl-C ends running jobs."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.backend import JobProcess, LocalBackend
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_workspace import JobWorkspace
from bakeoff.experiments.sweep.launch import Launch, LaunchOptions
from bakeoff.experiments.sweep.resources import JobSource, Seats
from bakeoff.experiments.sweep.sweep_manifest import JobAttempt, JobState, SweepJob, SweepManifest, load_manifest
from bakeoff.foundation.errors import TakenAway
from bakeoff.foundation.workspace import STOP_FILE
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, states, sweep, sweep_job
from support.messages import missing_in

pytestmark = pytest.mark.usefixtures("place")

DONE, FAILED, STOPPED, WAITING = JobState.DONE, JobState.FAILED, JobState.STOPPED, JobState.WAITING
Instead = Callable[[Mapping[int, str]], None]


pytestmark = pytest.mark.usefixtures("place")


def run_launch(
    manifest: SweepManifest, lines: list[str] | None = None, rules: LaunchOptions | None = None
) -> SweepManifest:
    manifest.write()
    return Launch(manifest, [].append if lines is None else lines.append, rules or LaunchOptions(), Seats(1, 100)).run()


def test_a_job_that_fails_is_reported_at_once_and_the_others_continue(instead: Instead, place: Path) -> None:
    instead({1: "for n in range(99): print('line', n)\nend(3)", 2: "print('fine')\nend(0)"})
    lines: list[str] = []
    end = run_launch(sweep(sweep_job(1), sweep_job(2)), lines)
    assert states(end) == states(load_manifest(end.folder)) == [FAILED, DONE]
    assert end.job(1).attempts[-1].why == "ended with code 3"
    log = f".bakeoff/sweeps/{ID}/1.log"
    [at] = [at for at, line in enumerate(lines) if line.endswith(f"s: ended with code 3; the end of {log}:")]
    assert lines[at + 1 : at + 16] == [f"  line {number}" for number in range(84, 99)]
    assert lines[at + 16] == f"2 of 2: seed=2  ({ID}-2)"
    assert "fine" not in lines
    assert (place / f".bakeoff/sweeps/{ID}/2.log").read_text(encoding="utf-8") == "fine\n"


def test_with_fail_fast_no_other_job_begins(instead: Instead) -> None:
    instead({1: "end(3)"})
    end = run_launch(sweep(sweep_job(1), sweep_job(2)), rules=LaunchOptions(fail_fast=True))
    assert states(end) == [FAILED, WAITING]


def test_only_failures_of_the_passing_kind_are_tried_again(
    instead: Instead, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr("bakeoff.experiments.sweep.launch.SECONDS_BEFORE_RETRY", 0.0)
    killed_twice = "open('tries', 'a').write('x')\nif len(open('tries').read()) < 3: os.kill(os.getpid(), 9)\nend(0)"
    instead({1: killed_twice, 2: "open('other', 'a').write('x')\nend(3)"})
    end = run_launch(sweep(sweep_job(1), sweep_job(2)), rules=LaunchOptions(retries=2))
    assert states(end) == [DONE, FAILED]
    assert [(attempt.state, attempt.why) for attempt in end.job(1).attempts] == [
        (FAILED, "killed"), (FAILED, "killed"), (DONE, None)
    ]  # fmt: skip
    assert (place / "other").read_text() == "x"


def test_jobs_side_by_side_share_memory_and_cores(instead: Instead, place: Path) -> None:
    """At most three jobs run, with 100 bytes together. The third is too large beside the first two."""
    code = (
        "open(f'{n}.began', 'w').write(os.environ['BAKEOFF_CORES'])\n"
        "until = time.time() + 20\nwhile not os.path.exists('go') and time.time() < until: time.sleep(0.02)\nend(0)"
    )
    instead({number: f"n = {number}\n{code}" for number in (1, 2, 3)})
    seen: list[list[str]] = []

    def print_line(line: str) -> None:
        if line.startswith("2 of 3: "):
            while len(began := sorted(path.name for path in place.glob("*.began"))) < 2:
                time.sleep(0.02)
            time.sleep(0.3)
            seen.append(began)
            (place / "go").touch()

    manifest = sweep(*(sweep_job(number, memory_bytes=40) for number in (1, 2, 3)))
    manifest.write()
    end = Launch(manifest, print_line, LaunchOptions(side_by_side=3), Seats(3, 100, (0, 1, 2, 3, 4, 5))).run()
    assert states(end) == [DONE] * 3
    assert seen == [["1.began", "2.began"]]
    assert [(place / f"{number}.began").read_text() for number in (1, 2)] == ["0,1", "2,3"]
    assert (place / "3.began").read_text() in ("0,1", "2,3")  # of whichever ended first


def test_after_ctrl_c_nothing_more_starts(instead: Instead, place: Path) -> None:
    waits = """
        try: print("ready", flush=True); time.sleep(60)
        except KeyboardInterrupt: print("saved")
        end(130)
    """
    instead({1: "end(0)", 2: waits})

    def print_line(line: str) -> None:
        if line == "ready":
            raise KeyboardInterrupt

    manifest = sweep(*map(sweep_job, (1, 2, 3)))
    manifest.write()
    end = Launch(manifest, print_line, LaunchOptions(follow=True), Seats(1, 100)).run()
    assert states(end) == [DONE, STOPPED, WAITING]
    assert end.job(2).attempts[-1].why == "stopped by Ctrl-C"
    assert (place / f".bakeoff/sweeps/{ID}/2.log").read_text(encoding="utf-8") == "ready\nsaved\n"


def test_what_an_earlier_launcher_left_is_waited_for_counted_or_run(instead: Instead, place: Path) -> None:
    """One of four jobs is done, one still runs, one ended meanwhile, one was killed."""
    instead({4: "end(0)"})
    running = (JobAttempt(1.0),)
    manifest = sweep(
        sweep_job(1, state=DONE),
        *(sweep_job(number, state=JobState.RUNNING, attempts=running) for number in (2, 3, 4)),
    )
    manifest.write()
    for number in (2, 3):
        (manifest.folder / f"{number}.outcome.json").write_text('{"code": 0, "ended": 2.0}')
    holds = "import sys, time, filelock\nwith filelock.FileLock(sys.argv[1]): print(1, flush=True), time.sleep(0.5)"
    lock = str(manifest.folder / "2.lock")
    held = subprocess.Popen([sys.executable, "-c", holds, lock], stdout=subprocess.PIPE)
    assert held.stdout and held.stdout.readline()
    lines: list[str] = []
    end = run_launch(manifest, lines)
    assert states(end) == [DONE] * 4
    assert [len(job.attempts) for job in end.jobs] == [0, 1, 1, 2]
    assert lines[:3] == ["2 of 4 still runs, from before", "3 of 4 done meanwhile", "4 of 4 failed meanwhile: killed"]
    held.wait()
    held.stdout.close()


def test_jobs_whose_turn_has_not_come_are_queued_and_can_be_taken_off(instead: Instead, place: Path) -> None:
    instead({1: "print('=', flush=True)\nend(0)", 3: "print('===', flush=True)\nend(0)"})
    queued: list[list[tuple[str, str]]] = []

    def print_line(line: str) -> None:
        if line.startswith("="):
            runs = known_runs()
            queued.append([(run.fingerprint[-2:], run.state) for run in runs])
            if line == "=":
                (next(run for run in runs if run.fingerprint.endswith("-2")).folder / STOP_FILE).touch()

    manifest = sweep(*map(sweep_job, (1, 2, 3)))
    manifest.write()
    end = Launch(manifest, print_line, LaunchOptions(follow=True), Seats(1, 100)).run()
    assert states(end) == [DONE, STOPPED, DONE]
    assert [sorted(names) for names in queued] == [[("-2", "QUEUED"), ("-3", "QUEUED")], []]
    assert list((place / ".bakeoff/queued").iterdir()) == []


class OneByOne(JobSource):
    """Gives the next job once there is room for it, and gives up the second as soon as it has started."""

    def __init__(self, last: int) -> None:
        self._last, self.seats = last, list[int]()

    def more(self, manifest: SweepManifest, seats: int) -> list[SweepJob]:
        self.seats.append(seats)
        return [sweep_job(len(manifest.jobs) + 1)]

    def is_dry(self, manifest: SweepManifest) -> bool:
        return len(manifest.jobs) == self._last

    def gives_up(self, manifest: SweepManifest, job: SweepJob) -> str | None:
        return "worse than others" if job.number == 2 and Path("there").exists() else None


def test_jobs_come_while_others_run_and_one_may_be_given_up(instead: Instead) -> None:
    waits = """
        try: open("there", "w").close(); time.sleep(60)
        except KeyboardInterrupt: print("saved", flush=True)
        end(130)
    """
    instead({1: "end(0)", 2: waits, 3: "end(0)"})
    manifest, lines, source = sweep(), list[str](), OneByOne(3)
    manifest.write()
    end = Launch(manifest, lines.append, LaunchOptions(follow=True), Seats(1, 100), source).run()
    assert states(end) == states(load_manifest(end.folder)) == [DONE, JobState.PRUNED, DONE]
    assert end.job(2).attempts[-1].why == "worse than others"
    assert "saved" in lines and any(
        line.endswith("s: worse than others") and "given up after" in line for line in lines
    )
    assert source.seats == [1, 1, 1]
    assert run_launch(end).jobs == end.jobs  # a job that was given up is not taken up again


def test_of_one_that_is_given_up_the_stages_after_training_are_ended_too(
    instead: Instead, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVC ignores the signal and continues with the next stage, which takes a minute here."""
    monkeypatch.setattr("bakeoff.experiments.sweep.job_process.SECONDS_BETWEEN_REMINDERS", 0.5)
    next_stage = """
        try: open("there", "w").close(); time.sleep(60)
        except KeyboardInterrupt: pass
        try: open("evaluates", "w").close(); time.sleep(60)
        except KeyboardInterrupt: end(1)
    """
    instead({1: "end(0)", 2: next_stage})
    (JobWorkspace(f"{ID}-2")._clone).mkdir(parents=True)
    manifest = sweep()
    manifest.write()

    def print_line(line: str) -> None:
        if line.startswith("2 of 2: "):
            made(place / ".bakeoff/runs", "ab12", State.STOPPED, experiment=f"{ID}-2", started=4e9, ago=9)

    end = Launch(manifest, print_line, LaunchOptions(), Seats(1, 100), OneByOne(2)).run()
    assert states(end) == [DONE, JobState.PRUNED] and end.job(2).fingerprint == "ab12"
    assert (place / "evaluates").exists() and not JobWorkspace(f"{ID}-2")._clone.exists()


def test_after_a_failure_that_ends_all_none_comes_any_more(instead: Instead) -> None:
    instead({1: "end(3)"})
    manifest = sweep()
    manifest.write()
    assert states(Launch(manifest, [].append, LaunchOptions(fail_fast=True), Seats(1, 100), OneByOne(2)).run()) == [
        FAILED
    ]


def test_a_queue_dies_with_its_sweep(place: Path) -> None:
    made(place / ".bakeoff/queued", "sweep-1-2", State.QUEUED)
    made(place / ".bakeoff/queued", "sweep-1-3", State.QUEUED, process=NOBODY)
    assert [run.fingerprint for run in known_runs()] == ["sweep-1-2"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_when_the_machine_is_taken_away_jobs_get_sigterm_and_can_be_resumed(
    instead: Instead, monkeypatch: pytest.MonkeyPatch
) -> None:
    listens = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: end(75))\n"
    instead({1: f"{listens}open('began', 'w').close()\ntime.sleep(60)"})
    check_jobs = Launch.check_jobs

    def check_or_leave(launch: Launch) -> None:
        if Path("began").exists():
            raise TakenAway("SIGUSR2")
        check_jobs(launch)

    monkeypatch.setattr(Launch, "check_jobs", check_or_leave)
    manifest, lines = sweep(sweep_job(1), sweep_job(2)), list[str]()
    with pytest.raises(TakenAway, match=rf"^stopped by SIGUSR2; `bakeoff sweep --resume {ID}` resumes it$"):
        run_launch(manifest, lines)
    end = load_manifest(manifest.folder)
    assert states(end) == [STOPPED, WAITING] and missing_in(lines[-1], "SIGUSR2", "saved") == []
    assert "taken away" in (end.job(1).why or "")
    monkeypatch.setattr(Launch, "check_jobs", check_jobs)
    instead({1: "end(0)", 2: "end(0)"})
    assert states(run_launch(end)) == [DONE, DONE]


class Shaky(LocalBackend):
    """A place that loses the node of a job in its first `losses` attempts."""

    name = "shaky"

    def __init__(self, losses: int) -> None:
        self.losses = losses

    def refuses(self, job: SweepJob) -> str | None:
        return "needs 9 CPUs" if job.number == 2 else None

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        process = super().start(job, files, cache, seats)
        process.lost = "its node was lost" if len(job.attempts) <= self.losses else None
        return process


def test_a_job_whose_node_was_lost_resumes_elsewhere_without_a_retry(instead: Instead) -> None:
    instead({1: "end(0)"})
    manifest, lines = sweep(sweep_job(1), sweep_job(2)), list[str]()
    manifest.write()
    end = Launch(manifest, lines.append, LaunchOptions(), Seats(1, 100), place=Shaky(2)).run()
    assert states(end) == [DONE, FAILED] and end.place == load_manifest(end.folder).place == "shaky"
    assert [(attempt.state, attempt.why) for attempt in end.job(1).attempts] == [
        (STOPPED, "its node was lost"), (STOPPED, "its node was lost"), (DONE, None)
    ]  # fmt: skip
    assert sum(missing_in(line, "1 of 2", "its node was lost", "elsewhere") == [] for line in lines) == 2
    assert end.job(2).why == "needs 9 CPUs"


def test_a_job_that_ends_every_node_fails_in_the_end(instead: Instead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.experiments.sweep.launch.MOST_LOSSES", 2)
    instead({1: "os.kill(os.getpid(), 9)"})
    manifest = sweep(sweep_job(1))
    manifest.write()
    end = Launch(manifest, [].append, LaunchOptions(), Seats(1, 100), place=Shaky(9)).run()
    assert states(end) == [FAILED] and len(end.job(1).attempts) == 3
