"""How fast this machine went through steps like a run's: told by every training, read by `bakeoff plan`."""

import hashlib
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bakeoff.networks import Network
from bakeoff.training.settings import Train
from bakeoff.training.variant import TrainingPhase


def pace_key(model: Network, num_classes: int, train: Train, leg: TrainingPhase) -> str:
    """Equal for steps that take equally long on one machine; which patterns are trained counts, the rate does not."""
    parts: list[Any] = [
        platform.node(), repr(model), num_classes, leg.span.batch_size, sorted(leg.trainable),
        train.accumulate_batches, train.mixed_precision, train.devices, train.ema_decay > 0, repr(train.augment),
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def pace_of(leg: TrainingPhase, history: Sequence[str], examples_a_step: int) -> float | None:
    """Seconds per step of a leg, from the lines of its history; None if it logged too little to tell."""
    speeds = [
        row["examples_per_second"]
        for row in map(json.loads, history)
        if "examples_per_second" in row and leg.span.first_step < row["step"] <= leg.span.end_step
    ]
    return examples_a_step / median(speeds[1:]) if len(speeds) > 2 else None  # the first holds the compilation


def remember(file: Path, key: str, seconds_per_step: float) -> None:
    """One short line, which the system appends whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"key": key, "seconds_per_step": float(f"{seconds_per_step:.6g}")}) + "\n")


def remembered(file: Path, key: str) -> float | None:
    """The latest; lines that a crash cut off are passed over."""
    found = None
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            row = json.loads(line)
            found = float(row["seconds_per_step"]) if row["key"] == key else found
        except (ValueError, KeyError, TypeError):
            continue
    return found
