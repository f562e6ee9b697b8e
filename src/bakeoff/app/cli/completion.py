"""`bakeoff completion bash|zsh`: a script by which a shell completes commands, options and paths."""

import argparse
from collections.abc import Callable
from typing import Any

from bakeoff.app.cli.parser import Parser
from bakeoff.foundation.progress import print_line

SHELLS = ("bash", "zsh")
EXAMPLE = 'example: eval "$(bakeoff completion bash)" in ~/.bashrc'


def add_to(commands: Any, whole: Callable[[], Parser]) -> None:
    """`whole` makes the parser of all commands, each where a shell looks for it."""
    completion = commands.add_parser("completion", epilog=EXAMPLE)
    completion.add_argument("shell", choices=SHELLS, help="the shell")

    def write_script(arguments: argparse.Namespace) -> None:
        import shtab

        print_line(shtab.complete(whole(), shell=arguments.shell))

    completion.set_defaults(run=write_script, anywhere=True)
