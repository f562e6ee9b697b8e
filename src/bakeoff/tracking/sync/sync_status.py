"""What MLflow lacks of the runs that were made here, and how it gets there now; and runs that were killed.

A training keeps `running` beside its journal, with the name of its machine, and takes it away at its end. A run that
`kill -9` or a power failure ended could not report its end. So the next command that lists runs reports it to MLflow:
KILLED, `bakeoff.state` INTERRUPTED. When the run resumes, it is RUNNING again.
"""

import errno
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_text
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal_folder import RUNNING, is_being_written
from bakeoff.tracking.store.target import SyncProgress, Target, all_journals, list_unsent, place_in, target_in
from bakeoff.tracking.sync.process import LONGEST_REQUEST_S, is_running, leave_request, sender_lock, start_sender

STATE, INTERRUPTED = "bakeoff.state", "INTERRUPTED"


@dataclass(frozen=True)
class SyncStatus:
    """How far one store has one run."""

    run_id: str
    name: str
    target: Target
    place: SyncProgress
    unsent: int  # lines of the journal

    @property
    def is_sent(self) -> bool:
        """Return whether the store has the whole journal, and did not fail when it was last asked."""
        return not self.unsent and not self.place.trouble


def standings(elsewhere: str | None = None) -> list[SyncStatus]:
    """Return that of every run, in the store that it is meant for or in another one."""
    targets = ((folder, _target_of(folder, elsewhere)) for folder in all_journals())
    return [_standing(folder, target) for folder, target in targets if target]


def sync(elsewhere: str | None, print_line: Callable[[str], None], *, anew: bool = False) -> bool:
    """Send everything, and return whether all arrived. With `anew`, ask the store also for what was sent before."""
    targets = dict.fromkeys(standing.target for standing in standings(elsewhere))
    return all([_sync(target, elsewhere, print_line, anew=anew) for target in targets])


def send_beside() -> None:
    """Start what sends, for every store that lacks something."""
    targets = {target_in(folder) for folder in all_journals()}
    for target in filter(None, targets):
        if list_unsent(target) and not is_running(target.key):
            start_sender(target.key)


@contextmanager
def where_allowed() -> Iterator[None]:
    """Leave the block where this user may not write. Then nothing is reported, and lists of runs work all the same."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise


@where_allowed()
def report_interrupted() -> list[str]:
    """Write into the journals of killed runs that they ended, start the sender, and return their ids."""
    markers = sorted(journals().glob(f"*/{RUNNING}"))
    folders = [marker.parent for marker in markers if (read_text(marker) or "").strip() == platform.node()]
    reported = [folder.name for folder in folders if not is_being_written(folder) and _report_interrupted(folder.name)]
    if reported:
        send_beside()
    return reported


def _sync(target: Target, elsewhere: str | None, print_line: Callable[[str], None], *, anew: bool) -> bool:
    from bakeoff.tracking.store.mlflow_client import load_mlflow

    load_mlflow()  # it takes seconds
    from bakeoff.tracking.sync.send_all import Courier

    folders = [folder for folder in all_journals() if _target_of(folder, elsewhere) == target]
    with _instead_of_the_sender(target):
        for folder in folders if anew else ():
            place_in(folder, target).begin_again().write(folder, target)
        courier = Courier(target)
        fine = courier.send(folders, mends=True)  # also those that are sent: the store may be another one by now
    for folder in folders:
        place = place_in(folder, target)
        for what in courier.mended.get(folder, ()):
            print_line(f"{folder.name}: {target.shown}: {what}: was damaged or gone there, and is sent again")
        if place.trouble:
            print_line(f"{folder.name}: not sent to {target.shown}: {place.trouble}")
            fine = False
        for refusal in place.refused:
            print_line(f"{folder.name}: {target.shown} does not take {refusal}")
    return fine and not courier.deleted


@contextmanager
def _instead_of_the_sender(target: Target) -> Iterator[None]:
    """Keep other processes from sending to the store while the block runs."""
    from filelock import Timeout

    request, lock = leave_request(target.key), sender_lock(target.key)
    request.touch()
    try:
        lock.acquire(timeout=LONGEST_REQUEST_S)
    except Timeout:
        problem = f"{lock.lock_file}: another process sends to this store and does not end; try again later"
        raise WorkspaceError(problem) from None
    finally:
        request.unlink(missing_ok=True)
    try:
        yield
    finally:
        lock.release()


def _standing(folder: Path, target: Target) -> SyncStatus:
    from bakeoff.tracking.journal.entries import RunEntry
    from bakeoff.tracking.journal.journal import entries, entries_of

    place = place_in(folder, target)
    name = next((entry.name for entry in entries_of(folder, RunEntry)), "")
    return SyncStatus(folder.name, name, target, place, sum(1 for _ in entries(folder, place.offset)))


def _target_of(folder: Path, elsewhere: str | None) -> Target | None:
    own = target_in(folder)
    return Target.at_address(elsewhere, own.experiment) if own and elsewhere else own


def _report_interrupted(run_id: str) -> bool:
    from bakeoff.tracking.journal.journal import Journal  # `bakeoff status` rarely comes here

    journal = Journal(run_id)
    try:
        if not journal.is_alone or not (journal.folder / RUNNING).exists():  # it has just resumed
            return False
        journal.tags({STATE: INTERRUPTED})
        journal.state("KILLED", ended=False)
        return True
    finally:
        journal.close()
