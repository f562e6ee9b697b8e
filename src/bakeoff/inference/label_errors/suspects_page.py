"""A list of suspects -> one page with picture, label, prediction and reason of each."""

from pathlib import Path
from typing import Any

from bakeoff.evaluation.gallery import RIGHT, Figure, Shown, choose_frames, draw_figure
from bakeoff.foundation.html import template
from bakeoff.inference.label_errors.confirmed import FILE
from bakeoff.inference.label_errors.rank import LabelErrorReport
from bakeoff.inference.label_errors.suspect import Row, Suspect


def write_page(file: Path, listing: LabelErrorReport, most: int) -> None:
    """Write the `most` strongest suspects."""
    kinds: dict[str, int] = {}
    for one in listing.suspects:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    shown = listing.suspects[:most]
    template.write_page(
        file, "suspects.html.jinja",
        title=f"{len(listing.suspects):,} labels that are probably wrong",
        held_out=listing.held_out.source, examples=len(listing.rows),
        quality=listing.findings.quality if listing.findings else "",
        remarks=listing.remarks, kinds=kinds, marks=FILE.as_posix(),
        has_boxes=listing.held_out.kind == "boxes",
        suspects=[(rank, one, _draw(listing, one, rank)) for rank, one in enumerate(shown, start=1)],
        hidden=len(listing.suspects) - len(shown),
    )  # fmt: skip


def _draw(listing: LabelErrorReport, one: Suspect, rank: int) -> Figure:
    images = choose_frames(listing.labelled.read_features(one.file))
    row = _prepare(listing.rows.get(one.file, {}), one, listing.held_out.kind)
    return draw_figure(Shown(row, images), f"p{rank}")


def _prepare(row: Row, one: Suspect, kind: str) -> dict[str, Any]:
    """Return the row of a figure, with the doubted box and the prediction against it marked."""
    if kind != "boxes":
        return {"file": one.file, "truth": one.label, "prediction": one.proposal, "score": one.strength}
    truth = [{**box, "found": place != one.true_box} for place, box in enumerate(row.get("truth", ()))]
    given = [
        {**box, "error": "against" if place == one.given else box["error"] and RIGHT}
        for place, box in enumerate(row.get("prediction", ()))
    ]
    return {"file": one.file, "truth": truth, "prediction": given}
