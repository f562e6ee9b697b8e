"""A training as the stage does it, without a network: checkpoints of a run, on a machine that is a folder."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.config.track_settings import Untracked
from bakeoff.experiments.checkpoint_store.copies import copies
from bakeoff.experiments.checkpoint_store.store import CheckpointStore
from bakeoff.experiments.checkpoint_store.training_hook import keep_in_store
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position, RunState
from bakeoff.learning.training.stopping import Stop

RUN = "5d1c000000000000"


@contextmanager
def training(machine: Path, stop: Stop | None = None, *, fresh: bool = False) -> Iterator[tuple[RunFolder, Any]]:
    """Train as the stage does, on a machine that is a folder here."""
    stop = stop or Stop()
    with (
        RunFolder(machine / RUN, ["head"], fresh=fresh) as work,
        keep_in_store(machine / RUN, stop, {"seed": 1}, Untracked(), fresh=fresh) as kept,
        work.followed(lambda: None, kept.on_checkpoint),
    ):
        assert work.run_id
        yield work, kept


def save(work: RunFolder, step: int, best: int = 0) -> None:
    if best == step:
        work.keep_best(Position(0, best), {"kernel": "kernel"}, {"kernel": np.full(3, best)})
    state = RunState(phases=(PhaseState(Best(best)),), history=(LogLine(step, {}),))
    work.save(Position(0, step), state, lambda: {"kernel": np.full(1000, step)}, now=True)


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def steps(store: CheckpointStore) -> list[int]:
    return [copy.step for copy in copies(store, RUN)]
