"""Draws changes.jpg: what each kind of change makes of one scene of the built-in digits.

A row a change, its settings at the left; the first row is the scene as evaluation sees it. Run it from the repository's
root: `python docs/images/changes.py`.
"""

import itertools
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image, ImageDraw

from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.crop import Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.scene import make_key
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.view import View

SCENE = 8  # its number among the training examples
SIDE, GAP, COLUMNS, MARGIN = 80, 4, 8, 130
PAPER, INK, BOX = (24, 26, 30), (230, 230, 230), (64, 220, 120)
STRONG = Colour(brightness=0.2, contrast=0.5, saturation=0.5, hue=0.2)
INCEPTION = (("brightness", "saturation", "hue", "contrast"), ("brightness", "contrast", "saturation", "hue"))
ROWS = {
    "off": Augment(),
    "expand:\n largest: 3": Augment(expand=Expand(probability=1.0, largest=3.0)),
    "crop: single": Augment(crop=Crop()),
    "crop: ssd": Augment(crop=SsdCrop()),
    "zoom:\n smallest: 0.5": Augment(zoom=Zoom(smallest=0.5)),
    "zoom:\n largest: 2\n stretch: 2": Augment(zoom=Zoom(largest=2.0, stretch=2.0)),
    "turn:\n mirror: 0.5": Augment(turn=Turn(mirror=0.5)),
    "turn:\n upside_down: 0.5\n quarter: 0.5": Augment(turn=Turn(upside_down=0.5, quarter=0.5)),
    "colour:\n brightness: 0.2\n contrast: 0.5\n saturation: 0.5\n hue: 0.2": Augment(colour=STRONG),
    "the same with\n orders:\n Inception's two": Augment(
        colour=Colour(brightness=0.2, contrast=0.5, saturation=0.5, hue=0.2, orders=INCEPTION)
    ),
    "colour:\n grey: 0.5": Augment(colour=Colour(grey=0.5)),
}


def draw_rows(example: dict[str, tf.Tensor], rows: dict[str, Augment], path: Path) -> None:
    sheet = Image.new("RGB", (MARGIN + COLUMNS * (SIDE + GAP), len(rows) * (SIDE + GAP) + GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    for row, (name, augment) in enumerate(rows.items()):
        top = GAP + row * (SIDE + GAP)
        draw.text((GAP * 2, top), name, fill=INK)
        for column in range(COLUMNS):
            key = make_key(0, epoch=tf.constant(0, tf.int64), example=tf.constant(column, tf.int64))
            found = augment_and_resize.distort(example, View(SIDE), augment=augment, key=key)
            sheet.paste(_tile(found), (MARGIN + column * (SIDE + GAP), top))
    sheet.save(path, quality=85)


def _tile(found: dict[str, tf.Tensor]) -> Image.Image:
    image = Image.fromarray(np.clip(found["image"].numpy() + 0.5, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for y0, x0, y1, x1 in found["boxes"].numpy() * (image.width - 1) if "boxes" in found else ():
        draw.rectangle((x0, y0, x1, y1), outline=BOX)
    return image


def main() -> None:
    [record] = itertools.islice(DigitScenes().records(TRAIN), SCENE, SCENE + 1)
    boxes = [[box.ymin, box.xmin, box.ymax, box.xmax] for box in record.boxes]
    scene = {
        "image": tf.constant(record.frames[0]),
        "size": tf.constant([record.height, record.width], tf.int64),
        "boxes": tf.constant(boxes, tf.float32),
        "classes": tf.range(1, len(boxes) + 1),
    }
    draw_rows(scene, ROWS, Path(__file__).with_suffix(".jpg"))


if __name__ == "__main__":
    main()
