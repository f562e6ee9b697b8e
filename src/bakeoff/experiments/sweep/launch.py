"""A manifest's unfinished jobs -> processes, as many at once as there is room for; each end is reported at once."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.experiments.runs.run_status import dequeue, enqueue, is_wanted
from bakeoff.experiments.sweep import process_group
from bakeoff.experiments.sweep.backend import Backend, LocalBackend
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_process import (
    TAKEN_AWAY,
    Following,
    Running,
    is_interrupted,
    is_passing,
    settle,
    settle_pruned,
)
from bakeoff.experiments.sweep.job_workspace import JobWorkspace
from bakeoff.experiments.sweep.resources import JobSource, Seats
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import TakenAway

SECONDS_BETWEEN_CHECKS = 0.1
SECONDS_BEFORE_RETRY = 10.0
LAST_LINES = 15
MOST_LOSSES = 10  # lost nodes under one job, which may itself be the cause
NOT_STARTED = "not started, as `bakeoff stop` asked"
NOT_BEGUN = "the launcher did not begin it"
PrintLine = Callable[[str], None]


@dataclass(frozen=True)
class LaunchOptions:
    side_by_side: int | None = 1  # None: as many as the place has room for
    follow: bool = False
    fail_fast: bool = False
    retries: int = 0  # of a job that failed for a reason that may pass
    again: bool = True  # also run jobs that failed, or that somebody stopped
    queued: bool = False  # jobs that wait keep waiting when this process ends


class Launch:
    """Runs the jobs of a sweep: `take_up`, then `check_jobs` and `start` until it `is_over`, then `close`.

    `run` does all that for one sweep. A queue does it for several side by side.
    """

    def __init__(
        self, manifest: SweepManifest, print_line: PrintLine, rules: LaunchOptions, seats: Seats | None = None,
        source: JobSource | None = None, place: Backend | None = None,
    ) -> None:  # fmt: skip
        self.manifest, self._print_line, self._rules = manifest, print_line, rules
        self._place = place or LocalBackend()
        self._seats = seats or self._place.seats(rules.side_by_side)
        self._source = source or _make_source(manifest)
        self._running: dict[int, Running] = {}
        self._retried: dict[int, int] = {}
        self._lost: dict[int, int] = {}  # by number: how often its node was lost
        self._not_before: dict[int, float] = {}
        self._cache = Path()
        self._is_called_off = False

    def run(self) -> SweepManifest:
        """Run all jobs to their end. Ctrl-C or a signal ends those that run; they can resume later."""
        try:
            self.take_up()
            while not self.is_over:
                self.check_jobs()
                self.start()
                time.sleep(SECONDS_BETWEEN_CHECKS)
        except TakenAway as taken:
            self._print_line(f"stopped by {taken.name}; what runs is saved")
            end_all([self], signal.SIGTERM)
            raise TakenAway(taken.name, f"`bakeoff sweep --resume {self.manifest.id}` resumes it") from None
        except KeyboardInterrupt:
            self._print_line("stopped by Ctrl-C; what runs is saved")
            end_all([self])
        finally:
            self.close()
        return self.manifest

    def take_up(self) -> None:
        """Find the jobs that an earlier launcher left running, settle those that ended, and queue the others."""
        self._cache = Path(dvc.answer("cache", "dir"))
        self._place.take_up(self.manifest)
        self.manifest = replace(self.manifest, place=self._place.name)
        for job in self.manifest.jobs:
            files = self._files(job)
            following = Following(files.log, has_started=True)
            if job.state.is_final:
                continue
            if (process := self._place.find(job, files)) is not None:
                self._running[job.number] = Running(files, following, process)
                self._seats.keep(job, process.gpus())
                if job.state == JobState.RUNNING or process.has_begun():
                    self._report(job, "still runs, from before")
                    self._change(job if job.state == JobState.RUNNING else job.begin(time.time()))
                else:
                    self._report(job, "still waits, from before")
                    self._queue_up(job)
                continue
            is_repeated = self._rules.again or is_interrupted(job)
            if job.state == JobState.RUNNING:
                job = settle(job, files.exit_code(), time.time(), log_end=following.last_lines(LAST_LINES))
                job = self._source.complete(job)
                self._change(job)
                self._report(job, f"{job.state} meanwhile{_format_reason(job)}")
                is_repeated = is_repeated or is_passing(job)
            if self._rules.again and not self._rules.queued:
                dequeue(job.experiment)  # this also forgets that somebody asked not to start it
            if job.state == JobState.WAITING or (is_repeated and not job.state.is_final):
                self._queue_up(job)

    @property
    def is_over(self) -> bool:
        return not self._running and not self._waiting() and self._is_dry()

    def check_jobs(self) -> None:
        """Print new lines of running jobs, settle those that have ended, and give up those that a search prunes."""
        for number, running in list(self._running.items()):
            over = running.process.is_over()
            if self.manifest.job(number).state == JobState.WAITING and running.process.has_begun():
                self._begin(self.manifest.job(number))
            if self._rules.follow:
                mark = f"{number}: " if self._seats.are_several else ""
                for line in running.following.lines(ended=over):
                    self._print_line(f"{mark}{line}")
            if over:
                del self._running[number]
                self._seats.leave(self.manifest.job(number))
                self._settle(self.manifest.job(number), running)
        for number, running in self._running.items():
            job = self.manifest.job(number)
            if job.state == JobState.WAITING:
                continue
            if running.given_up is not None:
                running.insist(job)
            elif why := self._source.gives_up(self.manifest, job):
                running.give_up(why)

    def start(self) -> None:
        """Start waiting jobs, as many as there is room for."""
        self._take_in()
        for job in self._waiting():
            if not self._seats.free:
                break
            if time.monotonic() >= self._not_before.get(job.number, 0.0) and self._seats.admits(job):
                self._start(job)

    def interrupt(self, number: int = process_group.INTERRUPT) -> list[Running]:
        """Send this signal to all running jobs, and return them."""
        for running in self._running.values():
            running.process.ask(number)
        return list(self._running.values())

    def settle_interrupted(self) -> None:
        for number, running in self._running.items():
            job = self.manifest.job(number)
            self._seats.leave(job)
            if job.state == JobState.WAITING and running.process.has_begun():
                job = self._begin(job)
            if job.state == JobState.RUNNING:
                self._change(settle(job, running.files.exit_code(), time.time(), interrupted=True))
        self._running.clear()

    def call_off(self) -> bool:
        """Start no more jobs, and let those that run finish. Return whether that is new."""
        for job in self._waiting():
            dequeue(job.experiment)
        for number, running in self._running.items():
            if self.manifest.job(number).state == JobState.WAITING:
                running.process.ask(process_group.KILL)
        is_news, self._is_called_off = not self._is_called_off, True
        return is_news

    def close(self) -> None:
        if not self._rules.queued:
            for job in self.manifest.jobs:
                dequeue(job.experiment)

    def _queue_up(self, job: SweepJob) -> None:
        lasting, longest = self._rules.queued, job.longest_seconds
        enqueue(job.experiment, job.variant, job.steps, lasting=lasting, longest_seconds=longest)
        self._change(job, JobState.WAITING)

    def _starts_no_more(self) -> bool:
        failed = self._rules.fail_fast and any(job.state == JobState.FAILED for job in self.manifest.jobs)
        return failed or self._is_called_off

    def _is_dry(self) -> bool:
        return self._starts_no_more() or self._source.is_dry(self.manifest)

    def _waiting(self) -> list[SweepJob]:
        if self._starts_no_more():
            return []
        waiting = (job for job in self.manifest.jobs if job.state == JobState.WAITING)
        return [job for job in waiting if job.number not in self._running]

    def _take_in(self) -> None:
        """Take the next jobs from the source. Some may be over without having started."""
        seats = self._seats.free - len(self._waiting())
        if seats <= 0 or self._is_dry():
            return
        more = self._source.more(self.manifest, seats)
        self.manifest = self.manifest.with_more(more)
        for job in more:
            if job.state == JobState.WAITING:
                self._queue_up(job)
            else:
                self._change(job)
                self._report(job, f"is {job.state}{_format_reason(job)}: {job.name}")

    def _start(self, job: SweepJob) -> None:
        if not is_wanted(job.experiment):
            dequeue(job.experiment)
            self._change(job.end(time.time(), JobState.STOPPED, NOT_STARTED))
            self._report(job, f"is {NOT_STARTED}")
            return
        if (why := self._place.refuses(job)) is not None:
            dequeue(job.experiment)
            self._change(job.begin(time.time()).end(time.time(), JobState.FAILED, why))
            self._report(job, f"failed: {why}")
            return
        files = self._files(job)
        following = Following(files.log)
        if not self._place.starts_later:
            job = self._begin(job)
        process = self._place.start(job, files, self._cache, self._seats)
        self._running[job.number] = Running(files, following, process)
        self._print_line(f"{job.number} of {self.manifest.expected}: {job.name}  ({job.experiment})")

    def _begin(self, job: SweepJob) -> SweepJob:
        """Note that a job has left the queue and runs, and return it."""
        dequeue(job.experiment)
        self._change(begun := job.begin(time.time()))
        return begun

    def _settle(self, job: SweepJob, running: Running) -> None:
        if job.state == JobState.WAITING:
            self._settle_not_begun(job, running)
            return
        code = running.files.exit_code()
        if code is None:
            running.process.end()
        if running.given_up is None and self._moves_elsewhere(job, running.process.lost):
            return
        log_end = running.following.last_lines(LAST_LINES)
        ended = settle(job, code, time.time(), log_end=log_end)
        if running.given_up is not None and ended.state != JobState.DONE:
            ended = settle_pruned(job, time.time(), running.given_up)
            JobWorkspace(job.experiment).remove()  # if it had to be killed
        job = self._source.complete(ended)
        self._change(job)
        last = job.attempts[-1]
        taken = "" if last.ended is None else f"{last.ended - last.began:.0f} s"
        match job.state:
            case JobState.DONE:
                self._report(job, f"done in {taken}{'' if job.value is None else f', {job.metric}'}")
            case JobState.PRUNED:
                self._report(job, f"is given up after {taken}{_format_reason(job)}")
            case JobState.STOPPED:
                self._report(job, f"is {job.why}; --resume takes it up again")
            case _:
                log = os.path.relpath(running.files.log)
                self._report(job, f"failed after {taken}{_format_reason(job)}; the end of {log}:")
                for line in log_end:
                    self._print_line(f"  {line}")
                self._retry(job)

    def _settle_not_begun(self, job: SweepJob, running: Running) -> None:
        """Settle a job that its backend did not start."""
        if self._is_called_off:
            return
        state, why = JobState.STOPPED, NOT_STARTED
        if job.why == TAKEN_AWAY:
            why = TAKEN_AWAY
        elif is_wanted(job.experiment):
            state, why = JobState.FAILED, running.process.failure() or NOT_BEGUN
        dequeue(job.experiment)
        self._change(job.end(time.time(), state, why))
        self._report(job, f"{state}: {why}")
        self._retry(self.manifest.job(job.number))

    def _moves_elsewhere(self, job: SweepJob, why: str | None) -> bool:
        """Let a job wait again if it was lost together with its node. Return whether it was."""
        lost = self._lost.get(job.number, 0)
        if why is None or lost >= MOST_LOSSES:
            return False
        self._lost[job.number] = lost + (not self._place.starts_later)  # a scheduler itself knows when it is enough
        self._queue_up(job.end(time.time(), JobState.STOPPED, why))
        where = "its launcher starts it again" if self._place.starts_later else "it resumes elsewhere"
        self._report(job, f"is {why}; {where}")
        return True

    def _retry(self, job: SweepJob) -> None:
        done = self._retried.get(job.number, 0)
        if is_passing(job) and done < self._rules.retries:
            self._retried[job.number] = done + 1
            self._not_before[job.number] = time.monotonic() + SECONDS_BEFORE_RETRY
            self._change(job, JobState.WAITING)
            self._report(job, f"is tried again, {done + 1} of {self._rules.retries}")

    def _change(self, job: SweepJob, state: JobState | None = None) -> None:
        self.manifest = self.manifest.with_job(job if state is None else job.in_state(state))
        self.manifest.write()

    def _files(self, job: SweepJob) -> JobFiles:
        return JobFiles(self.manifest.folder, job.number)

    def _report(self, job: SweepJob, what: str) -> None:
        self._print_line(f"{job.number} of {self.manifest.expected} {what}")


def end_all(launches: Sequence[Launch], number: int = process_group.INTERRUPT) -> None:
    """End all running jobs. The signal goes to all of them at once, so that none waits for another."""
    try:
        asked = [running for launch in launches for running in launch.interrupt(number)]
        for running in sorted(asked, key=lambda running: not running.process.has_begun()):
            running.process.end(asked=True)
    except KeyboardInterrupt:  # a second Ctrl-C, of somebody who does not wait
        for running in [one for launch in launches for one in launch.interrupt()]:
            running.process.ask(process_group.KILL)
    for launch in launches:
        launch.settle_interrupted()


def _make_source(manifest: SweepManifest) -> JobSource:
    """Return where the jobs of a sweep come from: its manifest, or a search."""
    if manifest.search is None:
        return JobSource()
    from bakeoff.experiments.sweep.search.searching import Searching

    return Searching(manifest)


def _format_reason(job: SweepJob) -> str:
    return f": {job.why}" if job.why else ""
