"""The examples of an evaluation -> what a person would say of a detector at a score, and its mistakes with their boxes.

It finds 9 of 10 markers. About 1 in 12 of its boxes is wrong (2 of 23). Too few photos to be sure: 8.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.evaluation.error_ranking import Mistake, list_mistakes
from bakeoff.experiments.compare.examples import Judged, Name
from bakeoff.experiments.runs.curve_drawings import FEW
from bakeoff.learning.metrics.box_matching import Matches
from bakeoff.learning.metrics.detection import DetectionScore

BOXES = "boxes"  # the kind of a detector's examples
MOST_CLASSES = 6  # that are named one by one
WEAKEST = 3  # classes that are named where there are more
NORMAL = 1.96  # standard deviations of a 95 % interval
SIBILANTS = ("s", "x", "z", "ch", "sh")
STEPS = tuple(round(0.01 * step, 2) for step in range(1, 100))  # scores of the slider
MISSED, RIGHT = "missed", "right"


@dataclass(frozen=True)
class FoundCount:
    """Of a class: how many objects there are, and how many are found."""

    label: str
    true: int
    found: int


@dataclass(frozen=True)
class AtScore:
    """What a detector does if it gives the boxes from a score on."""

    score: float
    classes: tuple[FoundCount, ...]
    given: int  # boxes
    wrong: int
    photos: int

    @property
    def true(self) -> int:
        return sum(one.true for one in self.classes)

    @property
    def found(self) -> int:
        return sum(one.found for one in self.classes)

    @property
    def sentences(self) -> list[str]:
        return [*self._describe_found(), describe_wrong(self.wrong, self.given), *self._describe_photos()]

    def _describe_found(self) -> Iterator[str]:
        there = [one for one in self.classes if one.true]
        if not there:
            yield "The photos show no object, so nothing could be found."
        elif len(there) <= MOST_CLASSES:
            yield from (f"It {verb} {join_words(words)}." for verb, words in _sort_found(there).items() if words)
        else:
            weakest = sorted(there, key=lambda one: (one.found / one.true, one.label))[:WEAKEST]
            yield f"It finds {describe_share(self.found, self.true, 'object', 'objects')}."
            yield f"It is weakest with these: {join_words([describe_found(one) for one in weakest])}."

    def _describe_photos(self) -> Iterator[str]:
        if self.photos < FEW:
            yield f"Too few photos to be sure: {self.photos}."


def _sort_found(counts: Sequence[FoundCount]) -> dict[str, list[str]]:
    """Return the objects of both verbs: the only object of a class may be missed."""
    words: dict[str, list[str]] = {"finds": [], "misses": []}
    for one in counts:
        words["misses" if one.true == 1 and not one.found else "finds"].append(describe_found(one))
    return words


def describe_found(one: FoundCount) -> str:
    single, several = name_class(one.label)
    return describe_share(one.found, one.true, single, several)


def describe_share(found: int, true: int, single: str, several: str) -> str:
    """Return the object of "it finds …"; of the only one that is not found, that of "it misses …"."""
    if true == 1:
        return f"the only {single}"
    if not found:
        return f"none of {true:,} {several}"
    if found < true:
        return f"{found:,} of {true:,} {several}"
    return f"both {several}" if true == 2 else f"all {true:,} {several}"


def name_class(label: str) -> tuple[str, str]:
    """Return one of a class and several of it in words; a label that is no English word is quoted."""
    if not (label.isascii() and label.isalpha() and label.islower()):
        return f"object “{label}”", f"objects “{label}”"
    if label.endswith("y") and label[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return label, f"{label[:-1]}ies"
    return label, f"{label}es" if label.endswith(SIBILANTS) else f"{label}s"


def describe_wrong(wrong: int, given: int) -> str:
    """Return a sentence on how many of its boxes are wrong; a share is rounded only beside the counts."""
    if not given:
        return "It gives no box at all."
    if given == 1:
        return f"Its only box is {'wrong' if wrong else 'right'}."
    if not wrong:
        return f"None of its {given:,} boxes is wrong."
    if wrong == given:
        return f"{'Both' if given == 2 else f'All {given:,}'} of its boxes are wrong."
    if 3 * wrong > given:
        return f"{wrong:,} of its {given:,} boxes {'is' if wrong == 1 else 'are'} wrong."
    if wrong == 1:
        return f"1 in {given:,} of its boxes is wrong."
    about = "About 1" if given % wrong else "1"
    return f"{about} in {round(given / wrong):,} of its boxes is wrong ({wrong:,} of {given:,})."


def join_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def find_interval(found: int, true: int) -> tuple[float, float]:
    """Return where a share lies with 95 %: Wilson's interval, which holds for few and for all."""
    if not true:
        return 0.0, 1.0
    share, square = found / true, NORMAL**2 / true
    middle = (share + square / 2) / (1 + square)
    half = NORMAL * sqrt(share * (1 - share) / true + square / (4 * true)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


class DetectorJudgement:
    """The examples of a detector's evaluation, matched once: what it does at any score."""

    def __init__(self, judged: Judged) -> None:
        self.names: list[Name] = list(judged.rows)
        self.rows: list[Mapping[str, Any]] = list(judged.rows.values())
        self.classes = judged.classes
        self._score = judged.score(self.names, judged.classes)
        assert isinstance(self._score, DetectionScore)
        self._matches = Matches.from_boxes(self._score.truth, self._score.predictions)

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        return self._score.result()

    @property
    def threshold(self) -> float:
        """Return the score that the evaluation chose: that of the best F1."""
        return float(self.numbers.get("threshold", 0.5))

    @property
    def mistakes(self) -> list[Mistake]:
        return list_mistakes(self.numbers, {}) if "lost_mAP_50" in self.numbers else []

    def count_at(self, score: float) -> AtScore:
        kept = self._matches.from_score(score)
        true = np.bincount(kept.truth.classes, minlength=len(self.classes) + 1)
        found = np.bincount(kept.truth.classes[kept.taken[kept.right]], minlength=len(self.classes) + 1)
        counts = [FoundCount(label, int(true[at]), int(found[at])) for at, label in enumerate(self.classes, start=1)]
        return AtScore(score, tuple(counts), len(kept.predictions), int((~kept.right).sum()), len(self.rows))

    def list_right(self, number: int) -> list[bool]:
        """Return of each prediction of an example, in the order of its line, whether it is right at overlap 0.5."""
        row = self.rows[number]
        mine = self._matches.predictions.image == number
        corners, classes = self._matches.predictions.corners[mine], self._matches.predictions.classes[mine]
        right = self._matches.right[mine]
        known = {
            (self.classes[label - 1], *box): bool(is_right)
            for label, box, is_right in zip(classes.tolist(), corners.tolist(), right.tolist(), strict=True)
        }
        return [known.get((box["label"], *corners_of(box)), False) for box in row["prediction"]]

    def show_mistake(self, kind: str, most: int) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
        """Yield the examples with most mistakes of a kind, and the boxes that show them."""
        kind = kind.replace(" ", "_")
        shown = [(number, _list_wrong(row, kind)) for number, row in enumerate(self.rows)]
        yield from sorted((one for one in shown if one[1]), key=lambda one: (-len(one[1]), one[0]))[:most]


def _list_wrong(row: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    if kind == MISSED:
        return [box for box in row["truth"] if not box["found"]]
    return [box for box in row["prediction"] if box["error"] == kind]


def corners_of(box: Mapping[str, Any]) -> tuple[float, float, float, float]:
    return box["ymin"], box["xmin"], box["ymax"], box["xmax"]


def judge_boxes(file: Path) -> DetectorJudgement | None:
    """Return what an examples.parquet says of a detector; None of another task, or of no example."""
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> DetectorJudgement | None:
    judged = Judged.read(file)
    return DetectorJudgement(judged) if judged.kind == BOXES and judged.rows else None


def describe_answers(file: Path) -> list[str]:
    """Return what an evaluation says of a classifier; nothing of several labels an example."""
    judged = Judged.read(file)
    if judged.kind != "one label" or not judged.rows:
        return []
    right = sum(row["truth"] == row["prediction"] for row in judged.rows.values())
    total = len(judged.rows)
    few = [f"Too few to be sure: {total}."] if total < FEW else []
    named = "misnames the only example" if total == 1 and not right else ""
    return [f"It {named or 'names ' + describe_share(right, total, 'example', 'examples') + ' right'}.", *few]
