"""Draws clips.png: three drawn clips, a row each, by six of their 16 frames and their label.

The frames have the 64 x 64 pixels that `clip_small` gets, enlarged. Run it from the repository's root:
`python docs/images/clips.py`.
"""

import io
from pathlib import Path

from PIL import Image, ImageDraw

from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import MovingDigits

PLACES = 28, 39, 26  # of clips in which the digit is easy to see
SIDE, GAP, MARGIN = 112, 4, 60
SHOWN = (0, 3, 6, 9, 12, 15)
PAPER, INK = (24, 26, 30), (230, 230, 230)


def main() -> None:
    records = list(MovingDigits(train_examples=max(PLACES) + 1).records(TRAIN))
    sheet = Image.new("RGB", (MARGIN + len(SHOWN) * (SIDE + GAP), len(PLACES) * (SIDE + GAP) + GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    for row, place in enumerate(PLACES):
        record, top = records[place], GAP + row * (SIDE + GAP)
        draw.text((GAP * 2, top + SIDE // 2), record.labels[0], fill=INK)
        for column, number in enumerate(SHOWN):
            frame = Image.open(io.BytesIO(record.frames[number])).resize((SIDE, SIDE), Image.Resampling.NEAREST)
            sheet.paste(frame, (MARGIN + column * (SIDE + GAP), top))
    sheet.quantize(128).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
