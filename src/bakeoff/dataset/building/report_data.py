"""`data/records/report.json`, which names every rejected and changed file, and the findings that the screen shows.

{"counts": {"train": {"examples": 160, "by class": {"raccoon": 173}, "without objects": 0}, ...},
 "split": ["split: 20% of every class drawn for validation, seed 0"], "warnings": ["..."],
 "near-duplicates": [["train/a.jpg", "validation/b.jpg"]],
 "rejected": {"images/7.jpg": "broken JPEG: ..."}, "left out": {...}, "ignored": {...}, "changed": {"x.png": ["..."]}}
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.records_report import RecordsReport, write_page
from bakeoff.dataset.building.survey import ExamplePreview, SplitCounts
from bakeoff.dataset.building.validate import DROPPED
from bakeoff.foundation.formatting import format_count

FILE = "report.json"
ON_SCREEN, ON_PAGE = 5, 500
KINDS = {  # what happened to a file -> the rows of the catalogue that show it
    "rejected": ("verdicts", "reason IS NOT NULL AND NOT ignored", "reason"),
    "ignored": ("verdicts", "reason IS NOT NULL AND ignored", "reason"),
    "left out": ("examples", "left_out IS NOT NULL", "left_out"),
}


@dataclass(frozen=True)
class BuildFindings:
    counts: dict[str, int]  # files rejected, left out, changed
    reasons: tuple[str, ...]  # the first few, by file
    warnings: tuple[str, ...]
    split: tuple[str, ...] = ()  # how examples came to their sides


def write_report(
    folder: Path,
    catalogue: Catalogue,
    classes: Sequence[str],
    tallies: Mapping[str, SplitCounts],
    alike: tuple[Sequence[tuple[str, str]], bool],
    split: Sequence[str],
    warnings: Sequence[str],
    samples: Sequence[ExamplePreview],
) -> BuildFindings:
    pairs, are_all = alike
    changed, dropped, first_dropped = _count_changed(catalogue)
    warnings = [*warnings, *_describe_copies(catalogue)]
    if dropped:
        warnings.append(
            f"{format_count(dropped, 'bad box')} left out of images (data.on_bad_box), {first_dropped} for one"
        )
    if pairs:
        many = "" if are_all else "at least "
        pair = f"{many}{format_count(len(pairs), 'pair')} of images across the split"
        warnings.append(f"{pair} looking alike, {' and '.join(pairs[0])} for one")
    counts = {kind: catalogue.count(table, where) for kind, (table, where, _) in KINDS.items()}
    with (folder / FILE).open("w", encoding="utf-8") as file:
        write_object(
            file,
            {
                "counts": _count(tallies, classes),
                "split": list(split),
                "warnings": warnings,
                "near-duplicates": pairs,
                **{kind: (lambda kind=kind: _list_reasons(catalogue, kind)) for kind in KINDS},
                "changed": lambda: _list_changed(catalogue),
            },
        )
    shown = {kind: list(islice(_list_reasons(catalogue, kind), ON_PAGE)) for kind in KINDS}
    shown["changed"] = [(name, "; ".join(texts)) for name, texts in islice(_list_changed(catalogue), ON_PAGE)]
    every = counts | {"changed": changed}
    page = RecordsReport(
        tuple(classes), dict(tallies), tuple(split), tuple(warnings), tuple(pairs[:ON_PAGE]), every, shown
    )
    write_page(folder, page, samples)
    first = [f"{kind}: {name}: {text}" for kind in ("rejected", "left out", "changed") for name, text in shown[kind]]
    return BuildFindings(every, tuple(first[:ON_SCREEN]), tuple(warnings), tuple(split))


def write_made_report(
    folder: Path, classes: Sequence[str], tallies: Mapping[str, SplitCounts], pictures: list[ExamplePreview]
) -> None:
    """Of records that were made, not read: nothing can be wrong with their files."""
    with (folder / FILE).open("w", encoding="utf-8") as file:
        write_object(file, {"counts": _count(tallies, classes)})
    write_page(folder, RecordsReport(tuple(classes), dict(tallies), (), (), (), {}, {}), pictures)


def write_object(file: IO[str], tree: Mapping[str, Any]) -> None:
    """JSON; a value that is a function gives pairs one by one, so that a million of them need no memory."""
    file.write("{")
    for number, (key, value) in enumerate(tree.items()):
        file.write(f"{',' if number else ''}\n {json.dumps(key)}: ")
        if not callable(value):
            file.write(json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n "))
            continue
        file.write("{")
        for place, (name, text) in enumerate(value()):
            file.write(f"{',' if place else ''}\n  {json.dumps(name)}: {json.dumps(text, ensure_ascii=False)}")
        file.write("\n }")
    file.write("\n}\n")


def _count(tallies: Mapping[str, SplitCounts], classes: Sequence[str]) -> dict[str, Any]:
    return {
        split: {
            "examples": tally.examples,
            "by class": {label: tally.labels.get(label, 0) for label in classes},
            "without objects": tally.negatives,
        }
        for split, tally in tallies.items()
    }


def _list_reasons(catalogue: Catalogue, kind: str) -> Iterator[tuple[str, str]]:
    table, where, column = KINDS[kind]
    yield from catalogue.table.execute(f"SELECT name, {column} FROM {table} WHERE {where} ORDER BY name")


def _list_changed(catalogue: Catalogue) -> Iterator[tuple[str, list[str]]]:
    query = (
        "SELECT name, content FROM verdicts JOIN examples USING (name) WHERE side IS NOT NULL AND "
        "(content LIKE '%\"changes\"%' OR content LIKE '%\"notes\"%') ORDER BY name"
    )
    for name, content in catalogue.table.execute(query):
        tree = json.loads(content)
        if texts := [*tree.get("changes", ()), *tree.get("notes", ())]:
            yield name, texts


def _count_changed(catalogue: Catalogue) -> tuple[int, int, str]:
    """Return how many files were changed, how many boxes were left out as bad, and the first of these."""
    changed = dropped = 0
    first = ""
    for name, texts in _list_changed(catalogue):
        changed += 1
        for text in texts:
            if text.endswith(DROPPED):
                dropped, first = dropped + 1, first or f"{name}: {text.removesuffix(DROPPED)}"
    return changed, dropped, first


def _describe_copies(catalogue: Catalogue) -> list[str]:
    """Return a warning of files with the same bytes, which are kept, and of those with different labels."""
    copies = (
        "SELECT COUNT(*), MIN(name) FROM (SELECT MIN(name) AS name FROM examples WHERE side IS NOT NULL "
        "GROUP BY sha256, side HAVING COUNT(*) > 1)"
    )
    count, name = catalogue.table.execute(copies).fetchone()
    if not count:
        return []
    files = format_count(count, "file")
    warnings = [f"{files} there more than once with the same bytes, {name} for one; all on the same side"]
    differing = (
        "SELECT COUNT(*), MIN(name) FROM (SELECT MIN(name) AS name FROM (SELECT name, sha256, "
        "(SELECT GROUP_CONCAT(label, '|') FROM labels WHERE labels.name = examples.name) AS stated FROM examples "
        "WHERE side IS NOT NULL AND sha256 IN (SELECT sha256 FROM examples GROUP BY sha256 HAVING COUNT(*) > 1)) "
        "GROUP BY sha256 HAVING COUNT(DISTINCT COALESCE(stated, '')) > 1)"
    )
    count, name = catalogue.table.execute(differing).fetchone()
    if count:
        warnings.append(f"{count:,} of them have other labels in one place than in another, {name} for one")
    return warnings
