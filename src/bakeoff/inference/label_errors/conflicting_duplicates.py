"""Pictures -> pairs that show the same and have different labels, of which at least one is wrong."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from bakeoff.dataset.building.near_duplicates import MOST_CANDIDATES, find_near_pairs, look_alike
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.inference.label_errors.boxes import SAME, measure_overlaps
from bakeoff.inference.label_errors.labelled import Labelled, boxes_in, labels_in
from bakeoff.inference.label_errors.suspect import Suspect

TWINS = "alike, labelled differently"
EQUAL, ALIKE = 1.0, 0.95  # strength of a pair with the same bytes, and of one that looks alike


def find_twins(labelled: Labelled, doubts: Mapping[str, float]) -> list[Suspect]:
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
