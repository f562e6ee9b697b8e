"""BAKEOFF_WORK_STORE -> a store in which machines leave files for each other: a folder, or a bucket by fsspec.

A store can create a file in one request, and fail if it exists. A lease needs that, so a filesystem without it is
refused.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bakeoff.foundation.errors import ConfigError, WorkspaceError, one_line
from bakeoff.foundation.files import sync_names
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.workspace import main_workspace

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

VARIABLE = "BAKEOFF_WORK_STORE"
DVC, BESIDE_DATA = "dvc", "bakeoff-work"  # the value that means DVC's default remote; the folder in that
# Protocols whose filesystem creates a file in one request, and the package of each.
CLIENTS = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs",
}  # fmt: skip
PARTIAL = ".partial"


class CheckpointStore(Protocol):
    """Files by names such as `5d1c…/leases/00000001`. Every failure raises OSError."""

    shown: str

    def create(self, name: str, content: bytes) -> None:
        """Write a file that is not there, or raise FileExistsError. No two contents may be equal."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""

    def read(self, name: str) -> bytes:
        """Return the content of a file, or raise FileNotFoundError."""

    def names(self, below: str) -> list[str]:
        """Return the names of all files below a folder. A missing folder has none."""

    def modified(self, name: str) -> float:
        """Return when a file was written, in seconds of the store's own clock."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""


class FolderStore:
    """A folder that several machines see."""

    def __init__(self, root: Path) -> None:
        self._root, self.shown = root, root.as_posix()

    def create(self, name: str, content: bytes) -> None:
        path = self._place(name)
        with path.open("xb") as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                path.unlink(missing_ok=True)
                raise

    def write(self, name: str, content: bytes) -> None:
        path = self._place(name)
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        sync_names(path.parent)

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def names(self, below: str) -> list[str]:
        if not self._root.is_dir():  # a disk that is not mounted must not look like an empty one
            raise FileNotFoundError(2, "No such file or directory", self.shown)
        paths = (self._root / below).rglob("*")
        return sorted(path.relative_to(self._root).as_posix() for path in paths if path.is_file())

    def modified(self, name: str) -> float:
        return (self._root / name).stat().st_mtime

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)
        with suppress(OSError):  # it is not empty
            for folder in list((self._root / name).relative_to(self._root).parents)[:-1]:
                (self._root / folder).rmdir()

    def _place(self, name: str) -> Path:
        """Return a file's path, and make its folders below the root. The root itself must exist."""
        path = self._root / name
        for folder in reversed(path.relative_to(self._root).parents[:-1]):
            (self._root / folder).mkdir(exist_ok=True)
        return path


class BucketStore:
    """A folder of any fsspec filesystem that creates files in one request."""

    def __init__(self, filesystem: "AbstractFileSystem", root: str, shown: str) -> None:
        self._filesystem, self._root, self.shown = filesystem, root.rstrip("/"), shown

    def create(self, name: str, content: bytes) -> None:
        try:
            with _as_os_error():
                self._filesystem.pipe_file(self._path(name), content, mode="create")
        except OSError as error:  # it may be a refusal, another error, or a second try after a success
            try:
                existing = self.read(name)
            except FileNotFoundError:
                raise error from None
            if existing != content:
                raise FileExistsError(name) from None

    def write(self, name: str, content: bytes) -> None:
        with _as_os_error():
            self._filesystem.pipe_file(self._path(name), content)

    def read(self, name: str) -> bytes:
        with _as_os_error():
            self._filesystem.invalidate_cache()  # other machines change sizes
            return bytes(self._filesystem.cat_file(self._path(name)))

    def names(self, below: str) -> list[str]:
        with _as_os_error():
            self._filesystem.invalidate_cache()
            paths = self._filesystem.find(self._path(below))
        start = len(self._filesystem._strip_protocol(self._root)) + 1
        return sorted(self._filesystem._strip_protocol(path)[start:] for path in paths)

    def modified(self, name: str) -> float:
        with _as_os_error():
            self._filesystem.invalidate_cache()
            return float(self._filesystem.modified(self._path(name)).timestamp())

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), _as_os_error():
            self._filesystem.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Turn errors of a store's client into OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # whatever a client raises
        raise OSError(f"{type(error).__name__}: {one_line(error)}") from error


def why(error: OSError) -> str:
    """Return the reason of an error in one line, without passwords."""
    reason = one_line(error) if error.strerror is None or isinstance(error.__cause__, Exception) else error.strerror
    return without_secrets(reason or type(error).__name__)


def open_store(named: str) -> CheckpointStore:
    """Open the store that BAKEOFF_WORK_STORE names: `dvc`, a folder, or an address for fsspec."""
    if named == DVC:
        return _open_beside_data()
    protocol, separator, path = named.partition("://")
    if not separator:
        return _open_folder(main_workspace() / Path(named).expanduser())
    if protocol in ("file", "local"):
        return _open_folder(Path(path))
    _require_creating(protocol, named)
    from fsspec.core import url_to_fs

    try:
        filesystem, root = url_to_fs(named, skip_instance_cache=True)  # settings may have changed
    except ImportError:
        raise WorkspaceError(
            f"{VARIABLE}: {without_secrets(named)} needs a package that is not here; `pip install {CLIENTS[protocol]}`"
        ) from None
    except Exception as error:  # whatever a client raises
        raise WorkspaceError(f"{VARIABLE}: {without_secrets(named)} cannot be opened: {one_line(error)}") from None
    return BucketStore(filesystem, root, without_secrets(named))


def _open_beside_data() -> CheckpointStore:
    from bakeoff.foundation.dvc import default_remote

    remote = default_remote()
    if remote is None:
        raise WorkspaceError(
            f"{VARIABLE}: dvc means DVC's default remote, and there is none; `dvc remote add --default NAME ADDRESS`, "
            f"or name a folder or an address in {VARIABLE}"
        )
    shown = f"{without_secrets(remote.address).rstrip('/')}/{BESIDE_DATA}"
    if remote.protocol == "local":
        Path(remote.folder).mkdir(parents=True, exist_ok=True)  # as `dvc push` does
        (Path(remote.folder) / BESIDE_DATA).mkdir(exist_ok=True)
        return FolderStore(Path(remote.folder) / BESIDE_DATA)
    _require_creating(remote.protocol, shown)
    return BucketStore(remote.filesystem, f"{remote.folder.rstrip('/')}/{BESIDE_DATA}", shown)


def _open_folder(folder: Path) -> FolderStore:
    if not folder.is_dir():
        raise ConfigError(f"{VARIABLE}: {folder.as_posix()} must be a folder that exists; make it, or mount its disk")
    return FolderStore(folder)


def _require_creating(protocol: str, named: str) -> None:
    if protocol not in CLIENTS:
        raise ConfigError(
            f"{VARIABLE}: {without_secrets(named)}: {protocol} cannot write a file only where none is, so nothing "
            f"keeps two machines apart; use a folder, or one of: {', '.join(CLIENTS)}"
        )
