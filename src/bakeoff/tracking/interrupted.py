"""Runs that MLflow takes for running though nobody runs them: `kill -9`, a power failure.

A training keeps `running` beside its journal, with the name of its machine, and takes it away at its end. One whose
journal nobody writes any more had no last word, so whoever looks next says it: KILLED, `bakeoff.state` INTERRUPTED.
When it goes on, it is RUNNING again.
"""

import platform
from pathlib import Path

from bakeoff.tracking.dispatch import is_running, start_sender
from bakeoff.tracking.journal import RUNNING, Journal, is_being_written
from bakeoff.tracking.target import target_in
from bakeoff.workspace import journals

STATE, INTERRUPTED = "bakeoff.state", "INTERRUPTED"


def tell_interrupted() -> list[str]:
    """The runs that were found so; what sends is started."""
    found = [marker.parent for marker in sorted(journals().glob(f"*/{RUNNING}")) if _is_of_this_machine(marker)]
    told = [folder.name for folder in found if not is_being_written(folder) and _tell(folder.name)]
    for target in filter(None, {target_in(journals() / run) for run in told}):
        if not is_running(target.key):
            start_sender(target.key)
    return told


def _tell(run_id: str) -> bool:
    journal = Journal(run_id)
    try:
        if not journal.is_alone or not (journal.folder / RUNNING).exists():  # it goes on, since a moment ago
            return False
        journal.tags({STATE: INTERRUPTED})
        journal.state("KILLED", ended=False)
        return True
    finally:
        journal.close()


def _is_of_this_machine(marker: Path) -> bool:
    try:
        return marker.read_text(encoding="utf-8").strip() == platform.node()
    except OSError:
        return False
