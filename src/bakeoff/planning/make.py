"""The workspace and a few overrides -> a plan."""

from collections.abc import Sequence
from typing import Any

from bakeoff import workspace
from bakeoff.config.facts import facts_of
from bakeoff.config.run import as_tree
from bakeoff.config.variant import read_variant
from bakeoff.planning.ahead import stages_ahead
from bakeoff.planning.plan import Plan, plan
from bakeoff.records.manifest import read_manifest


def make_plan(overrides: Sequence[str], *, probe: bool) -> Plan:
    facts = workspace.facts()
    variant = read_variant(workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=facts, overrides=overrides)
    variant.problems.raise_any()
    run = variant.run
    assert run is not None
    assert run.derived is not None
    manifest = read_manifest(workspace.RECORDS)
    said: dict[str, Any] = variant.composed.said[0].document.values
    files = {workspace.PARAMS.as_posix(): said, workspace.RUN.as_posix(): as_tree(run)}
    return plan(
        run,
        run.derived,
        manifest,
        facts_of(run.model, run.derived.num_classes, facts),
        pace=None,
        stages=stages_ahead(files),
        warnings=variant.problems.warnings,
        batch_from=variant.composed.place_of("train.batch_size"),
    )
