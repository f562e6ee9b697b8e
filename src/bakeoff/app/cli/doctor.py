"""`bakeoff doctor`: what this machine computes on, and why a GPU is not used."""

import argparse
from pathlib import Path
from typing import Any

from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line


def add_to(commands: Any) -> None:
    doctor = commands.add_parser("doctor")
    doctor.set_defaults(run=_examine, anywhere=True)


def _examine(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.runs.diagnosis import examine

    findings = examine(Path.cwd())
    print_columns(findings.rows)
    if findings.problem:
        raise WorkspaceError(findings.problem)
    print_line(findings.remark or "all is well: TensorFlow computes on the GPU")
