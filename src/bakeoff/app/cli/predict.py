"""`bakeoff predict`: images and videos through a model; lines of JSON, pictures and films come out."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, from_here, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    from bakeoff.inference.predict.model_interface import Model
    from bakeoff.inference.predict.select_model import Trained

SOME_FAILED = 1
MIN_SCORE = 0.5


@dataclass(frozen=True)
class PredictCommand(Command):
    needs_workspace = False
    paths: tuple[str, ...] = argument("images, videos, folders of them, or patterns", "PATH", nargs="+", type=from_here)
    out: Path = option("folder for the results: empty, or of an earlier call", "DIR", required=True)
    model: Path | None = option(
        "a .tflite or .onnx, a SavedModel, models/export, models/train or weights; default: what this workspace "
        "exported",
        "FILE|DIR",
    )
    of_run: str | None = option(f"another run's best weights: {RUN}; or a workspace's folder", "RUN", flags="--run")
    min_score: float = option(
        f"least score of a box that is drawn ({MIN_SCORE})", "S", default=MIN_SCORE, least=0, most=1
    )
    track: bool = flag("track objects in a video: each keeps its number in all frames")
    no_pictures: bool = flag("print the lines only; write no pictures")

    def run(self) -> None:
        if self.model is None:  # a model that is named needs no clone, as on a robot
            workspace.enter()
        from bakeoff.inference.predict.read_images import sources
        from bakeoff.inference.predict.run import (
            PICTURES,
            FilePredictor,
            format_tally,
            make_own_folder,
            require_own_folder,
        )
        from bakeoff.inference.predict.select_model import chosen

        require_own_folder(self.out)
        files = sources(list(self.paths), self.out)
        source, called = chosen(self.model, self.of_run)
        make_own_folder(self.out)
        model = _open(source)
        if self.track and model.task != "detection":
            raise WorkspaceError(f"--track: must have a detector, {called} is for {model.task}")
        work = FilePredictor(model, self.out, self.min_score, draws=not self.no_pictures, follows_objects=self.track)
        units = work.units(files)
        for path, frames in work.long_films():
            print_line(
                f"predict: {_shown(path)} has {frames:,} frames, and each is answered; the bar has the time left, and "
                f"Ctrl-C keeps the answers so far; `bakeoff frames {shlex.quote(_shown(path))} --every 1` takes one a "
                "second"
            )
        with progress("predict", units, "images") as bar:
            tally = work.run(files, bar)
        for path, why in tally.failures:
            print(f"{_shown(path)}: passed over, {why}", file=sys.stderr)
        print_line(f"predict: {called}, {format_tally(model, tally)}")
        made = "" if self.no_pictures else f", {PICTURES}/"
        print_line(f"  results.jsonl, images.jsonl{made}: {_shown(self.out)}/")
        if tally.failures:
            print_line(f"  {len(tally.failures)} of {len(files)} files passed over")
            sys.exit(SOME_FAILED)


def _open(source: "Path | Trained") -> "Model":
    """Open a .tflite or .onnx without TensorFlow's networks, and so also where TensorFlow is not installed."""
    if isinstance(source, Path) and source.is_file():
        from bakeoff.inference.predict.light_runtime import Small

        return Small(source)
    load_tensorflow()
    from bakeoff.inference.predict.model_interface import opened

    return opened(source)


def _shown(path: Path) -> str:
    """Also a name that is no text."""
    return str(path).encode("utf-8", "backslashreplace").decode()
