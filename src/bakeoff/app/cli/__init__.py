"""Plan variants, sweep over them, look at what was trained. Training runs through DVC: `dvc repro`, `dvc exp run`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bakeoff.app.cli.command_table import COMMANDS
from bakeoff.app.cli.parser import Parser
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.tf_loading import collect_seldom

HELP_OPTIONS = ("-h", "--help", "--version")


class Version(argparse.Action):
    """Print the version, which takes longer to find out than anything else on the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version(parser.prog)}")
        parser.exit()


def make_parser(only: str | None = None, *, as_typed: bool = False) -> Parser:
    """Return the parser of all commands, or of one only.

    `sweep` takes overrides or a command of its own, which argparse cannot tell apart: `sweep list` is a command beside
    it. `as_typed` puts it where it is typed, for a script that completes arguments.
    """
    parser = _make_bare_parser()
    chosen = [name for name in COMMANDS if only is None or name.partition(" ")[0] == only]
    for added_by in dict.fromkeys(COMMANDS[name].added_by for name in chosen if not (as_typed and " " in name)):
        file, _, function = added_by.partition(":")
        how = {"as_typed": True} if as_typed and added_by == COMMANDS["sweep"].added_by else {}
        getattr(import_module(file, __name__), function)(parser.commands, **how)
    return parser


def make_listing_parser() -> Parser:
    """Return a parser that knows the commands by name and line alone: for --help, and to refuse a command that is none.

    It loads no command's file, and is ready in a tenth of the time.
    """
    parser = _make_bare_parser()
    for name in COMMANDS:
        parser.commands.add_parser(name, add_help=False)
    return parser


def _make_bare_parser() -> Parser:
    parser = Parser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    parser.add_commands({name: command.line for name, command in COMMANDS.items()})
    return parser


def parse(typed: Sequence[str]) -> argparse.Namespace:
    """Return a command's arguments, `run` among them: the function that does it."""
    parser = _choose_parser(typed)
    typed = [" ".join(typed[:2]), *typed[2:]] if " ".join(typed[:2]) in parser.commands.choices else [*typed]
    chosen = parser.parser_of(typed)
    arguments, rest = parser.parse_known_args(typed)
    if rest and hasattr(arguments, "overrides") and not any(argument.startswith("-") for argument in rest):
        arguments.overrides += rest  # argparse takes the values of a list up to the first option only
    elif rest:
        chosen.refuse(rest)
    return arguments


def _choose_parser(typed: Sequence[str]) -> Parser:
    """Return the smallest parser that these arguments need."""
    first = typed[0] if typed else ""
    if first in COMMANDS:
        return make_parser(first.partition(" ")[0])
    return make_listing_parser() if first in HELP_OPTIONS or not first.startswith("-") else make_parser()


def main() -> None:
    collect_seldom()
    with errors_in_one_line():
        arguments = parse(sys.argv[1:])
        if not hasattr(arguments, "anywhere"):
            from bakeoff.foundation import workspace

            workspace.enter()
        arguments.run(arguments)
