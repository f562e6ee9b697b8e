"""How fast this machine goes through steps like a run's: told by every training, or measured on a few real steps."""

import hashlib
import itertools
import json
import math
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation import machine, workspace
from bakeoff.foundation.files import append_line, read_json_lines
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.networks.network import Network
from bakeoff.learning.plan.phases import TrainingPhase, Variant, plan_phases
from bakeoff.learning.plan.train_settings import Train

if TYPE_CHECKING:
    from bakeoff.learning.training.setup import Feed
    from bakeoff.learning.training.step import Step

WARM_UP_STEPS = 3  # the first compiles, the next fill the buffers
MOST_SECONDS = 8.0  # of measuring, for each phase
MOST_STEPS = 50
NEWEST = 5  # measurements of one kind whose median counts: other work on the machine makes single ones too long
BEFORE = "as such steps took here before"


@dataclass(frozen=True)
class Pace:
    """How fast this machine goes through a variant, and how one knows."""

    seconds_per_step: Mapping[str, float]  # by phase
    known_from: str


def seconds_of(run: Variant, pace: Pace | None, validation_seconds: float = 0.0) -> float | None:
    """Return how long a training's steps and its validation passes take, which its own limit may cut short; None
    where neither is known."""
    limit = None if run.train.max_minutes is None else 60 * run.train.max_minutes
    if pace is None:
        return limit
    whole = sum(pace.seconds_per_step[span.name] * span.steps for span in run.derived.phases) + validation_seconds
    return whole if limit is None else min(whole, limit)


def known_pace(run: Variant, cores: int | None = None) -> Pace | None:
    """Return None unless a run like this one was trained here before, by so many cores, or by all: then fewer take as
    much longer as they are fewer."""
    there = machine.cores()
    for used in dict.fromkeys([cores or there, there]):
        seconds = {phase.span.name: known_seconds(run, phase, used) for phase in plan_phases(run)}
        slower = max(1.0, used / (cores or there))
        known = {name: taken * slower for name, taken in seconds.items() if taken is not None}
        if known.keys() == seconds.keys():
            return Pace(known, BEFORE)
    return None


def known_seconds(run: Variant, phase: TrainingPhase, cores: int | None = None) -> float | None:
    """Return how long such steps took here before; None if there were none."""
    return remembered(workspace.paces(), _key_of(run, phase, cores))


def measure_pace(run: Variant, manifest: Manifest, records: Path) -> Pace:
    """Take a few real steps of each phase on real batches, with random weights: they change the loss, not the time."""
    load_tensorflow()
    from bakeoff.learning.training.setup import Setup

    setup, seconds = Setup.of(run, manifest, records), {}
    feed = setup.feed()
    for phase in plan_phases(run):
        seconds[phase.span.name] = _measure_step(phase, setup.learner.begin(phase.trainable, "train"), feed)
        remember(workspace.paces(), _key_of(run, phase), seconds[phase.span.name])
    return Pace(seconds, "measured just now")


def remember_paces(run: Variant, history: Sequence[LogLine]) -> None:
    """Keep how long the steps of a training took, for whoever plans a run like it."""
    for phase in plan_phases(run):
        seconds = pace_of(phase, history, phase.span.batch_size * run.train.accumulate_batches)
        if seconds is not None:
            remember(workspace.paces(), _key_of(run, phase), seconds)


def keys_of(run: Variant) -> list[str]:
    """Return the key of each phase, whatever number of cores it has: equal for trainings of equally long steps."""
    return [_key_of(run, phase, 0) for phase in plan_phases(run)]


def pace_key(model: Network, num_classes: int, train: Train, phase: TrainingPhase, cores: int = 0) -> str:
    """Return a key that is equal for steps that take equally long on one machine. Which patterns are trained counts,
    the rate does not."""
    parts: list[Any] = [
        platform.node(), repr(model), num_classes, phase.span.batch_size, sorted(phase.trainable),
        train.accumulate_batches, train.mixed_precision, train.devices, train.workers, train.ema_decay > 0,
        repr(train.augment), cores,
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def pace_of(phase: TrainingPhase, history: Sequence[LogLine], examples_a_step: int) -> float | None:
    """Return a phase's seconds per step from the lines of its history; None if it logged too little to tell."""
    speeds = [
        line.values["examples_per_second"]
        for line in history
        if "examples_per_second" in line.values and phase.span.first_step < line.step <= phase.span.end_step
    ]
    return examples_a_step / median(speeds[1:]) if len(speeds) > 2 else None  # the first holds the compilation


def remember(file: Path, key: str, seconds_per_step: float) -> None:
    append_line(file, json.dumps({"key": key, "seconds_per_step": float(f"{seconds_per_step:.6g}")}))


def remembered(file: Path, key: str) -> float | None:
    """Return the median of the newest; lines that a crash cut off, or that hold no time, are passed over."""
    measured = list[float]()
    for row in read_json_lines(file):
        with suppress(ValueError, KeyError, TypeError, OverflowError):
            seconds = float(row["seconds_per_step"]) if row["key"] == key else 0.0
            if 0 < seconds < math.inf:
                measured.append(seconds)
    return median(measured[-NEWEST:]) if measured else None


def _key_of(run: Variant, phase: TrainingPhase, cores: int | None = None) -> str:
    return pace_key(run.model, run.derived.num_classes, run.train, phase, machine.cores() if cores is None else cores)


def _measure_step(phase: TrainingPhase, step: "Step", feed: "Feed") -> float:
    import tensorflow as tf

    first = phase.span.first_step
    length = min(phase.span.steps, WARM_UP_STEPS + MOST_STEPS)
    upcoming = iter(feed.batches(phase, range(first, first + length)))
    steps, start = 0, time.monotonic()
    for number in range(length):
        if number == min(WARM_UP_STEPS, length - 1):
            steps, start = 0, time.monotonic()
        rate = tf.constant(phase.rate(first + number), tf.float32)
        losses = step(list(itertools.islice(upcoming, feed.together)), rate)
        float(losses["train/loss"])  # waits until the step is done
        steps += 1
        if number > WARM_UP_STEPS and time.monotonic() - start > MOST_SECONDS:
            break
    return (time.monotonic() - start) / steps
