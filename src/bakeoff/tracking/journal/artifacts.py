"""Files and models that are handed to a journal: what describes them there, and a copy of what they hold.

The copies in `files/` are named by their digests, and stay until MLflow has them.
"""

import hashlib
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.foundation.files import hash_file, link_or_copy
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.entries import ArtifactFile, FileEntry, ModelEntry, PredictorEntry

if TYPE_CHECKING:
    from bakeoff.config.track_settings import Mlflow

SENDING = "sending-"  # begins the names of folders in which files are put together to be sent
SENT_BY_THEN_S = 3600.0  # an older folder was left by a process that was killed
COPIED_BYTES = 1_000_000  # a file that somebody may edit in place is rarely bigger

FINAL, BEST, EXPORTED = "final", "best", "exported"
SUFFIX = ".weights.h5"
SAVED_MODEL, LABELS = "saved_model", "labels.txt"
LIBRARIES = ("tensorflow", "numpy", "pandas", "pillow")


# Content. Outputs are replaced by the next run and moved by DVC, so a small file is copied; a big one gets a second
# name (a hard link), which costs no disk as long as the first exists, and keeps the content when that is replaced.


def keep(path: Path, name: str, files: Path) -> FileEntry:
    """Keep a file as it is now, and return the entry of it. Without room for a copy, the file itself must do."""
    entry = FileEntry(name, hash_file(path), path.stat().st_size, str(path.resolve()))
    keep_as(entry, path, files)
    return entry


def keep_as(described: ArtifactFile, path: Path, files: Path) -> None:
    """Keep a file whose digest and size are known."""
    place = files / described.sha256
    if place.exists():
        return
    partial = place.with_name(f"{place.name}.partial")
    try:
        files.mkdir(exist_ok=True)
        partial.unlink(missing_ok=True)
        if described.bytes > COPIED_BYTES:
            link_or_copy(path, partial)
        else:
            shutil.copyfile(path, partial)
        partial.replace(place)
    except OSError:
        place.unlink(missing_ok=True)


def keep_text(text: str | bytes, name: str, files: Path) -> FileEntry:
    content = text if isinstance(text, bytes) else text.encode()
    entry = FileEntry(name, hashlib.sha256(content).hexdigest(), len(content))
    with suppress(OSError):  # no room: the sender names what it could not send
        files.mkdir(exist_ok=True)
        partial = files / f"{entry.sha256}.partial"
        partial.write_bytes(content)
        partial.replace(files / entry.sha256)
    return entry


def kept_file(file: ArtifactFile, files: Path) -> Path | None:
    """Return a file that holds what a journal names: the kept one, or the original if it is as it was."""
    for path in (files / file.sha256, Path(file.path)):
        if path.is_file() and path.stat().st_size == file.bytes and hash_file(path) == file.sha256:
            return path
    return None


def clear_of_kills(files: Path) -> None:
    for folder in files.glob(f"{SENDING}*"):
        if time.time() - folder.stat().st_mtime > SENT_BY_THEN_S:
            shutil.rmtree(folder, ignore_errors=True)


# Models. One that was exported has beside it what makes it a predictor: its task's kind of answers, whether it takes
# clips, the libraries that it needs, and the name under which it is registered.


def kept_weights(trained: Path, state: TrainedState, settings: "Mlflow") -> Iterator[ModelEntry]:
    """Yield the newest and the best weights that training left."""
    for name in (FINAL, BEST):
        file = trained / f"{name}{SUFFIX}"
        if file.is_file():
            files = (_describe(file, file.name),)
            yield ModelEntry(name, state.step_of(name), name, _is_too_large(files, settings), files)


def exported_model(
    exported: Path, state: TrainedState, settings: "Mlflow", *, weights: str, task: str, multi_label: bool
) -> PredictorEntry:
    """Return the exported model. One to be registered is sent whatever its size, for what is
    registered must load.
    """
    paths = [*sorted(path for path in (exported / SAVED_MODEL).rglob("*") if path.is_file()), exported / LABELS]
    files = tuple(_describe(path, path.relative_to(exported).as_posix()) for path in paths)
    return PredictorEntry(
        EXPORTED,
        state.step_of(weights),
        weights,
        by_reference=settings.register is None and _is_too_large(files, settings),
        files=files,
        answers="detection" if task == "detection" else "several labels" if multi_label else "one label",
        clips=task == "video",
        requirements=tuple(map(format_requirement, LIBRARIES)),
        register=settings.register,
    )


def _is_too_large(files: Iterable[ArtifactFile], settings: "Mlflow") -> bool:
    return sum(file.bytes for file in files) > settings.largest_model_mb * 1e6


def _describe(path: Path, name: str) -> ArtifactFile:
    return ArtifactFile(name, hash_file(path), path.stat().st_size, str(path.resolve()), path.as_posix())


def format_requirement(library: str) -> str:
    """Return a library with its version here, as pip reads it."""
    from importlib.metadata import PackageNotFoundError

    from bakeoff.foundation.versions import library_version

    try:
        return f"{library}=={library_version(library)}"  # the library's own package, which every system has
    except PackageNotFoundError:
        return library
