"""A variant as render_config makes it, but for looking at records and building the network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.checks import Records
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.derive import resolve
from bakeoff.config.compose.lr_plot import lr_svg
from bakeoff.config.compose.memory_plan import Limits
from bakeoff.config.compose.network_facts import Facts, Variable
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import Run, write
from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from bakeoff.learning.plan.phases import plan_phases

PARAMS, CONF = Path("params.yaml"), Path("conf")
GROUPS = ("data", "model", "memory", "lr", "optimizer", "train", "evaluate", "export", "track")
SPLIT = Split(600, 600 * 176 * 176 * 3, 1, {"0": 600}, (Shard("train-00000-of-00001", 600, 1, "0"),))
MANIFEST = Manifest("detection", tuple("0123456789"), {"train": SPLIT, "validation": SPLIT}, False, None)
FACTS = Facts((Variable("backbone.stem/kernel", (3, 3, 3, 8), True),), 10_000)  # building networks takes seconds


def render(overrides: Sequence[str] = ()) -> Run:
    composed = compose(PARAMS, CONF, overrides=overrides)
    problems = composed.problems
    draft, records = parse_variant(composed.tree, problems), Records(MANIFEST)
    run = resolve(
        draft, records, problems, facts_of=lambda *_: FACTS, set_by=composed.set_by,
        limits_of=lambda memory: Limits(memory.budget_bytes or 10**9, memory.device_budget_bytes or 0, 2),
    )  # fmt: skip
    problems.raise_any()
    if run is None:  # a batch of `auto` takes a training to find
        assert draft.train and draft.train.batch_size == "auto"
        return render([*overrides, "train.batch_size=4"])
    write(run, Path("run.yaml"))
    Path("run.yaml").unlink()
    lr_svg(run.name, plan_phases(run))
    format_pipeline(run, MANIFEST)
    return run


def write_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Return a params.yaml in which each key has the text as its value."""
    lines = {group: f"{group}: {{use: preset}}" for group in GROUPS}
    lines |= {"data": "data: {use: digits}", "seed": "seed: 0"}
    for key, value in pairs:
        group, *inner = key.split(".")
        head = [f"{group}:", f"  use: {'digits' if group == 'data' else 'preset'}"] if inner else []
        rest = [f"{'  ' * depth}{name}:" for depth, name in enumerate(inner, 1)] or [f"{group}:"]
        lines[group] = "\n".join([*head, *rest]) + f" {value}"
    return "\n".join(["experiment: demo", *lines.values(), ""])


def change(tree: Any, place: Sequence[str], value: Any) -> Any:
    """Return the tree with another value at a place."""
    if not place or not isinstance(tree, dict):
        return value
    return tree | {place[0]: change(tree.get(place[0]), place[1:], value)}
