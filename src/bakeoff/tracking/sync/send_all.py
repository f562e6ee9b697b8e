"""Journals -> one MLflow store."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlflow import MlflowClient

from bakeoff.tracking.store.mlflow_client import explain, open_store
from bakeoff.tracking.store.target import Target, place_in
from bakeoff.tracking.sync.send_run import Deleted, Delivery


class Courier:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.deleted: set[Path] = set()  # runs that somebody deleted there; they are left alone
        self._store: tuple[MlflowClient, str] | None = None
        self._deliveries: dict[Path, Delivery] = {}

    def send(self, folders: Iterable[Path]) -> bool:
        """Return whether the store takes what it is given; why not is noted beside the journals."""
        folders = [folder for folder in folders if folder not in self.deleted]
        for number, folder in enumerate(folders):
            try:
                self._store = self._store or open_store(self.target)
                if folder not in self._deliveries:
                    self._deliveries[folder] = Delivery(*self._store, folder, self.target)
                self._deliveries[folder].send()
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

    def _note(self, folder: Path, error: Exception) -> None:
        if folder.is_dir():
            place = place_in(folder, self.target)
            place = replace(place, trouble=explain(error), tries=place.tries + 1)
            place.write(folder, self.target)
