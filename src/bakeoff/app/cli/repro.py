"""`bakeoff repro`: `dvc repro` with a note for the run that it trains, or on other machines."""

import argparse
import os
from typing import Any


def add_to(commands: Any) -> None:
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
    from bakeoff.tracking.journal.journal_folder import NOTE_VARIABLE
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
