"""Chosen pictures -> a contact sheet that shows each with its number, its uncertainty and the network's answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont

from bakeoff.inference.predict.read_images import read_image

if TYPE_CHECKING:
    from bakeoff.inference.active_learning.unlabelled_pool import Candidate

CELL, CAPTION, GAP = 200, 40, 8  # pixels
COLUMNS = 6
PAPER, INK, BOX = (255, 255, 255), (28, 31, 36), (207, 106, 8)
LETTERS = 32  # in a line


def draw_sheet(folder: Path, chosen: "Sequence[Candidate]", file: Path) -> None:
    """Write the sheet as PNG or JPEG, by the file's name."""
    columns = min(COLUMNS, len(chosen))
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
