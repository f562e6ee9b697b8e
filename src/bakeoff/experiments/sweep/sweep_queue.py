"""The queue of sweeps, first in, first out. Each is an empty file, `.bakeoff/queue/000012-<id of the sweep>`.

A sweep is in the queue from when it is added until it is over, also after a crash.
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from filelock import FileLock

from bakeoff.experiments.runs.run_status import dequeue, enqueue
from bakeoff.experiments.sweep.backend import Backend, LocalBackend
from bakeoff.experiments.sweep.launch import SECONDS_BETWEEN_CHECKS, Launch, LaunchOptions, end_all
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest, load_manifest, one_launcher
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import TakenAway, WorkspaceError, choices
from bakeoff.foundation.files import sync_names

DIGITS = 6
SECONDS_BETWEEN_READS = 1.0


def list_queued_sweeps() -> list[str]:
    """Return the ids of the sweeps in the queue, the first one first."""
    return [file.name[DIGITS + 1 :] for file in _list_files()]


def find_queued_sweep(name: str) -> str:
    """Return the sweep in the queue whose id starts with `name`."""
    waiting = list_queued_sweeps()
    matches = [sweep for sweep in waiting if sweep == name] or [sweep for sweep in waiting if sweep.startswith(name)]
    if len(matches) > 1:
        raise WorkspaceError(f"{name}: must name one sweep, got {len(matches)}: {', '.join(matches)}")
    if not matches:
        raise WorkspaceError(f"{name}: must be in the queue; {choices(name, waiting)}")
    return matches[0]


def add_sweep(manifest: SweepManifest) -> int:
    """Add a sweep, and return its place in the queue. Its jobs are QUEUED until somebody runs them."""
    for job in manifest.jobs:
        enqueue(job.experiment, job.variant, job.steps, lasting=True, longest_seconds=job.longest_seconds)
    append_sweep(manifest.id)
    return list_queued_sweeps().index(manifest.id) + 1


def append_sweep(sweep: str) -> None:
    """Put a sweep at the end of the queue."""
    folder = workspace.queue()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "line.lock"):  # two processes that add at once get two places
        last = max((int(file.name[:DIGITS]) for file in _list_files()), default=0)
        (folder / f"{last + 1:0{DIGITS}}-{sweep}").touch()
        sync_names(folder)


def remove_sweep(sweep: str) -> None:
    """Take a sweep out of the queue. A process that runs the queue notices that."""
    _leave(sweep)
    for job in load_manifest(workspace.sweeps() / sweep).jobs:
        if job.state == JobState.WAITING:
            dequeue(job.experiment)


def _leave(sweep: str) -> None:
    for file in _list_files():
        if file.name[DIGITS + 1 :] == sweep:
            file.unlink(missing_ok=True)
            sync_names(file.parent)


def _list_files() -> list[Path]:
    files = workspace.queue().glob(f"{'[0-9]' * DIGITS}-*") if workspace.queue().is_dir() else ()
    return sorted(files, key=lambda file: file.name)


class QueueRun:
    """Runs the jobs of the queued sweeps, several side by side: where one sweep leaves room, the next starts."""

    def __init__(
        self, print_line: Callable[[str], None], rules: LaunchOptions, *, wait: bool = False,
        seats: Seats | None = None, place: Backend | None = None,
    ) -> None:  # fmt: skip
        """With `wait` it waits for more sweeps when the queue is empty."""
        self._print_line, self._rules, self._wait = print_line, rules, wait
        self._place = place or LocalBackend()
        self._seats = seats or self._place.seats(rules.side_by_side)
        self._open: dict[str, tuple[Launch, ExitStack]] = {}
        self._last_read = -SECONDS_BETWEEN_READS
        self._queued: list[str] = []
        self.states: set[JobState] = set()  # of all jobs of the sweeps that it ran

    def run(self) -> None:
        """Run until the queue is empty. After Ctrl-C running jobs are saved, and their sweeps stay in the queue."""
        try:
            while self._step():
                time.sleep(SECONDS_BETWEEN_CHECKS)
        except TakenAway as taken:
            self._print_line(f"stopped by {taken.name}; what runs is saved, and stays in the queue")
            end_all([launch for launch, _ in self._open.values()], signal.SIGTERM)
            raise TakenAway(taken.name, "`bakeoff queue start` resumes it") from None
        except KeyboardInterrupt:
            self._print_line("stopped by Ctrl-C; what runs is saved, and stays in the queue")
            end_all([launch for launch, _ in self._open.values()])
        finally:
            for sweep, (launch, _) in list(self._open.items()):
                self._close(sweep, leaves=all(job.state.is_final for job in launch.manifest.jobs))

    def _step(self) -> bool:
        """Check and start jobs once. Return whether there is more to do."""
        launches = [launch for launch, _ in self._open.values()]
        for launch in launches:
            launch.check_jobs()
        for launch in launches:
            launch.start()
        for sweep, (launch, _) in list(self._open.items()):
            if launch.is_over:
                self._close(sweep, leaves=True)
        self._reread_queue()
        following = next((sweep for sweep in self._queued if sweep not in self._open), None)
        if following is not None and self._seats.free:
            self._begin(following)
        return bool(self._open or self._queued) or self._wait

    def _reread_queue(self) -> None:
        now = time.monotonic()
        if not self._open or now - self._last_read > SECONDS_BETWEEN_READS:
            self._queued, self._last_read = list_queued_sweeps(), now
            for sweep in self._open.keys() - set(self._queued):
                if self._open[sweep][0].call_off():
                    self._print_line(f"{sweep}: was taken out of the queue; what runs of it comes to its end")

    def _begin(self, sweep: str) -> None:
        from bakeoff.experiments.sweep.mlflow_parent import (
            report_to_mlflow,  # loads NumPy, which an empty queue does not need
        )

        try:
            with ExitStack() as stack:
                stack.enter_context(one_launcher(workspace.sweeps() / sweep))
                manifest = load_manifest(workspace.sweeps() / sweep)
                self._print_line(f"{sweep}: {' '.join(manifest.overrides) or 'params.yaml'}")
                stack.enter_context(report_to_mlflow(manifest))
                launch = Launch(
                    manifest, lambda text: self._print_line(f"{sweep}: {text}"), self._rules, self._seats,
                    place=self._place,
                )  # fmt: skip
                launch.take_up()
                self._open[sweep] = launch, stack.pop_all()
        except WorkspaceError as error:
            self._print_line(f"{error}; it leaves the queue")
            _leave(sweep)
            self._queued.remove(sweep)

    def _close(self, sweep: str, *, leaves: bool) -> None:
        launch, stack = self._open.pop(sweep)
        launch.close()
        stack.close()
        if leaves:
            _leave(sweep)
        self._queued = [other for other in self._queued if other != sweep]
        self.states |= launch.manifest.states
        self._print_line(f"{sweep}: {launch.manifest.counts}")
