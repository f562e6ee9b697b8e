"""A process that trains a few real steps with the batch size of each line it reads, and says its peak memory.

    $ python -m bakeoff.config.compose.memory_trial models/config/run.yaml data/records
    8
    {"batch_size": 8, "peak_bytes": 903000064}

It does what training holds memory for: steps, a validation pass, a checkpoint's copy of everything.
"""

import argparse
import itertools
import json
import os
import sys
from dataclasses import replace
from math import prod
from pathlib import Path

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.foundation.machine import device_peak_bytes, peak_memory_bytes
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.learning.input.view import Shape
from bakeoff.learning.plan.phases import TrainingPhase, batch_shape, plan_auto_phases, plan_phases
from bakeoff.learning.run_file.read_write import fitting_manifest

STEPS = 4
VALIDATION_BATCHES = 2  # batches of the validation


class Rehearsal:
    """A training that is set up once and takes steps of any batch size."""

    def __init__(self, run: Run, records: Path) -> None:
        load_tensorflow()
        from bakeoff.learning.training.setup import Setup

        self._run = run
        self._setup = Setup.of(run, fitting_manifest(records, run.derived), records)
        phases = plan_auto_phases(run) or plan_phases(run)
        self._phase = max(phases, key=lambda phase: (phase.quantize, self._trained_parameters(phase)))

    def _shape(self, batch_size: int) -> Shape:
        """Return it with the least that may wait, as in the estimate that the answer is compared with."""
        return replace(batch_shape(self._run, batch_size), prefetch_batches=1)

    def _trained_parameters(self, phase: TrainingPhase) -> int:
        learner = self._setup.learner
        learner.require_trainable(phase.trainable, "train.trainable")
        return sum(prod(variable.shape) for variable in learner.network.trainable_variables)

    def peak_bytes(self, batch_size: int) -> int:
        """Return the peak of the process so far, with such batches the last."""
        import numpy as np
        import tensorflow as tf

        from bakeoff.learning.input.batches import evaluation_batches
        from bakeoff.learning.tasks.task import compile_answer, judge

        setup, phase = self._setup, replace(self._phase, span=replace(self._phase.span, batch_size=batch_size))
        feed = setup.feed(self._shape)
        first = phase.span.first_step
        if phase.quantize:
            setup.learner.begin_eight_bits(feed.images(phase, 1))
        step = setup.learner.begin(phase.trainable, "train.trainable", phase.ranges_learn)
        upcoming = iter(feed.batches(phase, range(first, first + STEPS)))
        for _ in range(STEPS):
            losses = step(list(itertools.islice(upcoming, feed.together)), tf.constant(0.0, tf.float32))
            float(losses["train/loss"])  # waits until the step is done
        held_out = evaluation_batches(setup.held_out, self._shape(batch_size))
        with setup.learner.kept() as network:
            answer = compile_answer(network, setup.task, with_losses=True)
            judge(setup.task, {"network": answer}, itertools.islice(held_out, VALIDATION_BATCHES))
        copied = {name: np.array(value) for name, value in setup.learner.state().items()}
        assert copied
        return peak_memory_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bakeoff.config.compose.memory_trial", description=__doc__)
    parser.add_argument("variant", type=Path)
    parser.add_argument("records", type=Path)
    arguments = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to standard error from here on
    run = load(arguments.variant)
    rehearsal, budget = Rehearsal(run, arguments.records), run.derived.device_budget_bytes
    for line in sys.stdin:
        peak: int | None = rehearsal.peak_bytes(int(line))
        if budget and device_peak_bytes() > budget:
            peak = None
        print(json.dumps({"batch_size": int(line), "peak_bytes": peak}), file=answers, flush=True)


if __name__ == "__main__":
    main()
