"""One module per stage of dvc.yaml, each a straight function from paths to files. `python -m bakeoff.stages.<verb>`."""

import argparse
import signal
import sys
import threading

from bakeoff.foundation.errors import ConfigError, hide_interrupt_traceback, raise_lost_interrupt, remember_interrupt
from bakeoff.foundation.signals import repeat_dropped_interrupt
from bakeoff.foundation.workspace import require_own_code

sys.excepthook = hide_interrupt_traceback  # imports take the first second, before `main` can catch Ctrl-C
sys.unraisablehook = repeat_dropped_interrupt  # and some of Python's callbacks meanwhile would swallow it
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, remember_interrupt)


def stage_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """A stage has hardly any options: what it computes stands in files, or DVC would not see an edit."""
    return argparse.ArgumentParser(prog=f"python -m bakeoff.stages.{name}", description=description, allow_abbrev=False)


def read_options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Refuse settings on a stage's command line, where other programs take them."""
    options, arguments = parser.parse_known_args()
    if not arguments:
        return options
    name = parser.prog.rpartition(".")[2]
    settings = [argument for argument in arguments if "=" in argument and not argument.startswith("-")]
    tries = f"`bakeoff plan {' '.join(settings)}` shows it, " if settings else ""
    raise ConfigError(
        f"{parser.prog}: a stage takes no settings, got {' '.join(arguments)}; write them into params.yaml and run "
        f"`dvc repro {name}`; {tries}`bakeoff sweep` runs variants side by side"
    )


def begin_stage(name: str, description: str | None) -> None:
    """Refuse a command line with settings, and code that is not the workspace's own."""
    raise_lost_interrupt()
    read_options(stage_parser(name, description))
    require_own_code()
