"""The queue of sweeps, first in, first out. Each is a file, `.bakeoff/queue/000012-<id of the sweep>`.

It is empty, or has the word `again`: then jobs that failed or were stopped run once more. A sweep is in the queue from
when it is added until it is over, also after a crash.
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from bakeoff.experiments.runs.run_status import dequeue, enqueue
from bakeoff.experiments.sweep.backend import Backend, LocalBackend
from bakeoff.experiments.sweep.launch import SECONDS_BETWEEN_CHECKS, Launch, LaunchOptions, end_all
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.sweep_manifest import (
    JobState,
    RunElsewhere,
    SweepManifest,
    load_manifest,
    one_launcher,
)
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import TakenAway, WorkspaceError, choices
from bakeoff.foundation.files import read_text, sync_names

DIGITS = 6
SECONDS_BETWEEN_READS = 1.0
AGAIN = "again"


def list_queued_sweeps() -> list[str]:
    """Return the ids of the sweeps in the queue, the first one first."""
    return [*dict.fromkeys(map(_sweep_of, _list_files()))]


def list_resumed_sweeps() -> list[str]:
    """Return those of them whose jobs are to run once more."""
    return [_sweep_of(file) for file in _list_files() if _runs_again(file)]


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


def resume_sweep(manifest: SweepManifest) -> int:
    """Put a sweep that is not done back into the queue, also while it is still being run; return its place.

    Its jobs run as they were begun, with the code and the settings of then.
    """
    for job in manifest.jobs:
        if not job.state.is_final:
            dequeue(job.experiment)  # this also forgets that somebody asked not to start it
            enqueue(job.experiment, job.variant, job.steps, lasting=True, longest_seconds=job.longest_seconds)
    if manifest.id not in list_resumed_sweeps():
        append_sweep(manifest.id, again=True)
    return list_queued_sweeps().index(manifest.id) + 1


def append_sweep(sweep: str, *, again: bool = False) -> None:
    """Put a sweep at the end of the queue; `again` repeats jobs that failed or were stopped."""
    folder = workspace.queue()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "line.lock"):  # two processes that add at once get two places
        last = max((int(file.name[:DIGITS]) for file in _list_files()), default=0)
        (folder / f"{last + 1:0{DIGITS}}-{sweep}").write_text(AGAIN if again else "", encoding="utf-8")
        sync_names(folder)


def remove_sweep(sweep: str) -> None:
    """Take a sweep out of the queue. A process that runs the queue notices that."""
    _leave(*(file for file in _list_files() if _sweep_of(file) == sweep))
    for job in load_manifest(workspace.sweeps() / sweep).jobs:
        if job.state == JobState.WAITING:
            dequeue(job.experiment)


def _leave(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)
        sync_names(file.parent)


def _sweep_of(file: Path) -> str:
    return file.name[DIGITS + 1 :]


def _runs_again(file: Path) -> bool:
    return (read_text(file) or "").strip() == AGAIN


def _list_files() -> list[Path]:
    files = workspace.queue().glob(f"{'[0-9]' * DIGITS}-*") if workspace.queue().is_dir() else ()
    return sorted(files, key=lambda file: file.name)


@dataclass(frozen=True)
class OpenSweep:
    """A sweep whose turn it is."""

    file: Path  # its place in the queue
    launch: Launch
    stack: ExitStack  # what it holds


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
        self._open: dict[str, OpenSweep] = {}
        self._last_read = -SECONDS_BETWEEN_READS
        self._queued: list[Path] = []
        self._elsewhere: dict[str, float] = {}  # sweeps that another process runs, and when that was last seen
        self.states: set[JobState] = set()  # of all jobs of the sweeps that it ran

    def run(self) -> None:
        """Run until the queue is empty. After Ctrl-C running jobs are saved, and their sweeps stay in the queue."""
        try:
            while self._step():
                time.sleep(SECONDS_BETWEEN_CHECKS)
        except TakenAway as taken:
            self._print_line(f"stopped by {taken.name}; what runs is saved, and stays in the queue")
            end_all([one.launch for one in self._open.values()], signal.SIGTERM)
            raise TakenAway(taken.name, "`bakeoff queue start` resumes it") from None
        except KeyboardInterrupt:
            self._print_line("stopped by Ctrl-C; what runs is saved, and stays in the queue")
            end_all([one.launch for one in self._open.values()])
        finally:
            for sweep, one in list(self._open.items()):
                self._close(sweep, leaves=all(job.state.is_final for job in one.launch.manifest.jobs))

    def _step(self) -> bool:
        """Check and start jobs once. Return whether there is more to do."""
        launches = [one.launch for one in self._open.values()]
        for launch in launches:
            launch.check_jobs()
        for launch in launches:
            launch.start()
        for sweep, one in list(self._open.items()):
            if one.launch.is_over:
                self._close(sweep, leaves=True)
        self._reread_queue()
        following = next((file for file in self._queued if self._may_begin(_sweep_of(file))), None)
        if following is not None and self._seats.free:
            self._begin(following)
        return bool(self._open or self._queued) or self._wait

    def _reread_queue(self) -> None:
        now = time.monotonic()
        if not self._open or now - self._last_read > SECONDS_BETWEEN_READS:
            self._queued, self._last_read = _list_files(), now
            for sweep, one in self._open.items():
                if one.file not in self._queued and one.launch.call_off():
                    self._print_line(f"{sweep}: was taken out of the queue; what runs of it comes to its end")

    def _may_begin(self, sweep: str) -> bool:
        seen = self._elsewhere.get(sweep, -SECONDS_BETWEEN_READS)
        return sweep not in self._open and time.monotonic() - seen >= SECONDS_BETWEEN_READS

    def _begin(self, file: Path) -> None:
        from bakeoff.experiments.sweep.mlflow_parent import (
            report_to_mlflow,  # loads NumPy, which an empty queue does not need
        )

        sweep = _sweep_of(file)
        rules = replace(self._rules, again=self._rules.again or _runs_again(file))
        try:
            with ExitStack() as stack:
                stack.enter_context(one_launcher(workspace.sweeps() / sweep))
                manifest = load_manifest(workspace.sweeps() / sweep)
                self._print_line(f"{sweep}: {' '.join(manifest.overrides) or 'params.yaml'}")
                stack.enter_context(report_to_mlflow(manifest))
                launch = Launch(
                    manifest, lambda text: self._print_line(f"{sweep}: {text}"), rules, self._seats,
                    place=self._place,
                )  # fmt: skip
                launch.take_up()
                self._open[sweep] = OpenSweep(file, launch, stack.pop_all())
        except RunElsewhere as error:  # such as a launcher whose last job was stopped, which takes a moment to end
            if sweep not in self._elsewhere:
                self._print_line(f"{error}; it keeps its place")
            self._elsewhere[sweep] = time.monotonic()
        except WorkspaceError as error:
            self._print_line(f"{error}; it leaves the queue")
            _leave(file)
            self._queued.remove(file)

    def _close(self, sweep: str, *, leaves: bool) -> None:
        one = self._open.pop(sweep)
        one.launch.close()
        one.stack.close()
        if leaves:
            _leave(one.file)
        self._queued = [file for file in self._queued if file != one.file]
        self.states |= one.launch.manifest.states
        self._print_line(f"{sweep}: {one.launch.manifest.counts}")
