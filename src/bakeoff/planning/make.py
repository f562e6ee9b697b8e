"""The workspace and a few overrides -> a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff import workspace
from bakeoff.config.facts import facts_of
from bakeoff.config.variant import read_variant
from bakeoff.planning.ahead import UNCHANGED, stages_ahead
from bakeoff.planning.pace import pace_key, remember, remembered
from bakeoff.planning.plan import Pace, Plan, plan
from bakeoff.planning.probe import seconds_per_step
from bakeoff.records.manifest import Manifest, read_manifest
from bakeoff.run.settings import Run, as_tree
from bakeoff.training.variant import Derived, plan_phases


def make_plan(overrides: Sequence[str], *, probe: bool) -> Plan:
    facts = workspace.facts()
    variant = read_variant(workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=facts, overrides=overrides)
    run = variant.whole()
    assert run.derived is not None
    manifest = read_manifest(workspace.RECORDS)
    said: dict[str, Any] = variant.composed.said[0].document.values
    files = {workspace.PARAMS.as_posix(): said, workspace.RUN.as_posix(): as_tree(run)}
    stages = stages_ahead(files)
    return plan(
        run,
        run.derived,
        manifest,
        facts_of(run.model, run.derived.num_classes, facts),
        pace=_measured(run, run.derived, manifest) if probe else known_pace(run, run.derived),
        stages=stages,
        warnings=[*variant.problems.warnings, *_warnings(stages)],
        batch_from=variant.composed.place_of("train.batch_size"),
    )


def _warnings(stages: Mapping[str, str]) -> list[str]:
    if stages["build_records"] == UNCHANGED:
        return []
    folder = workspace.RECORDS.as_posix()
    return [f"{folder}: is not what the variant asks for, and the numbers are its; run `dvc repro build_records` first"]


def _measured(run: Run, derived: Derived, manifest: Manifest) -> Pace:
    seconds = seconds_per_step(run, derived, manifest, workspace.RECORDS)
    for leg in plan_phases(run):
        key = pace_key(run.model, derived.num_classes, run.train, leg)
        remember(workspace.paces(), key, seconds[leg.span.name])
    return Pace(seconds, "measured just now")


def known_pace(run: Run, derived: Derived) -> Pace | None:
    """None unless a run like this one was trained here before."""
    keys = {leg.span.name: pace_key(run.model, derived.num_classes, run.train, leg) for leg in plan_phases(run)}
    seconds = {name: found for name, key in keys.items() if (found := remembered(workspace.paces(), key)) is not None}
    return Pace(seconds, "as such steps took here before") if seconds.keys() == keys.keys() else None
