"""How long runs trained, also those that were removed: `.bakeoff/spent.jsonl` has a line for each of these.

{"fingerprint": "5d1c9a3e77f0", "experiment": "sweep-20260102-030405-1", "began": 1767323045.1, "seconds": 112.4}
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.foundation import workspace
from bakeoff.foundation.files import append_line, read_json_lines


@dataclass(frozen=True)
class Spent:
    fingerprint: str
    experiment: str | None
    began: float  # seconds since 1970
    seconds: float


def spent_by(run: KnownRun) -> Spent | None:
    """Return what a run has spent; None where it never trained, or its status cannot be read."""
    status = run.status
    return Spent(run.fingerprint, status.experiment, status.began, status.spent) if status and status.spent else None


def keep_spent(run: KnownRun) -> None:
    """Note what a run has spent, before it is removed."""
    if (spent := spent_by(run)) is not None:
        append_line(workspace.spent(), json.dumps(asdict(spent)))


def read_spent() -> Iterator[Spent]:
    """Yield what removed runs have spent; a line that a loss of power left half written counts for nothing."""
    for tree in read_json_lines(workspace.spent()):
        with suppress(KeyError, TypeError, ValueError):
            yield Spent(tree["fingerprint"], tree["experiment"], float(tree["began"]), float(tree["seconds"]))
