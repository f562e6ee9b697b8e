"""What names a run's work in flight: a hash of everything that decides its result.

Two runs with one fingerprint end in the same weights, so the one may go on where the other was interrupted.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
CODE = ("boxes.py", "input", "lr", "metrics", "networks", "records", "tasks", "training", "stages/train.py")
DECIDING_GROUPS = ("seed", "model", "lr", "optimizer", "train")
DECIDING_NUMBERS = ("task", "num_classes", "train_examples", "validation_examples", "phases")
NO_MATTER = (  # of `train`: how, not what
    "fresh", "checkpoint_every_steps", "checkpoint_every_seconds", "keep_every_steps", "steps_per_call",
    "samples", "tensorboard",
)  # fmt: skip
LIBRARIES = ("tensorflow", "keras", "numpy")
LENGTH = 16


def fingerprint(tree: Mapping[str, Any], **others: str) -> str:
    """Of the rendered variant as plain values, and what else decides: the records, first weights, libraries."""
    said = {group: tree[group] for group in DECIDING_GROUPS} | {
        "derived": {key: tree["derived"][key] for key in DECIDING_NUMBERS}
    }
    said["train"] = {key: value for key, value in said["train"].items() if key not in NO_MATTER}
    versions = {name: version(name) for name in LIBRARIES}
    content = hashlib.sha256(json.dumps([said, others, versions], sort_keys=True).encode())
    for file in _code():
        content.update(f"\n{file.relative_to(HERE).as_posix()}\n".encode())
        content.update(file.read_bytes())
    return content.hexdigest()[:LENGTH]


def _code() -> Iterator[Path]:
    for name in CODE:
        path = HERE / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))
