"""Plan variants, sweep over them, look at what was trained. Training runs through DVC: `dvc repro`, `dvc exp run`."""

import argparse

from bakeoff import workspace
from bakeoff.cli import clean, config, plan, status, stop, sweep, track, ui
from bakeoff.errors import said_plainly
from bakeoff.object_detection_api import command as import_config

COMMANDS = (
    plan,
    config,
    sweep,
    status,
    stop,
    clean,
    import_config,
    track,
    ui,
)  # in the order of --help; each adds itself and says what it runs


def main() -> None:
    parser = argparse.ArgumentParser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    arguments = parser.parse_args()
    with said_plainly():
        workspace.enter()
        arguments.run(arguments)
