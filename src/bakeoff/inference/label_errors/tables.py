"""Suspects -> files: a table, and labels in Pascal VOC or COCO with the boxes that the models propose."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import write_whole
from bakeoff.importing.datasets.pre_annotate import ImageProposals, LabelFolder, PixelBox
from bakeoff.inference.label_errors.box_errors import BADLY_PLACED, DOUBLED, MISSING, SUPERFLUOUS, SWAPPED, WRONG_CLASS
from bakeoff.inference.label_errors.labelled import SIDES
from bakeoff.inference.label_errors.rank import LabelErrorReport
from bakeoff.inference.label_errors.suspect import Row, Suspect

COLUMNS = ("rank", "name", "kind", "strength", "label", "proposal", "why", *(f"label_{side}" for side in SIDES),
           *(f"proposal_{side}" for side in SIDES))  # fmt: skip


def write_table(file: Path, listing: LabelErrorReport) -> None:
    """Write a row for each suspect. Boxes are in pixels."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for rank, one in enumerate(listing.suspects, start=1):
        row = listing.rows.get(one.file, {})
        table.writerow(
            (rank, one.file, one.kind, f"{one.strength:.4f}", one.label, one.proposal, one.why,
             *_corners(row, "truth", one.true_box), *_corners(row, "prediction", one.given))
        )  # fmt: skip
    write_whole(file, text.getvalue())


def _corners(row: Row, key: str, index: int | None) -> Sequence[object]:
    return [""] * len(SIDES) if index is None else [round(row[key][index][side], 1) for side in SIDES]


def write_proposals(folder: Path, format_name: str, listing: LabelErrorReport) -> int:
    """Write the corrected boxes of each suspected picture, and return the number of pictures.

    Raises DataError if the suspects are no boxes, or if earlier proposals are there.
    """
    if listing.held_out.kind != "boxes":
        raise DataError(f"--as {format_name}: is for boxes, these examples have labels; --csv has the proposals")
    folder.mkdir(parents=True, exist_ok=True)
    place = LabelFolder(folder, format_name, listing.labelled.manifest.classes)
    by_file: dict[str, list[Suspect]] = {}
    for one in listing.suspects:
        if one.file in listing.rows:
            by_file.setdefault(one.file, []).append(one)
    scenes = [_correct_scene(listing, file, suspects) for file, suspects in by_file.items()]
    if scenes:
        place.write(scenes, listing.held_out.model)
    return len(scenes)


def _correct_scene(listing: LabelErrorReport, file: str, suspects: Sequence[Suspect]) -> ImageProposals:
    """Return the picture's boxes, with predictions in place of the doubted boxes."""
    row, features = listing.rows[file], listing.labelled.read_features(file)
    boxes: list[PixelBox | None] = [_make_box(box, 1.0) for box in row["truth"]]
    for one in suspects:
        given = (
            None
            if one.given is None
            else _make_box(row["prediction"][one.given], row["prediction"][one.given]["score"])
        )
        if one.kind == MISSING:
            boxes.append(given)
        elif one.kind in (SUPERFLUOUS, DOUBLED) and one.true_box is not None:
            boxes[one.true_box] = None
        elif one.kind in (WRONG_CLASS, SWAPPED, BADLY_PLACED) and one.true_box is not None:
            boxes[one.true_box] = given
    width, height = (features[f"image/{side}"][0] for side in ("width", "height"))
    return ImageProposals(PurePosixPath(file), width, height, tuple(box for box in boxes if box is not None))


def _make_box(box: Row, score: float) -> PixelBox:
    ymin, xmin, ymax, xmax = (round(box[side], 2) for side in SIDES)
    return PixelBox(box["label"], xmin, ymin, xmax, ymax, round(score, 4))
