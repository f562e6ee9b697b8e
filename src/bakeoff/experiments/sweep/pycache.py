"""The compiled Python files of one job's clone -> the clones of later jobs, whose stages import their own code.

Python marks a compiled file with the time of its source, which differs in each clone. Here the mark is the source's
digest, which Python checks, too (PEP 552). So edited code is compiled anew.
"""

import importlib.util
import os
import shutil
from contextlib import suppress
from pathlib import Path

from bakeoff.foundation import workspace

VARIABLE = "BAKEOFF_BYTECODE"  # the folder, on a far node
BY_TIME, BY_DIGEST = (0).to_bytes(4, "little"), (0b11).to_bytes(4, "little")  # flags, after a magic number of 4 bytes
HEADER = 16  # bytes: magic number, flags, then a digest of 8 bytes, or a time and a length


def find_folder() -> Path:
    return Path(os.environ.get(VARIABLE) or workspace.main_workspace() / workspace.IN_FLIGHT / "bytecode")


def copy_to_clone(source: Path) -> None:
    """Copy the kept files into a clone. Python compiles there what could not be copied."""
    if find_folder().is_dir() and source.is_dir():
        with suppress(OSError):
            shutil.copytree(find_folder(), source, dirs_exist_ok=True)


def keep_compiled(source: Path) -> None:
    """Keep the files that Python has compiled in a clone."""
    for path in source.rglob("__pycache__/*.pyc"):
        with suppress(OSError, ValueError):  # a disk is full, or a file half written; the next job compiles it again
            compiled = path.read_bytes()
            if compiled[4:8] == BY_TIME:
                digest = importlib.util.source_hash(Path(importlib.util.source_from_cache(str(path))).read_bytes())
                compiled = compiled[:4] + BY_DIGEST + digest + compiled[HEADER:]
            _write(find_folder() / path.relative_to(source), compiled)


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes()[:HEADER] == content[:HEADER]:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
