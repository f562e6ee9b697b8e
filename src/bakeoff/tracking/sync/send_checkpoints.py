"""Checkpoints in a journal -> logged models of MLflow, one for each file, while the run trains.

A model is whole when it is READY. A large file is sent in parts; after a failure only those are sent that the store
lacks. What the run removed is removed in the store as well, files first, so that no file is left without a model.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelStatus

from bakeoff.foundation.files import hash_file, link_or_copy
from bakeoff.tracking.journal.artifacts import SENDING
from bakeoff.tracking.journal.checkpoint_contents import CONTENTS
from bakeoff.tracking.journal.checkpoint_copies import NAME, count_parts, part_name, read_parts
from bakeoff.tracking.journal.checkpoints import second_name
from bakeoff.tracking.journal.entries import CheckpointEntry, CheckpointFile, MetricsEntry
from bakeoff.tracking.journal.journal import entries, entries_of
from bakeoff.tracking.store.mlflow_client import REFERENCE, SHA256, delete_artifacts, models_of, sync_artifacts
from bakeoff.tracking.sync.checkpoint_model import write_checkpoint_model
from bakeoff.tracking.sync.network_files import NetworkFiles
from bakeoff.tracking.sync.register_model import is_registered
from bakeoff.tracking.sync.send_models import BYTES, LoggedModels, Point, params_of
from bakeoff.tracking.sync.stored_copies import holds_contents, holds_parts_of, list_all_sizes

CHECKPOINT, NEEDS = "bakeoff.checkpoint", "bakeoff.needs"  # tags: its name in the run's folder, and what it goes with
CONTENTS_TAG, STORED = "bakeoff.contents", "bakeoff.stored_bytes"  # the digest of its list of files, and their bytes
NOT_OPENED, LONGEST_REASON = "bakeoff.not_opened", 500  # a tag: why MLflow cannot open it
TYPE = "checkpoint"
MEASURED = ("train/", "validation/", "learning_rate")  # begin the names of metrics that a checkpoint has


class Checkpoints:
    def __init__(self, client: MlflowClient, models: LoggedModels, networks: NetworkFiles) -> None:
        self._client, self._models, self._folder, self._networks = client, models, models.folder, networks
        self._there: list[tuple[str, LoggedModel]] = []  # checkpoints that the store had before an entry was sent

    def send(self, entry: CheckpointEntry, end: int) -> Iterator[tuple[str, str]]:
        """Send a checkpoint and what goes with it, unless later lines took it back; `end` is that of its line. Yields
        what the store does not get, and why."""
        models = models_of(self._client, self._models.experiment, self._models.run)
        self._there = [(model.tags[CHECKPOINT], model) for model in models if CHECKPOINT in model.tags]
        later = [one for one, _ in entries(self._folder, end) if isinstance(one, CheckpointEntry)]
        stay = [entry, *later][-1].stay
        for file in entry.files:
            if (stay is None or file.name in stay) and (reason := self._send(file, end)):
                yield f"the checkpoint {file.name}", reason
        if stay is not None and stay == entry.stay:  # otherwise a later entry removes them, once it has sent its own
            for name, model in self._there:
                if name not in stay and (reason := self._remove(model)):
                    yield f"the removal of {name}", reason

    def mend(self) -> Iterator[tuple[str, bool]]:
        """Send again what the store has damaged. Yield the name of each checkpoint, and whether it is whole now."""
        models = models_of(self._client, self._models.experiment, self._models.run)
        places = {
            file.name: Path(file.path) for entry in entries_of(self._folder, CheckpointEntry) for file in entry.files
        }
        for name, model in whole_checkpoints(models).items():
            digest = model.tags.get(SHA256)
            if digest is None or self._is_whole(model, digest):
                continue
            here = [second_name(self._folder, name), *([places[name]] if name in places else [])]
            content = next((path for path in here if path.is_file() and hash_file(path) == digest), None)
            if content and delete_artifacts(self._client, model) is None:
                with TemporaryDirectory(dir=self._folder / "files", prefix=SENDING) as place:
                    held = Path(place) / name.rpartition("/")[2]
                    link_or_copy(content, held)
                    self._send_content(model, held)
                sync_artifacts(model.artifact_location)
            yield f"the checkpoint {name}", content is not None

    def _is_whole(self, model: LoggedModel, digest: str) -> bool:
        if contents := model.tags.get(CONTENTS_TAG):
            return holds_contents(self._client, model.artifact_location, int(model.tags[STORED]), contents)
        return holds_parts_of(self._client, model.artifact_location, int(model.tags.get(BYTES) or 0), digest)

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
                self._send_content(model, held)
                sync_artifacts(model.artifact_location)
        if model.status != LoggedModelStatus.READY:
            step = int(model.params["step"])
            self._models.measure(model, _latest_points(self._folder, step, end, restored=self._models.restored))
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
        match = NAME.fullmatch(file.name)
        assert match
        step = int(match["step"])
        return self._client.create_logged_model(
            self._models.experiment, f"{'best-so-far' if match['best'] else 'checkpoint'}-{step}", self._models.run,
            tags=tags, params={**params_of(self._folder), "step": str(step)}, model_type=TYPE,
        )  # fmt: skip

    def _send_content(self, model: LoggedModel, checkpoint: Path) -> None:
        """Send a checkpoint as a model that MLflow opens; as it is, if it cannot be opened."""
        out = checkpoint.with_name("as_sent")
        try:
            contents = write_checkpoint_model(checkpoint, self._networks, model, out)
            reason = self._networks.trouble
        except ValueError as error:
            contents, reason = None, str(error)
        if contents is None:
            self._client.set_logged_model_tags(model.model_id, {NOT_OPENED: reason[:LONGEST_REASON]})
            self._send_parts(model, checkpoint)
            return
        there = list_all_sizes(self._client, model.artifact_location)
        names = [*contents.files, CONTENTS]
        sizes = {name: (out / name).stat().st_size for name in names}
        for name in names:
            if there.get(name) != sizes[name]:
                folder = name.rpartition("/")[0] or None
                self._client.log_model_artifact(model.model_id, str(out / name), folder)
        tags = {CONTENTS_TAG: contents.sha256, STORED: str(sum(sizes.values()))}
        self._client.set_logged_model_tags(model.model_id, tags)

    def _send_parts(self, model: LoggedModel, file: Path) -> None:
        """Send what is not there; the store knows a part by its name and size."""
        there = {info.path: info.file_size for info in self._client.list_logged_model_artifacts(model.model_id)}
        is_large = count_parts(file.stat().st_size) > 1
        for number, content in enumerate(read_parts(file), start=1):
            part = file.with_name(part_name(file.name, number)) if is_large else file
            if there.get(part.name) == len(content):
                continue
            if is_large:
                part.write_bytes(content)
            self._client.log_model_artifact(model.model_id, str(part))
            if is_large:
                part.unlink()

    def _remove(self, model: LoggedModel) -> str | None:
        """Return why its files stay. One that somebody registered stays, too."""
        if is_registered(model):
            return None
        reason = None if REFERENCE in model.tags else delete_artifacts(self._client, model)
        self._client.delete_logged_model(model.model_id)
        return reason


def whole_checkpoints(models: Iterable[LoggedModel]) -> dict[str, LoggedModel]:
    """Return those among the models of a run, by their names in its folder."""
    ready = [model for model in models if model.status == LoggedModelStatus.READY]
    ready.sort(key=lambda model: model.creation_timestamp)  # of two with one name the later one counts
    return {name: model for model in ready if NAME.fullmatch(name := model.tags.get(CHECKPOINT, ""))}


def _latest_points(folder: Path, step: int, end: int, *, restored: bool) -> Iterable[Point]:
    """Return the last point of each metric that was known at a step, from the journal's lines until `end`. Points that
    are `restored` have another time in a store that had the run before.
    """
    latest: dict[str, Point] = {}
    for entry, at in entries(folder):
        if at > end:
            break
        if isinstance(entry, MetricsEntry) and entry.step <= step and (restored or not entry.restored):
            points = ((key, entry.step, value, entry.at) for key, value in entry.values.items())
            latest |= {point[0]: point for point in points if point[0].startswith(MEASURED)}
    return latest.values()
