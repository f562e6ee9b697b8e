"""`bakeoff plan` and `bakeoff config`: what a variant will take and do, and where each of its values comes from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.command_options import Command, argument, flag, from_here, option
from bakeoff.app.cli.terminal import RUN, print_columns
from bakeoff.app.cli.terminal_table import print_folded, print_wrapped
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class PlanCommand(Command):
    overrides: tuple[str, ...] = argument("a Hydra override, such as lr.peak=0.1", "OVERRIDE")
    probe: bool = flag("measure a few steps on this machine (up to a minute)")
    show: str | None = option(
        "draw training examples as the network gets them, with their ground truth (.bakeoff/augmented.jpg)", "FILE",
        nargs="?", const="", type=from_here,
    )  # fmt: skip
    json: bool = flag("print JSON, for scripts")

    def run(self) -> None:
        from bakeoff.experiments.planning.stage_status import reading_known

        overrides = list(self.overrides)
        shown = _draw_examples(overrides, self.show) if self.show is not None else {}
        with reading_known() as known:
            from bakeoff.experiments.planning.plan import make_plan  # loads as long as DVC, which starts beside it
            from bakeoff.experiments.planning.plan_rows import list_rows

            plan = make_plan(overrides, probe=self.probe, known=known)
        if self.json:
            print(json.dumps(asdict(plan) | shown, indent=1))
            return
        print_folded([*list_rows(plan), *shown.items()])
        for warning in plan.warnings:
            print_wrapped(f"warning: {warning}")


def _draw_examples(overrides: list[str], file: str) -> dict[str, str]:
    from bakeoff.experiments.planning.plan import SHEET, draw_sheet

    path = Path(file) if file else SHEET
    draw_sheet(overrides, path)
    return {"shown": path.as_posix()}


@dataclass(frozen=True)
class ConfigCommand(Command):
    names: tuple[str, ...] = argument(
        f"{RUN}; or a file, against another or the workspace; KEY=VALUE changes the workspace's variant in Hydra's "
        "words",
        "NAME",
    )
    json: bool = flag("print JSON, for scripts")

    def run(self) -> None:
        overrides = [name for name in self.names if "=" in name or name.startswith("~")]
        names = [name for name in self.names if name not in overrides]
        if names:
            _show_differences(names, overrides, as_json=self.json)
        else:
            _show_values(overrides, as_json=self.json)


def _show_values(overrides: list[str], *, as_json: bool) -> None:
    from bakeoff.config.compose.variant import read_variant, values_of

    variant = read_variant(overrides=overrides)
    values = values_of(variant.whole(), variant.draft, variant.composed)
    if as_json:
        print(json.dumps({value.key: {"value": value.value, "from": value.origin} for value in values}, indent=1))
        return
    print_columns((value.key, _as_text(value.value), value.origin) for value in values)


def _show_differences(names: list[str], overrides: list[str], *, as_json: bool) -> None:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.config.compose.whole_run import as_tree
    from bakeoff.experiments.runs.run_yaml import load_run_yaml
    from bakeoff.learning.run_file.parse import differences

    if len(names) > 2 or (len(names) == 2 and overrides):
        raise WorkspaceError(f"{' '.join(names + overrides)}: at most two can be compared")
    trees = [load_run_yaml(name) for name in names]
    if len(names) == 1:
        trees.append(as_tree(read_variant(overrides=overrides).whole()))
        names = [*names, "workspace"]
    pairs = differences(*trees)
    if as_json:
        print(json.dumps({pair.key: {names[0]: pair.one, names[1]: pair.other} for pair in pairs}, indent=1))
        return
    if not pairs:
        print_line(f"{names[0]} and {names[1]} are the same variant")
        return
    print_columns([("", *names), *((pair.key, _as_text(pair.one), _as_text(pair.other)) for pair in pairs)])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
