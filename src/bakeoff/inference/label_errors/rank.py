"""Predictions and labels -> the list of suspects, without those marked as right, and remarks on what it leaves out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.inference.label_errors.boxes import find_wrong_boxes
from bakeoff.inference.label_errors.classes import find_shortage, find_wrong_classes, find_wrong_labels
from bakeoff.inference.label_errors.confirmed import FILE, read_right
from bakeoff.inference.label_errors.conflicting_duplicates import find_twins
from bakeoff.inference.label_errors.labelled import Labelled
from bakeoff.inference.label_errors.out_of_fold import HeldOut
from bakeoff.inference.label_errors.suspect import Findings, Row, Suspect

TASKS = {"boxes": "detection", "one label": "classification", "several labels": "any number of labels"}


@dataclass(frozen=True)
class Listing:
    held_out: HeldOut
    labelled: Labelled
    suspects: tuple[Suspect, ...]
    rows: dict[str, Row]
    findings: Findings | None  # None if the predictions allow no statement
    remarks: tuple[str, ...]


def list_suspects(held_out: HeldOut, labelled: Labelled) -> Listing:
    """Return the suspects with everything that a page or a table shows. Raises DataError if the predictions are of
    other data."""
    if held_out.kind != labelled.kind:
        here = f"{workspace.RECORDS.as_posix()} is for {TASKS[labelled.kind]}"
        raise DataError(f"{held_out.source}: is for {TASKS[held_out.kind]}, {here}; name a run of this data")
    known = [row for row in held_out.rows if row["file"] in labelled]
    if held_out.rows and not known:
        raise DataError(
            f"{held_out.source}: none of its {len(held_out.rows):,} examples is in {workspace.RECORDS.as_posix()}; "
            "name a run of this data"
        )
    rows = [row for row in known if labelled.is_same(row)]
    judged = _judge(rows, held_out)
    remarks = _count_left_out(held_out, known, rows)
    if isinstance(judged, str):
        remarks.append(f"no statement: {judged}")
        findings = None
    else:
        findings = judged
        remarks += judged.silences
    ranks = {file: -place for place, file in enumerate(findings.ranking)} if findings else {}
    twins = find_twins(labelled, {file: len(ranks) + rank for file, rank in ranks.items()})
    every = _merge(twins, findings.suspects if findings else ())
    marked = read_right()
    right = {
        file for file in {one.file for one in every} if file in marked and marked[file] == labelled.make_digest(file)
    }  # fmt: skip
    if right:
        plural = "example is" if len(right) == 1 else "examples are"
        remarks.append(f"{len(right):,} {plural} left out, whose labels are right by {FILE.as_posix()}")
    suspects = tuple(one for one in every if one.file not in right)
    return Listing(held_out, labelled, suspects, {row["file"]: row for row in rows}, findings, tuple(remarks))


def _judge(rows: Sequence[Row], held_out: HeldOut) -> Findings | str:
    if few := find_shortage(rows, "validation images"):
        return f"{few}; `--folds 5` judges every example"
    if held_out.kind == "boxes":
        return find_wrong_boxes(rows)
    return find_wrong_classes(rows) if held_out.kind == "one label" else find_wrong_labels(rows, held_out.classes)


def _count_left_out(held_out: HeldOut, known: Sequence[Row], same: Sequence[Row]) -> list[str]:
    remarks = []
    if gone := len(held_out.rows) - len(known):
        remarks.append(f"{gone:,} examples are not in {workspace.RECORDS.as_posix()} any more")
    if changed := len(known) - len(same):
        remarks.append(f"{changed:,} examples have another label now than the models were judged by")
    return remarks


def _merge(twins: Sequence[Suspect], others: Sequence[Suspect]) -> list[Suspect]:
    """Return both in one order. An example that is suspected for two reasons has both."""
    reasons = {one.file: one.why for one in others if one.true_box is None and one.given is None}
    both = [replace(one, why=f"{one.why}; {reasons[one.file]}") if one.file in reasons else one for one in twins]
    doubled = {one.file for one in twins} & reasons.keys()
    return sorted([*both, *(one for one in others if one.file not in doubled)], key=lambda one: -one.strength)
