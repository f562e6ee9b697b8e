"""`bakeoff next FOLDER`: which pictures without a label would teach a run's network most."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.inference.active_learning.known_images import KnownImages
    from bakeoff.inference.active_learning.unlabelled_pool import Watcher

COUNT, MIN_SCORE = 50, 0.5
FORMATS = ("voc", "coco")
SHOWN = 5  # failures


def add_to(commands: Any) -> None:
    command = commands.add_parser("next")
    add = command.add_argument
    command.add_path(
        "folder", metavar="FOLDER", type=lambda text: Path(text).absolute(), help="folder of pictures without labels"
    )
    add("--count", type=int, default=COUNT, metavar="N", help=f"number of pictures ({COUNT})")
    add("--run", dest="of_run", metavar="RUN", help=f"run whose network chooses: {RUN}; default: the workspace's")
    add("--as", dest="format", choices=FORMATS, help="also write a detector's predictions as labels to correct")
    add("--min-score", type=float, default=MIN_SCORE, metavar="S", help=f"least score of a proposal ({MIN_SCORE})")
    command.add_path(
        "--out",
        type=lambda text: Path(text).absolute(),
        metavar="DIR",
        help="new folder for list, contact sheet, pictures and proposals (data/next/ and FOLDER's name)",
    )
    command.set_defaults(run=choose_next)


def choose_next(arguments: argparse.Namespace) -> None:
    from bakeoff.importing.datasets.tree import Tree
    from bakeoff.inference.active_learning.writing import LIST, SHEET, require_empty, write_chosen, write_proposals
    from bakeoff.inference.predict.select_model import find_run_or_own

    folder = arguments.folder
    _require_sense(arguments)
    out = arguments.out or Path("data/next").absolute() / folder.name
    require_empty(out)
    tree = Tree(folder)
    if not tree.images:
        films = f", but {len(tree.videos)} films; `bakeoff frames` takes pictures of a film" if tree.videos else ""
        raise DataError(f"{folder}: holds no image{films}")
    trained, called = find_run_or_own(arguments.of_run)
    if trained.model.task == "video":
        raise WorkspaceError(f"{called}: must be a network of images, is for clips")
    if arguments.format and trained.model.task != "detection":
        raise WorkspaceError(f"--as: must have a detector, {called} is for {trained.model.task}")
    load_tensorflow()
    import numpy as np

    from bakeoff.inference.active_learning.choose import choose_pictures
    from bakeoff.inference.active_learning.known_images import KnownImages
    from bakeoff.inference.active_learning.unlabelled_pool import Watcher, read_pool

    watcher, known = Watcher(trained), KnownImages()
    features = _read_training(watcher, known)
    with progress("next", len(tree.images), "images") as bar:
        pool = read_pool(folder, tree.images, watcher, known, min_score=arguments.min_score, advance=bar.advance)
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
    places = choose_pictures(unsure, own, pool.known(), arguments.count)
    chosen = [(pool.candidates[place], distance) for place, distance in places]
    write_chosen(folder, chosen, out)
    print_line(f"next: {len(chosen):,} of {len(tree.images):,} pictures, by {called}")
    if len(chosen) < arguments.count:
        print_line(f"  no more than these are left, --count asked for {arguments.count:,}")
    if pool.repeated:
        print_line(f"  {len(pool.repeated):,} look like a training example or like another one and were left out")
    if pool.failures:
        print_line(f"  {len(pool.failures):,} could not be read")
    if tree.videos:
        print_line(f"  {len(tree.videos):,} films were passed over; `bakeoff frames` takes pictures of a film")
    print_line(f"  {LIST}, {SHEET} and images/: {os.path.relpath(out)}{os.sep}")
    if arguments.format:
        boxes = write_proposals(chosen, out, arguments.format, watcher.model.labels, called)
        print_line(f"  {boxes:,} proposed boxes; correct them before you train")


def _require_sense(arguments: argparse.Namespace) -> None:
    if arguments.count < 1:
        raise WorkspaceError(f"--count: must be 1 or more, got {arguments.count}")
    if not 0 <= arguments.min_score <= 1:
        raise WorkspaceError(f"--min-score: must be between 0 and 1, got {arguments.min_score:g}")
    if not arguments.folder.is_dir():
        raise DataError(f"{arguments.folder}: no such folder")


def _read_training(watcher: "Watcher", known: "KnownImages") -> "np.ndarray":
    """Without records the pictures are told from each other alone, which is said."""
    import numpy as np

    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.dataset.records.record import TRAIN
    from bakeoff.inference.active_learning.unlabelled_pool import read_training

    try:
        manifest = read_manifest(workspace.RECORDS)
    except DataError as error:
        print(f"warning: {error}; what the training set holds already is not known", file=sys.stderr)
        return np.empty((0, 0), np.float32)
    with progress("read", manifest.splits[TRAIN].examples, "training examples") as bar:
        return read_training(workspace.RECORDS, manifest, watcher, known, bar.advance)
