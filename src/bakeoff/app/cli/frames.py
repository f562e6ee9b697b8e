"""`bakeoff frames VIDEO`: pictures of a film, to be labelled."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, absolute_path, argument, option
from bakeoff.foundation import workspace
from bakeoff.foundation.progress import print_line

EVERY = 1.0
CUT_SHORT = 1


@dataclass(frozen=True)
class FramesCommand(Command):
    video: Path = argument("the film", "VIDEO", type=absolute_path)
    every: float = option(f"seconds between pictures ({EVERY:g})", "SECONDS", default=EVERY, least=0.001, most=86_400)
    out: Path | None = option(
        "folder for the pictures; those of other films stay (default: data/raw/<film>/images)", "FOLDER",
        type=absolute_path,
    )  # fmt: skip

    def run(self) -> None:
        from bakeoff.importing.datasets.tree import FILM
        from bakeoff.importing.datasets.video_frames import name_film, take_frames

        film = name_film(self.video)
        out = self.out or workspace.RAW / film / "images"
        taken = take_frames(self.video, out, self.every)
        kept, looked_at = len(taken.files), len(taken.files) + taken.alike
        print_line(f"frames: {kept:,} pictures of {taken.frames:,} frames in {out}/")
        if taken.alike:
            print_line(f"  {taken.alike:,} of {looked_at:,} left out, they look like one before them")
        print_line(f"  each name begins with {film}_; `split: {{group: '{FILM}'}}` keeps a film on one side")
        if taken.broken:
            print(f"{self.video}: {taken.broken}; what comes after is missing", file=sys.stderr)
            sys.exit(CUT_SHORT)
