"""A manifest's unfinished jobs -> processes, as many at once as there is room for; what ends is said at once."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff import dvc
from bakeoff.runs.queue import dequeue, enqueue
from bakeoff.sweep import job as jobs
from bakeoff.sweep import session
from bakeoff.sweep.admission import Admission
from bakeoff.sweep.following import Following
from bakeoff.sweep.job import ALREADY_RUNS, JobFiles
from bakeoff.sweep.job_workspace import JobWorkspace
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.outcome import has_trained, is_passing, pruned, settled
from bakeoff.sweep.source import Planned, Source
from bakeoff.tracking.journal import is_held

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BEFORE_RETRY = 10.0
SECONDS_BETWEEN_REMINDERS = 2.0
LAST_LINES = 15
Say = Callable[[str], None]


@dataclass(frozen=True)
class Rules:
    side_by_side: int = 1
    follow: bool = False
    fail_fast: bool = False
    retries: int = 0  # of a job whose failure may pass


@dataclass
class Running:
    files: JobFiles
    following: Following
    child: subprocess.Popen[bytes] | None  # None: an earlier launcher's
    seat: int | None = None  # of those side by side
    given_up: str | None = None  # why
    asked: float = 0.0  # when it was asked to end
    reminded: float = 0.0

    @property
    def session(self) -> int | None:
        return session.noted(self.files.process) if self.child is None else self.child.pid

    def is_over(self) -> bool:
        if self.child is not None and self.child.poll() == ALREADY_RUNS:
            self.child = None  # that one holds the lock
        return not is_held(self.files.lock) if self.child is None else self.child.poll() is not None


class Launch:
    def __init__(
        self, manifest: Manifest, say: Say, rules: Rules, admission: Admission | None = None,
        source: Source | None = None,
    ) -> None:  # fmt: skip
        self.manifest, self._say, self._rules = manifest, say, rules
        self._source = source or Planned()
        self._admission = admission or Admission.here(rules.side_by_side)
        self._running: dict[int, Running] = {}
        self._retried: dict[int, int] = {}
        self._not_before: dict[int, float] = {}
        self._cache = Path()

    def run(self) -> Manifest:
        """To the end of all, or to Ctrl-C, which ends those that run; they can go on later."""
        self._cache = Path(dvc.answer("cache", "dir"))
        try:
            self._take_up()
            while self._running or self._waiting() or not self._is_dry():
                self._take_in()
                self._start_what_fits()
                self._look()
                self._give_up()
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except KeyboardInterrupt:
            self._say("stopped by Ctrl-C; what runs is saved")
            self._end_all()
        finally:
            for job in self.manifest.jobs:
                dequeue(job.experiment)
        return self.manifest

    # What an earlier launcher left.

    def _take_up(self) -> None:
        for job in self.manifest.jobs:
            files = self._files(job)
            following = Following(files.log, has_begun=True)
            if job.state.is_final:
                continue
            if is_held(files.lock):
                self._running[job.number] = Running(files, following, None)
                self._say(f"{self._of(job)} still runs, from before")
                self._change(job if job.state == JobState.RUNNING else job.begun(time.time()))
                continue
            if job.state == JobState.RUNNING:
                job = settled(job, files.exit_code(), time.time(), last_words=following.last_lines(LAST_LINES))
                job = self._source.settled(job)
                self._change(job)
                self._say(f"{self._of(job)} {job.state} meanwhile{_because(job)}")
            if job.state != JobState.DONE:
                self._line_up(job)

    def _line_up(self, job: SweepJob) -> None:
        dequeue(job.experiment)
        enqueue(job.experiment, job.variant, job.steps)
        self._change(job, JobState.WAITING)

    # What happens.

    def _is_called_off(self) -> bool:
        return self._rules.fail_fast and any(job.state == JobState.FAILED for job in self.manifest.jobs)

    def _is_dry(self) -> bool:
        return self._is_called_off() or self._source.is_dry(self.manifest)

    def _take_in(self) -> None:
        seats = self._admission.side_by_side - len(self._running) - len(self._waiting())
        if seats <= 0 or self._is_dry():
            return
        more = self._source.more(self.manifest, seats)
        if more:
            self.manifest = self.manifest.with_more(more)
            for job in more:
                self._take(job)

    def _take(self, job: SweepJob) -> None:
        if job.state == JobState.WAITING:
            self._line_up(job)
        else:  # it is over without having begun
            self._change(job)
            self._say(f"{self._of(job)} is {job.state}{_because(job)}: {job.name}")

    def _waiting(self) -> list[SweepJob]:
        if self._is_called_off():
            return []
        return [job for job in self.manifest.jobs if job.state == JobState.WAITING]

    def _start_what_fits(self) -> None:
        for job in self._waiting():
            running = [self.manifest.job(number) for number in self._running]
            if len(running) >= self._admission.side_by_side:
                return
            if time.monotonic() >= self._not_before.get(job.number, 0.0) and self._admission.admits(job, running):
                self._start(job)

    def _start(self, job: SweepJob) -> None:
        if not dequeue(job.experiment):
            self._change(job.over(time.time(), JobState.STOPPED, "not begun, as `bakeoff stop` asked"))
            self._say(f"{self._of(job)} is not begun, as `bakeoff stop` asked")
            return
        files = self._files(job)
        following = Following(files.log)
        self._change(job.begun(time.time()))
        taken = {running.seat for running in self._running.values()}
        seat = next(seat for seat in range(self._admission.side_by_side) if seat not in taken)
        child = jobs.start(files, self._cache, self._admission.share(seat))
        self._running[job.number] = Running(files, following, child, seat)
        self._say(f"{self._of(job)}: {job.name}  ({job.experiment})")

    def _look(self) -> None:
        for number, running in list(self._running.items()):
            over = running.is_over()
            if self._rules.follow:
                mark = f"{number}: " if self._admission.side_by_side > 1 else ""
                for line in running.following.lines(ended=over):
                    self._say(f"{mark}{line}")
            if over:
                del self._running[number]
                self._settle(self.manifest.job(number), running)

    def _give_up(self) -> None:
        """Asked as Ctrl-C asks, so that what was learned is kept; ended if it does not listen.

        DVC does not hear it while a stage runs. Once training is saved, the stages after it are asked, too.
        """
        for number, running in self._running.items():
            found, job, now = running.session, self.manifest.job(number), time.monotonic()
            if found is None:
                continue
            if running.given_up is None:
                running.given_up = self._source.gives_up(self.manifest, job)
                if running.given_up is not None:
                    running.asked = running.reminded = now
                    session.ask(found, session.INTERRUPT)
            elif now - running.asked > session.SECONDS_TO_END:
                session.ask(found, session.KILL)
            elif now - running.reminded > SECONDS_BETWEEN_REMINDERS:
                running.reminded = now
                if has_trained(job, time.time()):
                    session.ask(found, session.INTERRUPT)

    def _settle(self, job: SweepJob, running: Running) -> None:
        code = running.files.exit_code()
        if code is None and running.session is not None:  # it was killed, what it started may not have been
            session.end(running.session)
        last_words = running.following.last_lines(LAST_LINES)
        found = settled(job, code, time.time(), last_words=last_words)
        if running.given_up is not None and found.state != JobState.DONE:
            found = pruned(job, time.time(), running.given_up)
            JobWorkspace(job.experiment).remove()  # if it had to be killed
        job = self._source.settled(found)
        self._change(job)
        taken = f"{job.attempts[-1].ended - job.attempts[-1].began:.0f} s" if job.attempts[-1].ended else ""
        if job.state == JobState.DONE:
            value = "" if job.value is None else f", {job.headline} {job.value:.3f}"
            self._say(f"{self._of(job)} done in {taken}{value}")
        elif job.state == JobState.PRUNED:
            self._say(f"{self._of(job)} is given up after {taken}{_because(job)}")
        elif job.state == JobState.STOPPED:
            self._say(f"{self._of(job)} is {_why(job)}; --resume goes on")
        else:
            self._say(f"{self._of(job)} failed after {taken}{_because(job)}; the end of {_shown(running.files.log)}:")
            for line in last_words:
                self._say(f"  {line}")
            self._retry(job)

    def _retry(self, job: SweepJob) -> None:
        done = self._retried.get(job.number, 0)
        if is_passing(job) and done < self._rules.retries:
            self._retried[job.number] = done + 1
            self._not_before[job.number] = time.monotonic() + SECONDS_BEFORE_RETRY
            self._change(job, JobState.WAITING)
            self._say(f"{self._of(job)} is tried again, {done + 1} of {self._rules.retries}")

    def _end_all(self) -> None:
        sessions = [found for running in self._running.values() if (found := running.session) is not None]
        try:
            for number in sessions:
                session.ask(number, session.INTERRUPT)
            for number in sessions:
                session.end(number, asked=True)
        except KeyboardInterrupt:  # again, by somebody who will not wait
            for number in sessions:
                session.ask(number, session.KILL)
        for number, running in self._running.items():
            if running.child is not None:
                running.child.wait()
            job = settled(self.manifest.job(number), running.files.exit_code(), time.time(), interrupted=True)
            self._change(job)

    # The manifest.

    def _change(self, job: SweepJob, state: JobState | None = None) -> None:
        self.manifest = self.manifest.with_job(job if state is None else job.in_state(state))
        self.manifest.write()

    def _files(self, job: SweepJob) -> JobFiles:
        return JobFiles(self.manifest.folder, job.number)

    def _of(self, job: SweepJob) -> str:
        return f"{job.number} of {self.manifest.expected}"


def unfinished(jobs: Sequence[SweepJob]) -> list[SweepJob]:
    return [job for job in jobs if not job.state.is_final]


def _because(job: SweepJob) -> str:
    return f": {_why(job)}" if _why(job) else ""


def _why(job: SweepJob) -> str:
    return (job.attempts[-1].why if job.attempts else None) or ""


def _shown(path: Path) -> str:
    return os.path.relpath(path)
