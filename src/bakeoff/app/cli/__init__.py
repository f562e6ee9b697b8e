"""Plan variants, sweep over them, look at what was trained. Training runs through DVC: `dvc repro`, `dvc exp run`."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from bakeoff.app.cli.help_lines import LINES
from bakeoff.app.cli.parser import Parser
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.tf_loading import collect_seldom

# In the order of --help: a command, or several, and the function that adds it and says what it runs. A command loads
# no other one's file, for together they take longer than most commands do. Its line in the help is in lines.py.
COMMANDS = {
    "repro": "bakeoff.app.cli:add_repro",
    "plan": "bakeoff.app.cli.plan_config:add_plan",
    "config": "bakeoff.app.cli.plan_config:add_config",
    "sweep": "bakeoff.app.cli.sweep:add_to",
    "queue": "bakeoff.app.cli.queue:add_to",
    "budget": "bakeoff.app.cli.budget:add_to",
    "curve": "bakeoff.app.cli.curve:add_to",
    "predict": "bakeoff.app.cli.predict:add_to",
    "measure": "bakeoff.app.cli.measure:add_to",
    "evaluate": "bakeoff.app.cli.evaluate:add_to",
    "drift": "bakeoff.app.cli.drift:add_to",
    "status": "bakeoff.app.cli.status:add_to",
    "stop": "bakeoff.app.cli.stop_clean:add_stop",
    "clean": "bakeoff.app.cli.stop_clean:add_clean",
    "compare": "bakeoff.app.cli.compare:add_to",
    "better": "bakeoff.app.cli.better:add_to",
    "reproduce": "bakeoff.app.cli.reproduce:add_to",
    "continue": "bakeoff.app.cli.continue_run:add_to",
    "track": "bakeoff.app.cli.track:add_track",
    "weights": "bakeoff.app.cli.weights:add_to",
    "import": "bakeoff.app.cli.import_data:add_to",
    "frames": "bakeoff.app.cli.frames:add_to",
    "propose": "bakeoff.app.cli.propose:add_to",
    "suspects": "bakeoff.app.cli.suspects:add_to",
    "next": "bakeoff.app.cli.next_labels:add_to",
    "import-config": "bakeoff.importing.api_config.command:add_to",
    "ui": "bakeoff.app.cli.ui:add_to",
    "web": "bakeoff.app.cli.web:add_to",
    "doctor": "bakeoff.app.cli.doctor:add_to",
}
COMPLETION = "completion"  # the command that needs the parsers of all the others
HELP_OPTIONS = ("-h", "--help", "--version")


def add_repro(commands: Any) -> None:
    repro = commands.add_parser("repro", prefix_chars="\0", add_help=False)  # all arguments are for DVC
    repro.add_argument("rest", nargs="*")
    repro.set_defaults(run=_repro)


def _repro(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.cluster.ray_connection import ON_VARIABLE, require_ray
    from bakeoff.foundation import dvc

    rest, note = take_option(arguments.rest, "--note")
    rest, on = take_option(rest, "--on")
    if on is not None:
        require_ray(on)
        os.environ[ON_VARIABLE] = on  # for the stages that can use other machines
    if note is None:
        dvc.run(["dvc", "repro", *rest])
    else:
        _repro_with(note, rest)


def _repro_with(note: str, rest: list[str]) -> None:
    from bakeoff.foundation import dvc
    from bakeoff.tracking.journal.journal import NOTE_VARIABLE
    from bakeoff.tracking.notes import report_notes_here, require_note

    os.environ[NOTE_VARIABLE] = require_note(note)  # for the stage that trains
    try:
        dvc.run(["dvc", "repro", *rest])
    finally:
        report_notes_here()  # of a run that was there already


def take_option(arguments: list[str], option: str) -> tuple[list[str], str | None]:
    """Return the other arguments, and the text of an option that DVC does not have."""
    for place, argument in enumerate(arguments):
        name, is_one, text = argument.partition("=")
        if name == option and (is_one or place + 1 < len(arguments)):
            after = place + (1 if is_one else 2)
            return [*arguments[:place], *arguments[after:]], text if is_one else arguments[place + 1]
    return arguments, None


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
    commands = parser.commands
    for name in COMMANDS if only is None else [only] if only in COMMANDS else []:
        file, _, function = COMMANDS[name].partition(":")
        more = [_load_sweep_commands()] if name == "sweep" and as_typed else []
        getattr(import_module(file), function)(commands, *more)
    if only in (None, "sweep") and not as_typed:
        _load_sweep_commands()(commands, "sweep ")
    if only in (None, COMPLETION):
        from bakeoff.app.cli import completion

        completion.add_to(commands, lambda: make_parser(as_typed=True))
    return parser


def make_listing_parser() -> Parser:
    """Return a parser that knows the commands by name and line alone: for --help, and to refuse a command that is none.

    It loads no command's file, and is ready in a tenth of the time.
    """
    parser = _make_bare_parser()
    for name in LINES:
        parser.commands.add_parser(name, add_help=False)
    return parser


def _make_bare_parser() -> Parser:
    parser = Parser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    parser.add_commands(LINES)
    return parser


def _load_sweep_commands() -> Callable[..., None]:
    from bakeoff.app.cli.sweep_commands import add_commands

    return add_commands


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
    if first in COMMANDS or first == COMPLETION:
        return make_parser(first)
    is_listed = first in HELP_OPTIONS or not (first.startswith("-") or first in LINES)
    return make_listing_parser() if is_listed else make_parser()


def main() -> None:
    collect_seldom()
    with errors_in_one_line():
        arguments = parse(sys.argv[1:])
        if not hasattr(arguments, "anywhere"):
            from bakeoff.foundation import workspace

            workspace.enter()
        arguments.run(arguments)
