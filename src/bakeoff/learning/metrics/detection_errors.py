"""What went wrong with detections, by kind, in the sense of TIDE (Bolya et al., arXiv:2008.08115)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bakeoff.learning.metrics.average_precision import average_precisions
from bakeoff.learning.metrics.box_matching import NONE, Matches, find_pairs
from bakeoff.learning.metrics.curves import PrecisionRecallCurve, Working
from bakeoff.learning.metrics.names import ERRORS

CLOSE, FAR = 0.5, 0.1
RIGHT = "right"  # the kind of a correct prediction
KINDS = ERRORS
NEVER = Working(1.0, 0.0, 0.0, 0.0)  # used where no threshold gives a correct answer: at 1 the fewest are wrong


@dataclass(frozen=True)
class Errors:
    kinds: np.ndarray  # (predictions,) RIGHT or one of KINDS
    meant: np.ndarray  # (predictions,) the row of the truth that a badly placed or wrongly named one means, else NONE
    missed: np.ndarray  # (truth,) whether the true box is missed
    over: np.ndarray  # (predictions,) the row of the truth that it took, or overlaps most and by half, of any class

    def counts(self) -> dict[str, int]:
        return {kind: int((self.missed if kind == "missed" else self.kinds == kind).sum()) for kind in KINDS}


def find_errors(matches: Matches) -> Errors:
    predictions, truth, taken = matches.predictions, matches.truth, matches.taken
    predicted_rows, true_rows, overlap = find_pairs(predictions, truth, same_class=False)
    same = predictions.classes[predicted_rows] == truth.classes[true_rows]
    used = np.zeros(len(truth), bool)
    used[taken[taken != NONE]] = True

    def most(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each detection's chosen pairs the largest overlap, and with which true box."""
        rows, others, overlaps = predicted_rows[chosen], true_rows[chosen], overlap[chosen]
        order = np.lexsort((others, -overlaps, rows))
        first = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
        largest, which = np.zeros(len(predictions)), np.full(len(predictions), NONE)
        largest[rows[first]], which[rows[first]] = overlaps[first], others[first]
        return largest, which

    (own, own_box), (other, other_box) = most(same), most(~same)
    again = most(same & used[true_rows])[0]
    right, placed, named = matches.right, (own >= FAR) & (own < CLOSE), other >= CLOSE
    conditions = [right, placed, named, again >= CLOSE, np.maximum(own, other) <= FAR]
    kinds = [RIGHT, "badly_placed", "wrong_class", "duplicate", "background"]
    kind = np.select(conditions, kinds, "wrong_class_and_place") if len(predictions) else np.zeros(0, "U1")
    meant = np.select([right, placed, named], [NONE, own_box, other_box], NONE) if len(predictions) else taken
    missed = ~used
    missed[meant[meant != NONE]] = False
    nearest = np.where(own >= other, own_box, other_box)
    over = np.where(right, taken, np.where(np.maximum(own, other) >= CLOSE, nearest, NONE))
    return Errors(kind, meant, missed, over)


def lost_precision(matches: Matches, errors: Errors, classes: int) -> dict[str, float]:
    """How much higher mAP_50 would be without the errors of each kind, one kind at a time.

    Repaired, a badly placed or wrongly named detection is right if its box is free and no better one means it too;
    every other error goes away. A missed box is no longer asked for.
    """
    every, all_asked = np.ones(len(matches.predictions), bool), np.ones(len(matches.truth), bool)
    before = _mean_precision(matches, matches.predictions.classes, matches.right, every, all_asked, classes)
    lost = {}
    for kind in KINDS:
        labels, hit, kept = matches.predictions.classes.copy(), matches.right, errors.kinds != kind
        if kind in ("badly_placed", "wrong_class"):
            repaired = _find_repaired(matches, errors, kind)
            hit, kept = hit | repaired, kept | repaired
            labels[repaired] = matches.truth.classes[errors.meant[repaired]]
        asked = ~errors.missed if kind == "missed" else all_asked
        lost[kind] = _mean_precision(matches, labels, hit, kept, asked, classes) - before
    return lost


def _find_repaired(matches: Matches, errors: Errors, kind: str) -> np.ndarray:
    """Tell of each prediction whether its error of this kind means a free box, as the best of all that mean it."""
    rows = np.flatnonzero(errors.meant != NONE)
    rows = rows[~np.isin(errors.meant[rows], matches.taken)]
    best = rows[np.unique(errors.meant[rows], return_index=True)[1]]
    repaired = np.zeros(len(matches.predictions), bool)
    repaired[best] = errors.kinds[best] == kind
    return repaired


def _mean_precision(
    matches: Matches, labels: np.ndarray, hit: np.ndarray, kept: np.ndarray, asked: np.ndarray, classes: int
) -> float:
    """Return mAP_50 of the detections that are kept, with these labels, on the true boxes that are asked for."""
    once = np.ones((1, 1), np.int64)  # where the images are does not matter: all of them count once
    values = []
    for label in range(1, classes + 1):
        rows, of_class = (labels == label) & kept, matches.truth.classes == label
        if of_class.any():
            total, image = (of_class & asked).sum(), np.zeros(rows.sum(), np.int64)
            precision, _ = average_precisions(image, hit[rows][:, None], np.array([total]), once)
            values.append(float(precision[0, 0]) if total else 1.0)
    return float(np.mean(values)) if values else 0.0


def confusion(matches: Matches, errors: Errors) -> tuple[np.ndarray, np.ndarray]:
    """Return class ids that are true and given, row by row; 0 is nothing.

    A detection stands for the true box that it overlaps most and by half, whatever the classes are; one that is right
    stands for the box that it took. Rows are of all detections but duplicates, which give a class again that is right,
    and of the true boxes for which no detection stands.
    """
    given, truth = matches.predictions.classes, matches.truth.classes
    true = np.append(truth, 0)[errors.over]
    counted = matches.right | (true != given)
    alone = truth[~np.isin(np.arange(len(truth)), errors.over)]
    return np.concatenate([true[counted], alone]), np.concatenate([given[counted], np.zeros_like(alone)])


@dataclass(frozen=True)
class WorkingPoint:
    """A detector at the score threshold where its F1 is highest: what it gives there, and what is wrong with it."""

    best: Working
    given: Matches
    errors: Errors

    @classmethod
    def from_matches(cls, matches: Matches) -> "WorkingPoint":
        best = (
            PrecisionRecallCurve.from_scores(matches.predictions.scores, matches.right, len(matches.truth)).best()
            or NEVER
        )
        given = matches.from_score(best.threshold)
        return cls(best, given, find_errors(given))

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Right, given and true boxes in each image."""
        given = self.given
        right, all_given = (
            np.bincount(rows, minlength=given.images)
            for rows in (given.predictions.image[given.right], given.predictions.image)
        )
        return right, all_given, given.true_counts()

    @cached_property
    def f1(self) -> np.ndarray:
        """Of each image; 1 where there is nothing and nothing is given."""
        right, given, true = self.counts
        return np.where(given + true > 0, 2 * right / np.maximum(given + true, 1), 1.0)

    def worst_first(self) -> np.ndarray:
        """Images by F1, of equal ones those with more errors, then those whose right detections are less sure."""
        right, given, true = self.counts
        predictions = self.given.predictions[self.given.right]
        sure = np.bincount(predictions.image, predictions.scores, minlength=self.given.images)
        return np.lexsort((sure, 2 * right - given - true, self.f1))
