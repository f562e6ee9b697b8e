"""`bakeoff diff A B`: what changed between two data sets, in pictures, labels and boxes."""

import json
from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, argument, flag, from_here, option
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.progress import print_line

DATA = "a revision of git, whose records are compared; a folder of pictures and labels; or a folder of records"


def folder_or_revision(text: str) -> str:
    return from_here(text) if Path(text).is_dir() else text


@dataclass(frozen=True)
class DiffCommand(Command):
    a: str = argument(DATA, "A", type=folder_or_revision)
    b: str = argument("likewise; default: data/records", "B", default="data/records", type=folder_or_revision)
    json: bool = flag("print every change as JSON, for scripts")
    md: Path | None = option("write a comment for a pull request, in Markdown", "FILE")
    html: Path | None = option("write a page with the pictures, which needs no network", "FILE")

    def run(self) -> None:
        from bakeoff.experiments.data_diff.compare_data import compare_data
        from bakeoff.experiments.data_diff.diff_page import write_page
        from bakeoff.experiments.data_diff.diff_text import describe_diff, format_comment
        from bakeoff.experiments.data_diff.open_data import open_data

        with open_data(self.a) as a, open_data(self.b) as b:
            diff = compare_data(a, b)
            if self.html:
                write_page(self.html, diff)
        if self.md:
            write_whole(self.md, "\n".join(format_comment(diff)) + "\n")
        if self.json:
            print(json.dumps(diff.tree, indent=1, ensure_ascii=False))
            return
        for line in describe_diff(diff):
            print_line(line)
        if self.html:
            print_line(f"  page: {self.html}")
