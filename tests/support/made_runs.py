"""Runs in flight as files, without a training."""

import time
from dataclasses import replace
from pathlib import Path

from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import State, Status, write_status

NOBODY = replace(Process.current(), started="0")  # this process' number, given to another one before


def made(
    runs: Path, fingerprint: str, state: State = State.RUNNING, *, ago: float = 0.0, checkpoint: bool = False, **printed
) -> Path:
    """The folder of a run whose last update was so many seconds ago; of this process unless `printed` has another."""
    folder, then = runs / fingerprint, time.time() - ago
    folder.mkdir(parents=True)
    about = {
        "name": "ssd_tiny · cosine · low", "process": Process.current(), "workspace": "/somewhere", "began": then - 60,
        "started": then - 60, "updated": then, "steps": 200, "steps_done": 50,
    }  # fmt: skip
    write_status(folder, Status(state, fingerprint, **about | printed))
    (folder / "lock").touch()
    if checkpoint:
        (folder / "1-run").mkdir()
        (folder / "1-run/00000050").write_bytes(bytes(1000))
    return folder
