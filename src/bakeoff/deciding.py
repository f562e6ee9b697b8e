"""Which code decides which result: for each stage of dvc.yaml, the rooms in which an edit can change what it makes.

`deps` in dvc.yaml, the fingerprint of a run and tests/test_architecture.py follow this table.

- A deciding room computes what a stage makes. It imports deciding rooms and ground modules, nothing else.
- A composing room makes run.yaml, so it decides for render_config alone: later stages depend on the values.
- An accompanying room tells, keeps, moves or asks. No stage depends on it, and only a stage's own file imports it.
- A ground module (errors, files, progress, machine and their like) decides nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPOSING = ("config", "pipeline_config")
ACCOMPANYING = (
    "cli", "compare", "effects", "elsewhere", "intake", "judging", "labelling", "learning_curve", "multirun",
    "pipeline_import", "planning", "predict", "reproduce", "robot", "runs", "suspects", "sweep", "tracking", "web",
    "zoo",
)  # fmt: skip
GROUND = (
    "__init__", "deciding", "durations", "dvc", "dvc_repair", "errors", "files", "formatting", "graphs", "libraries",
    "machine", "pages", "progress", "quiet", "signals", "workspace",
)  # fmt: skip

_LEARNING = ("run", "training", "tasks", "input", "networks", "records", "metrics", "lr")
DECIDING: dict[str, tuple[str, ...]] = {
    "build_records": ("building", "sources", "records"),
    "render_config": (*COMPOSING, "run", "training", "input", "networks", "sources", "records", "lr"),
    "train": _LEARNING,
    "evaluate": ("report", *_LEARNING),
    "export": ("export", *_LEARNING),
}
# build_records asks `config` for the settings of its source. It need not run again for an edit there: render_config
# does, and refuses records that were built with other settings.
ASKED_BY_STAGE = {"build_records": "config"}


def deciding_paths(stage: str) -> list[Path]:
    """Return the folders and the file, relative to the package, in which an edit can change the stage's result."""
    return [*map(Path, DECIDING[stage]), Path("stages") / f"{stage}.py"]


def deciding_files(stage: str) -> Iterator[Path]:
    """Yield every file of `deciding_paths`, relative to the package, in a fixed order."""
    for path in sorted(deciding_paths(stage)):
        files: Iterable[Path] = [HERE / path] if path.suffix else (HERE / path).rglob("*")
        yield from sorted(file.relative_to(HERE) for file in files if file.is_file() and file.suffix != ".pyc")


def deciding_digest(stage: str) -> str:
    """Return a digest of all code that decides the stage's result."""
    content = hashlib.sha256()
    for file in deciding_files(stage):
        content.update(f"\n{file.as_posix()}\n".encode())
        content.update((HERE / file).read_bytes())
    return content.hexdigest()
