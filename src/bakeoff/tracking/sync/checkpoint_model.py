"""A checkpoint -> the folder of files that MLflow gets of it: a Keras model that also answers images, and the rest."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mlflow.entities import LoggedModel

from bakeoff.foundation.files import hash_file, link_or_copy
from bakeoff.foundation.versions import library_version
from bakeoff.tracking.journal.artifacts import LABELS, LIBRARIES, format_requirement
from bakeoff.tracking.journal.checkpoint_contents import ARCHIVE, CONTENTS, EXACT, Contents
from bakeoff.tracking.journal.checkpoint_copies import count_parts, part_name, read_parts
from bakeoff.tracking.journal.keras_archive import ArchiveLayout, take_apart
from bakeoff.tracking.sync.make_network_files import ANSWERS, LAYOUT
from bakeoff.tracking.sync.network_files import NetworkFiles
from bakeoff.tracking.sync.send_models import PREDICTOR_FOLDER, write_pyfunc

KERAS_FLAVOR = {"data": f"data/{PREDICTOR_FOLDER}", "keras_backend": "tensorflow", "save_exported_model": False}


@dataclass(frozen=True)
class CheckpointAnswers:
    """What is known of the answers of a checkpoint."""

    answers: str
    clips: bool
    requirements: tuple[str, ...]


def write_checkpoint_model(checkpoint: Path, networks: NetworkFiles, model: LoggedModel, out: Path) -> Contents | None:
    """Write the files of a checkpoint into a new folder, and return what they are.

    Return None, with `networks.trouble`, where nobody knows the network. Raises ValueError for a checkpoint of another.
    Equal checkpoints of one logged model become equal files, so that what a failure cut off goes on.
    """
    shared = networks.find_or_make()
    if shared is None:
        return None
    data, rest = out.with_name(PREDICTOR_FOLDER), out.with_name("rest")
    data.mkdir()
    try:
        link_or_copy(shared / LABELS, data / LABELS)
        shutil.copytree(shared / ANSWERS, data / ANSWERS, copy_function=link_or_copy)
        places = take_apart(checkpoint, ArchiveLayout.read(shared / LAYOUT), data / Path(ARCHIVE).name, rest)
        requirements = tuple(map(format_requirement, (*LIBRARIES, "keras")))
        write_pyfunc(
            CheckpointAnswers(networks.answers, networks.takes_clips, requirements), data, out,
            run=model.source_run_id or "", model_id=model.model_id,
            flavors={"keras": {**KERAS_FLAVOR, "keras_version": library_version("keras")}},
            utc_time_created=datetime.fromtimestamp(model.creation_timestamp / 1000, UTC).replace(tzinfo=None),
        )  # fmt: skip
        _write_rest(rest, out / EXACT, checkpoint.name)
    finally:
        shutil.rmtree(data)
        rest.unlink(missing_ok=True)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    contents = Contents({path.relative_to(out).as_posix(): hash_file(path) for path in files}, places)
    (out / CONTENTS).write_text(contents.text, encoding="utf-8")
    return contents


def _write_rest(rest: Path, folder: Path, name: str) -> None:
    """Put the rest of a checkpoint into its folder, in parts if it is large."""
    folder.mkdir()
    if count_parts(rest.stat().st_size) <= 1:
        rest.replace(folder / name)
        return
    for number, part in enumerate(read_parts(rest), start=1):
        (folder / part_name(name, number)).write_bytes(part)
