"""What Python compiled in one job's clone, for the clones of later jobs: a stage imports its clone's own code.

Python marks what it compiled with its source's time, which is another in each clone. Here the mark is the source's
digest, which Python checks (PEP 552), so that code that was edited is compiled anew.
"""

import importlib.util
import os
import shutil
from contextlib import suppress
from pathlib import Path

from bakeoff import workspace

VARIABLE = "BAKEOFF_BYTECODE"  # the folder, on a far node
BY_TIME, BY_DIGEST = (0).to_bytes(4, "little"), (0b11).to_bytes(4, "little")  # flags, after a magic number of 4 bytes
HEADER = 16  # bytes: magic number, flags, then a digest of 8 bytes, or a time and a length


def kept() -> Path:
    return Path(os.environ.get(VARIABLE) or workspace.main_workspace() / workspace.IN_FLIGHT / "bytecode")


def give(source: Path) -> None:
    """Lay what is kept beside a clone's source. What cannot be laid there is compiled there."""
    if kept().is_dir() and source.is_dir():
        with suppress(OSError):
            shutil.copytree(kept(), source, dirs_exist_ok=True)


def keep(source: Path) -> None:
    """Keep what Python has compiled in a clone, and was not given."""
    for path in source.rglob("__pycache__/*.pyc"):
        with suppress(OSError, ValueError):  # a disk is full, or a file half written; the next job compiles it again
            compiled = path.read_bytes()
            if compiled[4:8] == BY_TIME:
                digest = importlib.util.source_hash(Path(importlib.util.source_from_cache(str(path))).read_bytes())
                compiled = compiled[:4] + BY_DIGEST + digest + compiled[HEADER:]
            _write(kept() / path.relative_to(source), compiled)


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes()[:HEADER] == content[:HEADER]:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
