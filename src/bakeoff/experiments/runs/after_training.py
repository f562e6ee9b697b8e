"""What is told, measured and still done once a training has ended."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import psutil

from bakeoff.experiments.runs.memory_use import MemoryUse, warning
from bakeoff.foundation import workspace
from bakeoff.foundation.machine import device_peak_bytes, peak_memory_bytes
from bakeoff.foundation.progress import print_line
from bakeoff.learning.checkpoints.trained_state import TrainedState, describe_end
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.training.stopping import CTRL_C
from bakeoff.learning.training.training import Training, TrainingResult
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

FRAGILE_SHELLS = ("sh", "dash", "ash", "busybox")


def measure(derived: Derived, training: Training, outcome: TrainingResult, memory: MemoryUse) -> dict[str, Any]:
    """Return what the clock and the machine decided; warn if memory was over the budget. The memory of a process that
    took no step is none of the training's.
    """
    peak, took_steps = peak_memory_bytes(), not training.is_over
    if took_steps and (text := warning(memory.peaks, peak, derived.memory_budget_bytes, derived.memory_parts)):
        print(f"warning: {text}", file=sys.stderr)
    of_memory = {"peak_memory_bytes": peak, "memory_peaks": memory.peaks, "peak_device_bytes": device_peak_bytes()}
    return {
        "seconds": round(training.ends.limit.clock.seconds, 1),
        "resumed_at_steps": outcome.resumed_at,
        "stopped_by": training.ends.stop.by if outcome.ended_by == "stop" else None,
        "memory_estimate_bytes": derived.memory_estimate_bytes,
        "memory_budget_bytes": derived.memory_budget_bytes,
        "device_estimate_bytes": derived.device_estimate_bytes,
    } | (of_memory if took_steps else {})


def print_end(state: TrainedState, measured: Mapping[str, Any]) -> None:
    """Print how the training ended, and evaluate here what DVC will not evaluate."""
    print_line(f"train: {describe_end(state, measured)}")
    if state.is_stopped:
        again = "evaluation takes what is there, `dvc repro` again resumes, or `bakeoff repro` where DVC refuses"
        print_line(f"  stopped after step {state.last_step:,}; {again}")
        if measured["stopped_by"] == CTRL_C and takes_its_shell_along():
            evaluate_here()
    print_line(f"  weights and history: {workspace.TRAINED.as_posix()}/, run {measured['run_id'][:SHOWN_OF_ID]}")


def takes_its_shell_along() -> bool:
    """Tell whether Ctrl-C ends the shell by which DVC runs this stage, as soon as the stage has ended.

    Then DVC sees a failure, whatever the stage says. bash and zsh become the command that they are given; not so dash.
    """
    return "DVC_STAGE" in os.environ and psutil.Process(os.getppid()).name() in FRAGILE_SHELLS


def evaluate_here() -> None:
    """Run what DVC will not run after this, though the result is as good as any."""
    print_line("  DVC runs stages by a shell that Ctrl-C ends, and calls this a failure; SHELL=/bin/bash avoids that")
    for stage in ("evaluate", "export"):
        subprocess.run([sys.executable, "-m", f"bakeoff.stages.{stage}"], check=False)  # each says what is wrong itself
