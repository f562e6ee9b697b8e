"""The content of an artifact as it was when it was handed over, until MLflow has it.

Outputs are replaced by the next run and moved by DVC. A small file is copied; a big one gets a second name (a hard
link), which costs no disk as long as the first exists and keeps the content when it is replaced.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

SENDING = "sending-"  # begins the names of folders in which files are put together to be sent
SENT_BY_THEN_S = 3600.0  # an older one was left by a kill
COPIED_BYTES = 1_000_000  # a file that somebody may edit in place is rarely bigger


def keep(path: Path, files: Path) -> dict[str, Any]:
    """The digest and size of a file. Without room for a copy, the file itself must do."""
    found = measured(path)
    keep_as(found, path, files)
    return found


def measured(path: Path) -> dict[str, Any]:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def keep_as(found: dict[str, Any], path: Path, files: Path) -> None:
    """A file whose digest and size are known."""
    place = files / found["sha256"]
    if not place.exists():
        try:
            files.mkdir(exist_ok=True)
            _keep(path, place, found["bytes"])
        except OSError:
            place.unlink(missing_ok=True)


def keep_text(text: str | bytes, files: Path) -> dict[str, Any]:
    content = text if isinstance(text, bytes) else text.encode()
    digest = hashlib.sha256(content).hexdigest()
    try:
        files.mkdir(exist_ok=True)
        partial = files / f"{digest}.partial"
        partial.write_bytes(content)
        partial.replace(files / digest)
    except OSError:
        pass  # no room: the sender names what it could not send
    return {"sha256": digest, "bytes": len(content)}


def kept_file(entry: dict[str, Any], files: Path) -> Path | None:
    """A file that holds what the entry of a journal names: the kept one, or the original if it is as it was."""
    for path in (files / entry["sha256"], Path(entry.get("path", ""))):
        if path.is_file() and path.stat().st_size == entry["bytes"]:
            with path.open("rb") as content:
                if hashlib.file_digest(content, "sha256").hexdigest() == entry["sha256"]:
                    return path
    return None


def clear_of_kills(files: Path) -> None:
    for folder in files.glob(f"{SENDING}*"):
        if time.time() - folder.stat().st_mtime > SENT_BY_THEN_S:
            shutil.rmtree(folder, ignore_errors=True)


def linked(path: Path, place: Path) -> None:
    """A second name for a file; a copy on a disk that has no links, or on another disk."""
    try:
        os.link(path, place)
    except OSError:
        shutil.copyfile(path, place)


def _keep(path: Path, place: Path, size: int) -> None:
    partial = place.with_name(f"{place.name}.partial")
    partial.unlink(missing_ok=True)
    if size > COPIED_BYTES:
        linked(path, partial)
    else:
        shutil.copyfile(path, partial)
    partial.replace(place)
