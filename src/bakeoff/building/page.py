"""`data/records/report.html`: the report as one page that needs nothing else."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

from bakeoff.building.contents import ASPECT_EDGES, BOX_EDGES, BOXES_EDGES, SIDE_EDGES, Sample, Tally

FILE = "report.html"
MOST_CLASSES = 300
STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #4a7bd0; --soft: #777 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse } td, th { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } tr + tr td { border-top: 1px solid var(--line) }
.bar { display: inline-block; height: .7em; background: var(--bar); min-width: 1px }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start }
.files td { font-size: .85rem; overflow-wrap: anywhere }
.samples { display: flex; flex-wrap: wrap; gap: .8rem } figure { margin: 0; width: 220px }
figcaption { font-size: .75rem; overflow-wrap: anywhere } img { display: block; max-width: 220px }
.warning { border-left: 4px solid #d9902f; padding: .2rem .8rem; margin: .4rem 0 } .soft { color: var(--soft) }
"""


@dataclass(frozen=True)
class Page:
    classes: tuple[str, ...]
    tallies: dict[str, Tally]
    warnings: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    counts: dict[str, int]  # files by what happened to them
    files: Mapping[str, Sequence[tuple[str, str]]]  # (name, reason), the first of them


def counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"


def write_page(folder: Path, page: Page, pictures: Sequence[Sample]) -> None:
    text = "\n".join(_parts(page, pictures))
    (folder / FILE).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _parts(page: Page, pictures: Sequence[Sample]) -> Iterator[str]:
    counts = ", ".join(f"{tally.examples:,} {split}" for split, tally in page.tallies.items())
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>Records</title><style>{STYLE}</style>"
    yield f"<h1>Records: {counts} examples of {counted(len(page.classes), 'class')}</h1>"
    if page.counts:
        told = [f"{counted(count, 'file')} {kind}" for kind, count in page.counts.items()]
        yield f"<p>{', '.join(told)}.</p>"
    yield from (f"<p class=warning>{escape(warning)}</p>" for warning in page.warnings)
    yield from _classes(page)
    yield from _charts(page)
    if pictures:
        yield "<h2>Samples</h2>"
        for split in page.tallies:
            yield f"<h3>{split}</h3><div class=samples>"
            yield from (_figure(picture) for picture in pictures if picture.split == split)
            yield "</div>"
    for kind, rows in page.files.items():
        if rows:
            yield from _files(f"{kind.capitalize()} files", rows, page.counts[kind])
    if page.pairs:
        yield from _files("Images that look alike across the split (training, validation)", page.pairs, len(page.pairs))


def _classes(page: Page) -> Iterator[str]:
    heads = "".join(f"<th class=n>{split}<th>" for split in page.tallies)
    yield f"<h2>Classes</h2><table><tr><th>id<th>label{heads}"
    most = max((count for tally in page.tallies.values() for count in tally.labels.values()), default=1)
    for number, label in enumerate(page.classes[:MOST_CLASSES], start=1):
        cells = "".join(_bar(tally.labels.get(label, 0), most, 160) for tally in page.tallies.values())
        yield f"<tr><td class=n>{number}<td>{escape(label)}{cells}"
    negatives = "".join(f"<td class=n>{tally.negatives:,}<td>" for tally in page.tallies.values())
    yield f"<tr><td><td class=soft>examples without any{negatives}</table>"
    if len(page.classes) > MOST_CLASSES:
        yield f"<p class=soft>and {len(page.classes) - MOST_CLASSES:,} more, all in report.json</p>"


def _charts(page: Page) -> Iterator[str]:
    charts: list[tuple[str, Sequence[float], str]] = [("Longer side of an image, pixels", SIDE_EDGES, "sides")]
    if any(sum(tally.box_sides) for tally in page.tallies.values()):
        charts += [
            ("Side of a box, share of its image (√area)", BOX_EDGES, "box_sides"),
            ("Width / height of a box", ASPECT_EDGES, "box_aspects"),
            ("Boxes of an image", BOXES_EDGES, "box_counts"),
        ]
    yield "<h2>Sizes</h2><div class=charts>"
    for title, edges, key in charts:
        heads = "".join(f"<th class=n>{split}<th>" for split in page.tallies)
        yield f"<table><tr><th>{title}{heads}"
        columns = [getattr(tally, key) for tally in page.tallies.values()]
        most = max(1, *(count for column in columns for count in column))
        for place, text in enumerate(_ranges(edges)):
            if any(column[place] for column in columns):
                yield f"<tr><td>{text}" + "".join(_bar(column[place], most, 80) for column in columns)
        yield "</table>"
    yield "</div>"


def _bar(count: int, most: int, width: int) -> str:
    drawn = f"<span class=bar style='width:{count / most * width:.0f}px'></span>" if count else ""
    return f"<td class=n>{count:,}<td>{drawn}"


def _ranges(edges: Sequence[float]) -> Iterator[str]:
    yield f"under {edges[0]:g}"
    whole = all(edge == int(edge) for edge in edges) and edges[0] == 1  # counts, not sizes
    for low, high in pairwise(edges):
        last = high - 1 if whole else high
        yield f"{low:g}" if last == low else f"{low:g} to {last:g}"
    yield f"{edges[-1]:g} and more"


def _figure(picture: Sample) -> str:
    said = escape(", ".join(picture.labels) or "nothing")
    caption = f"{said}<br><span class=soft>{escape(picture.name)}</span>"
    return f"<figure><img src='{picture.picture}' alt=''><figcaption>{caption}</figcaption></figure>"


def _files(title: str, rows: Iterable[tuple[str, str]], count: int) -> Iterator[str]:
    rows = list(rows)
    yield f"<h2>{title}: {count:,}</h2><table class=files>"
    yield from (f"<tr><td>{escape(name)}<td>{escape(text)}" for name, text in rows)
    yield "</table>"
    if count > len(rows):
        yield f"<p class=soft>and {count - len(rows):,} more, all in report.json</p>"
