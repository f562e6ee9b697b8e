"""Checkpoints in a journal -> logged models of MLflow, one for each file, while the run trains.

A model is whole when it is READY. A large file is sent in parts; after a failure only those are sent that the store
lacks. What the run removed is removed in the store as well, files first, so that no file is left without a model.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelStatus

from bakeoff.foundation.files import hash_file, link_or_copy
from bakeoff.tracking.journal.artifacts import SENDING
from bakeoff.tracking.journal.checkpoints import NAME, PART_BYTES, second_name
from bakeoff.tracking.journal.entries import CheckpointEntry, CheckpointFile, MetricsEntry
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.store.mlflow_client import REFERENCE, delete_artifacts, models_of, sync_artifacts
from bakeoff.tracking.sync.send_models import BYTES, SHA256, LoggedModels, Point

CHECKPOINT, NEEDS = "bakeoff.checkpoint", "bakeoff.needs"  # tags: its name in the run's folder, and what it goes with
TYPE = "checkpoint"
MEASURED = ("train/", "validation/", "learning_rate")  # begin the names of metrics that a checkpoint has
REMEMBERED = 64  # points of each metric: training went on while a checkpoint was written


class LatestMetrics:
    """The last values of each metric, read from a journal up to some line. Each line is read once."""

    def __init__(self, folder: Path, *, restored: bool) -> None:
        """Set what to read. Points that are `restored` have another time in a store that had the run before."""
        self._folder, self._restored, self._offset = folder, restored, 0
        self._points: dict[str, deque[Point]] = {}

    def points(self, step: int, end: int) -> Iterator[Point]:
        """Yield the last point of each metric that was known at a step, from the journal's lines until `end`."""
        for entry, at in entries(self._folder, self._offset):
            if at > end:
                break
            self._offset = at
            if isinstance(entry, MetricsEntry) and (self._restored or not entry.restored):
                for key, value in entry.values.items():
                    if key.startswith(MEASURED):
                        history = self._points.setdefault(key, deque(maxlen=REMEMBERED))
                        history.append((key, entry.step, value, entry.at))
        for history in self._points.values():
            if earlier := [point for point in history if point[1] <= step]:
                yield earlier[-1]


class Checkpoints:
    def __init__(
        self, client: MlflowClient, experiment: str, run: str, folder: Path, models: LoggedModels, known: LatestMetrics
    ) -> None:
        self._client, self._experiment, self._run = client, experiment, run
        self._folder, self._models, self._known = folder, models, known
        self._there: list[tuple[str, LoggedModel]] = []  # checkpoints that the store had before an entry was sent

    def send(self, entry: CheckpointEntry, end: int) -> Iterator[tuple[str, str]]:
        """Send a checkpoint and what goes with it, unless later lines took it back; `end` is that of its line. Yields
        what the store does not get, and why."""
        stay, self._there = self._stay_now(entry, end), self.there()
        for file in entry.files:
            if (stay is None or file.name in stay) and (reason := self._send(file, end)):
                yield f"the checkpoint {file.name}", reason
        if stay is not None and stay == entry.stay:  # otherwise a later entry removes them, once it has sent its own
            for name, model in self._there:
                if name not in stay and (reason := self._remove(model)):
                    yield f"the removal of {name}", reason

    def second_names(self, entry: CheckpointEntry) -> set[Path]:
        return {second_name(self._folder, file.name) for file in entry.files}

    def there(self) -> list[tuple[str, LoggedModel]]:
        models = models_of(self._client, self._experiment, self._run)
        return [(model.tags[CHECKPOINT], model) for model in models if CHECKPOINT in model.tags]

    def _stay_now(self, entry: CheckpointEntry, end: int) -> tuple[str, ...] | None:
        later = [entry for entry, _ in entries(self._folder, end) if isinstance(entry, CheckpointEntry)]
        return [entry, *later][-1].stay

    def _send(self, file: CheckpointFile, end: int) -> str | None:
        """Return why not."""
        content = None if file.by_reference else self._content_of(file)
        if content is None and not file.by_reference:
            has = [model for name, model in self._there if name == file.name]
            if any(model.status == LoggedModelStatus.READY for model in has):
                return None  # a later line has it again, with the later checkpoint that needs it
            return "it was removed here before the store took it"
        with TemporaryDirectory(dir=self._folder / "files", prefix=SENDING) as place:
            held = Path(place) / file.name.rpartition("/")[2]
            if content:
                link_or_copy(content, held)
            model = self._find_or_make(file, hash_file(held) if content else None)
            if content and model.status != LoggedModelStatus.READY:
                self._send_parts(model, held)
                sync_artifacts(model.artifact_location)
        if model.status != LoggedModelStatus.READY:
            self._models.measure(model, self._known.points(step_of(file.name), end))
            self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return None

    def _content_of(self, file: CheckpointFile) -> Path | None:
        for path in (second_name(self._folder, file.name), Path(file.path)):
            if path.is_file() and path.stat().st_size == file.bytes:
                return path
        return None

    def _find_or_make(self, file: CheckpointFile, digest: str | None) -> LoggedModel:
        """One of the same name and other content is of an attempt that resumed at an earlier step."""
        models = [model for name, model in self._there if name == file.name]
        same = [model for model in models if model.tags.get(SHA256) == digest]
        whole = [model for model in same if model.status == LoggedModelStatus.READY]
        chosen = (whole or same)[:1]
        for model in models:
            if model not in chosen:
                self._remove(model)
        if chosen:
            return chosen[0]
        tags = {CHECKPOINT: file.name, BYTES: str(file.bytes)}
        if file.needs:
            tags[NEEDS] = " ".join(file.needs)
        if digest:
            tags[SHA256] = digest
        else:
            tags[REFERENCE] = f"larger than track.largest_model_mb, so it is only where it was made: {file.path}"
        step = step_of(file.name)
        return self._client.create_logged_model(
            self._experiment, f"{'checkpoint' if is_checkpoint(file.name) else 'best-so-far'}-{step}", self._run,
            tags=tags, params={"step": str(step)}, model_type=TYPE,
        )  # fmt: skip

    def _send_parts(self, model: LoggedModel, file: Path) -> None:
        """Send what is not there; the store knows a part by its name and size."""
        there = {info.path: info.file_size for info in self._client.list_logged_model_artifacts(model.model_id)}
        size = file.stat().st_size
        with file.open("rb") as content:
            for first in range(0, max(size, 1), PART_BYTES):
                number, length = first // PART_BYTES + 1, min(PART_BYTES, size - first)
                part = file.with_name(f"{file.name}.part-{number:05d}") if size > PART_BYTES else file
                if there.get(part.name) == length:
                    continue
                if part != file:
                    content.seek(first)
                    part.write_bytes(content.read(length))
                self._client.log_model_artifact(model.model_id, str(part))
                if part != file:
                    part.unlink()

    def _remove(self, model: LoggedModel) -> str | None:
        """Return why its files stay."""
        reason = None if REFERENCE in model.tags else delete_artifacts(self._client, model)
        self._client.delete_logged_model(model.model_id)
        return reason


def whole_checkpoints(models: Iterable[LoggedModel]) -> dict[str, LoggedModel]:
    """Return those among the models of a run, by their names in its folder."""
    ready = [model for model in models if model.status == LoggedModelStatus.READY]
    return {name: model for model in ready if NAME.fullmatch(name := model.tags.get(CHECKPOINT, ""))}


def is_checkpoint(name: str) -> bool:
    """Return whether a run resumes from a file of this name. Other names are of weights that belong to a checkpoint."""
    return name.rpartition("/")[2].isdigit()


def step_of(name: str) -> int:
    """Return the step that ends the name of a checkpoint or of best weights."""
    match = re.search(r"\d+$", name)
    return int(match[0]) if match else 0
