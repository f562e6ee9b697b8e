"""Journals -> one MLflow store."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlflow import MlflowClient

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_names
from bakeoff.tracking.store.mlflow_client import explain, open_store
from bakeoff.tracking.store.target import Target, place_in
from bakeoff.tracking.sync.send_run import Deleted, Delivery

SHOWN = 3


class Courier:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.deleted: set[Path] = set()  # runs that somebody deleted there; they are left alone
        self._store: tuple[MlflowClient, str] | None = None
        self._deliveries: dict[Path, Delivery] = {}
        self.mended: dict[Path, list[str]] = {}  # what the store had damaged, and was sent again

    def send(self, folders: Iterable[Path], *, mends: bool = False) -> bool:
        """Return whether the store takes what it is given; why not is noted beside the journals.

        With `mends`, compare also what the store has with its digests, and send again what is damaged or gone.
        """
        folders = [folder for folder in folders if folder not in self.deleted]
        for number, folder in enumerate(folders):
            try:
                self._store = self._store or open_store(self.target)
                if folder not in self._deliveries:
                    self._deliveries[folder] = Delivery(*self._store, folder, self.target)
                self._deliveries[folder].send()
                if mends:
                    self._mend(folder)
            except Deleted as error:
                self.deleted.add(folder)
                self._note(folder, error)
            except Exception as error:  # whatever a store raises
                self._store = None
                self._deliveries.clear()  # each asks first, when it is opened again, what was taken before the failure
                for waiting in folders[number:]:
                    self._note(waiting, error)
                return False
        return True

    def _mend(self, folder: Path) -> None:
        lost: list[str] = []
        for what, is_whole in self._deliveries[folder].mend():
            (self.mended.setdefault(folder, []) if is_whole else lost).append(what)
        if lost:
            named = format_names(lost, SHOWN)
            self._note(folder, WorkspaceError(f"{named}: damaged or gone there, and nowhere here any more"))

    def _note(self, folder: Path, error: Exception) -> None:
        if folder.is_dir():
            place = place_in(folder, self.target)
            place = replace(place, trouble=explain(error), tries=place.tries + 1)
            place.write(folder, self.target)
