"""A manifest's unfinished jobs -> processes, as many at once as there is room for; what ends is reported at once."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff import dvc
from bakeoff.errors import TakenAway
from bakeoff.runs.status import dequeue, enqueue, is_wanted
from bakeoff.sweep import session
from bakeoff.sweep.admission import Seats, Source
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.job_workspace import JobWorkspace
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.place import Place, ThisMachine
from bakeoff.sweep.running import Following, Running, is_interrupted, is_passing, settle, settle_pruned

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BEFORE_RETRY = 10.0
LAST_LINES = 15
MOST_LOSSES = 10  # of nodes under one job, which may be what ends them
NOT_BEGUN = "not begun, as `bakeoff stop` asked"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Rules:
    side_by_side: int | None = 1  # None: as many as the place has room for
    follow: bool = False
    fail_fast: bool = False
    retries: int = 0  # of a job whose failure may pass
    again: bool = True  # also jobs that failed, or that somebody stopped
    queued: bool = False  # what waits goes on waiting when this process ends


class Launch:
    """Whoever runs it, alone or beside others: `take_up`, then `look` and `start` until it `is_over`, then `close`."""

    def __init__(
        self, manifest: Manifest, say: Say, rules: Rules, seats: Seats | None = None, source: Source | None = None,
        place: Place | None = None,
    ) -> None:  # fmt: skip
        self.manifest, self._say, self._rules = manifest, say, rules
        self._place = place or ThisMachine()
        self._seats = seats or self._place.seats(rules.side_by_side)
        self._source = source or Source()
        self._running: dict[int, Running] = {}
        self._retried: dict[int, int] = {}
        self._lost: dict[int, int] = {}  # by number: how often its node was lost
        self._not_before: dict[int, float] = {}
        self._cache = Path()
        self._is_called_off = False

    def run(self) -> Manifest:
        """To the end of all, or to Ctrl-C or a signal, which ends those that run; they can go on later."""
        try:
            self.take_up()
            while not self.is_over:
                self.look()
                self.start()
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except TakenAway as taken:
            self._say(f"stopped by {taken.name}; what runs is saved")
            end_all([self], signal.SIGTERM)
            raise TakenAway(taken.name, f"`bakeoff sweep --resume {self.manifest.id}` goes on") from None
        except KeyboardInterrupt:
            self._say("stopped by Ctrl-C; what runs is saved")
            end_all([self])
        finally:
            self.close()
        return self.manifest

    def take_up(self) -> None:
        """Take up what an earlier launcher left."""
        self._cache = Path(dvc.answer("cache", "dir"))
        self._place.take_up(self.manifest)
        self.manifest = replace(self.manifest, place=self._place.name)
        for job in self.manifest.jobs:
            files = self._files(job)
            following = Following(files.log, has_begun=True)
            if job.state.is_final:
                continue
            if (process := self._place.find(job, files)) is not None:
                self._running[job.number] = Running(files, following, process)
                self._seats.keep(job, process.gpus())
                self._tell(job, "still runs, from before")
                self._change(job if job.state == JobState.RUNNING else job.begin(time.time()))
                continue
            goes_again = self._rules.again or is_interrupted(job)
            if job.state == JobState.RUNNING:
                job = settle(job, files.exit_code(), time.time(), last_words=following.last_lines(LAST_LINES))
                job = self._source.complete(job)
                self._change(job)
                self._tell(job, f"{job.state} meanwhile{_because(job)}")
                goes_again = goes_again or is_passing(job)
            if self._rules.again:
                dequeue(job.experiment)  # and with it, that somebody asked not to begin it
            if job.state == JobState.WAITING or (goes_again and not job.state.is_final):
                self._line_up(job)

    @property
    def is_over(self) -> bool:
        return not self._running and not self._waiting() and self._is_dry()

    def look(self) -> None:
        """Show what was said, settle what has ended."""
        for number, running in list(self._running.items()):
            over = running.process.is_over()
            if self._rules.follow:
                mark = f"{number}: " if self._seats.are_several else ""
                for line in running.following.lines(ended=over):
                    self._say(f"{mark}{line}")
            if over:
                del self._running[number]
                self._seats.leave(self.manifest.job(number))
                self._settle(self.manifest.job(number), running)
        for number, running in self._running.items():
            job = self.manifest.job(number)
            if running.given_up is not None:
                running.insist(job)
            elif why := self._source.gives_up(self.manifest, job):
                running.give_up(why)

    def start(self) -> None:
        self._take_in()
        for job in self._waiting():
            if not self._seats.free:
                break
            if time.monotonic() >= self._not_before.get(job.number, 0.0) and self._seats.admits(job):
                self._start(job)

    def interrupt(self, number: int = session.INTERRUPT) -> list[Running]:
        """Ask those that run to end, by this signal; return them."""
        for running in self._running.values():
            running.process.ask(number)
        return list(self._running.values())

    def settle_interrupted(self) -> None:
        for number, running in self._running.items():
            job = self.manifest.job(number)
            self._seats.leave(job)
            self._change(settle(job, running.files.exit_code(), time.time(), interrupted=True))
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

    def _line_up(self, job: SweepJob) -> None:
        lasting, longest = self._rules.queued, job.longest_seconds
        enqueue(job.experiment, job.variant, job.steps, lasting=lasting, longest_seconds=longest)
        self._change(job, JobState.WAITING)

    def _begins_no_more(self) -> bool:
        failed = self._rules.fail_fast and any(job.state == JobState.FAILED for job in self.manifest.jobs)
        return failed or self._is_called_off

    def _is_dry(self) -> bool:
        return self._begins_no_more() or self._source.is_dry(self.manifest)

    def _waiting(self) -> list[SweepJob]:
        if self._begins_no_more():
            return []
        return [job for job in self.manifest.jobs if job.state == JobState.WAITING]

    def _take_in(self) -> None:
        """Take what comes next from the source; some of it may be over without having begun."""
        seats = self._seats.free - len(self._waiting())
        if seats <= 0 or self._is_dry():
            return
        more = self._source.more(self.manifest, seats)
        self.manifest = self.manifest.with_more(more)
        for job in more:
            if job.state == JobState.WAITING:
                self._line_up(job)
            else:
                self._change(job)
                self._tell(job, f"is {job.state}{_because(job)}: {job.name}")

    def _start(self, job: SweepJob) -> None:
        wanted = is_wanted(job.experiment)
        dequeue(job.experiment)
        if not wanted:
            self._change(job.end(time.time(), JobState.STOPPED, NOT_BEGUN))
            self._tell(job, f"is {NOT_BEGUN}")
            return
        if (why := self._place.refuses(job)) is not None:
            self._change(job.begin(time.time()).end(time.time(), JobState.FAILED, why))
            self._tell(job, f"failed: {why}")
            return
        files = self._files(job)
        following = Following(files.log)
        self._change(job := job.begin(time.time()))
        process = self._place.start(job, files, self._cache, self._seats)
        self._running[job.number] = Running(files, following, process)
        self._say(f"{job.number} of {self.manifest.expected}: {job.name}  ({job.experiment})")

    def _settle(self, job: SweepJob, running: Running) -> None:
        code = running.files.exit_code()
        if code is None:
            running.process.end()
        if running.given_up is None and self._begins_elsewhere(job, running.process.lost):
            return
        last_words = running.following.last_lines(LAST_LINES)
        found = settle(job, code, time.time(), last_words=last_words)
        if running.given_up is not None and found.state != JobState.DONE:
            found = settle_pruned(job, time.time(), running.given_up)
            JobWorkspace(job.experiment).remove()  # if it had to be killed
        job = self._source.complete(found)
        self._change(job)
        last = job.attempts[-1]
        taken = "" if last.ended is None else f"{last.ended - last.began:.0f} s"
        match job.state:
            case JobState.DONE:
                self._tell(job, f"done in {taken}{'' if job.value is None else f', {job.metric}'}")
            case JobState.PRUNED:
                self._tell(job, f"is given up after {taken}{_because(job)}")
            case JobState.STOPPED:
                self._tell(job, f"is {job.why}; --resume goes on")
            case _:
                log = os.path.relpath(running.files.log)
                self._tell(job, f"failed after {taken}{_because(job)}; the end of {log}:")
                for line in last_words:
                    self._say(f"  {line}")
                self._retry(job)

    def _begins_elsewhere(self, job: SweepJob, why: str | None) -> bool:
        """Whether a job waits again, for it was lost together with its node."""
        lost = self._lost.get(job.number, 0)
        if why is None or lost >= MOST_LOSSES:
            return False
        self._lost[job.number] = lost + 1
        self._change(job.end(time.time(), JobState.STOPPED, why).in_state(JobState.WAITING))
        self._tell(job, f"is {why}; it goes on elsewhere")
        return True

    def _retry(self, job: SweepJob) -> None:
        done = self._retried.get(job.number, 0)
        if is_passing(job) and done < self._rules.retries:
            self._retried[job.number] = done + 1
            self._not_before[job.number] = time.monotonic() + SECONDS_BEFORE_RETRY
            self._change(job, JobState.WAITING)
            self._tell(job, f"is tried again, {done + 1} of {self._rules.retries}")

    def _change(self, job: SweepJob, state: JobState | None = None) -> None:
        self.manifest = self.manifest.with_job(job if state is None else job.in_state(state))
        self.manifest.write()

    def _files(self, job: SweepJob) -> JobFiles:
        return JobFiles(self.manifest.folder, job.number)

    def _tell(self, job: SweepJob, what: str) -> None:
        self._say(f"{job.number} of {self.manifest.expected} {what}")


def end_all(launches: Sequence[Launch], number: int = session.INTERRUPT) -> None:
    """All at once by this signal, so that none waits for another."""
    try:
        for running in [one for launch in launches for one in launch.interrupt(number)]:
            running.process.end(asked=True)
    except KeyboardInterrupt:  # again, by somebody who will not wait
        for running in [one for launch in launches for one in launch.interrupt()]:
            running.process.ask(session.KILL)
    for launch in launches:
        launch.settle_interrupted()


def launch_of(
    manifest: Manifest, say: Say, rules: Rules, seats: Seats | None = None, place: Place | None = None
) -> Launch:
    """Return the launch that fits a sweep: where its jobs come from."""
    if manifest.search is None:
        return Launch(manifest, say, rules, seats, place=place)
    from bakeoff.sweep.search.searching import Searching

    return Launch(manifest, say, rules, seats, Searching(manifest), place)


def _because(job: SweepJob) -> str:
    return f": {job.why}" if job.why else ""
