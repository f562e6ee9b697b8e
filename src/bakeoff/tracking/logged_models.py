"""Models that a journal tells of -> logged models of MLflow 3, each once, with their step and their metrics.

Each part of it may be asked for twice: the model is found again by what its files hold, MLflow takes the same file or
the same metric of a model for one, and whether the run names the model as its output is looked up.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus, Metric

from bakeoff.tracking.batch import Batch
from bakeoff.tracking.journal import Entry, entries
from bakeoff.tracking.kept import SENDING, kept_file, linked
from bakeoff.tracking.model_of_run import REFERENCE, download_artifacts
from bakeoff.tracking.store import REFUSALS, MlflowClient, MlflowException
from bakeoff.tracking.target import Target, place_in, target_in

FILES, WEIGHTS, SHA256, BYTES = (f"bakeoff.{name}" for name in ("files", "weights", "sha256", "bytes"))
VERSIONS = "mlflow.modelVersions"
PREDICTOR_FOLDER = "model"  # below data/ of a predictor


class LoggedModels:
    """Those of one run."""

    def __init__(self, client: MlflowClient, experiment: str, folder: Path, target: Target, run: str) -> None:
        self._client, self._experiment, self._run = client, experiment, run
        self._folder, self._target = folder, target

    def send(self, entry: Entry, end: int) -> str | None:
        """A file whose content is nowhere any more, without which there is no model; `end` is that of its line."""
        files = self._folder / "files"
        files.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=files, prefix=SENDING) as place:
            content = Path(place) / PREDICTOR_FOLDER
            content.mkdir()
            for file in () if entry["by_reference"] else entry["files"]:
                if not self._fetch(entry, file, content / file["name"]):
                    return str(file["name"])
            model = self._found_or_made(entry)
            if not entry["by_reference"]:
                self._client.log_model_artifacts(model.model_id, str(self._as_sent(entry, content, model)))
                if REFERENCE in model.tags:
                    self._client.delete_logged_model_tag(model.model_id, REFERENCE)
        self._measure(model, entry, end)
        outputs = self._client.get_run(self._run).outputs
        if model.model_id not in [output.model_id for output in (outputs.model_outputs if outputs else [])]:
            self._client.log_outputs(self._run, [LoggedModelOutput(model.model_id, entry["step"])])
        self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        self._found_or_made(entry)  # deletes one that a server which hung made after all
        if entry.get("register"):
            self._register(model, entry["register"], _digest_of(entry))
        return None

    def measured(self, weights: str, end: int) -> None:
        """What was measured of weights, also long after, is said of every model that has them."""
        for entry, at in entries(self._folder):
            if at < end and entry and entry["kind"] == "model" and entry["weights"] == weights:
                for model in self._found(entry)[:1]:
                    self._measure(model, entry, end)

    def _found(self, entry: Entry) -> list[LoggedModel]:
        wanted = f"source_run_id = '{self._run}' AND tags.`{FILES}` = '{_digest_of(entry)}'"
        found = self._client.search_logged_models([self._experiment], filter_string=wanted)
        return sorted(found, key=lambda model: (model.creation_timestamp, model.model_id))

    def _found_or_made(self, entry: Entry) -> LoggedModel:
        found = self._found(entry)
        for double in found[1:]:
            self._client.delete_logged_model(double.model_id)
        if found:
            return found[0]
        size = sum(file["bytes"] for file in entry["files"])
        tags = {FILES: _digest_of(entry), WEIGHTS: entry["weights"], BYTES: str(size)}
        if len(entry["files"]) == 1:
            tags[SHA256] = entry["files"][0]["sha256"]
        if entry["by_reference"]:
            tags[REFERENCE] = f"larger than track.largest_model_mb, so it is only where it was made: {_place(entry)}"
        return self._client.create_logged_model(
            self._experiment, entry["name"], self._run, tags=tags, params={"step": str(entry["step"])},
            model_type="predictor" if "answers" in entry else "weights",
        )  # fmt: skip

    def _as_sent(self, entry: Entry, content: Path, model: LoggedModel) -> Path:
        if "answers" not in entry:
            return content
        from bakeoff.tracking.pyfunc_model import write_pyfunc  # loads half of MLflow

        out = content.with_name("as_sent")
        write_pyfunc(
            content, out, answers=entry["answers"], clips=entry["clips"], requirements=entry["requirements"],
            run=self._run, model_id=model.model_id,
        )  # fmt: skip
        return out

    def _measure(self, model: LoggedModel, entry: Entry, end: int) -> None:
        """The run's own points, word for word, so that it has none of them twice."""
        made_here = place_in(self._folder, self._target).created
        points = [
            Metric(key, value, at, step, model_id=model.model_id)
            for key, step, value, at in _points(self._folder, entry, end, restored=made_here)
        ]
        for first in range(0, len(points), Batch.MOST_POINTS):
            batch = points[first : first + Batch.MOST_POINTS]
            try:
                self._client.log_batch(self._run, metrics=batch)
            except MlflowException as error:
                if error.error_code not in REFUSALS:
                    raise
                for point in batch:  # what the store refused of the run, and was named then, it refuses here
                    self._measure_unless_refused(point)

    def _measure_unless_refused(self, point: Metric) -> None:
        try:
            self._client.log_batch(self._run, metrics=[point])
        except MlflowException as error:
            if error.error_code not in REFUSALS:
                raise

    def _register(self, model: LoggedModel, name: str, digest: str) -> None:
        try:
            self._client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        versions = self._client.search_model_versions(f"name = '{name}' AND run_id = '{self._run}'")
        if digest not in [version.tags.get(FILES) for version in versions]:
            made = self._client.create_model_version(
                name, model.artifact_location, self._run, {FILES: digest}, model_id=model.model_id, await_creation_for=0
            )
            self._say_version(model, name, str(made.version))

    def _say_version(self, model: LoggedModel, name: str, version: str) -> None:
        """A tag by which MLflow's page of the model shows it; a server writes it, a database alone does not."""
        said = json.loads(self._client.get_logged_model(model.model_id).tags.get(VERSIONS, "[]"))
        if (name, version) not in [(one["name"], str(one["version"])) for one in said]:
            tags = {VERSIONS: json.dumps([*said, {"name": name, "version": version}])}
            self._client.set_logged_model_tags(model.model_id, tags)

    # What its files hold.

    def _fetch(self, entry: Entry, file: Entry, place: Path) -> bool:
        place.parent.mkdir(parents=True, exist_ok=True)
        if content := kept_file(file, self._folder / "files"):
            linked(content, place)
            return True
        return self._fetch_from_own_store(entry, file["name"], place)

    def _fetch_from_own_store(self, entry: Entry, name: str, place: Path) -> bool:
        """For another store: the one that the run was meant for has all its models."""
        own = target_in(self._folder)
        if own is None or own == self._target or not (run := place_in(self._folder, own).run):
            return False
        try:
            client = MlflowClient(tracking_uri=own.address)
            there = LoggedModels(client, client.get_run(run).info.experiment_id, self._folder, own, run)
            path = f"data/{PREDICTOR_FOLDER}/{name}" if "answers" in entry else name
            with TemporaryDirectory(dir=self._folder / "files", prefix=SENDING) as into:
                [model] = there._found(entry)[:1]
                uri = f"{model.artifact_location}/{path}"
                shutil.move(download_artifacts(uri, dst_path=into, tracking_uri=own.address), place)
        except (MlflowException, OSError, ValueError):
            return False
        return True


def _points(folder: Path, model: Entry, end: int, *, restored: bool) -> Iterator[tuple[str, int, float, int]]:
    """What validation found at the model's step, and what was measured of its weights later.

    `restored` points have another time in a store that had the run before.
    """
    for entry, at in entries(folder):
        if at > end:
            return
        if entry is None or entry["kind"] != "metrics" or (entry.get("restored") and not restored):
            continue
        of_the_step = "weights" not in entry and entry["step"] == model["step"]
        for key, value in entry["values"].items():
            if (of_the_step and key.startswith("validation/")) or entry.get("weights") == model["weights"]:
                yield key, entry["step"], value, entry["at"]


def _digest_of(entry: Entry) -> str:
    """Of what it is called and holds: by this a model is found again."""
    parts = [entry["name"], entry["weights"], str(entry["step"]), *(file["sha256"] for file in entry["files"])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _place(entry: Entry) -> str:
    return "; ".join(f"{file['shown']} ({file['bytes']:,} bytes, sha256 {file['sha256']})" for file in entry["files"])
