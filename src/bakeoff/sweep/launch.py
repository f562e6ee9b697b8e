"""A manifest's unfinished jobs -> processes, as many at once as there is room for; what ends is said at once."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bakeoff import dvc
from bakeoff.runs.status import dequeue, enqueue, is_wanted
from bakeoff.sweep import job as jobs
from bakeoff.sweep import session
from bakeoff.sweep.admission import Admission, Seats
from bakeoff.sweep.following import Following
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.job_workspace import JobWorkspace
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.outcome import has_trained, is_interrupted, is_passing, pruned, settled
from bakeoff.sweep.running import Running
from bakeoff.sweep.source import Planned, Source
from bakeoff.tracking.journal import is_held

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BEFORE_RETRY = 10.0
LAST_LINES = 15
NOT_BEGUN = "not begun, as `bakeoff stop` asked"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Rules:
    side_by_side: int = 1
    follow: bool = False
    fail_fast: bool = False
    retries: int = 0  # of a job whose failure may pass
    again: bool = True  # also jobs that failed, or that somebody stopped
    queued: bool = False  # what waits goes on waiting when this process ends


class Launch:
    def __init__(
        self, manifest: Manifest, say: Say, rules: Rules, seats: Seats | None = None, source: Source | None = None
    ) -> None:
        self.manifest, self._say, self._rules = manifest, say, rules
        self._seats = seats or Seats(Admission.here(rules.side_by_side))
        self._source = source or Planned()
        self._running: dict[int, Running] = {}
        self._retried: dict[int, int] = {}
        self._not_before: dict[int, float] = {}
        self._cache = Path()
        self._is_called_off = False

    def run(self) -> Manifest:
        """To the end of all, or to Ctrl-C, which ends those that run; they can go on later."""
        try:
            self.take_up()
            while not self.is_over:
                self.look()
                self.start()
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except KeyboardInterrupt:
            self._say("stopped by Ctrl-C; what runs is saved")
            end_all([self])
        finally:
            self.close()
        return self.manifest

    # By whoever runs it, alone or beside others.

    def take_up(self) -> None:
        """What an earlier launcher left."""
        self._cache = Path(dvc.answer("cache", "dir"))
        for job in self.manifest.jobs:
            files = self._files(job)
            following = Following(files.log, has_begun=True)
            if job.state.is_final:
                continue
            if is_held(files.lock):
                self._running[job.number] = Running(files, following, None)
                self._seats.keep(job)
                self._say(f"{self._of(job)} still runs, from before")
                self._change(job if job.state == JobState.RUNNING else job.begun(time.time()))
                continue
            goes_again = self._rules.again or is_interrupted(job)
            if job.state == JobState.RUNNING:
                job = settled(job, files.exit_code(), time.time(), last_words=following.last_lines(LAST_LINES))
                job = self._source.settled(job)
                self._change(job)
                self._say(f"{self._of(job)} {job.state} meanwhile{_because(job)}")
                goes_again = goes_again or is_passing(job)
            if self._rules.again:
                dequeue(job.experiment)  # and with it, that somebody asked not to begin it
            if job.state == JobState.WAITING or (goes_again and not job.state.is_final):
                self._line_up(job)

    @property
    def is_over(self) -> bool:
        return not self._running and not self._waiting() and self._is_dry()

    def look(self) -> None:
        """What was said, what has ended."""
        for number, running in list(self._running.items()):
            over = running.is_over()
            if self._rules.follow:
                mark = f"{number}: " if self._seats.are_several else ""
                for line in running.following.lines(ended=over):
                    self._say(f"{mark}{line}")
            if over:
                del self._running[number]
                self._seats.leave(self.manifest.job(number))
                self._settle(self.manifest.job(number), running)
        self._give_up()

    def start(self) -> None:
        """What there is room for."""
        self._take_in()
        for job in self._waiting():
            if not self._seats.free:
                break
            if time.monotonic() >= self._not_before.get(job.number, 0.0) and self._seats.admits(job):
                self._start(job)

    def interrupt(self) -> list[Running]:
        """Asked to end, as Ctrl-C asks; those that were running."""
        for running in self._running.values():
            running.ask(session.INTERRUPT)
        return list(self._running.values())

    def settle_interrupted(self) -> None:
        for number, running in self._running.items():
            if running.child is not None:
                running.child.wait()
            job = self.manifest.job(number)
            self._seats.leave(job)
            self._change(settled(job, running.files.exit_code(), time.time(), interrupted=True))
        self._running.clear()

    def call_off(self) -> bool:
        """Nothing more begins; what runs comes to its end. Whether that is news."""
        for job in self._waiting():
            dequeue(job.experiment)
        is_news, self._is_called_off = not self._is_called_off, True
        return is_news

    def close(self) -> None:
        if not self._rules.queued:
            for job in self.manifest.jobs:
                dequeue(job.experiment)

    # What happens.

    def _line_up(self, job: SweepJob) -> None:
        enqueue(job.experiment, job.variant, job.steps, lasting=self._rules.queued)
        self._change(job, JobState.WAITING)

    def _begins_no_more(self) -> bool:
        failed = self._rules.fail_fast and any(job.state == JobState.FAILED for job in self.manifest.jobs)
        return failed or self._is_called_off

    def _is_dry(self) -> bool:
        return self._begins_no_more() or self._source.is_dry(self.manifest)

    def _take_in(self) -> None:
        seats = self._seats.free - len(self._waiting())
        if seats <= 0 or self._is_dry():
            return
        if more := self._source.more(self.manifest, seats):
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
        if self._begins_no_more():
            return []
        return [job for job in self.manifest.jobs if job.state == JobState.WAITING]

    def _start(self, job: SweepJob) -> None:
        wanted = is_wanted(job.experiment)
        dequeue(job.experiment)
        if not wanted:
            self._change(job.over(time.time(), JobState.STOPPED, NOT_BEGUN))
            self._say(f"{self._of(job)} is {NOT_BEGUN}")
            return
        files = self._files(job)
        following = Following(files.log)
        self._change(job.begun(time.time()))
        child = jobs.start(files, self._cache, self._seats.take(job))
        self._running[job.number] = Running(files, following, child)
        self._say(f"{self._of(job)}: {job.name}  ({job.experiment})")

    def _give_up(self) -> None:
        for number, running in self._running.items():
            job = self.manifest.job(number)
            if running.given_up is not None:
                running.insist(partial(has_trained, job))
            elif why := self._source.gives_up(self.manifest, job):
                running.give_up(why)

    def _settle(self, job: SweepJob, running: Running) -> None:
        code = running.files.exit_code()
        if code is None:
            running.clear()
        last_words = running.following.last_lines(LAST_LINES)
        found = settled(job, code, time.time(), last_words=last_words)
        if running.given_up is not None and found.state != JobState.DONE:
            found = pruned(job, time.time(), running.given_up)
            JobWorkspace(job.experiment).remove()  # if it had to be killed
        job = self._source.settled(found)
        self._change(job)
        taken = f"{job.attempts[-1].ended - job.attempts[-1].began:.0f} s" if job.attempts[-1].ended else ""
        match job.state:
            case JobState.DONE:
                value = "" if job.value is None else f", {job.metric}"
                self._say(f"{self._of(job)} done in {taken}{value}")
            case JobState.PRUNED:
                self._say(f"{self._of(job)} is given up after {taken}{_because(job)}")
            case JobState.STOPPED:
                self._say(f"{self._of(job)} is {job.why}; --resume goes on")
            case _:
                log = os.path.relpath(running.files.log)
                self._say(f"{self._of(job)} failed after {taken}{_because(job)}; the end of {log}:")
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

    # The manifest.

    def _change(self, job: SweepJob, state: JobState | None = None) -> None:
        self.manifest = self.manifest.with_job(job if state is None else job.in_state(state))
        self.manifest.write()

    def _files(self, job: SweepJob) -> JobFiles:
        return JobFiles(self.manifest.folder, job.number)

    def _of(self, job: SweepJob) -> str:
        return f"{job.number} of {self.manifest.expected}"


def end_all(launches: Sequence[Launch]) -> None:
    """All at once, so that none waits for another."""
    try:
        for running in [one for launch in launches for one in launch.interrupt()]:
            running.end()
    except KeyboardInterrupt:  # again, by somebody who will not wait
        for running in [one for launch in launches for one in launch.interrupt()]:
            running.ask(session.KILL)
    for launch in launches:
        launch.settle_interrupted()


def unfinished(jobs: Sequence[SweepJob]) -> list[SweepJob]:
    return [job for job in jobs if not job.state.is_final]


def _because(job: SweepJob) -> str:
    return f": {job.why}" if job.why else ""
