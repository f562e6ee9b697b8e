"""A plan -> what `bakeoff plan` and the page of a training say of it, row by row."""

from collections.abc import Iterator
from typing import Any

from bakeoff.experiments.planning.plan import Plan, PlannedPhase
from bakeoff.experiments.planning.time_estimate import NAMES, TRAIN
from bakeoff.foundation.formatting import format_count, format_duration, format_names, format_size
from bakeoff.learning.plan.run_length import UNLIMITED, is_endless

CLASSES_SHOWN = 12
INPUTS_SHOWN = 4


def list_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each row."""
    yield "variant", ", ".join(f"{group} {option}" for group, option in plan.variant.items())
    yield "examples", ", ".join(f"{number:,} {split}" for split, number in plan.examples.items())
    background = " and the background" if plan.background else ""
    yield "classes", f"{len(plan.classes)}{background}: {format_names(plan.classes, CLASSES_SHOWN)}"
    yield "parameters", f"{plan.parameters:,}"
    yield "batch", f"{plan.batch_size}, {plan.batch_why}"
    yield "steps", UNLIMITED if is_endless(plan.steps) else f"{plan.steps:,}, {plan.epochs:g} epochs"
    for phase in plan.phases:
        yield from _phase_rows(phase, several=len(plan.phases) > 1)
    estimate, budget = plan.memory_estimate_bytes, plan.memory_budget_bytes
    yield "memory", f"about {format_size(estimate)}, {estimate / budget:.0%} of {format_size(budget)}"
    yield "  made of", ", ".join(f"{part} {format_size(held)}" for part, held in plan.memory_parts.items() if held)
    if plan.tiles:
        yield "tiles", plan.tiles
    yield from plan.known.items()
    yield "disk", f"about {format_size(plan.disk_bytes)} for checkpoints and weights"
    if plan.seconds_per_step:
        paces = plan.seconds_per_step.items()
        yield (
            "pace",
            ", ".join(f"{seconds:.3g} s a step{f' of {name}' if len(paces) > 1 else ''}" for name, seconds in paces),
        )
    if plan.device:
        yield from _device_rows(plan.device)
    yield from list_stage_rows(plan)


def list_stage_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield which stages run, which of their inputs have changed, and how long they take."""
    yield "stages", ", ".join(f"{stage} {outcome}" for stage, outcome in plan.stages.items())
    if plan.because:
        whys = (f"{stage}: {format_names(inputs, INPUTS_SHOWN)}" for stage, inputs in plan.because.items())
        yield "  because of", "; ".join(whys)
    yield "time", f"{_describe_time(plan)} ({plan.seconds_from})"


def _device_rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    size, threads = format_size(facts["bytes"]), facts["threads"]
    pace = f"{facts['latency_ms']:.1f} ms an answer with {format_count(threads, 'thread')}"
    measured = "on this machine, with random weights"
    yield "device", f"{facts['device']} takes this network; as {facts['form']} about {size}, {pace} {measured}"
    if facts["operations"]:
        yield "  operations", facts["operations"]


def _describe_time(plan: Plan) -> str:
    """Return the sum and its parts."""
    open_end = {TRAIN: " and its steps"} if plan.seconds is None else {}
    parts = [
        f"{NAMES.get(name, name)} {format_duration(seconds)}{open_end.get(name, '')}"
        for name, seconds in plan.stage_seconds.items()
    ]
    about = "about" if plan.seconds is not None else "at least"
    return f"{about} {format_duration(sum(plan.stage_seconds.values()))}: {', '.join(parts)}"


def _phase_rows(phase: PlannedPhase, *, several: bool) -> Iterator[tuple[str, str]]:
    if several:
        yield f"phase {phase.name}", f"{phase.steps:,} steps of {phase.batch_size}, {phase.epochs:.4g} epochs"
    yield "  per epoch", f"{phase.steps_per_epoch:.4g} steps"
    yield "  trained", f"{phase.trainable_parameters:,} parameters, {phase.frozen_parameters:,} stay as they are"
    yield "  rate", ", ".join(f"{rate:.3g} at {where}" for where, rate in phase.rates.items())
