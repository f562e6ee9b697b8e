"""The bar of a training: it moves with every call of steps, and notes the loss of the last line."""

from types import SimpleNamespace

import pytest

from bakeoff.foundation.progress import Bar
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_state import Position
from bakeoff.tracking.callbacks.progress_bar import ProgressBar


def test_it_advances_with_the_steps_and_notes_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, str]] = []
    monkeypatch.setattr(Bar, "advance", lambda self, count=1: seen.append((count, self._note)))
    bar = ProgressBar(9, lambda: 1.0)
    bar.on_start(SimpleNamespace(position=Position(0, 3)))  # type: ignore[arg-type]
    bar.on_steps(1)
    bar.on_log(LogLine(4, {"train/loss": -0.5}))
    bar.on_steps(2)
    bar.close()
    assert [count for count, _ in seen] == [1, 2] and seen[1][1] == "loss -0.500"
