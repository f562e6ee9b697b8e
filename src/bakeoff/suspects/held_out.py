"""What models said of examples that they did not train on: the validation and the test of a run, or every fold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.compare.contender import Contender
from bakeoff.compare.examples import Judged, find_examples
from bakeoff.compare.gather import gather
from bakeoff.compare.selection import select_named
from bakeoff.errors import DataError, WorkspaceError
from bakeoff.records.record import TEST
from bakeoff.suspects.suspect import Row
from bakeoff.tracking.result import result_here

if TYPE_CHECKING:
    from bakeoff.compare.gather import Gathered


@dataclass(frozen=True)
class HeldOut:
    kind: str
    classes: tuple[str, ...]
    rows: tuple[Row, ...]
    words: str  # whose validation it is
    model: str  # what proposes


def read_held_out(names: Sequence[str]) -> HeldOut:
    """Read the runs that the user names, several if these are folds; without a name the run of this workspace."""
    if not names and not result_here().run_id:
        raise WorkspaceError("nothing has been trained here; run `dvc repro`, or name a run")
    gathered = gather()
    found = select_named(gathered, names or ["."])
    if not names and len(found) != 1:
        raise WorkspaceError(f"this workspace: must have one run, got {len(found)}; name one")
    if len(found) > 1:
        label = ", ".join(one.label for one in found)
        return _join([Judged.read(_find(one, gathered)) for one in found], f"validation of {len(found)} runs", label)
    files, splits = [_find(found[0], gathered)], ["validation"]
    if TEST in found[0].judged_on:
        files.append(find_examples(found[0], gathered.target.address, TEST))
        splits.append(TEST)
    return _join([Judged.read(file) for file in files], f"{' and '.join(splits)} of {found[0].label}", found[0].label)


def join_files(files: Sequence[Path], words: str) -> HeldOut:
    """Read folds from their files."""
    return _join([Judged.read(file) for file in files], words, words)


def _find(contender: Contender, gathered: "Gathered") -> Path:
    """The run whose result DVC's cache gave to this one has the files."""
    made = [run for run in gathered.project_runs() if run.run_id == contender.reused_from]
    return find_examples(gathered.fill(made)[0] if made else contender, gathered.target.address)


def _join(judged: Sequence[Judged], words: str, model: str) -> HeldOut:
    kinds = {one.kind for one in judged}
    if len(kinds) != 1:
        raise DataError(f"{words}: must be of one task, got answers of {' and of '.join(sorted(kinds))}")
    rows = [row for one in judged for row in one.rows.values()]
    again = [file for file, count in Counter(row["file"] for row in rows).items() if count > 1]
    if again:
        times = Counter(row["file"] for row in rows)[again[0]]
        raise DataError(f"{words}: {again[0]} was judged {times} times; several runs must be folds (data.split.fold)")
    classes = dict.fromkeys(label for one in judged for label in one.classes)
    return HeldOut(kinds.pop(), tuple(classes), tuple(rows), words, model)
