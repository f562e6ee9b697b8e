"""`bakeoff repro`: `dvc repro` with a note for the run that it trains, or on other machines."""

import os
from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, argument


@dataclass(frozen=True)
class ReproCommand(Command):
    takes_all = True  # for DVC
    rest: tuple[str, ...] = argument("")

    def run(self) -> None:
        from bakeoff.experiments.cluster.ray_connection import ON_VARIABLE, require_ray
        from bakeoff.foundation import dvc

        rest, note = take_option(list(self.rest), "--note")
        rest, on = take_option(rest, "--on")
        if on is not None:
            require_ray(on)
            os.environ[ON_VARIABLE] = on  # for the stages that can use other machines
        if note is None:
            dvc.run(["dvc", "repro", *rest])
            return
        from bakeoff.tracking.journal.journal_folder import NOTE_VARIABLE
        from bakeoff.tracking.notes import report_notes_here, require_note

        os.environ[NOTE_VARIABLE] = require_note(note)  # for the stage that trains
        try:
            dvc.run(["dvc", "repro", *rest])
        finally:
            report_notes_here()  # of a run that was there already


def take_option(arguments: list[str], option: str) -> tuple[list[str], str | None]:
    """Return the other arguments, and the text of an option that DVC does not have."""
    for place, typed in enumerate(arguments):
        name, is_one, text = typed.partition("=")
        if name == option and (is_one or place + 1 < len(arguments)):
            after = place + (1 if is_one else 2)
            return [*arguments[:place], *arguments[after:]], text if is_one else arguments[place + 1]
    return arguments, None
