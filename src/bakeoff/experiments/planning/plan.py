"""The workspace and a few overrides -> the numbers that one wants to see before a variant runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.config.compose.network_facts import Facts, asks_for_eight_bits, facts_of
from bakeoff.config.compose.tile_cost import TilePrice, read_sizes
from bakeoff.config.compose.variant import ResolvedVariant, read_variant
from bakeoff.config.compose.whole_run import Run, as_tree
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN as TRAIN_SPLIT
from bakeoff.experiments.planning.device_estimate import look_ahead
from bakeoff.experiments.planning.estimate import OnDisk
from bakeoff.experiments.planning.known_before import describe_known
from bakeoff.experiments.planning.stage_status import RUNS, UNCHANGED, DvcState, explain_stages, reading_known
from bakeoff.experiments.planning.time_estimate import BEFORE, TRAIN, Pace, Whole, known_pace, measure_pace, seconds_of
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, choices
from bakeoff.foundation.formatting import align
from bakeoff.foundation.html import template
from bakeoff.foundation.machine import list_gpus
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.learning.metrics.names import choose_judgement
from bakeoff.learning.networks.tiles import tiles_of
from bakeoff.learning.plan.phases import TrainingPhase, plan_phases
from bakeoff.learning.plan.run_length import UNLIMITED, is_endless

SHEET = Path(workspace.IN_FLIGHT) / "augmented.jpg"
SHEET_KINDS = (".jpg", ".jpeg", ".png")
SHEET_EXAMPLES = 12


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


@dataclass(frozen=True, repr=False)
class Plan:
    """What a variant needs and does, before it runs."""

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
    seconds: float | None  # of `dvc repro` with all the stages that run; None where the training's pace is not known
    seconds_from: str
    stage_seconds: dict[str, float]  # of each stage that runs, and of DVC itself; without steps whose pace is not known
    seconds_per_step: dict[str, float] | None  # by phase
    stages: dict[str, str]
    because: dict[str, list[str]]  # stage that runs -> what of its inputs is otherwise than last time
    warnings: list[str]
    device: dict[str, Any] | None = None  # what export.device makes of the network; None: none is named
    tiles: str | None = None  # what looking at pictures in tiles costs
    known: dict[str, str] = field(default_factory=dict)  # of its files: loss by eight bits, speed, a letterbox

    def __repr__(self) -> str:
        return "\n".join(align(self._rows()))

    def _repr_html_(self) -> str:
        return template.render("notebook_rows.html.jinja", rows=self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        from bakeoff.experiments.planning.plan_rows import list_rows

        return [*list_rows(self), *(("warning", text) for text in self.warnings)]


def make_plan(overrides: Sequence[str], *, probe: bool = False, known: Callable[[], DvcState] | None = None) -> Plan:
    """Plan the workspace's variant, changed by the overrides; a probe takes a few steps of it.

    `known` gives what DVC has on disk, for a caller that has asked DVC already.
    """
    kept_in = workspace.facts()
    with reading_known() if known is None else nullcontext(known) as read_known:
        variant = read_variant(overrides=overrides)
        check_best_by(variant)
        check_devices(variant)
        run = variant.whole()
        params = variant.composed.changed_params()
        trees = {workspace.PARAMS.as_posix(): params, workspace.RUN.as_posix(): as_tree(run)}
        ahead = explain_stages(trees, read_known())
    stages = {name: stage.outcome for name, stage in ahead.items()}
    derived, manifest, tiles = run.derived, read_manifest(workspace.RECORDS), tiles_of(run.model)
    facts = facts_of(run.model, derived.num_classes, kept_in, quantizes=asks_for_eight_bits(run.train, run.export))
    pace = measure_pace(run, manifest, workspace.RECORDS) if probe else known_pace(run)
    whole = Whole.of(run, stages, pace)
    because, outlook = derived.batch_size_because, look_ahead(run, manifest, kept_in)
    # Detectors answer it for every anchor, as the absence of all classes or as a class of its own.
    has_background = run.model.task == "detection" or bool(getattr(run.model, "background", False))
    return Plan(
        name=run.name, variant=run.variant, task=derived.task,
        examples={split: content.examples for split, content in manifest.splits.items()},
        classes=list(manifest.classes), background=has_background,
        steps=derived.steps, epochs=derived.epochs, batch_size=run.train.batch,
        batch_why=because if because != "stated" else f"set in {variant.composed.place_of('train.batch_size')}",
        phases=[_phase(phase, run, facts) for phase in plan_phases(run)],
        parameters=facts.parameters,
        memory_estimate_bytes=derived.memory_estimate_bytes, memory_budget_bytes=derived.memory_budget_bytes,
        memory_parts=asdict(derived.memory_parts), disk_bytes=OnDisk.of(run.train, facts.parameters).total(),
        seconds=whole.seconds, seconds_from=_name_source(run, pace, whole), stage_seconds=whole.stages,
        seconds_per_step=dict(pace.seconds_per_step) if pace else None,
        stages=stages, because={name: [*stage.because] for name, stage in ahead.items() if stage.outcome == RUNS},
        warnings=[*variant.problems.warnings, *_warnings(stages)],
        device=asdict(outlook) if outlook else None,
        tiles=str(TilePrice.of(tiles, read_sizes(workspace.RECORDS, manifest))) if tiles else None,
        known=describe_known(run, manifest),
    )  # fmt: skip


def draw_sheet(overrides: Sequence[str], file: Path) -> None:
    """Draw the first examples of a training of the workspace's variant, changed by the overrides."""
    if file.suffix.lower() not in SHEET_KINDS:
        rule = f"must be a file that ends in {', '.join(SHEET_KINDS)}, got {file.as_posix()!r}"
        raise ConfigError(f"--show: {rule}; changes of the variant stand before it")
    variant = read_variant(overrides=overrides)
    run, manifest = variant.whole(), read_manifest(workspace.RECORDS)
    load_tensorflow()
    from bakeoff.evaluation.augmented_samples import draw_augmented
    from bakeoff.learning.input.record_reader import RecordReader

    store = RecordReader(workspace.RECORDS, manifest.splits[TRAIN_SPLIT], run.memory.on_bad_record)
    sheet = draw_augmented(run, store, manifest.classes, SHEET_EXAMPLES)
    file.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(file, quality=90)


def check_best_by(variant: ResolvedVariant) -> None:
    """Note a metric for the best weights that no validation of this task gives."""
    run = variant.run
    if run is None or run.train.best_by is None:
        return
    allowed = choose_judgement(run.derived.task, multi_label=run.derived.multi_label).choices
    if run.train.best_by not in allowed:
        known = choices(run.train.best_by, allowed)
        variant.problems.add("train.best_by", f"no such metric {run.train.best_by!r}; {known}")


def check_devices(variant: ResolvedVariant) -> None:
    """Note more devices than this machine has: its GPUs, or else the one that all its cores are."""
    wanted = variant.draft.train.devices if variant.draft.train else 1
    if not isinstance(wanted, int) or wanted <= 1:
        return
    if wanted > (there := max(1, len(list_gpus()))):
        rule = f"must be at most {there}, the {'GPUs' if there > 1 else 'device'} of this machine, got {wanted}"
        variant.problems.add("train.devices", f"{rule}; `all` takes as many as a machine has")


def _name_source(run: Run, pace: Pace | None, whole: Whole) -> str:
    if TRAIN not in whole.stages:
        return whole.known_from
    known = "no such steps on this machine yet; --probe measures a few"
    if not whole.has_steps and is_endless(run.derived.steps):
        known = f"train.steps: {UNLIMITED}"
    if whole.has_steps:
        known = f"steps {pace.known_from}" if pace and pace.known_from != BEFORE else ""
    limit = math.inf if run.train.max_minutes is None else 60 * run.train.max_minutes
    is_cut_short = (seconds_of(run, pace) or 0.0) >= limit and whole.stages[TRAIN] >= limit
    return "; ".join(filter(None, ["train.max_minutes ends it" if is_cut_short else "", known, whole.known_from]))


def _warnings(stages: Mapping[str, str]) -> list[str]:
    if stages["build_records"] == UNCHANGED:
        return []
    folder = workspace.RECORDS.as_posix()
    return [f"{folder}: is not what the variant asks for, and the numbers are its; run `dvc repro build_records` first"]


def _phase(phase: TrainingPhase, run: Run, facts: Facts) -> PlannedPhase:
    examples = run.derived.train_examples
    span, trainable = phase.span, facts.trainable(phase.trainable, run.model)
    together = span.batch_size * run.train.accumulate_batches
    return PlannedPhase(
        span.name, span.steps, steps_per_epoch=examples / together, epochs=span.steps * together / examples,
        batch_size=span.batch_size, trainable_parameters=trainable, frozen_parameters=facts.parameters - trainable,
        rates=_key_rates(phase),
    )  # fmt: skip


def _key_rates(phase: TrainingPhase) -> dict[str, float]:
    span = phase.span
    turns = {0: "start"} | {step: what for step, what in phase.schedule.turns() if 0 < step < span.steps}
    if not is_endless(span.steps):
        turns |= {span.steps // 2: turns.get(span.steps // 2, "half way"), span.steps - 1: "last step"}
    first = span.first_step
    return {f"step {first + step:,} ({turns[step]})": phase.rate(first + step) for step in sorted(turns)}
