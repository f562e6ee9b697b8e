"""What a split holds, counted as records pass; tallies of shards add up to the split's."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bakeoff.records.record import Record

SIDE_EDGES = (64, 128, 256, 512, 1024, 2048, 4096)  # pixels, an image's longer side
BOX_EDGES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # square root of a box's share of its image
ASPECT_EDGES = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)  # width / height of a box, in pixels
BOXES_EDGES = (1, 2, 3, 5, 10, 20, 50)  # boxes of an image


def _bins(edges: tuple[float, ...]) -> Callable[[], list[int]]:
    return lambda: [0] * (len(edges) + 1)


@dataclass
class Tally:
    examples: int = 0
    decoded_bytes: int = 0  # of all frames, 3 bytes a pixel
    frames: int = 0  # of one example: 1 for images, the longest for clips
    labels: dict[str, int] = field(default_factory=dict)  # labels or boxes by class
    negatives: int = 0  # images without a box, clips without a label
    sides: list[int] = field(default_factory=_bins(SIDE_EDGES))
    box_sides: list[int] = field(default_factory=_bins(BOX_EDGES))
    box_aspects: list[int] = field(default_factory=_bins(ASPECT_EDGES))
    box_counts: list[int] = field(default_factory=_bins(BOXES_EDGES))

    def add(self, record: Record) -> None:
        self.examples += 1
        self.decoded_bytes += len(record.frames) * record.height * record.width * 3
        self.frames = max(self.frames, len(record.frames))
        self.sides[bisect_right(SIDE_EDGES, max(record.height, record.width))] += 1
        self.box_counts[bisect_right(BOXES_EDGES, len(record.boxes))] += 1
        self.negatives += not (record.boxes or record.labels)
        for label in record.labels:
            self.labels[label] = self.labels.get(label, 0) + 1
        for box in record.boxes:
            self.labels[box.label] = self.labels.get(box.label, 0) + 1
            height, width = box.ymax - box.ymin, box.xmax - box.xmin
            self.box_sides[bisect_right(BOX_EDGES, (height * width) ** 0.5)] += 1
            self.box_aspects[bisect_right(ASPECT_EDGES, width * record.width / (height * record.height))] += 1

    def __add__(self, other: "Tally") -> "Tally":
        def both(mine: list[int], theirs: list[int]) -> list[int]:
            return [a + b for a, b in zip(mine, theirs, strict=True)]

        return Tally(
            self.examples + other.examples,
            self.decoded_bytes + other.decoded_bytes,
            max(self.frames, other.frames),
            dict(Counter(self.labels) + Counter(other.labels)),
            self.negatives + other.negatives,
            both(self.sides, other.sides),
            both(self.box_sides, other.box_sides),
            both(self.box_aspects, other.box_aspects),
            both(self.box_counts, other.box_counts),
        )
