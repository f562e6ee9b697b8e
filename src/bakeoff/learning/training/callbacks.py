"""What observes a training: a list of callbacks, each called in the order of the list, and none knows another.

A callback decides nothing: the same weights come out with any list. `stages/train.py` has the list of a run.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bakeoff.foundation.own_parts import PartTable
from bakeoff.learning.checkpoints.history import FILE, LogLine

if TYPE_CHECKING:  # commands that list runs know a callback; they load neither numpy nor TensorFlow
    from bakeoff.learning.checkpoints.run_folder import CheckpointList
    from bakeoff.learning.training.training import Training, TrainingResult


class Callback:
    """Sees nothing. A callback of one's own overrides the moments that it wants to see."""

    def on_start(self, training: "Training") -> None:
        """The training begins or resumes; `training.history` has the lines of earlier processes."""

    def on_steps(self, count: int) -> None:
        """So many more steps are done."""

    def on_log(self, line: LogLine) -> None:
        """The losses and the rate of a step are known."""

    def on_validation_start(self, step: int) -> None:
        """The network is about to be scored on held-out examples."""

    def on_validation(self, line: LogLine, seconds: float) -> None:
        """It was scored, which took so many seconds."""

    def on_checkpoint_start(self) -> None:
        """A checkpoint is about to be written. Called in the thread that writes it, beside training."""

    def on_checkpoint(self, stock: "CheckpointList") -> None:
        """A checkpoint is on the disk, or was when the training began. Called in that thread, too."""

    def on_error(self, error: Exception, key: str, batch_size: int) -> None:
        """A step failed. Whoever can explain it raises an error that names the key of its batch size."""

    def on_end(self, outcome: "TrainingResult") -> None:
        """No more steps are taken: the training is over or was stopped. Not called after an error."""

    def close(self) -> None:
        """Let go of files, however the training ended."""


# A workspace's own: each gets the folder of the run's work in flight, where it may write.
CALLBACKS: PartTable[Callable[[Path], Callback]] = PartTable("CALLBACKS", {})


class CallbackList(Callback):
    """Passes each moment on to all callbacks."""

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = tuple(callbacks)

    def on_start(self, training: "Training") -> None:
        for one in self.callbacks:
            one.on_start(training)

    def on_steps(self, count: int) -> None:
        for one in self.callbacks:
            one.on_steps(count)

    def on_log(self, line: LogLine) -> None:
        for one in self.callbacks:
            one.on_log(line)

    def on_validation_start(self, step: int) -> None:
        for one in self.callbacks:
            one.on_validation_start(step)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        for one in self.callbacks:
            one.on_validation(line, seconds)

    def on_checkpoint_start(self) -> None:
        for one in self.callbacks:
            one.on_checkpoint_start()

    def on_checkpoint(self, stock: "CheckpointList") -> None:
        for one in self.callbacks:
            one.on_checkpoint(stock)

    def on_error(self, error: Exception, key: str, batch_size: int) -> None:
        for one in self.callbacks:
            one.on_error(error, key, batch_size)

    def on_end(self, outcome: "TrainingResult") -> None:
        for one in self.callbacks:
            one.on_end(outcome)

    def close(self) -> None:
        for one in self.callbacks:
            one.close()


class HistoryFile(Callback):
    """Writes `history.jsonl`, which can be read while it grows. Equal runs write equal files."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file: TextIO | None = None

    def on_start(self, training: "Training") -> None:
        self._file = self._path.open("w", encoding="utf-8")
        for line in training.history:
            self._write(line)

    def on_log(self, line: LogLine) -> None:
        self._write(line)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self._write(line)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _write(self, line: LogLine) -> None:
        assert self._file is not None
        self._file.write(f"{line.as_text(with_clock=False)}\n")
        self._file.flush()
