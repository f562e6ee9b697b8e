"""How fast this machine goes through steps like a run's: told by every training, or measured on a few real steps."""

import hashlib
import itertools
import json
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.networks.network import Network
from bakeoff.quiet import load_tensorflow
from bakeoff.records.manifest import Manifest
from bakeoff.training.settings import Train
from bakeoff.training.variant import Span, TrainingPhase, Variant, plan_phases

if TYPE_CHECKING:
    from bakeoff.training.rig import Feed
    from bakeoff.training.step import Step

WARM_UP_STEPS = 3  # the first compiles, the next fill the buffers
MOST_SECONDS = 8.0  # of measuring, for each phase
MOST_STEPS = 50


@dataclass(frozen=True)
class Pace:
    """How fast this machine goes through a variant, and how one knows."""

    seconds_per_step: Mapping[str, float]  # by phase
    known_from: str

    def seconds(self, phases: Sequence[Span]) -> float:
        return sum(self.seconds_per_step[span.name] * span.steps for span in phases)


def known_pace(run: Variant) -> Pace | None:
    """Return None unless a run like this one was trained here before."""
    keys = {leg.span.name: _key_of(run, leg) for leg in plan_phases(run)}
    seconds = {name: found for name, key in keys.items() if (found := remembered(workspace.paces(), key)) is not None}
    return Pace(seconds, "as such steps took here before") if seconds.keys() == keys.keys() else None


def measure_pace(run: Variant, manifest: Manifest, records: Path) -> Pace:
    """Take a few real steps of each phase on real batches, with random weights: they change the loss, not the time."""
    load_tensorflow()
    from bakeoff.training.rig import Rig

    rig, seconds = Rig.of(run, manifest, records), {}
    feed = rig.feed()
    for leg in plan_phases(run):
        seconds[leg.span.name] = _measure_step(leg, rig.learner.begin(leg.trainable, "train"), feed)
        remember(workspace.paces(), _key_of(run, leg), seconds[leg.span.name])
    return Pace(seconds, "measured just now")


def remember_paces(run: Variant, history: Sequence[str]) -> None:
    """Keep how long the steps of a training took, for whoever plans a run like it."""
    for leg in plan_phases(run):
        seconds = pace_of(leg, history, leg.span.batch_size * run.train.accumulate_batches)
        if seconds is not None:
            remember(workspace.paces(), _key_of(run, leg), seconds)


def pace_key(model: Network, num_classes: int, train: Train, leg: TrainingPhase) -> str:
    """Return a key that is equal for steps that take equally long on one machine. Which patterns are trained counts,
    the rate does not."""
    parts: list[Any] = [
        platform.node(), repr(model), num_classes, leg.span.batch_size, sorted(leg.trainable),
        train.accumulate_batches, train.mixed_precision, train.devices, train.ema_decay > 0, repr(train.augment),
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def pace_of(leg: TrainingPhase, history: Sequence[str], examples_a_step: int) -> float | None:
    """Return a phase's seconds per step from the lines of its history; None if it logged too little to tell."""
    speeds = [
        row["examples_per_second"]
        for row in map(json.loads, history)
        if "examples_per_second" in row and leg.span.first_step < row["step"] <= leg.span.end_step
    ]
    return examples_a_step / median(speeds[1:]) if len(speeds) > 2 else None  # the first holds the compilation


def remember(file: Path, key: str, seconds_per_step: float) -> None:
    """Append one short line, which the system writes whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"key": key, "seconds_per_step": float(f"{seconds_per_step:.6g}")}) + "\n")


def remembered(file: Path, key: str) -> float | None:
    """Return the latest; lines that a crash cut off are passed over."""
    found = None
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        with suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            found = float(row["seconds_per_step"]) if row["key"] == key else found
    return found


def _key_of(run: Variant, leg: TrainingPhase) -> str:
    return pace_key(run.model, run.derived.num_classes, run.train, leg)


def _measure_step(leg: TrainingPhase, step: "Step", feed: "Feed") -> float:
    import tensorflow as tf

    first = leg.span.first_step
    length = min(leg.span.steps, WARM_UP_STEPS + MOST_STEPS)
    upcoming = iter(feed.batches(leg, range(first, first + length)))
    steps, start = 0, time.monotonic()
    for number in range(length):
        if number == min(WARM_UP_STEPS, length - 1):
            steps, start = 0, time.monotonic()
        rate = tf.constant(leg.rate(first + number), tf.float32)
        losses = step(list(itertools.islice(upcoming, feed.together)), rate)
        float(losses["train/loss"])  # waits until the step is done
        steps += 1
        if number > WARM_UP_STEPS and time.monotonic() - start > MOST_SECONDS:
            break
    return (time.monotonic() - start) / steps
