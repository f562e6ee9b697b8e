"""A few examples as pictures with their boxes or labels, for the report."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from bakeoff.building.catalogue import Catalogue, unpacked_item, unpacked_verdict
from bakeoff.building.examine import record_of
from bakeoff.pages.template import embed_jpeg
from bakeoff.records.record import SPLITS, Record
from bakeoff.sources.dataset import Dataset

SIDE = 220
A_SPLIT = 16
LARGEST = 40_000_000  # bytes decoded for one sample; nobody waits for more
COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6", "#808000", "#000075")


@dataclass(frozen=True)
class Sample:
    split: str
    name: str
    labels: tuple[str, ...]
    picture: str  # a data: address


def samples(catalogue: Catalogue, datasets: Sequence[Dataset]) -> Iterator[Sample]:
    """The same ones for the same data; one of every class first, as far as they fit."""
    chosen = (
        "SELECT name FROM (SELECT name, place, ROW_NUMBER() OVER (PARTITION BY label ORDER BY place) AS turn "
        "FROM examples LEFT JOIN labels USING (name) WHERE side = ?) "
        "GROUP BY name ORDER BY MIN(turn), MIN(place) LIMIT ?"
    )
    content = "SELECT source, items.content, verdicts.content FROM items JOIN verdicts USING (name) WHERE name = ?"
    for side in SPLITS:
        for name in catalogue.table.execute(chosen, (side, A_SPLIT)).fetchall():
            source, packed_item, packed_verdict = catalogue.table.execute(content, name).fetchone()
            verdict = unpacked_verdict(packed_verdict)
            if verdict.frames * verdict.full_width * verdict.full_height * 3 <= LARGEST:
                dataset = datasets[source]
                record, _ = record_of(dataset, dataset.folder(), unpacked_item(packed_item), verdict)
                yield sample(side, record)


def sample(split: str, record: Record) -> Sample:
    opened = Image.open(io.BytesIO(record.frames[len(record.frames) // 2]))
    opened.draft("RGB", (SIDE * 2, SIDE * 2))
    image = opened.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    draw = ImageDraw.Draw(image)
    labels = sorted({box.label for box in record.boxes})
    for box in record.boxes:
        corners = np.array([box.xmin, box.ymin, box.xmax, box.ymax]) * [*image.size, *image.size]
        draw.rectangle(tuple(corners), outline=COLOURS[labels.index(box.label) % len(COLOURS)], width=2)
    return Sample(split, record.name, tuple(labels) or record.labels, embed_jpeg(image))
