"""What a split holds, counted as records pass, and a few of its examples as pictures with their boxes or labels."""

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw

from bakeoff.dataset.building.catalogue import Catalogue, unpack_item, unpack_verdict
from bakeoff.dataset.building.validate import make_record
from bakeoff.dataset.records.record import SPLITS, Record
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.html.template import embed_jpeg
from bakeoff.foundation.tf_loading import quiet_pillow

SIDE_EDGES = (64, 128, 256, 512, 1024, 2048, 4096)  # pixels, an image's longer side
BOX_EDGES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # square root of a box's share of its image
ASPECT_EDGES = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)  # width / height of a box, in pixels
BOXES_EDGES = (1, 2, 3, 5, 10, 20, 50)  # boxes of an image

SIDE = 220
A_SPLIT = 16
LARGEST = 40_000_000  # bytes decoded for one sample; nobody waits for more
COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6", "#808000", "#000075")


def _make_bins(edges: tuple[float, ...]) -> Callable[[], list[int]]:
    return lambda: [0] * (len(edges) + 1)


@dataclass
class SplitCounts:
    """Counts of a split, or of a shard; those of shards add up to the split's."""

    examples: int = 0
    decoded_bytes: int = 0  # of all frames, 3 bytes a pixel
    frames: int = 0  # of one example: 1 for images, the longest for clips
    labels: dict[str, int] = field(default_factory=dict)  # labels or boxes by class
    negatives: int = 0  # images without a box, clips without a label
    least_side: int = 0  # pixels of the longer side of the smallest image; 0 without examples
    sides: list[int] = field(default_factory=_make_bins(SIDE_EDGES))
    box_sides: list[int] = field(default_factory=_make_bins(BOX_EDGES))
    box_aspects: list[int] = field(default_factory=_make_bins(ASPECT_EDGES))
    box_counts: list[int] = field(default_factory=_make_bins(BOXES_EDGES))

    def add(self, record: Record) -> None:
        self.examples += 1
        self.decoded_bytes += len(record.frames) * record.height * record.width * 3
        self.frames = max(self.frames, len(record.frames))
        side = max(record.height, record.width)
        self.least_side = min(self.least_side or side, side)
        self.sides[bisect_right(SIDE_EDGES, side)] += 1
        self.box_counts[bisect_right(BOXES_EDGES, len(record.boxes))] += 1
        self.negatives += not (record.boxes or record.labels)
        for label in (*record.labels, *(box.label for box in record.boxes)):
            self.labels[label] = self.labels.get(label, 0) + 1
        for box in record.boxes:
            height, width = box.ymax - box.ymin, box.xmax - box.xmin
            self.box_sides[bisect_right(BOX_EDGES, (height * width) ** 0.5)] += 1
            self.box_aspects[bisect_right(ASPECT_EDGES, width * record.width / (height * record.height))] += 1

    def __add__(self, other: "SplitCounts") -> "SplitCounts":
        def add(key: str) -> list[int]:
            return [a + b for a, b in zip(getattr(self, key), getattr(other, key), strict=True)]

        return SplitCounts(
            self.examples + other.examples,
            self.decoded_bytes + other.decoded_bytes,
            max(self.frames, other.frames),
            dict(Counter(self.labels) + Counter(other.labels)),
            self.negatives + other.negatives,
            min(filter(None, (self.least_side, other.least_side)), default=0),
            **{key: add(key) for key in ("sides", "box_sides", "box_aspects", "box_counts")},
        )


@dataclass(frozen=True)
class ExamplePreview:
    split: str
    name: str
    labels: tuple[str, ...]
    picture: str  # a data: address
    boxes: int = 0

    @property
    def alt(self) -> str:
        """What those hear who do not see the picture."""
        labels = ", ".join(self.labels) or "nothing"
        return f"{format_count(self.boxes, 'box')} of {labels}" if self.boxes else labels


def draw_samples(catalogue: Catalogue, datasets: Sequence[Dataset]) -> Iterator[ExamplePreview]:
    """Yield the same ones for the same data; one of every class first, as far as they fit."""
    chosen = (
        "SELECT name FROM (SELECT name, place, ROW_NUMBER() OVER (PARTITION BY label ORDER BY place) AS turn "
        "FROM examples LEFT JOIN labels USING (name) WHERE side = ?) "
        "GROUP BY name ORDER BY MIN(turn), MIN(place) LIMIT ?"
    )
    content = "SELECT source, items.content, verdicts.content FROM items JOIN verdicts USING (name) WHERE name = ?"
    for side in SPLITS:
        for name in catalogue.table.execute(chosen, (side, A_SPLIT)).fetchall():
            source, packed_item, packed_verdict = catalogue.table.execute(content, name).fetchone()
            verdict = unpack_verdict(packed_verdict)
            if verdict.frames * verdict.full_width * verdict.full_height * 3 <= LARGEST:
                dataset = datasets[source]
                record, _ = make_record(dataset, dataset.folder(), unpack_item(packed_item), verdict)
                yield draw_sample(side, record)


def draw_sample(split: str, record: Record) -> ExamplePreview:
    with quiet_pillow():
        opened = Image.open(io.BytesIO(record.frames[len(record.frames) // 2]))
    opened.draft("RGB", (SIDE * 2, SIDE * 2))
    image = opened.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    draw = ImageDraw.Draw(image)
    labels = sorted({box.label for box in record.boxes})
    for box in record.boxes:
        corners = np.array([box.xmin, box.ymin, box.xmax, box.ymax]) * [*image.size, *image.size]
        draw.rectangle(tuple(corners), outline=COLOURS[labels.index(box.label) % len(COLOURS)], width=2)
    return ExamplePreview(split, record.name, tuple(labels) or record.labels, embed_jpeg(image), len(record.boxes))
