"""`data/right_labels.csv`: examples whose label a person has checked and called right, whatever models predict.

    name,digest
    3/IMG_4509.JPG,0f3a5e…

The digest is of the picture and its label. If either is edited, the line no longer counts. The file belongs into git.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import write_whole
from bakeoff.inference.label_errors.labelled import Labelled

FILE = Path("data/right_labels.csv")
COLUMNS = ("name", "digest")


def read_right() -> dict[str, str]:
    """Return the digest of each name in the file."""
    try:
        text = FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    rows = list(csv.reader(io.StringIO(text)))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(COLUMNS) or (number == 1 and tuple(row) != COLUMNS):
            raise DataError(f"{FILE.as_posix()}:{number}: must be {','.join(COLUMNS)}, got {','.join(row)}")
    return dict(rows[1:])


def mark_right(names: Sequence[str], labelled: Labelled) -> int:
    """Write down that the labels of these examples are right, and return how many are marked in all.

    Raises DataError for a name that is no example.
    """
    for name in names:
        labelled.require(name)
    marked = read_right() | {name: labelled.make_digest(name) for name in names}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerows([COLUMNS, *sorted(marked.items())])
    write_whole(FILE, text.getvalue())
    return len(marked)
