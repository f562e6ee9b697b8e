"""The first functions that run on a node. Ray sends them by value, so that a node without this code can run them.

They import nothing at the top but the standard library.
"""

import hashlib
import importlib
import importlib.metadata
import os
import pickle
import platform
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MISSING, CODE = "none", "bakeoff's code"


@dataclass(frozen=True)
class NodeDescription:
    """What a node says of itself."""

    host: str
    time: float
    sees_workspace: bool
    versions: Mapping[str, str]


def enter(folder: str | None) -> None:
    """Enter the workspace's folder, if the node sees it, so that its own code is imported. Call this before that."""
    if folder:
        os.chdir(folder)


def call(folder: str | None, packed: bytes) -> Any:
    """Call a pickled function of this project. It is unpickled only here, where its code is the right one."""
    enter(folder)
    function, arguments = pickle.loads(packed)
    return function(*arguments)


def describe(folder: str, mark: str, libraries: tuple[str, ...]) -> NodeDescription:
    """Return what a node has: host, time, versions, and whether it sees the workspace's folder and the file `mark`."""
    now = time.time()
    sees_workspace = os.path.isfile(mark) and os.path.isdir(folder)
    enter(folder if sees_workspace else None)
    versions = {"python": platform.python_version(), CODE: digest_code()}
    versions |= {name: find_version(name) for name in libraries}
    return NodeDescription(socket.gethostname(), now, sees_workspace, versions)


def find_version(library: str) -> str:
    for package in (library, f"{library}-cpu"):  # as TensorFlow is named where it is made for CPUs alone
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return MISSING


def digest_code() -> str:
    """Return the first characters of a digest of every file of the package that this process would import."""
    try:
        package = Path(importlib.import_module("bakeoff").__path__[0])
    except ImportError:
        return MISSING
    content = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            content.update(f"\n{file.relative_to(package).as_posix()}\n".encode())
            content.update(file.read_bytes())
    return content.hexdigest()[:12]
