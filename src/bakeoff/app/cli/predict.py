"""`bakeoff predict`: images and videos through a model; lines of JSON, pictures and films come out."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def add_to(commands: Any) -> None:
    predict = commands.add_parser("predict")
    add = predict.add_argument
    predict.add_path(
        "paths", nargs="+", type=from_here, metavar="PATH", help="images, videos, folders of them, or patterns"
    )
    predict.add_path(
        "--out",
        required=True,
        type=folder_from_here,
        metavar="DIR",
        help="folder for the results: empty, or of an earlier call",
    )
    add(
        "--model",
        type=folder_from_here,
        metavar="FILE|DIR",
        help="a .tflite or .onnx, a SavedModel, models/export, models/train or weights; default: what this workspace "
        "exported",
    )
    add(
        "--run",
        dest="of_run",
        metavar="RUN",
        help=f"another run's best weights: {RUN}; or a workspace's folder",
    )
    add(
        "--min-score",
        type=float,
        default=MIN_SCORE,
        metavar="S",
        help=f"least score of a box that is drawn ({MIN_SCORE})",
    )
    add("--track", action="store_true", help="track objects in a video: each keeps its number in all frames")
    add("--no-pictures", action="store_true", help="print the lines only; write no pictures")
    predict.set_defaults(run=predict_paths, anywhere=True)


def predict_paths(arguments: argparse.Namespace) -> None:
    if arguments.model is None:  # a model that is named needs no clone, as on a robot
        workspace.enter()
    if not 0 <= arguments.min_score <= 1:
        raise WorkspaceError(f"--min-score: must be between 0 and 1, got {arguments.min_score:g}")
    from bakeoff.inference.predict.read_images import sources
    from bakeoff.inference.predict.run import PICTURES, FilePredictor, format_tally, make_own_folder, require_own_folder
    from bakeoff.inference.predict.select_model import chosen

    require_own_folder(arguments.out)
    files = sources(arguments.paths, arguments.out)
    source, called = chosen(arguments.model, arguments.of_run)
    make_own_folder(arguments.out)
    model = _open(source)
    if arguments.track and model.task != "detection":
        raise WorkspaceError(f"--track: must have a detector, {called} is for {model.task}")
    work = FilePredictor(
        model, arguments.out, arguments.min_score, draws=not arguments.no_pictures, follows_objects=arguments.track
    )
    with progress("predict", work.units(files), "images") as bar:
        tally = work.run(files, bar)
    for path, why in tally.failures:
        print(f"{_shown(path)}: passed over, {why}", file=sys.stderr)
    print_line(f"predict: {called}, {format_tally(model, tally)}")
    made = "" if arguments.no_pictures else f", {PICTURES}/"
    print_line(f"  results.jsonl, images.jsonl{made}: {_shown(arguments.out)}/")
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


def from_here(path: str) -> str:
    """As it was meant where the user stands, for commands run in the workspace's own folder, which may be above."""
    return path if Path("dvc.yaml").is_file() else os.path.join(os.getcwd(), path)


def folder_from_here(path: str) -> Path:
    return Path(from_here(path))


def _shown(path: Path) -> str:
    """Also a name that is no text."""
    return str(path).encode("utf-8", "backslashreplace").decode()
