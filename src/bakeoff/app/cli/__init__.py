"""Plan variants, sweep over them, look at what was trained. Training runs through DVC: `dvc repro`, `dvc exp run`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.command_table import COMMANDS
from bakeoff.app.cli.parser import Parser
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.tf_loading import collect_seldom

if TYPE_CHECKING:
    from bakeoff.app.cli.command_options import Command

HELP_OPTIONS = ("-h", "--help", "--version")


class Version(argparse.Action):
    """Print the version, which takes longer to find out than anything else on the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version(parser.prog)}")
        parser.exit()


def make_parser(only: str | None = None, *, as_typed: bool = False) -> Parser:
    """Return the parser of all commands, or of one only with its own.

    `sweep` takes overrides or a command of its own, which argparse cannot tell apart: `sweep list` is a command beside
    it. `as_typed` puts it where it is typed, for a script that completes arguments.
    """
    from bakeoff.app.cli.command_options import add_options

    parser = _make_bare_parser()
    for name, listed in COMMANDS.items():
        first, _, second = name.partition(" ")
        if only not in (None, first):
            continue
        inside = second and (as_typed or not COMMANDS[first].does_it)
        commands = parser.commands.choices[first].commands if inside else parser.commands
        file, _, does_it = listed.does_it.partition(":")
        command = getattr(import_module(f"{__name__}.{file}"), does_it) if file else None
        more = {"epilog": command.epilog} if command else {}
        if command and command.takes_all:
            more |= {"prefix_chars": "\0", "add_help": False}
        made = commands.add_parser(second if inside else name, help=listed.line, **more)
        has_commands = command is None or (as_typed and name == "sweep")
        if has_commands:
            made.add_commands()
        if command is not None:
            add_options(made, command, has_commands=has_commands)
            made.set_defaults(command=command)
    return parser


def make_listing_parser() -> Parser:
    """Return a parser that knows the commands by name and line alone: for --help, and to refuse a command that is none.

    It loads no command's file, and is ready in a tenth of the time.
    """
    parser = _make_bare_parser()
    for name, listed in COMMANDS.items():
        if " " not in name or COMMANDS[name.split()[0]].does_it:
            parser.commands.add_parser(name, add_help=False, help=listed.line)
    return parser


def _make_bare_parser() -> Parser:
    parser = Parser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    parser.add_commands()
    return parser


def parse(typed: Sequence[str]) -> "Command":
    """Return the command that was typed, with its arguments."""
    if len(typed) == 1 and (listed := COMMANDS.get(typed[0])) and listed.alone:
        typed = [*typed, listed.alone]
    parser = _choose_parser(typed)
    typed = [" ".join(typed[:2]), *typed[2:]] if " ".join(typed[:2]) in parser.commands.choices else [*typed]
    chosen = parser.parser_of(typed)
    arguments, rest = parser.parse_known_args(typed)
    if rest and hasattr(arguments, "overrides") and not any(argument.startswith("-") for argument in rest):
        arguments.overrides += rest  # argparse takes the values of a list up to the first option only
    elif rest:
        chosen.refuse(rest)
    from bakeoff.app.cli.command_options import make

    command: Command = make(arguments.command, arguments)
    return command


def _choose_parser(typed: Sequence[str]) -> Parser:
    """Return the smallest parser that these arguments need."""
    first = typed[0] if typed else ""
    if first in COMMANDS:
        return make_parser(first.partition(" ")[0])
    return make_listing_parser() if first in HELP_OPTIONS or not first.startswith("-") else make_parser()


def main() -> None:
    collect_seldom()
    with errors_in_one_line():
        command = parse(sys.argv[1:])
        if command.needs_workspace:
            from bakeoff.foundation import workspace

            workspace.enter()
        command.run()
