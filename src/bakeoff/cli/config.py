"""`bakeoff config`: the resolved variant and where each value comes from; with names, what differs."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.cli.columns import say_columns
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.config.variant import Variant


def add_to(commands: Any) -> None:
    config = commands.add_parser(
        "config", help="the variant with every value and where it comes from; with one or two names, what differs"
    )
    config.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a git revision, DVC experiment, MLflow run id or file, against another or the workspace; "
        "KEY=VALUE changes the workspace's variant in Hydra's words",
    )
    config.add_argument("--json", action="store_true", help="the same for scripts")
    config.set_defaults(run=show_config)


def show_config(arguments: argparse.Namespace) -> None:
    overrides = [name for name in arguments.names if "=" in name or name.startswith("~")]
    names = [name for name in arguments.names if name not in overrides]
    if names:
        _show_differences(names, overrides, as_json=arguments.json)
    else:
        _show_values(overrides, as_json=arguments.json)


def _show_values(overrides: list[str], *, as_json: bool) -> None:
    from bakeoff.config.variant import values_of

    variant = _variant(overrides)
    values = values_of(variant.whole(), variant.draft, variant.composed)
    if as_json:
        print(json.dumps({value.key: {"value": value.value, "from": value.origin} for value in values}, indent=1))
        return
    say_columns((value.key, _said(value.value), value.origin) for value in values)


def _show_differences(names: list[str], overrides: list[str], *, as_json: bool) -> None:
    from bakeoff.errors import WorkspaceError
    from bakeoff.rendered import rendered
    from bakeoff.run.parse import differences
    from bakeoff.run.settings import as_tree

    if len(names) > 2 or (len(names) == 2 and overrides):
        raise WorkspaceError(f"{' '.join(names + overrides)}: at most two can be compared")
    trees = [rendered(name) for name in names]
    if len(names) == 1:
        trees.append(as_tree(_variant(overrides).whole()))
        names = [*names, "workspace"]
    pairs = differences(*trees)
    if as_json:
        print(json.dumps({pair.key: {names[0]: pair.one, names[1]: pair.other} for pair in pairs}, indent=1))
        return
    if not pairs:
        say(f"{names[0]} and {names[1]} are the same variant")
        return
    say_columns([("", *names), *((pair.key, _said(pair.one), _said(pair.other)) for pair in pairs)])


def _variant(overrides: list[str]) -> "Variant":
    """The workspace's own."""
    from bakeoff.config.variant import read_variant

    facts = workspace.facts()
    return read_variant(workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=facts, overrides=overrides)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
