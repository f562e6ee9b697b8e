"""Plan variants, sweep over them, look at what was trained. Training runs through DVC: `dvc repro`, `dvc exp run`."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from bakeoff import dvc, workspace
from bakeoff.cli import (
    better,
    budget,
    compare,
    completion,
    continuing,
    curve,
    doctor,
    drift,
    evaluate,
    frames,
    import_data,
    measure,
    next_labels,
    predict,
    propose,
    queue,
    reproduce,
    status,
    stop,
    suspects,
    sweep,
    sweeps,
    track,
    ui,
    variant,
    web,
    weights,
)
from bakeoff.cli.parser import Parser
from bakeoff.elsewhere.ray_connection import ON_VARIABLE, require_ray
from bakeoff.errors import said_plainly
from bakeoff.pipeline_import import command as import_config


def _add_repro(commands: Any) -> None:
    text = "`dvc repro` with its own options, --note and --on, after mending what a kill or a loss of power left behind"
    repro = commands.add_parser("repro", help=text, prefix_chars="\0", add_help=False)  # all words are for DVC
    repro.add_argument("words", nargs="*")
    repro.set_defaults(run=_repro)


def _repro(arguments: argparse.Namespace) -> None:
    words, note = take_option(arguments.words, "--note")
    words, on = take_option(words, "--on")
    if on is not None:
        require_ray(on)
        os.environ[ON_VARIABLE] = on  # for the stages that can use other machines
    sys.argv = ["dvc", "repro", *words]
    if note is None:
        dvc.main()
    else:
        _repro_with(note)


def _repro_with(note: str) -> None:
    from bakeoff.tracking.journal import NOTE_VARIABLE
    from bakeoff.tracking.note import require_note, tell_notes_here

    os.environ[NOTE_VARIABLE] = require_note(note)  # for the stage that trains
    try:
        dvc.main()
    finally:
        tell_notes_here()  # of a run that was there already


def take_option(words: list[str], option: str) -> tuple[list[str], str | None]:
    """Return the other words, and the text of an option that DVC does not have."""
    for place, word in enumerate(words):
        name, is_one, text = word.partition("=")
        if name == option and (is_one or place + 1 < len(words)):
            after = place + (1 if is_one else 2)
            return [*words[:place], *words[after:]], text if is_one else words[place + 1]
    return words, None


# In the order of --help; each adds a command and says what it runs.
COMMANDS = (
    _add_repro, variant.add_plan, variant.add_config, sweep.add_to, queue.add_to, budget.add_to, curve.add_to,
    predict.add_to, measure.add_to, evaluate.add_to, drift.add_to, status.add_to, stop.add_stop, stop.add_clean,
    compare.add_to, better.add_to, reproduce.add_to, continuing.add_to, track.add_track, weights.add_to,
    import_data.add_to, frames.add_to, propose.add_to, suspects.add_to, next_labels.add_to, import_config.add_to,
    ui.add_to, web.add_to, doctor.add_to,
)  # fmt: skip


def make_parser(*, as_typed: bool = False) -> Parser:
    """Return the parser of all commands.

    `sweep` takes changes or a word of its own, which argparse cannot tell apart: `sweep list` is a command beside it.
    `as_typed` puts it where it is typed, for a script that completes words.
    """
    parser = Parser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    shown = f"bakeoff {version('bakeoff')}"
    parser.add_argument("--version", action="version", version=shown, help="print the version")
    commands = parser.add_commands()
    for add_command in COMMANDS:
        if as_typed and add_command is sweep.add_to:
            sweep.add_to(commands, sweeps.add_words)
        else:
            add_command(commands)
    if not as_typed:
        sweeps.add_words(commands, "sweep ")
    completion.add_to(commands, lambda: make_parser(as_typed=True))
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return a command's arguments, `run` among them: the function that does it."""
    parser = make_parser()
    words = [" ".join(words[:2]), *words[2:]] if " ".join(words[:2]) in parser.commands.choices else [*words]
    chosen = parser.parser_of(words)
    arguments, rest = parser.parse_known_args(words)
    if rest and hasattr(arguments, "overrides") and not any(word.startswith("-") for word in rest):
        arguments.overrides += rest  # argparse takes words of a list up to the first option only
    elif rest:
        chosen.refuse(rest)
    return arguments


def main() -> None:
    with said_plainly():
        arguments = parse(sys.argv[1:])
        if not hasattr(arguments, "anywhere"):
            workspace.enter()
        arguments.run(arguments)
