"""The bar of a training on the terminal, or a plain line now and then."""

from collections.abc import Callable
from contextlib import ExitStack

from bakeoff.foundation.progress import Bar, progress
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.training import Training


class ProgressBar(Callback):
    def __init__(self, steps: int, seconds_left: Callable[[], float | None]) -> None:
        self._steps, self._seconds_left = steps, seconds_left
        self._open = ExitStack()
        self._bar: Bar | None = None

    def on_start(self, training: Training) -> None:
        total = None if is_endless(self._steps) else self._steps
        bar = progress("train", total, "steps", training.position.step, self._seconds_left)
        self._bar = self._open.enter_context(bar)

    def on_steps(self, count: int) -> None:
        assert self._bar is not None
        self._bar.advance(count)

    def on_log(self, line: LogLine) -> None:
        assert self._bar is not None
        self._bar.note(f"loss {line.values['train/loss']:.3f}")

    def close(self) -> None:
        self._open.close()
