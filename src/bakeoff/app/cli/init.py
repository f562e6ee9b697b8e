"""`bakeoff init`: a workspace for one's own data, by the installed bakeoff."""

from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, argument, flag
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class InitCommand(Command):
    folder: Path = argument("made if it is missing; default: the one you are in", "FOLDER", default=Path(), type=Path)
    example: bool = flag("choose the demo's data, so that `bakeoff repro` can run at once")
    needs_workspace = False

    def run(self) -> None:
        from bakeoff.foundation.new_workspace import make_workspace

        written = make_workspace(self.folder, example=self.example)
        count = format_count(len(written), "file")
        print_line(f"{self.folder.resolve()}: {count} written, among them params.yaml and dvc.yaml")
        enter = f"cd {self.folder} && " if self.folder != Path() else ""
        data = "" if self.example else "`bakeoff import FOLDER --name NAME` brings in your data; "
        print_line(f"next: {data}`{enter}git add --all && git commit -m 'Begin'`, then `bakeoff repro`")
