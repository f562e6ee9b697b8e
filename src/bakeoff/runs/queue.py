"""Jobs that have not begun: `.bakeoff/queued/<experiment>/status.json`, a run that is QUEUED.

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


def enqueue(experiment: str, name: str, steps: int, *, lasting: bool = False) -> None:
    """`bakeoff status` shows it as long as this process lives, or, if it is `lasting`, until somebody takes it off."""
    folder, now = workspace.queued() / experiment, time.time()
    folder.mkdir(parents=True, exist_ok=True)
    said = Status(
        State.QUEUED, experiment, name, Process.nobody() if lasting else Process.own(), str(Path.cwd()), began=now,
        started=now, updated=now, experiment=experiment, steps=steps,
    )  # fmt: skip
    status.write(folder, said)


def is_wanted(experiment: str) -> bool:
    """False if somebody asked not to begin it."""
    return not (workspace.queued() / experiment / workspace.STOP_FILE).exists()


def dequeue(experiment: str) -> None:
    """Its turn has come, or will not come."""
    shutil.rmtree(workspace.queued() / experiment, ignore_errors=True)
