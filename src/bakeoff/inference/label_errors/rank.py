"""Predictions and labels -> the list of suspects, without those marked as right, and remarks on what it leaves out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from bakeoff.dataset.building.near_duplicates import MOST_CANDIDATES, find_near_pairs, look_alike
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.inference.evaluate.leakage import boxes_in, labels_in
from bakeoff.inference.label_errors.box_errors import SAME, find_wrong_boxes, measure_overlaps
from bakeoff.inference.label_errors.classes import find_shortage, find_wrong_classes, find_wrong_labels
from bakeoff.inference.label_errors.confirmed import FILE, read_right
from bakeoff.inference.label_errors.labelled import Labelled
from bakeoff.inference.label_errors.out_of_fold import HeldOut
from bakeoff.inference.label_errors.suspect import LabelErrorFindings, Row, Suspect

TASKS = {"boxes": "detection", "one label": "classification", "several labels": "any number of labels"}


TWINS = "alike, labelled differently"
EQUAL, ALIKE = 1.0, 0.95  # strength of a pair with the same bytes, and of one that looks alike


@dataclass(frozen=True)
class LabelErrorReport:
    held_out: HeldOut
    labelled: Labelled
    suspects: tuple[Suspect, ...]
    rows: dict[str, Row]
    findings: LabelErrorFindings | None  # None if the predictions allow no statement
    remarks: tuple[str, ...]


def list_suspects(held_out: HeldOut, labelled: Labelled) -> LabelErrorReport:
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
    twins = _find_twins(labelled, {file: len(ranks) + rank for file, rank in ranks.items()})
    every = _merge(twins, findings.suspects if findings else ())
    marked = read_right()
    right = {
        file for file in {one.file for one in every} if file in marked and marked[file] == labelled.make_digest(file)
    }
    if right:
        plural = "example is" if len(right) == 1 else "examples are"
        remarks.append(f"{len(right):,} {plural} left out, whose labels are right by {FILE.as_posix()}")
    suspects = tuple(one for one in every if one.file not in right)
    return LabelErrorReport(held_out, labelled, suspects, {row["file"]: row for row in rows}, findings, tuple(remarks))


def _judge(rows: Sequence[Row], held_out: HeldOut) -> LabelErrorFindings | str:
    if few := find_shortage(rows, "validation images"):
        return f"{few}; `--folds 5` judges every example"
    if held_out.kind == "boxes":
        return find_wrong_boxes(rows)
    return find_wrong_classes(rows) if held_out.kind == "one label" else find_wrong_labels(rows, held_out.classes)


def _find_twins(labelled: Labelled, doubts: Mapping[str, float]) -> list[Suspect]:
    """Return one suspect for each pair: the picture whose label the predictions contradict more, by `doubts`."""
    contents, suspects = labelled.contents, []
    for one, other in _find_candidates(labelled):
        first, second = sorted((str(contents.names[at]) for at in (one, other)), key=lambda name: -doubts.get(name, 0))
        features = [labelled.read_features(name) for name in (first, second)]
        label, proposal = map(_describe, features)
        if not _differ(*features):
            continue
        is_equal = contents.bytes[one] == contents.bytes[other]
        if is_equal or _look_alike(labelled, one, other):
            how = "has the same bytes as" if is_equal else "looks like"
            why = f"{how} {second}, whose label is {proposal}"
            suspects.append(Suspect(first, TWINS, EQUAL if is_equal else ALIKE, label, proposal, why))
    return suspects


def _find_candidates(labelled: Labelled) -> Iterator[tuple[int, int]]:
    hashes = labelled.contents.likeness
    near = ((one, other) for one, other in find_near_pairs(hashes, hashes) if one < other)
    return islice(near, MOST_CANDIDATES)


def _look_alike(labelled: Labelled, one: int, other: int) -> bool:
    with quiet_pillow():
        return look_alike(labelled.read_picture(one), labelled.read_picture(other))


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if labels_in(one) != labels_in(other):
        return True
    some, others = boxes_in(one), boxes_in(other)
    corners = [np.array([box[1:] for box in boxes], np.float64).reshape(-1, 4) for boxes in (some, others)]
    same = np.array([[box[0] == it[0] for it in others] for box in some], bool).reshape(len(some), len(others))
    means = same & (measure_overlaps(*corners) >= SAME)
    return bool((~means.any(axis=1)).any() or (~means.any(axis=0)).any())


def _describe(features: Mapping[str, Any]) -> str:
    boxes = [box[0] for box in boxes_in(features)]
    counts = [f"{boxes.count(label)} {label}" for label in dict.fromkeys(boxes)]
    return ", ".join(labels_in(features) or counts) or "nothing"


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
