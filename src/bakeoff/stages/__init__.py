"""One module per stage of dvc.yaml, each a straight function from paths to files. `python -m bakeoff.stages.<verb>`.

Little is imported before Ctrl-C is taken care of.
"""

import os
import signal
import sys
from typing import TYPE_CHECKING

from bakeoff.foundation.address_space import require_for_numpy
from bakeoff.foundation.errors import ConfigError, hide_interrupt_traceback, raise_lost_interrupt, remember_interrupt

if TYPE_CHECKING:
    import argparse


def _repeat_dropped_interrupt(dropped: "sys.UnraisableHookArgs") -> None:
    from bakeoff.foundation.signals import repeat_dropped_interrupt

    repeat_dropped_interrupt(dropped)


sys.excepthook = hide_interrupt_traceback  # imports take the first second, before `main` can catch Ctrl-C
sys.unraisablehook = _repeat_dropped_interrupt  # and some of Python's callbacks meanwhile would swallow it
if sys.argv[:1] == ["-m"]:  # Python is looking for the stage that it is to run
    signal.signal(signal.SIGINT, remember_interrupt)
    # Threads of OpenBLAS take a core each while they wait for more. With one, sums are the same on any number of cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    require_for_numpy()


def stage_parser(name: str, description: str | None) -> "argparse.ArgumentParser":
    """A stage has hardly any options: what it computes stands in files, or DVC would not see an edit."""
    import argparse

    return argparse.ArgumentParser(prog=f"python -m bakeoff.stages.{name}", description=description, allow_abbrev=False)


def read_options(parser: "argparse.ArgumentParser") -> "argparse.Namespace":
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
    from bakeoff.foundation.workspace import require_own_code

    raise_lost_interrupt()
    read_options(stage_parser(name, description))
    require_own_code()
