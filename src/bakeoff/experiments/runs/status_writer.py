"""What a training reports of itself while it runs: it calls a `StatusReport`, which writes `status.json` beside it.

A call costs an assignment. A thread writes at most once a second, so a slow disk holds up no step, and every ten
seconds without news too, so that other machines that share the folder know that the process is there. After a failure
it writes the kind of failure. Kinds follow from names of classes, so that nothing has to load TensorFlow to know them.
"""

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import (
    FILE,
    Failure,
    ResourceUsage,
    State,
    Status,
    Unreadable,
    read_status,
    write_status,
)
from bakeoff.foundation import machine
from bakeoff.foundation.errors import TryAgainLater, is_disk_full, is_out_of_memory, one_line
from bakeoff.foundation.workspace import DVC_EXPERIMENT
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.learning.training.callbacks import Callback

if TYPE_CHECKING:
    from bakeoff.learning.training.training import Training, TrainingResult

LAST_LINES = 50

SECONDS_BETWEEN_WRITES = 1.0
SECONDS_OF_SILENCE = 10.0
APART = ("learning_rate", "examples_per_second")  # of a line's numbers: those that have a place of their own

OUT_OF_MEMORY, DISK, BAD_DATA, DIVERGED, ERROR = "out of memory", "disk", "bad data", "diverged", "error"
NO_ROOM = "no room"  # the failure of a run that did not start
MOST = 1000  # characters of a message

KIND_OF = {
    "DataError": BAD_DATA,
    "DataLossError": BAD_DATA,  # TensorFlow raises it for a file that does not fit its checksum
    "Diverged": DIVERGED,
    "TryAgainLater": NO_ROOM,
}

Tags = Callable[[Mapping[str, str]], object]


@dataclass(frozen=True)
class Stretch:
    """Steps that take equally long: those of a phase."""

    end_step: int  # of the run
    seconds_per_step: float | None = None  # as such steps took here before


class TimeLeft:
    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = stretches
        self._number = -1  # of the stretch
        # Steps and times of its last lines; of the first the time before it is left out, which holds compilation.
        self._lines: deque[tuple[int, float]] = deque(maxlen=LAST_LINES + 1)

    def after(self, step: int, now: float) -> float | None:
        """Return the seconds from a step on, the end of which was at `now`; None where a pace is not known yet.

        They are infinite where the run has no end.
        """
        number = sum(step > one.end_step for one in self._stretches)
        if self._number != number:
            self._number = number
            self._lines.clear()
        self._lines.append((step, now))
        first_step, since = self._lines[0]
        own, left = (now - since) / (step - first_step) if step > first_step else None, 0.0
        for one in self._stretches[number:]:
            pace, own = own or one.seconds_per_step, None
            if pace is None:
                return None
            left += math.inf if is_endless(one.end_step) else pace * (one.end_step - step)
            step = one.end_step
        return left


class StatusReport(Callback):
    """The report of one process on one run. Whoever opens it holds the run's lock.

    The last status of a run that succeeded stays until a process takes steps again, whatever becomes of that process.
    """

    def __init__(
        self, folder: Path, name: str, steps: int, *, memory_estimate_bytes: int, can_resume: Callable[[], bool],
        parent: str | None = None, max_minutes: float | None = None, stretches: Sequence[Stretch] = (),
    ) -> None:  # fmt: skip
        """Set up the report. `can_resume` returns at the end whether there is a checkpoint; `parent` is the run that
        this one continues.
        """
        self._left, self._left_since = TimeLeft(stretches or [Stretch(steps)]), 0.0
        self._folder, self._can_resume = folder, can_resume
        self._most_seconds = math.inf if max_minutes is None else 60 * max_minutes
        now = time.time()
        self._status = Status(
            state=State.PREPARING, fingerprint=folder.name, name=name, process=Process.current(),
            workspace=str(Path.cwd()), began=now, started=now, updated=now,
            experiment=os.environ.get(DVC_EXPERIMENT), steps=steps, memory_estimate_bytes=memory_estimate_bytes,
            parent=parent, longest_seconds=None if max_minutes is None else 60 * max_minutes,
        )  # fmt: skip
        self._tags: Tags | None = None
        self._earlier_seconds, self._training_since = 0.0, math.nan
        self._spent_before = 0.0  # by processes of this run
        self._earlier: Status | None = None  # the run's last status from an earlier process
        self._stays = self._stops = self._has_ended = self._has_warned = False
        self._over = Event()
        self._thread = Thread(target=self._keep_written, name="status", daemon=True)

    def __enter__(self) -> "StatusReport":
        with suppress(Unreadable):  # this run had no process before
            self._earlier = read_status(self._folder)
            self._status = replace(self._status, began=self._earlier.began)
            self._stays = self.has_succeeded
            self._spent_before = self._earlier.spent
        self._write()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._end(error)

    def known_as(self, run_id: str) -> None:
        """Set the run's id, by which every list shows it, before it is tracked."""
        self._status = replace(self._status, run_id=run_id)

    @contextmanager
    def tracked(self, run_id: str | None, tags: Tags) -> Iterator[None]:
        """Give MLflow's run the state as tags, until the block ends, and then the state in which it ended."""
        self._tags = tags
        self._status = replace(self._status, run_id=run_id)
        self._tag()
        try:
            yield
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    @property
    def has_succeeded(self) -> bool:
        """Return whether the run came to its end before this process."""
        return self._earlier is not None and self._earlier.state == State.SUCCEEDED

    def on_start(self, training: "Training") -> None:
        """Report that the run trains now; a run that is over takes no more steps."""
        self._stays = self._stays and training.is_over
        self._earlier_seconds, self._training_since = training.saved.state.seconds, time.monotonic()
        self._change(State.RUNNING, steps_done=training.position.step)

    def on_log(self, line: LogLine) -> None:
        self._left_since = time.monotonic()
        left = self._left.after(line.step, self._left_since)
        if left is not None:
            left = max(0.0, min(left, self._most_seconds - self._seconds))
            left = left if math.isfinite(left) else None
        values = line.values
        numbers = {key: value for key, value in values.items() if key not in APART and math.isfinite(value)}
        self._status = replace(
            self._status,
            steps_done=line.step,
            phase=line.phase,
            seconds_left=left,
            metrics=self._status.metrics | numbers,
            learning_rate=values.get("learning_rate", self._status.learning_rate),
            examples_per_second=values.get("examples_per_second", self._status.examples_per_second),
        )

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self.on_log(line)

    def seconds_left(self) -> float | None:
        """Return the seconds that are left, from the estimate at the last line."""
        left = self._status.seconds_left
        return None if left is None else max(0.0, left - (time.monotonic() - self._left_since))

    def on_end(self, outcome: "TrainingResult") -> None:
        """Report what ended the training. Only saving is left to do."""
        by, steps_done = outcome.ended_by, outcome.position.step
        self._stops = by == "stop" and steps_done < self._status.steps
        state = State.STOPPING if self._stops else self._status.state
        self._change(state, steps_done=steps_done, ended_by=by)

    def _change(self, state: State, **more: object) -> None:
        self._status = replace(self._status, state=state, **more)  # type: ignore[arg-type]
        self._tag()

    def _end(self, error: BaseException | None) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        failed = error is not None and not isinstance(error, KeyboardInterrupt)
        failure = failure_of(error) if error is not None and failed else None
        self._change(self._last_state(error), failure=failure, seconds_left=None)
        self._write()

    def _last_state(self, error: BaseException | None) -> State:
        if isinstance(error, TryAgainLater):
            return State.TRY_AGAIN_LATER
        if isinstance(error, KeyboardInterrupt):
            return State.STOPPED if self._can_resume() else State.CANCELED
        if error is not None:
            return State.FAILED
        return State.STOPPED if self._stops else State.SUCCEEDED

    def _tag(self) -> None:
        if self._tags is None or self._stays:
            return
        status, failure = self._status, self._status.failure
        tags = {
            "bakeoff.state": status.state.value,
            "bakeoff.steps_done": str(status.steps_done),
            "bakeoff.host": status.process.host,
            "bakeoff.fingerprint": status.fingerprint,
        }
        self._tags(tags | ({"bakeoff.failure": f"{failure.kind}: {failure.message}"} if failure else {}))

    def _keep_written(self) -> None:
        written, at = self._status, time.monotonic()
        while not self._over.wait(SECONDS_BETWEEN_WRITES):
            status, now = self._status, time.monotonic()
            if status is not written or now - at >= SECONDS_OF_SILENCE:
                self._write()
                written, at = status, now

    @property
    def _seconds(self) -> float:
        """Return how long the run trained, without interruptions."""
        return self._earlier_seconds + self._own_seconds

    @property
    def _own_seconds(self) -> float:
        """Return how long this process trained."""
        return 0.0 if math.isnan(self._training_since) else time.monotonic() - self._training_since

    def _write(self) -> None:
        if self._stays:
            return
        try:
            figures = ResourceUsage(
                machine.resident_memory(),
                machine.available_memory(),
                machine.disk_free(self._folder),
                machine.oom_kills(),
            )
            status = replace(
                self._status,
                updated=time.time(),
                training_seconds=round(self._seconds, 1),
                spent_seconds=round(self._spent_before + self._own_seconds, 1),
                machine=figures,
            )
            write_status(self._folder, status)
        except (OSError, ValueError) as error:  # a training does not fail because its report cannot be written
            if not self._has_warned:
                print(f"warning: {self._folder / FILE}: not written ({one_line(error)})", file=sys.stderr)
            self._has_warned = True


def failure_of(error: BaseException) -> Failure:
    """Return what kind of failure an exception is, in one line."""
    kinds = (kind for cause in _causes(error) if (kind := _kind(cause)))
    return Failure(next(kinds, ERROR), one_line(error, MOST) or type(error).__name__)


def _kind(error: BaseException) -> str | None:
    if is_disk_full(error):  # first: TensorFlow calls a full disk an exhausted resource
        return DISK
    if is_out_of_memory(error):
        return OUT_OF_MEMORY
    return next((KIND_OF[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in KIND_OF), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error itself, and what it was raised from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
