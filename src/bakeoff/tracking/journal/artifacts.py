"""Files and models as a journal's lines name them, and what they held when they were handed over, until MLflow has it.

{"kind": "model", "name": "best", "step": 1800, "weights": "best", "by_reference": false,
 "files": [{"name": "best.weights.h5", "sha256": "5d1c…", "bytes": 1310720, "path": "/…/best.weights.h5", …}]}
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.config.track import Mlflow

SENDING = "sending-"  # begins the names of folders in which files are put together to be sent
SENT_BY_THEN_S = 3600.0  # an older one was left by a kill
COPIED_BYTES = 1_000_000  # a file that somebody may edit in place is rarely bigger

FINAL, BEST, EXPORTED = "final", "best", "exported"
SUFFIX = ".weights.h5"
SAVED_MODEL, LABELS = "saved_model", "labels.txt"
LIBRARIES = ("tensorflow", "numpy", "pandas", "pillow")


# Content. Outputs are replaced by the next run and moved by DVC, so a small file is copied; a big one gets a second
# name (a hard link), which costs no disk as long as the first exists, and keeps the content when that is replaced.


def keep(path: Path, files: Path) -> dict[str, Any]:
    """Return the digest and size of a file. Without room for a copy, the file itself must do."""
    measured = measure(path)
    keep_as(measured, path, files)
    return measured


def keep_as(measured: Mapping[str, Any], path: Path, files: Path) -> None:
    """Keep a file whose digest and size are known."""
    place = files / measured["sha256"]
    if place.exists():
        return
    partial = place.with_name(f"{place.name}.partial")
    try:
        files.mkdir(exist_ok=True)
        partial.unlink(missing_ok=True)
        if measured["bytes"] > COPIED_BYTES:
            link(path, partial)
        else:
            shutil.copyfile(path, partial)
        partial.replace(place)
    except OSError:
        place.unlink(missing_ok=True)


def keep_text(text: str | bytes, files: Path) -> dict[str, Any]:
    content = text if isinstance(text, bytes) else text.encode()
    digest = hashlib.sha256(content).hexdigest()
    with suppress(OSError):  # no room: the sender names what it could not send
        files.mkdir(exist_ok=True)
        partial = files / f"{digest}.partial"
        partial.write_bytes(content)
        partial.replace(files / digest)
    return {"sha256": digest, "bytes": len(content)}


def measure(path: Path) -> dict[str, Any]:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def kept_file(entry: Mapping[str, Any], files: Path) -> Path | None:
    """Return a file that holds what a journal's entry names: the kept one, or the original if it is as it was."""
    for path in (files / entry["sha256"], Path(entry.get("path", ""))):
        if path.is_file() and path.stat().st_size == entry["bytes"] and measure(path)["sha256"] == entry["sha256"]:
            return path
    return None


def clear_of_kills(files: Path) -> None:
    for folder in files.glob(f"{SENDING}*"):
        if time.time() - folder.stat().st_mtime > SENT_BY_THEN_S:
            shutil.rmtree(folder, ignore_errors=True)


def link(path: Path, place: Path) -> None:
    """Give a file a second name; copy it on a disk that has no links, or to another disk."""
    try:
        os.link(path, place)
    except OSError:
        shutil.copyfile(path, place)


# Models. One that was exported has beside it what makes it a predictor: its task's kind of answers, whether it takes
# clips, the libraries that it needs, and the name under which it is registered.


def kept_weights(trained: Path, state: Mapping[str, Any], settings: "Mlflow") -> Iterator[dict[str, Any]]:
    """Yield the newest and the best weights that training left, each as a model."""
    for name in (FINAL, BEST):
        file = trained / f"{name}{SUFFIX}"
        if file.is_file():
            yield {
                "name": name, "step": _step_of(state, name), "weights": name,
                "by_reference": _is_too_large([file], settings), "files": [_describe(file, file.name)],
            }  # fmt: skip


def exported_model(
    exported: Path, state: Mapping[str, Any], settings: "Mlflow", *, weights: str, task: str, multi_label: bool
) -> dict[str, Any]:
    """Return the exported model. One to be registered is sent whatever its size: what is registered must load."""
    files = [*sorted(path for path in (exported / SAVED_MODEL).rglob("*") if path.is_file()), exported / LABELS]
    return {
        "name": EXPORTED, "step": _step_of(state, weights), "weights": weights,
        "by_reference": settings.register is None and _is_too_large(files, settings),
        "files": [_describe(path, path.relative_to(exported).as_posix()) for path in files],
        "answers": "detection" if task == "detection" else "several labels" if multi_label else "one label",
        "clips": task == "video", "requirements": [_requirement(names) for names in LIBRARIES],
        "register": settings.register,
    }  # fmt: skip


def digest_of(model: Mapping[str, Any]) -> str:
    """Return a digest that is equal for two lines with the same content, whenever they were written."""
    content = {key: value for key, value in model.items() if key not in ("kind", "at", "restored")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _step_of(state: Mapping[str, Any], weights: str) -> int:
    """Return the step of the weights. Without a validation pass the best weights are the last."""
    last = int(state.get("step", state.get("steps", 0)))
    return int(state.get("best_step") or last) if weights == BEST else last


def _is_too_large(files: list[Path], settings: "Mlflow") -> bool:
    return sum(path.stat().st_size for path in files) > settings.largest_model_mb * 1e6


def _describe(path: Path, name: str) -> dict[str, Any]:
    return {"name": name, **measure(path), "path": str(path.resolve()), "shown": path.as_posix()}


def _requirement(library: str) -> str:
    from importlib.metadata import PackageNotFoundError

    from bakeoff.foundation.versions import library_version

    try:
        return f"{library}=={library_version(library)}"  # the library's own package, which every system has
    except PackageNotFoundError:
        return library
