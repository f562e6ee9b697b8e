"""Files that are there whole or not at all, whenever the process is killed: written beside, then renamed."""

import os
from pathlib import Path


def write_text(path: Path, text: str, *, lasting: bool = False) -> None:
    """With its folder. The name beside is this process's own, for others may write the same; `lasting` also if the
    machine loses its power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)
