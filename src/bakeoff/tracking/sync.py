"""What MLflow lacks of the runs that were made here: told, and sent now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from bakeoff.errors import WorkspaceError
from bakeoff.tracking.dispatch import LONGEST_REQUEST_S, all_journals, leave_request, sender_lock
from bakeoff.tracking.journal import entries
from bakeoff.tracking.target import Place, Target, place_in, target_in


@dataclass(frozen=True)
class Standing:
    """How far one store has one run."""

    run_id: str
    name: str
    target: Target
    place: Place
    unsent: int  # lines of the journal

    @property
    def is_sent(self) -> bool:
        return not self.unsent


def standings(elsewhere: str | None = None) -> list[Standing]:
    """Of every run, in the store that it is meant for or in another one."""
    return [standing for folder in all_journals() if (standing := _standing(folder, elsewhere))]


def sync(elsewhere: str | None, say: Callable[[str], None]) -> bool:
    """Send everything; whether all of it arrived."""
    targets = dict.fromkeys(standing.target for standing in standings(elsewhere))
    return all([_sync(target, elsewhere, say) for target in targets])


def _sync(target: Target, elsewhere: str | None, say: Callable[[str], None]) -> bool:
    from bakeoff.tracking.courier import Courier  # MLflow takes seconds to load

    folders = [folder for folder in all_journals() if _target(folder, elsewhere) == target]
    with _instead_of_the_sender(target):
        courier = Courier(target)
        fine = courier.send(folders)  # also those that are sent: the store may be another one by now
    for folder in folders:
        place = place_in(folder, target)
        if place.trouble:
            say(f"{folder.name}: not sent to {target.shown}: {place.trouble}")
        for refusal in place.refused:
            say(f"{folder.name}: {target.shown} does not take {refusal}")
    return fine and not courier.deleted


@contextmanager
def _instead_of_the_sender(target: Target) -> Iterator[None]:
    """While the block runs, no other process sends to the store."""
    request, lock = leave_request(target.key), sender_lock(target.key)
    request.touch()
    try:
        lock.acquire(timeout=LONGEST_REQUEST_S)
    except Timeout:
        raise WorkspaceError(
            f"{lock.lock_file}: another process sends to this store and does not end; try again later"
        ) from None
    finally:
        request.unlink(missing_ok=True)
    try:
        yield
    finally:
        lock.release()


def _standing(folder: Path, elsewhere: str | None) -> Standing | None:
    target = _target(folder, elsewhere)
    if target is None:
        return None
    place = place_in(folder, target)
    name = next((entry["name"] for entry, _ in entries(folder) if entry and entry["kind"] == "run"), "")
    return Standing(folder.name, name, target, place, sum(1 for _ in entries(folder, place.offset)))


def _target(folder: Path, elsewhere: str | None) -> Target | None:
    own = target_in(folder)
    return Target.at(elsewhere, own.experiment) if own and elsewhere else own
