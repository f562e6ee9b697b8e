"""`bakeoff doctor`: what this machine computes on, and why a GPU is not used."""

from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command
from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class DoctorCommand(Command):
    needs_workspace = False

    def run(self) -> None:
        from bakeoff.experiments.runs.diagnosis import examine

        findings = examine(Path.cwd())
        print_columns(findings.rows)
        if findings.problem:
            raise WorkspaceError(findings.problem)
        print_line(findings.remark or "all is well: TensorFlow computes on the GPU")
