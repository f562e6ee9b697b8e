"""Draws mixing.jpg: what each way of mixing makes of the first scenes of the built-in digits.

A row a change, its settings at the left; the first row is the scenes without it. Run it from the repository's root:
`python docs/images/mixing.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tensorflow as tf
from PIL import Image, ImageDraw

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.batches import training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape

SCENES = 40
SIDE, GAP, COLUMNS, MARGIN = 112, 4, 6, 130
PAPER, INK, BOX = (24, 26, 30), (230, 230, 230), (64, 220, 120)
SHAPE = Shape("detection", SIDE, 1, batch_size=1, decode_threads=2, prefetch_batches=1)
ROWS = {
    "off": Augment(),
    "mosaic:\n probability: 1": Augment(mosaic=Mosaic(probability=1.0)),
    "copy_paste:\n probability: 1": Augment(copy_paste=CopyPaste(probability=1.0)),
    "mixup:\n probability: 1": Augment(mixup=Mixup(probability=1.0)),
}


def main() -> None:
    sheet = Image.new("RGB", (MARGIN + COLUMNS * (SIDE + GAP), len(ROWS) * (SIDE + GAP) + GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    with TemporaryDirectory() as folder:
        store = RecordReader(Path(folder), write_split(DigitScenes(train_examples=SCENES), TRAIN, Path(folder)))
        for row, (name, augment) in enumerate(ROWS.items()):
            top = GAP + row * (SIDE + GAP)
            draw.text((GAP * 2, top), name, fill=INK)
            for column, tile in enumerate(_tiles(store, augment)):
                sheet.paste(tile, (MARGIN + column * (SIDE + GAP), top))
    sheet.save(Path(__file__).with_suffix(".jpg"), quality=85)


def _tiles(store: RecordReader, augment: Augment) -> Iterator[Image.Image]:
    batches = training_batches(
        store, SHAPE, order=ExampleOrder(SCENES, 0), steps=range(COLUMNS), augment=augment, encode=_keep_boxes
    )
    for batch in batches.as_numpy_iterator():
        image = Image.fromarray(np.clip(batch["image"][0] + 0.5, 0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        for y0, x0, y1, x1 in batch["boxes"][0] * (SIDE - 1):
            draw.rectangle((x0, y0, x1, y1), outline=BOX)
        yield image


def _keep_boxes(example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {"boxes": example["boxes"]}


if __name__ == "__main__":
    main()
