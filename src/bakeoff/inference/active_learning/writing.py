"""Chosen pictures -> a folder to label: list, contact sheet, copies of the pictures, proposals to start from."""

import csv
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont

from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.pre_annotate import IMAGES, LabelFolder
from bakeoff.inference.predict.read_images import read_image

if TYPE_CHECKING:
    from bakeoff.inference.active_learning.unlabelled_pool import CandidateImage

LIST, SHEET = "next.csv", "contact.jpg"
COLUMNS = ("rank", "image", "uncertainty", "distance", "answer")
ON_A_LINE = 6  # pictures of the contact sheet
CELL, CAPTION, GAP = 200, 40, 8  # pixels
PAPER, INK, BOX = (255, 255, 255), (28, 31, 36), (207, 106, 8)
LETTERS = 32  # in a line


def require_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: must be a new or an empty folder; name another one with --out")


def write_chosen(folder: Path, chosen: "Sequence[tuple[CandidateImage, float]]", out: Path) -> None:
    """Write the list, the contact sheet and copies of the pictures, under the names that they have in their folder."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LIST).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for rank, (one, distance) in enumerate(chosen, start=1):
            table.writerow((rank, one.name.as_posix(), f"{one.uncertainty:.4f}", f"{distance:.4f}", one.answer))
    _draw_sheet(folder, [one for one, _ in chosen], out / SHEET)
    for one, _ in chosen:
        place = out / IMAGES / one.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / one.name, place)


def write_proposals(
    chosen: "Sequence[tuple[CandidateImage, float]]", out: Path, format_name: str, labels: Sequence[str], called: str
) -> int:
    """Write the boxes of the pictures that have some, and return the number of boxes."""
    scenes = [replace(one.scene, image=PurePosixPath(IMAGES) / one.name) for one, _ in chosen if one.scene.boxes]
    if scenes:
        LabelFolder(out, format_name, labels).write(scenes, called)
    return sum(len(scene.boxes) for scene in scenes)


def _draw_sheet(folder: Path, chosen: "Sequence[CandidateImage]", file: Path) -> None:
    """Show each picture with its number, its uncertainty and the network's answer."""
    columns = min(ON_A_LINE, len(chosen))
    rows = -(-len(chosen) // columns)
    size = (columns * (CELL + GAP) + GAP, rows * (CELL + CAPTION + GAP) + GAP)
    sheet = Image.new("RGB", size, PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for place, one in enumerate(chosen):
        left = GAP + place % columns * (CELL + GAP)
        top = GAP + place // columns * (CELL + CAPTION + GAP)
        picture = Image.fromarray(read_image(folder / one.name))
        scale = CELL / max(picture.size)
        small = picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
        sheet.paste(small, (left, top))
        for box in one.scene.boxes:
            corners = (box.xmin, box.ymin, box.xmax, box.ymax)
            draw.rectangle([corner * scale + (left, top)[at % 2] for at, corner in enumerate(corners)], outline=BOX)
        for line, text in enumerate((f"{place + 1}. unsure {one.uncertainty:.2f}, {one.name.name}", one.answer)):
            draw.text((left, top + CELL + 4 + 16 * line), text[:LETTERS], INK, font)
    sheet.save(file)
