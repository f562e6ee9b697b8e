"""A verdict -> tags of the run that it is about, and a run of its own if asked for; by journals, as all else."""

import time
from collections.abc import Mapping

from bakeoff.reproduce.again import Attempt
from bakeoff.tracking.journal import Journal
from bakeoff.tracking.reconcile import send_beside
from bakeoff.tracking.restore import tell
from bakeoff.tracking.target import target_in
from bakeoff.tracking.told import Told
from bakeoff.tracking.tracker import new_run_id
from bakeoff.workspace import journals

REPRODUCED, REPRODUCED_AT = "bakeoff.reproduced", "bakeoff.reproduced_at"
OF, OF_IN_MLFLOW = "bakeoff.reproduction_of", "bakeoff.reproduction_of_mlflow_run"


def tell_verdict(attempt: Attempt) -> bool:
    """Whether it could be told: a run that is tracked nowhere has nothing to tag."""
    told = attempt.recorded.told
    if told is None or told.run_id is None or not (told.mlflow_id or target_in(journals() / told.run_id)):
        return False
    journal = _journal(told, told.run_id)
    journal.tags(_tags(attempt))
    journal.close()
    send_beside()
    return True


def tell_as_run(attempt: Attempt) -> str | None:
    """Our id of the new run."""
    told, made = attempt.recorded.told, attempt.made
    if told is None or told.run_id is None or made is None:
        return None
    run_id = new_run_id()
    journal = _journal(told, run_id)
    journal.run(f"{attempt.recorded.variant} (reproduction)")
    journal.tags({OF: told.run_id, **_tags(attempt)})
    journal.link(OF_IN_MLFLOW, told.run_id)
    tell(journal, made)
    journal.state("FINISHED")
    journal.close()
    send_beside()
    return run_id


def _tags(attempt: Attempt) -> Mapping[str, str]:
    found = attempt.verdict
    where = f" at {found.stage}" if found.stage else ""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {REPRODUCED: f"{found.outcome}{where}", REPRODUCED_AT: at}


def _journal(told: Told, run_id: str) -> Journal:
    journal = Journal(run_id)
    if target_in(journal.folder) is None:
        told.target.write(journal.folder)
    return journal
