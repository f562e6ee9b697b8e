"""Boxes of which no size tells whether they were drawn on the image as stored or as shown: how they are taken."""

from collections.abc import Sequence

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.report_html import counted
from bakeoff.dataset.building.validate import AS_STORED, UNSAID
from bakeoff.dataset.building.worker_tasks import PIECE, Pool, cut
from bakeoff.dataset.sources.dataset import Part


def settle_drawings(catalogue: Catalogue, pool: Pool, parts: Sequence[Part]) -> list[str]:
    """Take boxes of which no size tells whether they were drawn on the image as stored or as shown as most others are.

    Return a warning for each dataset with such images.
    """
    warnings = []
    drawn_on = "json_extract(verdicts.content, '$.drawn_on')"
    rows = f"FROM verdicts JOIN items USING (name) WHERE source = ? AND {drawn_on}"
    for source, part in enumerate(parts):
        counts = dict(catalogue.table.execute(f"SELECT {drawn_on}, COUNT(*) {rows} IS NOT NULL GROUP BY 1", [source]))
        if part.dataset.boxes_drawn_on != "auto" or UNSAID not in counts:
            continue
        others = {kind: counts.get(kind, 0) for kind in ("stored", "shown")}
        drawn = "stored" if others["stored"] > others["shown"] else "shown"
        # Those that a build before this one took otherwise are among them.
        other = f"SELECT items.content {rows} = ? AND (instr(verdicts.content, ?) > 0) != ?"
        items = catalogue.table.execute(other, [source, UNSAID, AS_STORED, drawn == "stored"]).fetchall()
        again = ((source + len(parts) * (drawn == "stored"), content) for (content,) in items)
        for verdicts in pool.examine(cut(again, PIECE)):
            catalogue.add_verdicts(verdicts)
        [name] = catalogue.table.execute(f"SELECT MIN(name) {rows} = ?", [source, UNSAID]).fetchone()
        warnings.append(
            f"{counted(counts[UNSAID], 'image')} with an EXIF orientation where no size tells whether boxes were drawn "
            f"on the image as stored or as shown, {name} for one; taken as {drawn}, as on {others[drawn]:,} others "
            "(data.boxes_drawn_on)"
        )
    return warnings
