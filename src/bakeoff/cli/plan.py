"""`bakeoff plan`: what a variant will take and do, before anything runs."""

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bakeoff.cli.amounts import duration, size
from bakeoff.cli.columns import say_columns
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.planning.plan import Plan, PlannedPhase


def add_to(commands: Any) -> None:
    plan = commands.add_parser("plan", help="what a variant will take and do: steps, parameters, memory, time, stages")
    plan.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="a change in Hydra's words, such as lr.peak=0.1")
    plan.add_argument("--probe", action="store_true", help="measure a few steps on this machine (up to a minute)")
    plan.add_argument("--json", action="store_true", help="the same for scripts")
    plan.set_defaults(run=show_plan)


def show_plan(arguments: argparse.Namespace) -> None:
    from bakeoff.planning.plan import make_plan

    plan = make_plan(arguments.overrides, probe=arguments.probe)
    if arguments.json:
        print(json.dumps(plan.as_json(), indent=1))
        return
    say_columns(_rows(plan))
    for warning in plan.warnings:
        say(f"warning: {warning}")


def _rows(plan: "Plan") -> Iterator[tuple[str, str]]:
    yield "variant", ", ".join(f"{group} {option}" for group, option in plan.variant.items())
    yield "examples", ", ".join(f"{number:,} {split}" for split, number in plan.examples.items())
    background = " and the background" if plan.background else ""
    yield "classes", f"{len(plan.classes)}{background}: {_listed(plan.classes)}"
    yield "parameters", f"{plan.parameters:,}"
    yield "batch", f"{plan.batch_size}, {plan.batch_why}"
    yield "steps", f"{plan.steps:,}, {plan.epochs:g} epochs"
    for phase in plan.phases:
        yield from _phase_rows(phase, several=len(plan.phases) > 1)
    share = plan.memory_estimate_bytes / plan.memory_budget_bytes
    yield "memory", f"about {size(plan.memory_estimate_bytes)}, {share:.0%} of {size(plan.memory_budget_bytes)}"
    yield "  made of", ", ".join(f"{part} {size(held)}" for part, held in plan.memory_parts.items() if held)
    yield "disk", f"about {size(plan.disk_bytes)} for checkpoints and weights"
    time = "not known" if plan.seconds is None else f"about {duration(plan.seconds)} of training"
    yield "time", f"{time} ({plan.seconds_from})"
    yield "stages", ", ".join(f"{stage} {outcome}" for stage, outcome in plan.stages.items())


def _phase_rows(phase: "PlannedPhase", *, several: bool) -> Iterator[tuple[str, str]]:
    if several:
        yield f"phase {phase.name}", f"{phase.steps:,} steps of {phase.batch_size}, {phase.epochs:.4g} epochs"
    yield "  per epoch", f"{phase.steps_per_epoch:.4g} steps"
    yield "  trained", f"{phase.trainable_parameters:,} parameters, {phase.frozen_parameters:,} stay as they are"
    yield "  rate", ", ".join(f"{rate:.3g} at {where}" for where, rate in phase.rates.items())


def _listed(names: list[str], shown: int = 12) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
