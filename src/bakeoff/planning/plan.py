"""A variant -> the numbers that one wants to see before it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bakeoff.config.facts import Facts
from bakeoff.planning.on_disk import OnDisk
from bakeoff.records.manifest import Manifest
from bakeoff.run.settings import Run
from bakeoff.training.variant import Derived, TrainingPhase, plan_phases


@dataclass(frozen=True)
class PlannedPhase:
    name: str
    steps: int
    steps_per_epoch: float
    epochs: float
    batch_size: int
    trainable_parameters: int
    frozen_parameters: int
    rates: dict[str, float]  # "step 0", "step 50: cosine", ... -> the rate


@dataclass(frozen=True)
class Plan:
    name: str
    variant: dict[str, str]
    task: str
    examples: dict[str, int]  # by split
    classes: list[str]
    background: bool  # whether the network answers "none of them" too
    steps: int
    epochs: float
    batch_size: int
    batch_why: str
    phases: list[PlannedPhase]
    parameters: int
    memory_estimate_bytes: int
    memory_budget_bytes: int
    memory_parts: dict[str, int]  # of the estimate
    disk_bytes: int
    seconds: float | None  # of training; None where nothing is known
    seconds_from: str
    stages: dict[str, str]
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Pace:
    """How fast this machine goes through the variant, and how one knows."""

    seconds_per_step: Mapping[str, float]  # by phase
    known_from: str


def plan(
    run: Run,
    derived: Derived,
    manifest: Manifest,
    facts: Facts,
    *,
    pace: Pace | None,
    stages: Mapping[str, str],
    warnings: Sequence[str],
    batch_from: str,
) -> Plan:
    legs, disk = plan_phases(run), OnDisk.of(run.train, facts.parameters)
    phases = [_phase(leg, run, facts, manifest.splits["train"].examples) for leg in legs]
    seconds = None
    if pace is not None:
        seconds = sum(pace.seconds_per_step[leg.span.name] * leg.span.steps for leg in legs)
    return Plan(
        name=run.name,
        variant=run.variant,
        task=derived.task,
        examples={split: content.examples for split, content in manifest.splits.items()},
        classes=list(manifest.classes),
        background=_has_background(run),
        steps=derived.steps,
        epochs=derived.epochs,
        batch_size=run.train.batch,
        batch_why=derived.batch_size_because if derived.batch_size_because != "stated" else f"set in {batch_from}",
        phases=phases,
        parameters=facts.parameters,
        memory_estimate_bytes=derived.memory_estimate_bytes,
        memory_budget_bytes=derived.memory_budget_bytes,
        memory_parts=asdict(derived.memory_parts),
        disk_bytes=disk.in_flight + disk.outputs,
        seconds=seconds,
        seconds_from=pace.known_from if pace else "no earlier run on this machine; --probe measures a few steps",
        stages=dict(stages),
        warnings=list(warnings),
    )


def _phase(leg: TrainingPhase, run: Run, facts: Facts, examples: int) -> PlannedPhase:
    together = leg.span.batch_size * run.train.accumulate_batches
    trainable = facts.trainable(leg.trainable, run.model)
    span = leg.span
    return PlannedPhase(
        name=span.name,
        steps=span.steps,
        steps_per_epoch=examples / together,
        epochs=span.steps * together / examples,
        batch_size=span.batch_size,
        trainable_parameters=trainable,
        frozen_parameters=facts.parameters - trainable,
        rates=_key_rates(leg),
    )


def _key_rates(leg: TrainingPhase) -> dict[str, float]:
    span = leg.span
    turns = {0: "start"} | {step: what for step, what in leg.schedule.turns() if 0 < step < span.steps}
    turns |= {span.steps // 2: turns.get(span.steps // 2, "half way"), span.steps - 1: "last step"}
    return {
        f"step {span.first_step + step:,} ({turns[step]})": leg.rate(span.first_step + step) for step in sorted(turns)
    }


def _has_background(run: Run) -> bool:
    """Detectors answer it for every anchor, as the absence of all classes or as a class of its own."""
    return run.model.task == "detection" or bool(getattr(run.model, "background", False))
