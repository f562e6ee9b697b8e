"""Jobs of a sweep that have not begun: `.bakeoff/queued/<experiment>/status.json`, a run that is QUEUED.

What trains has a fingerprint, which is known only when its records and its variant are; until then it goes by the name
of its DVC experiment.
"""

import shutil
import time
from pathlib import Path

from bakeoff import workspace
from bakeoff.runs import status
from bakeoff.runs.process import Process
from bakeoff.runs.status import State, Status


def enqueue(experiment: str, name: str, steps: int) -> None:
    """Of this process' jobs; `bakeoff status` shows it as long as the process lives."""
    folder, now = workspace.queued() / experiment, time.time()
    folder.mkdir(parents=True)
    said = Status(
        State.QUEUED, experiment, name, Process.own(), str(Path.cwd()), began=now, started=now, updated=now,
        experiment=experiment, steps=steps,
    )  # fmt: skip
    status.write(folder, said)


def dequeue(experiment: str) -> bool:
    """Its turn has come, or will not come; False if somebody asked not to begin it."""
    folder = workspace.queued() / experiment
    is_wanted = not (folder / status.STOP_FILE).exists()
    shutil.rmtree(folder, ignore_errors=True)
    return is_wanted
