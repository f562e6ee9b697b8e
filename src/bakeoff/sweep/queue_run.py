"""The sweeps in line -> their jobs, so many side by side: where one sweep leaves room, the next in line begins."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from bakeoff import workspace
from bakeoff.errors import WorkspaceError
from bakeoff.runs.status import dequeue, enqueue
from bakeoff.sweep import line
from bakeoff.sweep.admission import Admission, Seats
from bakeoff.sweep.launch import SECONDS_BETWEEN_LOOKS, Launch, Rules, end_all
from bakeoff.sweep.launching import launch_of, states_of
from bakeoff.sweep.manifest import JobState, Manifest, one_launcher, read
from bakeoff.sweep.telling import told

SECONDS_BETWEEN_LOOKS_AT_THE_LINE = 1.0


class QueueRun:
    def __init__(
        self, say: Callable[[str], None], rules: Rules, *, wait: bool = False, seats: Seats | None = None
    ) -> None:
        """`wait`: for more, when the line is empty."""
        self._say, self._rules, self._wait = say, rules, wait
        self._seats = seats or Seats(Admission.here(rules.side_by_side))
        self._open: dict[str, tuple[Launch, ExitStack]] = {}
        self._looked = -SECONDS_BETWEEN_LOOKS_AT_THE_LINE
        self._line: list[str] = []
        self.states: set[JobState] = set()  # of all jobs that it came to

    def run(self) -> None:
        """To the end of the line, or to Ctrl-C: what runs is saved, and stays in line with all behind it."""
        try:
            while self._step():
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except KeyboardInterrupt:
            self._say("stopped by Ctrl-C; what runs is saved, and stays in the queue")
            end_all([launch for launch, _ in self._open.values()])
        finally:
            for sweep, (launch, _) in list(self._open.items()):
                self._close(sweep, leaves=all(job.state.is_final for job in launch.manifest.jobs))

    def _step(self) -> bool:
        """Whether there is more to do."""
        launches = [launch for launch, _ in self._open.values()]
        for launch in launches:
            launch.look()
        for launch in launches:
            launch.start()
        for sweep, (launch, _) in list(self._open.items()):
            if launch.is_over:
                self._close(sweep, leaves=True)
        self._look_at_the_line()
        following = next((sweep for sweep in self._line if sweep not in self._open), None)
        if following is not None and self._seats.free:
            self._begin(following)
        return bool(self._open or self._line) or self._wait

    def _look_at_the_line(self) -> None:
        now = time.monotonic()
        if not self._open or now - self._looked > SECONDS_BETWEEN_LOOKS_AT_THE_LINE:
            self._line, self._looked = line.line(), now
            for sweep in self._open.keys() - set(self._line):
                if self._open[sweep][0].call_off():
                    self._say(f"{sweep}: was taken out of the queue; what runs of it comes to its end")

    def _begin(self, sweep: str) -> None:
        try:
            with ExitStack() as stack:
                stack.enter_context(one_launcher(workspace.sweeps() / sweep))
                manifest = read(workspace.sweeps() / sweep)
                self._say(f"{sweep}: {' '.join(manifest.words) or 'params.yaml'}")
                stack.enter_context(told(manifest))
                launch = launch_of(manifest, lambda text: self._say(f"{sweep}: {text}"), self._rules, self._seats)
                launch.take_up()
                self._open[sweep] = launch, stack.pop_all()
        except WorkspaceError as error:
            self._say(f"{error}; it leaves the queue")
            line.leave(sweep)
            self._line.remove(sweep)

    def _close(self, sweep: str, *, leaves: bool) -> None:
        launch, stack = self._open.pop(sweep)
        launch.close()
        stack.close()
        if leaves:
            line.leave(sweep)
        self._line = [other for other in self._line if other != sweep]
        self.states |= states_of(launch.manifest)
        self._say(f"{sweep}: {launch.manifest.counts}")


def add(manifest: Manifest) -> int:
    """Its place in line. From now on its jobs are QUEUED, until somebody runs them."""
    for job in manifest.jobs:
        enqueue(job.experiment, job.variant, job.steps, lasting=True)
    line.add(manifest.id)
    return line.line().index(manifest.id) + 1


def remove(sweep: str) -> None:
    """Whoever runs the queue notices."""
    line.leave(sweep)
    for job in read(workspace.sweeps() / sweep).jobs:
        if job.state == JobState.WAITING:
            dequeue(job.experiment)
