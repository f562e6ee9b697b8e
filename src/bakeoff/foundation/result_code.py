"""Which code decides which result: for each stage of dvc.yaml, the folders in which an edit can change what it makes.

`deps` in dvc.yaml, the fingerprint of a run and tests/test_architecture.py follow these tables.

- A deciding wing computes what a stage makes. It imports deciding wings and `foundation`, nothing else.
- The composing wing makes run.yaml, so it decides for render_config alone: later stages depend on the values.
- An accompanying wing tells, keeps, moves or asks. No stage depends on it, and of the pipeline only a stage's own file
  imports it.
- `foundation` (errors, files, progress, machine and their like) decides nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from bakeoff.foundation.own_parts import digest_parts

PACKAGE = Path(__file__).resolve().parents[1]
DECIDING_WINGS = ("dataset", "learning", "evaluation", "export")
COMPOSING_WINGS = ("config",)
ACCOMPANYING_WINGS = ("tracking", "experiments", "inference", "importing", "app")
GROUND = ("foundation",)
DOORS = ("__init__.py", "__main__.py", "multirun.py", "py.typed")  # of the package; they decide no result

DECIDING: dict[str, tuple[str, ...]] = {
    "build_records": ("dataset",),
    "render_config": ("config", "dataset", "evaluation", "export", "learning"),
    "train": ("dataset/records", "learning"),
    "evaluate": ("dataset/records", "evaluation", "learning"),
    "export": ("dataset/records", "export", "learning"),
}
# The stages' own files ask `config` for settings. build_records asks for those of its source, and need not run again
# for an edit there: render_config does, and refuses records that were built with other settings. The later stages ask
# where copies of a run go, which decides no result.
ASKED_BY_STAGES = "config"


def deciding_paths(stage: str) -> list[Path]:
    """Return the folders and the file, relative to the package, in which an edit can change the stage's result."""
    return [*map(Path, DECIDING[stage]), Path("stages") / f"{stage}.py"]


def deciding_files(stage: str) -> Iterator[Path]:
    """Yield every file of `deciding_paths`, relative to the package, in a fixed order."""
    for path in sorted(deciding_paths(stage)):
        files: Iterable[Path] = [PACKAGE / path] if path.suffix else (PACKAGE / path).rglob("*")
        yield from sorted(file.relative_to(PACKAGE) for file in files if file.is_file() and file.suffix != ".pyc")


def deciding_digest(stage: str) -> str:
    """Return a digest of all code that decides the stage's result, a workspace's own parts among it."""
    return _digest(stage, digest_parts(stage))


def installed_digest(stage: str) -> str:
    """Return the digest of a workspace that has no parts of its own."""
    return _digest(stage, b"")


def _digest(stage: str, parts: bytes) -> str:
    content = hashlib.sha256()
    for file in deciding_files(stage):
        content.update(f"\n{file.as_posix()}\n".encode())
        content.update((PACKAGE / file).read_bytes())
    content.update(parts)
    return content.hexdigest()
