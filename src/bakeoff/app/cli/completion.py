"""`bakeoff completion bash|zsh`: a script by which a shell completes commands, options and paths."""

import argparse
from typing import Any

from bakeoff.foundation.progress import print_line

SHELLS = ("bash", "zsh")
EXAMPLE = 'example: eval "$(bakeoff completion bash)" in ~/.bashrc'


def add_to(commands: Any) -> None:
    completion = commands.add_parser("completion", epilog=EXAMPLE)
    completion.add_argument("shell", choices=SHELLS, help="the shell")
    completion.set_defaults(run=_write_script, anywhere=True)


def _write_script(arguments: argparse.Namespace) -> None:
    import shtab

    from bakeoff.app.cli import make_parser

    print_line(shtab.complete(make_parser(as_typed=True), shell=arguments.shell))
