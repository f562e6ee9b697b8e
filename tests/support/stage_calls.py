"""The stages' functions for a whole rendered variant, as their `main`s call them."""

from pathlib import Path
from typing import Any

from bakeoff.config.compose.whole_run import Run
from bakeoff.experiments.planning.time_estimate import TrainingTimes
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.stages import evaluate as evaluate_stage
from bakeoff.stages import export as export_stage
from bakeoff.stages import train as train_stage


def train(run: Run, records: Path, out: Path) -> tuple[TrainedState, dict[str, Any]]:
    return train_stage.train(run, run.track, records, out, TrainingTimes())


def evaluate(run: Run, records: Path, trained: Path, out: Path) -> dict[str, Any]:
    return evaluate_stage.evaluate(run, run.evaluate, run.track, records, trained, out)


def export(run: Run, records: Path, trained: Path, out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return export_stage.export(run, run.export, run.track, records, trained, out)
