"""One run's journal -> one run in MLflow, each thing once.

A store can take a batch and be cut off before it says so. After any failure the next batch is therefore compared with
what the run has there; params, tags and files may come twice, a point of a metric may not. MLflow's SQL stores take two
points of one time for one besides, and a line of the journal keeps its time.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import link_or_copy, require_whole, sync_file
from bakeoff.foundation.formatting import make_printable, without_secrets
from bakeoff.tracking.journal.artifacts import SENDING, clear_of_kills, kept_file
from bakeoff.tracking.journal.checkpoints import second_name
from bakeoff.tracking.journal.entries import (
    CheckpointEntry,
    DatasetEntry,
    FileEntry,
    JournalEntry,
    LinkEntry,
    MetricsEntry,
    ModelEntry,
    ParamsEntry,
    ParentEntry,
    RunEntry,
    StateEntry,
    TagsEntry,
)
from bakeoff.tracking.journal.journal import entries, entries_of
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.mlflow_client import MOST_POINTS, MOST_TEXTS, REFUSALS, connect, sync_artifacts
from bakeoff.tracking.store.mlflow_names import DIFFERS_TAG, metric_in_mlflow, name_in_mlflow, params_in_mlflow
from bakeoff.tracking.store.target import RUN_TAG, SyncProgress, Target, first_home, place_in, target_in
from bakeoff.tracking.sync.network_files import NetworkFiles
from bakeoff.tracking.sync.send_checkpoints import Checkpoints
from bakeoff.tracking.sync.send_models import LoggedModels
from bakeoff.tracking.sync.stored_copies import find_damaged

OF_A_DELETED_RUN = "must be in the 'active' state"
NAMED_REFUSALS = 20
GONE = "the file was replaced, and what it held is nowhere any more"
BatchEntry = MetricsEntry | ParamsEntry | TagsEntry


class Deleted(Exception):
    """Someone deleted the run in MLflow, and should have it so."""


@dataclass
class Batch:
    """Lines of a journal that go to MLflow in one request, by the names that they have there."""

    # Metric, step, value, milliseconds, whether it takes another's place.
    points: list[tuple[str, int, float, int, bool]] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    end: int | None = None  # of the journal, when this batch is through

    def would_overflow(self, entry: BatchEntry) -> bool:
        is_points = isinstance(entry, MetricsEntry)
        points = len(self.points) + (len(entry.values) if is_points else 0)
        texts = len(self.params) + len(self.tags) + (0 if is_points else len(entry.values))
        return self.end is not None and (points > MOST_POINTS or texts > MOST_TEXTS)

    def add(self, entry: BatchEntry, end: int) -> None:
        match entry:
            case MetricsEntry():
                named = {metric_in_mlflow(key): value for key, value in entry.values.items()}
                self.points += [(key, entry.step, value, entry.at, entry.revised) for key, value in named.items()]
            case ParamsEntry():
                params, tags = params_in_mlflow(entry.values)
                self.params |= params
                self.tags |= tags
            case TagsEntry():
                self.tags |= entry.values
        self.end = end


class Delivery:
    def __init__(self, client: MlflowClient, experiment: str, folder: Path, target: Target) -> None:
        self._client, self._experiment = client, experiment
        self._folder, self._target = folder, target
        self._place, self._networks = place_in(folder, target), NetworkFiles(folder)
        self._sent_files: set[Path] = set()
        self._has: dict[str, dict[int, set[float]]] = {}  # points that MLflow has, of metrics that were asked for
        clear_of_kills(folder / "files")
        self._open()

    def send(self) -> None:
        """Send all that the journal holds by now."""
        batch = Batch()
        lasting = sync_file(self._folder / FILE)  # what the store has, the journal has after a loss of power, too
        for entry, end in entries(self._folder, self._place.offset):
            if end > lasting:
                break
            if entry is None or (entry.restored and not self._place.created):
                batch.end = end
                continue
            is_of_weights = isinstance(entry, MetricsEntry) and entry.weights is not None  # which their models get, too
            if isinstance(entry, BatchEntry) and not is_of_weights:
                if batch.would_overflow(entry):
                    self._send_batch(batch)
                    batch = Batch()
                batch.add(entry, end)
            else:
                self._send_batch(batch)
                batch = Batch()
                self._try(getattr(entry, "name", "") or entry.kind, partial(self._send_entry, entry, end))
                self._move(end)
        self._send_batch(batch)
        if self._place.trouble:  # everything is sent, so an earlier trouble is over
            self._move(self._place.offset)
        if target_in(self._folder) == self._target:
            for file in self._sent_files:
                file.unlink(missing_ok=True)
            self._sent_files.clear()

    def mend(self) -> Iterator[tuple[str, bool]]:
        """Compare what the store has of the run's files with their digests, and send again what is damaged or gone.

        Yield what that was, and whether the store has it whole now; if not, what it held is nowhere any more.
        """
        newest: dict[Any, tuple[FileEntry | ModelEntry, int]] = {}
        for entry, end in entries(self._folder):
            if end > self._place.offset:
                break
            if isinstance(entry, FileEntry | ModelEntry) and (self._place.created or not entry.restored):
                newest[entry.name if isinstance(entry, FileEntry) else entry.files] = entry, end
        (self._folder / "files").mkdir(exist_ok=True)
        try:
            for entry, end in newest.values():
                if isinstance(entry, FileEntry):
                    if find_damaged(self._client, self._artifacts, [entry]):
                        yield entry.name, self._send_file(entry)
                elif damaged := self._models.find_damaged(entry):
                    yield f"the model {entry.name}, {', '.join(damaged)}", self._models.send(entry, end) is None
            yield from Checkpoints(self._client, self._models, self._networks).mend()
        except MlflowException as error:  # a server without logged models has none that are damaged
            self._raise_unless_refused(error)

    # The run.

    def _open(self) -> None:
        """Find the run, or make it; a place that names a run which the store lacks is of a store that is gone."""
        runs = self._find_runs(self._folder.name) or self._find_made_elsewhere()
        ids, made = [run.info.run_id for run in runs], False
        if self._place.run not in ids:
            # What is made here is known as such before it is made, or a kill in between would leave a stranger's run.
            created = not runs or (self._place.created and self._place.run is None)
            self._place = SyncProgress(created=created, is_doubtful=self._place.is_doubtful)
            self._write_place()
            made = not ids
            self._place = replace(self._place, run=self._create() if made else ids[0])
            self._write_place()
        self._delete_doubles(ids)
        if any(run.info.run_id == self._place.run and run.info.lifecycle_stage != "active" for run in runs):
            raise self._deleted()
        # While the store took nothing, another machine may have resumed the run and sent its points.
        anew = (self._place.offset == 0 and not self._place.created) or self._place.tries > 0
        until = (self._folder / FILE).stat().st_size if anew else self._place.offset + 1
        self._unsure_until = 0 if made else math.inf if self._place.is_doubtful else until

    def _deleted(self) -> Deleted:
        run = self._place.run
        return Deleted(f"the run was deleted there; `mlflow runs restore --run-id {run}` brings it back")

    def _create(self) -> str:
        first = next(entries_of(self._folder, RunEntry), None)
        name, start = (first.name, first.at) if first else (self._folder.name, None)
        tags, differs = {RUN_TAG: self._folder.name}, first.differs if first else ""
        tags |= {DIFFERS_TAG: differs} if differs else {}
        name = name_in_mlflow(self._folder.name, name, differs) if first else name
        return self._client.create_run(self._experiment, start_time=start, run_name=name, tags=tags).info.run_id

    def _find_runs(self, run_id: str) -> list[Any]:
        runs = self._client.search_runs(
            [self._experiment], f"tags.`{RUN_TAG}` = '{run_id}'", run_view_type=ViewType.ALL, max_results=10
        )
        return sorted(runs, key=lambda run: (run.info.lifecycle_stage != "active", run.info.run_id))

    def _find_made_elsewhere(self) -> list[Any]:
        """Find the run of a result that came from another clone, by its fingerprint and weights."""
        first = next(entries_of(self._folder, RunEntry), None)
        if not (first and first.restored):
            return []
        tags = {key: value for entry in entries_of(self._folder, TagsEntry) for key, value in entry.values.items()}
        wanted = [(key, tags.get(key)) for key in ("bakeoff.fingerprint", "bakeoff.weights_sha256")]
        if not all(value for _, value in wanted):
            return []
        query = " and ".join(f"tags.`{key}` = '{value}'" for key, value in wanted)
        runs = self._client.search_runs([self._experiment], query, max_results=10)
        return sorted(runs, key=lambda run: run.info.start_time)[:1]

    def _delete_doubles(self, ids: list[str]) -> None:
        """Delete runs that were made twice. A server that hung may have made the first one after all."""
        for other in ids:
            if other != self._place.run:
                self._client.set_tag(other, RUN_TAG, f"{self._folder.name} (double)")
                self._client.delete_run(other)

    # What is sent of it.

    def _send_batch(self, batch: Batch) -> None:
        self._send_points(batch)
        if batch.end is not None:
            self._move(batch.end)

    def _send_points(self, batch: Batch) -> None:
        if not (batch.points or batch.params or batch.tags):
            return
        points = [point for point in batch.points if not self._is_there(*point)]
        parts: dict[str, Any] = {
            "metrics": [Metric(key, value, at, step) for key, step, value, at, _ in points],
            "params": [Param(*pair) for pair in batch.params.items()],
            "tags": [RunTag(*pair) for pair in batch.tags.items()],
        }
        log = partial(self._client.log_batch, self._run)
        try:
            log(**parts)
        except MlflowException as error:
            self._raise_unless_refused(error)
            for kind, part in parts.items():
                for one in part:  # singly, so that one that is refused does not hold up the others
                    self._try(one.key, partial(log, **{kind: [one]}))

    def _is_there(self, key: str, step: int, value: float, at: int, revised: bool) -> bool:
        """Ask the store, but only of points that may have been sent before."""
        if self._place.offset >= self._unsure_until:
            return False
        if key not in self._has:
            self._has[key] = {}
            for point in self._client.get_metric_history(self._run, key):
                self._has[key].setdefault(point.step, set()).add(point.value)
        values = self._has[key].get(step, set())
        return value in values if revised else bool(values)

    def _send_entry(self, entry: JournalEntry, end: int) -> None:
        match entry:
            case FileEntry():
                if not self._send_file(entry):
                    self._refuse(entry.name, GONE)
            case ModelEntry():
                self._send_model(entry, end)
            case CheckpointEntry():
                self._send_checkpoint(entry, end)
            case MetricsEntry(weights=str() as weights):
                batch = Batch()
                batch.add(entry, end)
                self._send_points(batch)
                self._models.measured(weights, end)
            case StateEntry() if entry.state == "RUNNING" or not entry.ended:
                self._client.update_run(self._run, status=entry.state)
            case StateEntry():
                self._client.set_terminated(self._run, entry.state, end_time=entry.at)
                self._delete_doubles([run.info.run_id for run in self._find_runs(self._folder.name)])
            case DatasetEntry():
                self._client.log_inputs(self._run, datasets=[_dataset(entry)])
            case LinkEntry():
                for other in self._find_runs(entry.run)[:1]:
                    self._client.set_tag(self._run, entry.tag, other.info.run_id)
            case ParentEntry():
                self._client.set_tag(self._run, "mlflow.parentRunId", self._parent(entry.name))

    def _parent(self, name: str) -> str:
        """Find or make a run that is nothing but the head of others."""
        if runs := self._find_runs(name):
            return runs[0].info.run_id
        made = self._client.create_run(self._experiment, run_name=name, tags={RUN_TAG: name}).info.run_id
        self._client.set_terminated(made)
        return made

    def _send_file(self, entry: FileEntry) -> bool:
        folder, _, name = entry.name.rpartition("/")
        files = self._folder / "files"
        files.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=files, prefix=SENDING) as place:
            content = kept_file(entry, files) or self._fetch_from_home(entry, Path(place))
            if content is None:
                return False
            named = Path(place) / name
            if content != named:
                link_or_copy(content, named)
            self._client.log_artifact(self._run, str(named), folder or None)
        sync_artifacts(self._artifacts, entry.name)
        self._sent_files.add(files / entry.sha256)
        return True

    @cached_property
    def _artifacts(self) -> str:
        return self._client.get_run(self._run).info.artifact_uri

    def _send_model(self, entry: ModelEntry, end: int) -> None:
        if gone := self._models.send(entry, end):
            self._refuse(f"the model {entry.name}, {gone}", GONE)
        else:
            self._sent_files |= {self._folder / "files" / file.sha256 for file in entry.files}

    def _send_checkpoint(self, entry: CheckpointEntry, end: int) -> None:
        for what, reason in Checkpoints(self._client, self._models, self._networks).send(entry, end):
            self._refuse(what, reason)
        self._sent_files |= {second_name(self._folder, file.name) for file in entry.files}

    @property
    def _models(self) -> LoggedModels:
        return LoggedModels(self._client, self._experiment, self._folder, self._target, self._run)

    def _fetch_from_home(self, entry: FileEntry, into: Path) -> Path | None:
        """Fetch the run's files from the store that it was meant for. Another store gets them from there."""
        if (home := first_home(self._folder, self._target)) is None:
            return None
        own, run = home
        try:
            file = Path(connect(own.address).download_artifacts(run, entry.name, str(into)))
            require_whole(file, entry.sha256, "mlflow")
            return file
        except (MlflowException, OSError, DataError):
            return None

    # Where it stands.

    @property
    def _run(self) -> str:
        assert self._place.run
        return self._place.run

    def _try(self, what: str, do: Callable[[], object]) -> None:
        """Send something, and name what the store refuses for good. The other things are sent all the same."""
        try:
            do()
        except MlflowException as error:
            self._raise_unless_refused(error)
            self._refuse(what, str(error))

    def _raise_unless_refused(self, error: MlflowException) -> None:
        if OF_A_DELETED_RUN in str(error):
            raise self._deleted() from None
        if error.error_code not in REFUSALS:
            raise error

    def _refuse(self, what: str, reason: str) -> None:
        refusal = make_printable(f"{what}: {without_secrets(' '.join(reason.split()))[:200]}")
        if refusal not in self._place.refused and len(self._place.refused) < NAMED_REFUSALS:
            self._place = replace(self._place, refused=(*self._place.refused, refusal))

    def _move(self, end: int) -> None:
        self._place = self._place.move(self._folder / FILE, end)
        self._write_place()

    def _write_place(self) -> None:
        self._place.write(self._folder, self._target)


def _dataset(entry: DatasetEntry) -> DatasetInput:
    source, counts = json.dumps({"uri": entry.source}), json.dumps(entry.counts)
    dataset = Dataset(entry.name, entry.digest[:36], source_type="local", source=source, profile=counts)
    return DatasetInput(dataset, [InputTag("mlflow.data.context", entry.context)])
