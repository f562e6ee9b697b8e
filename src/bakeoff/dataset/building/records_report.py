"""`data/records/report.html`: the report as one page that needs nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bakeoff.dataset.building.survey import (
    ASPECT_EDGES,
    BOX_EDGES,
    BOXES_EDGES,
    SIDE_EDGES,
    ExamplePreview,
    SplitCounts,
)
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.html import template

FILE, TEMPLATE = "report.html", "records.html.jinja"
MOST_CLASSES = 300


@dataclass(frozen=True)
class RecordsReport:
    classes: tuple[str, ...]
    tallies: dict[str, SplitCounts]
    split: tuple[str, ...]
    warnings: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    counts: dict[str, int]  # files by what happened to them
    files: Mapping[str, Sequence[tuple[str, str]]]  # (name, reason), the first of them


def load_template() -> None:
    """Compile the page's template, which takes longer than to fill it in."""
    template.load(TEMPLATE)


def write_page(folder: Path, page: RecordsReport, pictures: Sequence[ExamplePreview]) -> None:
    counts = ", ".join(f"{tally.examples:,} {split}" for split, tally in page.tallies.items())
    template.write_page(
        folder / FILE, TEMPLATE, title="Records", page=page, pictures=pictures,
        heading=f"Records: {counts} examples of {format_count(len(page.classes), 'class')}",
        cards=[(f"{split} examples", tally.examples) for split, tally in page.tallies.items()]
        + [("classes", len(page.classes))] + [(f"files {kind}", count) for kind, count in page.counts.items()],
        classes=page.classes[:MOST_CLASSES],
        most=max((count for tally in page.tallies.values() for count in tally.labels.values()), default=1),
        histograms=_histograms(page),
    )  # fmt: skip


@dataclass(frozen=True)
class Histogram:
    title: str
    rows: Sequence[tuple[str, Sequence[int]]]  # a range, and how many of each split are in it
    most: int


def _histograms(page: RecordsReport) -> list[Histogram]:
    drawn: list[tuple[str, Sequence[float], str]] = [("Longer side of an image, pixels", SIDE_EDGES, "sides")]
    if any(sum(tally.box_sides) for tally in page.tallies.values()):
        drawn += [
            ("Side of a box, share of its image (√area)", BOX_EDGES, "box_sides"),
            ("Width / height of a box", ASPECT_EDGES, "box_aspects"),
            ("Boxes of an image", BOXES_EDGES, "box_counts"),
        ]
    histograms = []
    for title, edges, key in drawn:
        columns = [getattr(tally, key) for tally in page.tallies.values()]
        rows = zip(_ranges(edges), zip(*columns, strict=True), strict=True)
        most = max(1, *(count for column in columns for count in column))
        histograms.append(Histogram(title, [row for row in rows if any(row[1])], most))
    return histograms


def _ranges(edges: Sequence[float]) -> Iterator[str]:
    yield f"under {edges[0]:g}"
    whole = all(edge == int(edge) for edge in edges) and edges[0] == 1  # counts, not sizes
    for low, high in pairwise(edges):
        last = high - 1 if whole else high
        yield f"{low:g}" if last == low else f"{low:g} to {last:g}"
    yield f"{edges[-1]:g} and more"
