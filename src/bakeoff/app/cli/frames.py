"""`bakeoff frames VIDEO`: pictures of a film, to be labelled."""

import argparse
import sys
from pathlib import Path
from typing import Any

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.progress import print_line

EVERY = 1.0
CUT_SHORT = 1


def add_to(commands: Any) -> None:
    frames = commands.add_parser("frames")
    frames.add_path("video", metavar="VIDEO", type=lambda text: Path(text).absolute(), help="the film")
    frames.add_argument(
        "--every", type=float, default=EVERY, metavar="SECONDS", help=f"seconds between pictures ({EVERY:g})"
    )
    frames.add_path(
        "--out",
        type=lambda text: Path(text).absolute(),
        metavar="FOLDER",
        help="folder for the pictures; those of other films stay (default: data/raw/<film>/images)",
    )
    frames.set_defaults(run=write_frames)


def write_frames(arguments: argparse.Namespace) -> None:
    if not 0.001 <= arguments.every <= 86_400:
        raise ConfigError(f"--every: must be between 0.001 and 86400 seconds, got {arguments.every:g}")
    from bakeoff.importing.datasets.tree import FILM
    from bakeoff.importing.datasets.video_frames import name_film, take_frames

    film = name_film(arguments.video)
    out = arguments.out or workspace.RAW / film / "images"
    taken = take_frames(arguments.video, out, arguments.every)
    kept, looked_at = len(taken.files), len(taken.files) + taken.alike
    print_line(f"frames: {kept:,} pictures of {taken.frames:,} frames in {out}/")
    if taken.alike:
        print_line(f"  {taken.alike:,} of {looked_at:,} left out, they look like one before them")
    print_line(f"  each name begins with {film}_; `split: {{group: '{FILM}'}}` keeps a film on one side")
    if taken.broken:
        print(f"{arguments.video}: {taken.broken}; what comes after is missing", file=sys.stderr)
        sys.exit(CUT_SHORT)
