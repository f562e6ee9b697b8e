"""`bakeoff propose RUN FOLDER`: what a detector finds in unlabelled pictures, as labels that people correct."""

import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, absolute_path, argument, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    from bakeoff.importing.datasets.pre_annotate import ImageProposals
    from bakeoff.inference.predict.model_interface import Model

FORMATS = ("voc", "coco", "yolo")
MIN_SCORE = 0.5
SOME_FAILED = 1


def _absolute_if_there(text: str) -> str:
    """Return a path as it was meant where the user stands, and any other name of a run as it is."""
    return str(Path(text).absolute()) if Path(text).exists() else text


@dataclass(frozen=True)
class ProposeCommand(Command):
    model: str = argument(f"{RUN}; or a .tflite, .onnx, SavedModel or weights", "RUN", type=_absolute_if_there)
    folder: Path = argument("folder of pictures; labels that exist stay", "FOLDER", type=absolute_path)
    format: str = option("format of the labels", flags="--as", choices=FORMATS, required=True)
    min_score: float = option(f"least score of a proposal ({MIN_SCORE})", "S", default=MIN_SCORE, least=0, most=1)

    def run(self) -> None:
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: no such folder")
        from bakeoff.inference.predict.select_model import chosen

        path = Path(self.model)
        is_file = path.exists() and not (path / "dvc.yaml").is_file()
        source, called = chosen(path if is_file else None, None if is_file else self.model)
        load_tensorflow()
        from bakeoff.importing.datasets.pre_annotate import LabelFolder, propose
        from bakeoff.inference.predict.model_interface import opened

        model = opened(source)
        if model.task != "detection":
            raise DataError(f"{called}: must be a detector, is for {model.task}")
        place = LabelFolder(self.folder, self.format, model.labels)
        with progress("propose", len(place.tree.images), "images") as bar:
            tally = propose(place, lambda image: _predict(model, image, self.min_score), called, bar.advance)
        for failure in tally.failures:
            print(f"{failure}: passed over", file=sys.stderr)
        print_line(f"propose: {tally.boxes:,} boxes in {tally.images - tally.empty:,} pictures, by {called}")
        if tally.boxes:
            print_line(
                f"  each box with its score: {self.folder / 'proposals.csv'}; correct the labels before you train"
            )
        if tally.empty:
            print_line(f"  {tally.empty:,} pictures without a box of score {self.min_score:g} got no label")
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
