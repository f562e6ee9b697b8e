"""`bakeoff next FOLDER`: which pictures without a label would teach a run's network most."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, absolute_path, argument, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.inference.active_learning.unlabelled_pool import KnownImages, Watcher

COUNT, MIN_SCORE = 50, 0.5
FORMATS = ("voc", "coco")
SHOWN = 5  # failures


@dataclass(frozen=True)
class NextCommand(Command):
    folder: Path = argument("folder of pictures without labels", "FOLDER", type=absolute_path)
    count: int = option(f"number of pictures ({COUNT})", "N", default=COUNT, least=1)
    of_run: str | None = option(f"run whose network chooses: {RUN}; default: the workspace's", "RUN", flags="--run")
    format: str | None = option(
        "also write a detector's predictions as labels to correct", flags="--as", choices=FORMATS
    )
    min_score: float = option(f"least score of a proposal ({MIN_SCORE})", "S", default=MIN_SCORE, least=0, most=1)
    out: Path | None = option(
        "new folder for list, contact sheet, pictures and proposals (data/next/ and FOLDER's name)", "DIR",
        type=absolute_path,
    )  # fmt: skip

    def run(self) -> None:
        from bakeoff.importing.datasets.tree import Tree
        from bakeoff.inference.active_learning.writing import LIST, SHEET, require_empty, write_chosen, write_proposals
        from bakeoff.inference.predict.select_model import find_run_or_own

        folder = self.folder
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder")
        out = self.out or Path("data/next").absolute() / folder.name
        require_empty(out)
        tree = Tree(folder)
        if not tree.images:
            films = f", but {len(tree.videos)} films; `bakeoff frames` takes pictures of a film" if tree.videos else ""
            raise DataError(f"{folder}: holds no image{films}")
        trained, called = find_run_or_own(self.of_run)
        if trained.model.task == "video":
            raise WorkspaceError(f"{called}: must be a network of images, is for clips")
        if self.format and trained.model.task != "detection":
            raise WorkspaceError(f"--as: must have a detector, {called} is for {trained.model.task}")
        load_tensorflow()
        import numpy as np

        from bakeoff.inference.active_learning.choose import choose_pictures
        from bakeoff.inference.active_learning.unlabelled_pool import KnownImages, Watcher, read_pool

        watcher, known = Watcher(trained), KnownImages()
        features = _read_training(watcher, known)
        with progress("next", len(tree.images), "images") as bar:
            pool = read_pool(folder, tree.images, watcher, known, min_score=self.min_score, advance=bar.advance)
        for failure in pool.failures[:SHOWN]:
            print(f"{failure}: passed over", file=sys.stderr)
        if not pool.candidates:
            raise DataError(
                f"{folder}: no image is left of {len(tree.images):,}: {len(pool.failures):,} cannot be read, "
                f"{len(pool.repeated):,} look like others"
            )
        pool.trained = features
        unsure = np.array([one.uncertainty for one in pool.candidates])
        own = np.stack([one.features for one in pool.candidates])
        places = choose_pictures(unsure, own, pool.known(), self.count)
        chosen = [(pool.candidates[place], distance) for place, distance in places]
        write_chosen(folder, chosen, out)
        print_line(f"next: {len(chosen):,} of {len(tree.images):,} pictures, by {called}")
        if len(chosen) < self.count:
            print_line(f"  no more than these are left, --count asked for {self.count:,}")
        if pool.repeated:
            print_line(f"  {len(pool.repeated):,} look like a training example or like another one and were left out")
        if pool.failures:
            print_line(f"  {len(pool.failures):,} could not be read")
        if tree.videos:
            print_line(f"  {len(tree.videos):,} films were passed over; `bakeoff frames` takes pictures of a film")
        print_line(f"  {LIST}, {SHEET} and images/: {os.path.relpath(out)}{os.sep}")
        if self.format:
            boxes = write_proposals(chosen, out, self.format, watcher.labels, called)
            print_line(f"  {boxes:,} proposed boxes; correct them before you train")


def _read_training(watcher: "Watcher", known: "KnownImages") -> "np.ndarray":
    """Without records the pictures are told from each other alone, which is said."""
    import numpy as np

    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.dataset.records.record import TRAIN
    from bakeoff.inference.active_learning.unlabelled_pool import add_training, read_training
    from bakeoff.inference.evaluate.evaluation_data import Material

    try:
        manifest = read_manifest(workspace.RECORDS)
    except DataError as error:
        print(f"warning: {error}; what the training set holds already is not known", file=sys.stderr)
        return np.empty((0, 0), np.float32)
    material = Material(workspace.RECORDS, manifest, TRAIN)
    add_training(material, known)
    return read_training(material, watcher)
