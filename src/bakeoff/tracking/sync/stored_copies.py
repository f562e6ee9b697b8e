"""What a place of MLflow has of files, compared with the digests that name them: which are damaged or gone there.

A place on this disk is read. Any other one is asked for names and sizes, and nothing is downloaded.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mlflow import MlflowClient
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

from bakeoff.foundation.files import hash_file
from bakeoff.tracking.journal.checkpoint_contents import CONTENTS, Contents
from bakeoff.tracking.journal.entries import ArtifactFile
from bakeoff.tracking.store.mlflow_client import local_place


def find_damaged(client: MlflowClient, address: str, files: Iterable[ArtifactFile], below: str = "") -> list[str]:
    """Return the names of the files that the place does not have as they were sent, in its folder `below`."""
    prefix = f"{below}/" if below else ""
    if folder := local_place(address):
        return [file.name for file in files if not _is_as_sent(folder / f"{prefix}{file.name}", file)]
    files = list(files)
    there: dict[str, int | None] = {}
    for parent in {f"{prefix}{file.name}".rpartition("/")[0] for file in files}:
        there |= _list_sizes(client, address, parent)
    return [file.name for file in files if there.get(f"{prefix}{file.name}") != file.bytes]


def holds_parts_of(client: MlflowClient, address: str, size: int, sha256: str | None) -> bool:
    """Return whether a place has all of one file, in parts or as a whole."""
    if folder := local_place(address):
        digest = hashlib.sha256()
        for part in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(part.read_bytes())
        return digest.hexdigest() == sha256
    return sum(there or 0 for there in _list_sizes(client, address, "").values()) == size


def holds_contents(client: MlflowClient, address: str, size: int, sha256: str) -> bool:
    """Return whether a place has all files of a checkpoint that MLflow opens; `sha256` is that of their list."""
    if folder := local_place(address):
        contents = Contents.read(folder / CONTENTS)
        return contents is not None and contents.sha256 == sha256 and contents.are_whole(folder)
    return sum(there or 0 for there in list_all_sizes(client, address).values()) == size


def list_all_sizes(client: MlflowClient, address: str) -> dict[str, int | None]:
    """Return the bytes of each file that a place has, by its name."""
    repository = get_artifact_repository(address, tracking_uri=client.tracking_uri)
    sizes: dict[str, int | None] = {}
    waiting: list[str | None] = [None]
    while waiting:
        for info in repository.list_artifacts(waiting.pop()):
            if info.is_dir:
                waiting.append(info.path)
            else:
                sizes[info.path] = info.file_size
    return sizes


def _is_as_sent(path: Path, file: ArtifactFile) -> bool:
    return path.is_file() and path.stat().st_size == file.bytes and hash_file(path) == file.sha256


def _list_sizes(client: MlflowClient, address: str, folder: str) -> dict[str, int | None]:
    infos = get_artifact_repository(address, tracking_uri=client.tracking_uri).list_artifacts(folder or None)
    return {info.path: info.file_size for info in infos if not info.is_dir}
