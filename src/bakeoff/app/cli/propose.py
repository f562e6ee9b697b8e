"""`bakeoff propose RUN FOLDER`: what a detector finds in unlabelled pictures, as labels that people correct."""

import argparse
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    from bakeoff.importing.datasets.pre_annotate import ImageProposals
    from bakeoff.inference.predict.model_interface import Model

FORMATS = ("voc", "coco", "yolo")
MIN_SCORE = 0.5
SOME_FAILED = 1


def add_to(commands: Any) -> None:
    command = commands.add_parser("propose")
    command.add_argument(
        "model", metavar="RUN", type=_absolute_if_there, help=f"{RUN}; or a .tflite, .onnx, SavedModel or weights"
    )
    command.add_path(
        "folder",
        metavar="FOLDER",
        type=lambda text: Path(text).absolute(),
        help="folder of pictures; labels that exist stay",
    )
    command.add_argument("--as", dest="format", choices=FORMATS, required=True, help="format of the labels")
    command.add_argument(
        "--min-score", type=float, default=MIN_SCORE, metavar="S", help=f"least score of a proposal ({MIN_SCORE})"
    )
    command.set_defaults(run=propose_labels)


def _absolute_if_there(text: str) -> str:
    """Return a path as it was meant where the user stands, and any other name of a run as it is."""
    return str(Path(text).absolute()) if Path(text).exists() else text


def propose_labels(arguments: argparse.Namespace) -> None:
    if not 0 <= arguments.min_score <= 1:
        raise WorkspaceError(f"--min-score: must be between 0 and 1, got {arguments.min_score:g}")
    if not arguments.folder.is_dir():
        raise DataError(f"{arguments.folder}: no such folder")
    from bakeoff.inference.predict.select_model import chosen

    path = Path(arguments.model)
    is_file = path.exists() and not (path / "dvc.yaml").is_file()
    source, called = chosen(path if is_file else None, None if is_file else arguments.model)
    load_tensorflow()
    from bakeoff.importing.datasets.pre_annotate import LabelFolder, propose
    from bakeoff.inference.predict.model_interface import opened

    model = opened(source)
    if model.task != "detection":
        raise DataError(f"{called}: must be a detector, is for {model.task}")
    place = LabelFolder(arguments.folder, arguments.format, model.labels)
    with progress("propose", len(place.tree.images), "images") as bar:
        tally = propose(place, lambda image: _predict(model, image, arguments.min_score), called, bar.advance)
    for failure in tally.failures:
        print(f"{failure}: passed over", file=sys.stderr)
    print_line(f"propose: {tally.boxes:,} boxes in {tally.images - tally.empty:,} pictures, by {called}")
    if tally.boxes:
        print_line(
            f"  each box with its score: {arguments.folder / 'proposals.csv'}; correct the labels before you train"
        )
    if tally.empty:
        print_line(f"  {tally.empty:,} pictures without a box of score {arguments.min_score:g} got no label")
    if tally.labelled:
        print_line(f"  {tally.labelled:,} pictures have a label, which stays")
    if tally.failures:
        sys.exit(SOME_FAILED)


def _predict(model: "Model", path: Path, min_score: float) -> "ImageProposals":
    """Return the boxes that a model finds in a picture, from a score on, best first."""
    from bakeoff.inference.active_learning.unlabelled_pool import find_proposals
    from bakeoff.inference.predict.read_images import read_image

    try:
        pixels = read_image(path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from None
    return find_proposals(PurePosixPath(path.name), pixels, model.answer(pixels), model.labels, min_score)[0]
