"""Models in a journal -> logged models of MLflow 3, each once, with their step and their metrics.

Each part of it may be asked for twice: the model is found again by what its files hold, MLflow takes the same file or
the same metric of a model for one, and whether the run names the model as its output is looked up.
"""

import hashlib
import io
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus, Metric
from mlflow.exceptions import MlflowException

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import link_or_copy, require_whole
from bakeoff.foundation.tf_loading import left_out
from bakeoff.tracking.journal.artifacts import SENDING, kept_file
from bakeoff.tracking.journal.entries import ArtifactFile, MetricsEntry, ModelEntry, ParamsEntry, PredictorEntry
from bakeoff.tracking.journal.journal import entries, entries_of
from bakeoff.tracking.store.mlflow_client import MOST_POINTS, REFERENCE, REFUSALS, SHA256, connect, sync_artifacts
from bakeoff.tracking.store.mlflow_names import metric_in_mlflow, params_in_mlflow
from bakeoff.tracking.store.target import Target, first_home, place_in
from bakeoff.tracking.sync.register_model import CONTENT, register
from bakeoff.tracking.sync.stored_copies import find_damaged

if TYPE_CHECKING:
    import pandas as pd

FILES, WEIGHTS, BYTES = CONTENT, "bakeoff.weights", "bakeoff.bytes"
Point = tuple[str, int, float, int]  # metric, step, value, milliseconds
PREDICTOR_FOLDER = "model"  # below data/ of a predictor
PREDICTOR = Path(__file__).with_name("pyfunc_model.py")  # goes along with the model


class Predicts(Protocol):
    """What is known of a model that answers images, or clips."""

    @property
    def answers(self) -> str: ...  # detection, one label, several labels
    @property
    def clips(self) -> bool: ...
    @property
    def requirements(self) -> tuple[str, ...]: ...


class LoggedModels:
    def __init__(self, client: MlflowClient, experiment: str, folder: Path, target: Target, run: str) -> None:
        self._client, self.experiment, self.run = client, experiment, run
        self.folder, self._target = folder, target

    def send(self, entry: ModelEntry, end: int) -> str | None:
        """Send a model; return a file whose content is nowhere any more, without which there is none. `end` is that of
        its line in the journal."""
        files = self.folder / "files"
        files.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=files, prefix=SENDING) as place:
            content = Path(place) / PREDICTOR_FOLDER
            content.mkdir()
            for file in () if entry.by_reference else entry.files:
                if not self._fetch(entry, file, content / file.name):
                    return file.name
            model = self._find_or_make(entry)
            if not entry.by_reference:
                if isinstance(entry, PredictorEntry):
                    weights, content = content, content.with_name("as_sent")
                    write_pyfunc(entry, weights, content, run=self.run, model_id=model.model_id)
                self._client.log_model_artifacts(model.model_id, str(content))
                sync_artifacts(model.artifact_location)
                if REFERENCE in model.tags:
                    self._client.delete_logged_model_tag(model.model_id, REFERENCE)
        self._measure(model, entry, end)
        outputs = self._client.get_run(self.run).outputs
        if model.model_id not in [output.model_id for output in (outputs.model_outputs if outputs else [])]:
            self._client.log_outputs(self.run, [LoggedModelOutput(model.model_id, entry.step)])
        self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        self._find_or_make(entry)  # deletes one that a server which hung made after all
        if isinstance(entry, PredictorEntry) and entry.register:
            register(self._client, model, entry.register, _digest_of(entry))
        return None

    def find_damaged(self, entry: ModelEntry) -> list[str]:
        """Return the names of a model's files that the store does not have as they were sent. A model that somebody
        deleted there is left alone."""
        below = f"data/{PREDICTOR_FOLDER}" if isinstance(entry, PredictorEntry) else ""
        models = [] if entry.by_reference else self._find(entry)[:1]
        return [
            name for model in models for name in find_damaged(self._client, model.artifact_location, entry.files, below)
        ]

    def measured(self, weights: str, end: int) -> None:
        """Add later measurements of weights to every model that has these weights."""
        for entry, at in entries(self.folder):
            if at < end and isinstance(entry, ModelEntry) and entry.weights == weights:
                for model in self._find(entry)[:1]:
                    self._measure(model, entry, end)

    def _find(self, entry: ModelEntry) -> list[LoggedModel]:
        wanted = f"source_run_id = '{self.run}' AND tags.`{FILES}` = '{_digest_of(entry)}'"
        models = self._client.search_logged_models([self.experiment], filter_string=wanted)
        return sorted(models, key=lambda model: (model.creation_timestamp, model.model_id))

    def _find_or_make(self, entry: ModelEntry) -> LoggedModel:
        models = self._find(entry)
        for double in models[1:]:
            self._client.delete_logged_model(double.model_id)
        if models:
            return models[0]
        size = sum(file.bytes for file in entry.files)
        tags = {FILES: _digest_of(entry), WEIGHTS: entry.weights, BYTES: str(size)}
        if len(entry.files) == 1:
            tags[SHA256] = entry.files[0].sha256
        if entry.by_reference:
            places = (f"{file.shown} ({file.bytes:,} bytes, sha256 {file.sha256})" for file in entry.files)
            tags[REFERENCE] = (
                f"larger than track.largest_model_mb, so it is only where it was made: {'; '.join(places)}"
            )
        return self._client.create_logged_model(
            self.experiment, entry.name, self.run, tags=tags,
            params={**params_of(self.folder), "step": str(entry.step)},
            model_type="predictor" if isinstance(entry, PredictorEntry) else "weights",
        )  # fmt: skip

    def measure(self, model: LoggedModel, measurements: Iterable[Point]) -> None:
        """Log the run's own points unchanged, so that the run has none of them twice."""
        is_doubtful = place_in(self.folder, self._target).is_doubtful
        points = [
            Metric(key, value, self._time_of(key, step, at) if is_doubtful else at, step, model_id=model.model_id)
            for key, step, value, at in measurements
        ]
        for first in range(0, len(points), MOST_POINTS):
            batch = points[first : first + MOST_POINTS]
            if not self._log_unless_refused(batch):
                for point in batch:  # what the store refused of the run, and was named then, it refuses here
                    self._log_unless_refused([point])

    def _measure(self, model: LoggedModel, entry: ModelEntry, end: int) -> None:
        self.measure(model, _points(self.folder, entry, end, restored=self.restored))

    @property
    def restored(self) -> bool:
        """Return whether the store gets points of an old run. One that had the run before has them at another time."""
        return place_in(self.folder, self._target).created

    def _time_of(self, key: str, step: int, at: int) -> int:
        """Return when the run has the point. A journal that lost its line has it again with a later time."""
        times = (point.timestamp for point in self._client.get_metric_history(self.run, key) if point.step == step)
        return next(times, at)

    def _log_unless_refused(self, points: list[Metric]) -> bool:
        try:
            self._client.log_batch(self.run, metrics=points)
        except MlflowException as error:
            if error.error_code not in REFUSALS:
                raise
            return False
        return True

    def _fetch(self, entry: ModelEntry, file: ArtifactFile, place: Path) -> bool:
        place.parent.mkdir(parents=True, exist_ok=True)
        if content := kept_file(file, self.folder / "files"):
            link_or_copy(content, place)
            return True
        return self._fetch_from_home(entry, file, place)

    def _fetch_from_home(self, entry: ModelEntry, file: ArtifactFile, place: Path) -> bool:
        """Fetch a model's files from the store that the run was meant for. Another store gets them from there."""
        if (home := first_home(self.folder, self._target)) is None:
            return False
        own, run = home
        try:
            client = connect(own.address)
            there = LoggedModels(client, client.get_run(run).info.experiment_id, self.folder, own, run)
            path = f"data/{PREDICTOR_FOLDER}/{file.name}" if isinstance(entry, PredictorEntry) else file.name
            with TemporaryDirectory(dir=self.folder / "files", prefix=SENDING) as into:
                [model] = there._find(entry)[:1]
                uri = f"{model.artifact_location}/{path}"
                shutil.move(download_artifacts(uri, dst_path=into, tracking_uri=own.address), place)
            require_whole(place, file.sha256, "mlflow")
        except (MlflowException, OSError, ValueError, DataError):
            return False
        return True


def write_pyfunc(model: Predicts, data: Path, out: Path, *, run: str, model_id: str, **more: Any) -> None:
    """Write a folder that `mlflow.pyfunc.load_model` reads, with nothing of bakeoff in it but the predictor's file.
    `data` holds what that file opens; `more` goes into MLmodel."""
    from mlflow.models import Model, ModelSignature  # loads half of MLflow
    from mlflow.pyfunc import save_model
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import Array

    numbers, texts = Array(DataType.double), Array(DataType.string)
    answers: dict[str, dict[str, Any]] = {
        "detection": {"boxes": Array(numbers), "classes": Array(DataType.long), "texts": texts, "scores": numbers},
        "one label": {
            "class": DataType.long,
            "text": DataType.string,
            "score": DataType.double,
            "probabilities": numbers,
        },
        "several labels": {"texts": texts, "scores": numbers},
    }
    takes = Array(DataType.binary) if model.clips else DataType.binary
    signature = ModelSignature(
        Schema([ColSpec(takes)]), Schema([ColSpec(kind, key) for key, kind in answers[model.answers].items()])
    )
    # It compares requirements with what is installed, and would load TensorFlow where its package is tensorflow-cpu.
    with left_out("tensorflow"):
        save_model(
            out, loader_module=PREDICTOR.stem, data_path=str(data), code_paths=[str(PREDICTOR)], signature=signature,
            input_example=_example(model.clips), pip_requirements=list(model.requirements),
            mlflow_model=Model(run_id=run, model_uuid=model_id, model_id=model_id, **more),
        )  # fmt: skip


def _example(clips: bool) -> "pd.DataFrame":
    """Return one row of input: a grey square, or two of them."""
    import pandas as pd
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), (128, 128, 128)).save(buffer, "PNG")
    return pd.DataFrame([[[buffer.getvalue()] * 2 if clips else buffer.getvalue()]])


def _points(folder: Path, model: ModelEntry, end: int, *, restored: bool) -> Iterator[Point]:
    """Yield the validation metrics of the model's step, and what was measured of its weights later. Points that are
    `restored` have another time in a store that had the run before.
    """
    for entry, at in entries(folder):
        if at > end:
            return
        if not isinstance(entry, MetricsEntry) or (entry.restored and not restored):
            continue
        is_of_the_step = entry.weights is None and entry.step == model.step
        for key, value in entry.values.items():
            if (is_of_the_step and key.startswith("validation/")) or entry.weights == model.weights:
                yield metric_in_mlflow(key), entry.step, value, entry.at


def params_of(folder: Path) -> dict[str, str]:
    """Return the run's params, as far as its journal has them."""
    values = {key: value for entry in entries_of(folder, ParamsEntry) for key, value in entry.values.items()}
    return params_in_mlflow(values)[0]


def _digest_of(entry: ModelEntry) -> str:
    """Return a digest of a model's name and files. By this digest the store finds the model again."""
    parts = [entry.name, entry.weights, str(entry.step), *(file.sha256 for file in entry.files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
