"""An id -> all that is known of a run: by its journal here, and by the store that has it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_text
from bakeoff.foundation.workspace import RUN, journals
from bakeoff.tracking.journal.artifacts import kept_file
from bakeoff.tracking.journal.entries import FileEntry, TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.results.results import parse_yaml
from bakeoff.tracking.store.target import RUN_TAG, Target, own_id, target_in
from bakeoff.tracking.sync.sync_status import send_beside

if TYPE_CHECKING:
    from mlflow.entities import Run


@dataclass
class TrackedRun:
    run_id: str | None  # our own
    tags: Mapping[str, str]
    target: Target  # the store that it is meant for
    mlflow_id: str | None = None  # None if the store lacks it, or does not answer
    damaged: list[str] = field(default_factory=list)  # artifacts that were read, and are not what the run handed over
    _files: Mapping[str, FileEntry] = field(default_factory=dict)

    def read(self, name: str) -> bytes | None:
        """Return an artifact, such as `train/state.json`."""
        entry = self._files.get(name)
        if entry and self.run_id and (kept := kept_file(entry, journals() / self.run_id / "files")):
            return kept.read_bytes()
        content = self._download(name)
        if content is not None and entry and hashlib.sha256(content).hexdigest() != entry.sha256:
            self.damaged.append(name)
        return content

    def open_journal(self, run_id: str) -> Journal:
        """Open the journal of this run, or of another one that is meant for the same store."""
        journal = Journal(run_id)
        if target_in(journal.folder) is None:
            self.target.write(journal.folder)
        return journal

    def tag(self, values: Mapping[str, str]) -> bool:
        """Return whether the run could be tagged: one that is tracked nowhere cannot."""
        if self.run_id is None or not (self.mlflow_id or target_in(journals() / self.run_id)):
            return False
        journal = self.open_journal(self.run_id)
        journal.tags(values)
        journal.close()
        send_beside()
        return True

    def _download(self, name: str) -> bytes | None:
        if self.mlflow_id is None:
            return None
        from bakeoff.tracking.store.mlflow_client import connect

        with TemporaryDirectory(prefix="bakeoff-") as folder:
            try:
                client = connect(self.target.address)
                return Path(client.download_artifacts(self.mlflow_id, name, folder)).read_bytes()
            except Exception:  # whatever a store raises for a file that is not there
                return None


def find_run(run_id: str) -> TrackedRun | None:
    """Find it by our whole id of it or MLflow's; None if nobody knows such a run."""
    own = run_id if (journals() / run_id / FILE).is_file() else own_id(run_id)
    folder = journals() / own if own else None
    target = (target_in(folder) if folder else None) or target_here()
    run, trouble = _find_in_store(target, own or run_id)
    if run is None and folder is None:
        if trouble:
            raise WorkspaceError(f"{run_id}: no run here has this id, and MLflow ({target.shown}) says: {trouble}")
        return None
    tags = dict(run.data.tags) if run else {}
    files = {}
    known_id = folder.name if folder else tags.get(RUN_TAG)
    if folder:
        for entry in entries_of(folder, TagsEntry):
            tags |= entry.values
        files = {entry.name: entry for entry in entries_of(folder, FileEntry)}
    return TrackedRun(known_id, tags, target, run.info.run_id if run else None, _files=files)


def target_here(uri: str | None = None, experiment: str | None = None) -> Target:
    """Return the store that the rendered variant names; `uri` and `experiment` come before what it says."""
    track = parse_yaml(read_text(RUN)).get("track")
    own = track if isinstance(track, dict) else {}
    named = str(experiment or own.get("experiment") or Mlflow.experiment)
    return Target.from_settings(Mlflow(named, uri or own.get("uri"), None))


def _find_in_store(target: Target, run_id: str) -> "tuple[Run | None, str | None]":
    """Return the run, and why not if the store does not answer."""
    if target.lacks_its_file:
        return None, None
    from bakeoff.tracking.store.mlflow_client import connect, explain, find_id

    client = connect(target.address)
    try:
        mlflow_id = find_id(client, run_id)
        return (client.get_run(mlflow_id) if mlflow_id else None), None
    except Exception as error:  # whatever a store raises
        return None, explain(error)
