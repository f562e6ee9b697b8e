"""A run's work in flight as training writes it, without TensorFlow, and an MLflow store that is told of it."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.workspace import in_flight
from bakeoff.learning.checkpoints.continue_from import write_identity
from bakeoff.learning.checkpoints.fingerprint import name_of
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position, RunState
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.tracker import Tracker

RUN = "0123456789abcdef" * 2
IDENTITY: dict[str, Any] = {
    "seed": 1, "model": {"kind": "cnn", "width": 0.25}, "records": "aa", "code": "c0c0c0c0c0c0c0c0",
    "versions": {"tensorflow": "1.0", "keras": "1.0", "numpy": "1.0"},
    "derived": {"phases": [{"name": "all", "first_step": 0, "steps": 60}]},
}  # fmt: skip
FINGERPRINT = name_of(IDENTITY)


class Trained:
    """Writes a checkpoint every ten steps, of which every third was the best so far."""

    def __init__(self, folder: Path, tracker: Tracker, keep_every: int = 0) -> None:
        write_identity(IDENTITY, folder)
        (folder / "run").write_text(RUN)
        self.work = RunFolder(folder, ["all"], keep_every=keep_every)
        self.tracker, self.best = tracker, 0

    def __enter__(self) -> "Trained":
        self.work.__enter__()
        self._followed: AbstractContextManager[None] = self.work.followed(lambda: None, self.tracker.checkpoint)
        self._followed.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._followed.__exit__(None, None, None)
        self.work.__exit__(None, None, None)

    def take(self, step: int, numbers: int = 6) -> None:
        """Come to a step, whose checkpoint holds so many numbers."""
        self.tracker.metrics(step, {"train/loss": 1 / step, "validation/accuracy": step / 100})
        if step % 30 == 10:
            self.best = step
            self.work.keep_best(Position(0, step), {}, {"weight": np.full(3, step, np.float32)})
        state = RunState(phases=(PhaseState(Best(self.best, 0.5)),))
        arrays = {"weight": np.full(numbers, step, np.float32)}
        self.work.save(Position(0, step), state, lambda: arrays, now=True)


def trained(
    target: Target, steps: Mapping[int, int] | Iterable[int], settings: Mlflow | None = None, *, keep_every: int = 0
) -> Path:
    """Take steps, each with its numbers if they are said, and come to no end, as if killed; return the journal."""
    journal = Journal(RUN)
    target.write(journal.folder)
    journal.run("cnn · cosine · low")
    journal.tags({"bakeoff.fingerprint": FINGERPRINT, "DVC_EXP_NAME": "fine-curd"})
    with Trained(in_flight(FINGERPRINT), Tracker(RUN, settings or Mlflow(), journal), keep_every) as training:
        for step in steps:
            training.take(step, *([steps[step]] if isinstance(steps, Mapping) else []))
    journal.close()
    return journal.folder
