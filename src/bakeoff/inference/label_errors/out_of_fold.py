"""Runs -> their predictions on examples that they did not train on: validation and test of a run, or every fold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.dataset.records.record import TEST
from bakeoff.experiments.compare.examples import Judged, find_examples
from bakeoff.experiments.compare.load_runs import gather
from bakeoff.experiments.compare.select_runs import select_named
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.inference.label_errors.suspect import Row
from bakeoff.tracking.results.results import result_here


@dataclass(frozen=True)
class HeldOut:
    kind: str
    classes: tuple[str, ...]
    rows: tuple[Row, ...]
    source: str  # which split of which runs, in words for a reader
    model: str  # the label of the runs whose models made the predictions


def read_held_out(names: Sequence[str]) -> HeldOut:
    """Return the predictions of the runs that the user names, which are folds if several; without a name those of
    this workspace's run."""
    if not names and not result_here().run_id:
        raise WorkspaceError("nothing has been trained here; run `dvc repro`, or name a run")
    gathered = gather()
    address = gathered.target.address
    runs = select_named(gathered, names or ["."])
    if not names and len(runs) != 1:
        raise WorkspaceError(f"this workspace: must have one run, got {len(runs)}; name one")
    if len(runs) > 1:
        label = ", ".join(one.label for one in runs)
        judged = [Judged.read(find_examples(gathered.maker_of(one), address)) for one in runs]
        return _join_answers(judged, f"validation of {len(runs)} runs", label)
    files, splits = [find_examples(gathered.maker_of(runs[0]), address)], ["validation"]
    if TEST in runs[0].judged_on:
        files.append(find_examples(runs[0], address, TEST))
        splits.append(TEST)
    judged = [Judged.read(file) for file in files]
    return _join_answers(judged, f"{' and '.join(splits)} of {runs[0].label}", runs[0].label)


def join_files(files: Sequence[Path], source: str) -> HeldOut:
    """Return the predictions of folds, read from their files."""
    return _join_answers([Judged.read(file) for file in files], source, source)


def _join_answers(judged: Sequence[Judged], source: str, model: str) -> HeldOut:
    kinds = {one.kind for one in judged}
    if len(kinds) != 1:
        raise DataError(f"{source}: must be of one task, got answers of {' and of '.join(sorted(kinds))}")
    rows = [row for one in judged for row in one.rows.values()]
    again = [file for file, count in Counter(row["file"] for row in rows).items() if count > 1]
    if again:
        times = Counter(row["file"] for row in rows)[again[0]]
        raise DataError(f"{source}: {again[0]} was judged {times} times; several runs must be folds (data.split.fold)")
    classes = dict.fromkeys(label for one in judged for label in one.classes)
    return HeldOut(kinds.pop(), tuple(classes), tuple(rows), source, model)
