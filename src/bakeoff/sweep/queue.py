"""The queue: sweeps in line, first in, first out; for each an empty file, `.bakeoff/queue/000012-<id of the sweep>`.

A sweep is in line from when it is added until it is over. Whoever runs the queue finds it there, also after a crash.
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from filelock import FileLock

from bakeoff import workspace
from bakeoff.errors import TakenAway, WorkspaceError, choices
from bakeoff.files import sync_names
from bakeoff.runs.status import dequeue, enqueue
from bakeoff.sweep.admission import Seats
from bakeoff.sweep.launch import SECONDS_BETWEEN_LOOKS, Launch, Rules, end_all, launch_of
from bakeoff.sweep.manifest import JobState, Manifest, load_manifest, one_launcher
from bakeoff.sweep.place import Place, ThisMachine

DIGITS = 6
SECONDS_BETWEEN_LOOKS_AT_THE_LINE = 1.0


def sweeps_in_line() -> list[str]:
    """Return their ids, the first in line first."""
    return [file.name[DIGITS + 1 :] for file in _files()]


def find_in_line(name: str) -> str:
    """By the beginning of its id."""
    waiting = sweeps_in_line()
    found = [sweep for sweep in waiting if sweep == name] or [sweep for sweep in waiting if sweep.startswith(name)]
    if len(found) > 1:
        raise WorkspaceError(f"{name}: must name one sweep, got {len(found)}: {', '.join(found)}")
    if not found:
        raise WorkspaceError(f"{name}: must be in the queue; {choices(name, waiting)}")
    return found[0]


def add_sweep(manifest: Manifest) -> int:
    """Return its place in line. From now on its jobs are QUEUED, until somebody runs them."""
    for job in manifest.jobs:
        enqueue(job.experiment, job.variant, job.steps, lasting=True, longest_seconds=job.longest_seconds)
    line_up(manifest.id)
    return sweeps_in_line().index(manifest.id) + 1


def line_up(sweep: str) -> None:
    """At the end."""
    folder = workspace.queue()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "line.lock"):  # two who add at once get two places
        last = max((int(file.name[:DIGITS]) for file in _files()), default=0)
        (folder / f"{last + 1:0{DIGITS}}-{sweep}").touch()
        sync_names(folder)


def remove_sweep(sweep: str) -> None:
    """Whoever runs the queue notices."""
    _leave(sweep)
    for job in load_manifest(workspace.sweeps() / sweep).jobs:
        if job.state == JobState.WAITING:
            dequeue(job.experiment)


def _leave(sweep: str) -> None:
    for file in _files():
        if file.name[DIGITS + 1 :] == sweep:
            file.unlink(missing_ok=True)
            sync_names(file.parent)


def _files() -> list[Path]:
    found = workspace.queue().glob(f"{'[0-9]' * DIGITS}-*") if workspace.queue().is_dir() else ()
    return sorted(found, key=lambda file: file.name)


class QueueRun:
    """Runs the jobs of the sweeps in line, so many side by side: where one sweep leaves room, the next begins."""

    def __init__(
        self, say: Callable[[str], None], rules: Rules, *, wait: bool = False, seats: Seats | None = None,
        place: Place | None = None,
    ) -> None:  # fmt: skip
        """`wait`: for more, when the line is empty."""
        self._say, self._rules, self._wait = say, rules, wait
        self._place = place or ThisMachine()
        self._seats = seats or self._place.seats(rules.side_by_side)
        self._open: dict[str, tuple[Launch, ExitStack]] = {}
        self._looked = -SECONDS_BETWEEN_LOOKS_AT_THE_LINE
        self._line: list[str] = []
        self.states: set[JobState] = set()  # of all jobs that it came to

    def run(self) -> None:
        """To the end of the line, or to Ctrl-C: what runs is saved, and stays in line with all behind it."""
        try:
            while self._step():
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except TakenAway as taken:
            self._say(f"stopped by {taken.name}; what runs is saved, and stays in the queue")
            end_all([launch for launch, _ in self._open.values()], signal.SIGTERM)
            raise TakenAway(taken.name, "`bakeoff queue start` goes on") from None
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
            self._line, self._looked = sweeps_in_line(), now
            for sweep in self._open.keys() - set(self._line):
                if self._open[sweep][0].call_off():
                    self._say(f"{sweep}: was taken out of the queue; what runs of it comes to its end")

    def _begin(self, sweep: str) -> None:
        from bakeoff.sweep.parent_run import report_to_mlflow  # with NumPy, which a look at the line does not need

        try:
            with ExitStack() as stack:
                stack.enter_context(one_launcher(workspace.sweeps() / sweep))
                manifest = load_manifest(workspace.sweeps() / sweep)
                self._say(f"{sweep}: {' '.join(manifest.words) or 'params.yaml'}")
                stack.enter_context(report_to_mlflow(manifest))
                launch = launch_of(
                    manifest, lambda text: self._say(f"{sweep}: {text}"), self._rules, self._seats, self._place
                )
                launch.take_up()
                self._open[sweep] = launch, stack.pop_all()
        except WorkspaceError as error:
            self._say(f"{error}; it leaves the queue")
            _leave(sweep)
            self._line.remove(sweep)

    def _close(self, sweep: str, *, leaves: bool) -> None:
        launch, stack = self._open.pop(sweep)
        launch.close()
        stack.close()
        if leaves:
            _leave(sweep)
        self._line = [other for other in self._line if other != sweep]
        self.states |= launch.manifest.states
        self._say(f"{sweep}: {launch.manifest.counts}")
