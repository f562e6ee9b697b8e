"""A sweep that a command makes by itself to answer a question: `bakeoff curve`, `bakeoff suspects --folds`."""

import argparse
from collections.abc import Callable, Sequence

from bakeoff.app.cli.parser import Parser
from bakeoff.app.cli.sweep import add_rule_options, run_sweep
from bakeoff.foundation.errors import WorkspaceError

OF_A_SEARCH = dict.fromkeys(("search", "trials", "metric", "direction", "search_seed", "no_pruning"))


def add_sweep_options(command: Parser) -> None:
    add = command.add_argument
    add("--resume", nargs="?", const="", metavar="ID", help="resume the last sweep, or sweep ID")
    add("--dry-run", action="store_true", help="print what would run, and run nothing")
    add("--yes", action="store_true", help="start without asking, even if it takes more than an hour")
    add(
        "--as-begun",
        action="store_true",
        help="resume with the code and settings that it started with, whatever has changed since",
    )
    add("--note", metavar="TEXT", help="description of its runs in MLflow")
    add("--person", metavar="NAME", help="person whose training minutes it uses (conf/team.yaml)")
    add_rule_options(command)


def train_or_resume(
    arguments: argparse.Namespace, changes: Sequence[str], make_overrides: Callable[[], Sequence[str]]
) -> None:
    """Run a sweep of the overrides with the user's own, or what is left of one. Leaves with its exit code if some runs
    are not done."""
    overrides: list[str] = []
    if arguments.resume is None:
        overrides = [*changes, *make_overrides()]
    elif changes:
        raise WorkspaceError("--resume: must stand without overrides, for the sweep has its own")
    until = None if arguments.resume is not None else "evaluate"  # the answer needs no export
    asked = {"overrides": overrides, "file": None, "until": until, "anew": False, **OF_A_SEARCH}
    run_sweep(argparse.Namespace(**(vars(arguments) | asked)))
