"""What a page says before any number: which model it judges, on what, and whether its training came to its end.

No clock, run or commit is in it, for the stage's page is an output of DVC and has to repeat to the byte;
`pages.template.add_facts` makes the copy that says these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.plan.run_length import format_done


@dataclass(frozen=True)
class ReportHeader:
    title: str
    facts: Mapping[str, str]
    warning: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)  # the settings that decided the result, such as lr.peak


def warn_of_end(state: TrainedState) -> str:
    """Say that a training was cut short; nothing of one that came to its end, or of which nobody knows."""
    step, steps = state.step, state.steps
    if step is None or step >= steps:
        return ""
    at = f"after step {format_done(step, steps)}"
    if state.is_stopped:
        return (
            f"This run was stopped {at}, and its numbers are of what it had learned until then; dvc repro resumes it."
        )
    if state.ended_by == "max_minutes":
        return f"This run ended {at}, when its time was up (train.max_minutes)."
    return ""


def describe_weights(weights: str, state: TrainedState) -> str:
    early = ", ended early as it got no better" if state.ended_by == "early_stopping" else ""
    return f"{weights}, of step {format_done(state.step_of(weights), state.steps)}{early}"
