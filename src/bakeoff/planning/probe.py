"""A few real steps of each leg, on real batches, to know how long one takes here."""

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.quiet import load_tensorflow
from bakeoff.records.manifest import Manifest
from bakeoff.run.settings import Run
from bakeoff.training.variant import Derived, TrainingPhase, plan_phases

if TYPE_CHECKING:
    from bakeoff.training.rig import Feed
    from bakeoff.training.step import Step

WARM_UP_STEPS = 3  # the first compiles, the next fill the buffers
MOST_SECONDS = 8.0  # of measuring, for each leg
MOST_STEPS = 50


def seconds_per_step(run: Run, derived: Derived, manifest: Manifest, records: Path) -> dict[str, float]:
    """By leg. Weights are random ones: they change the loss, not the time."""
    load_tensorflow()
    from bakeoff.training.rig import Rig

    rig = Rig.of(run, manifest, records)
    feed = rig.feed()
    return {leg.span.name: _measured(leg, rig.learner.begin(leg.trainable, "train"), feed) for leg in plan_phases(run)}


def _measured(leg: TrainingPhase, step: "Step", feed: "Feed") -> float:
    import tensorflow as tf

    first = leg.span.first_step
    length = min(leg.span.steps, WARM_UP_STEPS + MOST_STEPS)
    upcoming = iter(feed.batches(leg, range(first, first + length)))
    steps, start = 0, time.monotonic()
    for number in range(length):
        if number == min(WARM_UP_STEPS, length - 1):
            steps, start = 0, time.monotonic()
        losses = step(
            list(itertools.islice(upcoming, feed.together)), tf.constant(leg.rate(first + number), tf.float32)
        )
        float(losses["train/loss"])  # waits until the step is done
        steps += 1
        if number > WARM_UP_STEPS and time.monotonic() - start > MOST_SECONDS:
            break
    return (time.monotonic() - start) / steps
