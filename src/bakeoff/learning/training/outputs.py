"""What a training leaves in models/train: final and best weights, tables for plots, facts about its end."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.foundation.files import hash_file
from bakeoff.learning.checkpoints.history import write_plots
from bakeoff.learning.checkpoints.trained_state import TrainedLineage, TrainedState, write_state
from bakeoff.learning.networks import weights
from bakeoff.learning.pretrained.load_report import write_report
from bakeoff.learning.training.setup import Setup
from bakeoff.learning.training.training import Training, TrainingResult


def write(
    training: Training, outcome: TrainingResult, setup: Setup,
    first_weights: Mapping[str, Any], lineage: TrainedLineage, out: Path,
) -> TrainedState:  # fmt: skip
    """Write weights, plots, what became of the first weights, and how the run ended; return the last."""
    learner = training.learner
    with learner.kept() as network:
        weights.save(network, out / weights.FINAL)
        digest = weights.digest(network)
    if best := outcome.best_position:
        learner.keep(training.work.best(best))
    with learner.kept() as network:
        weights.save(network, out / weights.BEST)
    write_plots(out, training.headline)
    write_report(first_weights, out)
    state = replace(
        outcome.summary(training.headline, training.phases),
        steps=setup.run.derived.steps,
        parameters=learner.network.count_params(),
        weights_sha256=digest,
        files={name: hash_file(out / name) for name in (weights.BEST, weights.FINAL)},
        classes=tuple(setup.classes),
        bad_records=setup.bad.counts(),
        lineage=lineage,
    )
    write_state(out, state)
    return state
