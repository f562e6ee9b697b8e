"""How good detections are: COCO's and Pascal VOC's average precision, the best score threshold, errors by kind.

DetectionScore(("0", "1")).update(truth, predictions) + ... -> {"mAP": 0.52, "AP_50": {"0": 0.9, ...}, "f1": 0.8, ...}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

import numpy as np

from bakeoff.learning.metrics.average_precision import RECALLS, average_precisions, voc_precisions
from bakeoff.learning.metrics.box_matching import BoxArrays, Boxes, Matches
from bakeoff.learning.metrics.coco_metrics import CocoMetrics
from bakeoff.learning.metrics.curves import PrecisionRecallCurve, reliability
from bakeoff.learning.metrics.detection_errors import KINDS, RIGHT, WorkingPoint, confusion, find_errors, lost_precision
from bakeoff.learning.metrics.intervals import Intervals, Numbers, find_intervals
from bakeoff.learning.metrics.score import ByClass, Column, Lists, Texts, average_known, count_added

NOTHING = "(nothing)"
AT_75 = 5  # of the overlaps


@dataclass(frozen=True)
class Loss:
    """What training would count for an image alone in its batch."""

    classes: float
    boxes: float
    divisor: float  # by which training divides the image's sums, if above 1: its matched anchors


@dataclass(frozen=True)
class DetectionScore:
    classes: tuple[str, ...]
    truth: tuple[Boxes, ...] = ()
    predictions: tuple[Boxes, ...] = ()
    losses: tuple[Loss | None, ...] = ()  # of the images, where somebody counts them

    def update(self, truth: Boxes, predictions: Boxes, loss: Loss | None = None) -> "DetectionScore":
        return self + DetectionScore(self.classes, (truth,), (predictions,), (loss,))

    def __add__(self, other: "DetectionScore") -> "DetectionScore":
        parts = self.truth + other.truth, self.predictions + other.predictions, self.losses + other.losses
        return DetectionScore(self.classes, *parts)

    def result(self) -> dict:
        """A number that has nothing to be counted on is left out, as is a class without true boxes."""
        matches, point = self._matches, self._point
        numbers: dict = self._coco.numbers() | voc_precisions(matches.predictions, matches.truth)
        if len(matches.truth):
            numbers |= {name: getattr(point.best, name) for name in ("f1", "precision", "recall", "threshold")}
        best = {label: self._curve(number).best() for number, label in self._known}
        once = np.ones((1, len(self.truth)), np.int64)
        added = count_added("detection", self.columns, once) if self.truth else {}
        added = self._mean_losses(once) | added
        numbers |= {name: float(values[0]) for name, values in added.items() if not np.isnan(values[0])}
        numbers["AP"] = {label: float(self._precision[:, :, number - 1].mean()) for number, label in self._known}
        numbers["AP_50"] = {label: float(self._precision[0, :, number - 1].mean()) for number, label in self._known}
        numbers["class_f1"] = {label: point.f1 if point else 0.0 for label, point in best.items()}
        numbers["class_threshold"] = {label: point.threshold for label, point in best.items() if point}
        numbers["errors"] = point.errors.counts()
        if self._known:
            numbers["lost_mAP_50"] = lost_precision(matches, find_errors(matches), len(self.classes))
        return numbers

    def intervals(self, groups: Sequence[str], samples: int) -> Intervals:
        """Of the headline numbers, over images or groups of them; F1 at the threshold that is best for all images."""
        size = int(np.bincount(self._matches.predictions.classes).max(initial=0))  # one class at a time is drawn
        return find_intervals(lambda weights: self.count_weighted(weights)[0], groups, samples, size=size)

    def count_weighted(self, weights: np.ndarray) -> tuple[Numbers, ByClass]:
        """The headline numbers, and those that each class has, for (weightings, images): how often each counts."""
        if not self._known:
            return {}, {}
        right, given, true = self._point.counts
        often = np.ascontiguousarray(weights.T, np.int32)
        by_class = [self._average_precisions(number, often) for number, _ in self._known]
        precision = average_known([one for one, _ in by_class])  # (overlaps, samples)
        recall = average_known([other for _, other in by_class])
        averages = {"mAP": precision.mean(axis=0), "mAP_50": precision[0], "mAP_75": precision[AT_75]}
        f1 = 2 * (weights @ right) / np.maximum(weights @ (given + true), 1)
        labels = [label for _, label in self._known]
        of_classes = {
            "mAP": {label: one.mean(axis=0) for label, (one, _) in zip(labels, by_class, strict=True)},
            "mAP_50": {label: one[0] for label, (one, _) in zip(labels, by_class, strict=True)},
        }
        averages |= {"AR_100": recall.mean(axis=0), "f1": f1} | self._mean_losses(weights)
        return averages | count_added("detection", self.columns, weights), of_classes

    def columns(self) -> dict[str, Column]:
        """`score` is the image's F1 at the best threshold. There, `error` says what is wrong with a prediction
        ("right": nothing, "": it scores less and does not count), and `found` whether a true box was predicted."""
        matches, point, losses = self._matches, self._point, self._losses
        errors = np.zeros(len(matches.predictions), np.int64)
        for number, kind in enumerate((RIGHT, *KINDS), start=1):
            errors[: len(point.errors.kinds)][point.errors.kinds == kind] = number  # best first, as all predictions
        texts = Texts(("", RIGHT, *KINDS), errors)
        is_predicted = np.isin(np.arange(len(matches.truth)), point.given.taken)
        return {
            "truth": self._by_image(matches.truth, {"found": is_predicted}),
            "prediction": self._by_image(matches.predictions, {"score": matches.predictions.scores, "error": texts}),
            "score": point.f1,
            "loss": None if losses is None else losses[:, :2].sum(axis=1),
            "loss_classes": None if losses is None else losses[:, 0].copy(),
            "loss_boxes": None if losses is None else losses[:, 1].copy(),
            "loss_divisor": None if losses is None else losses[:, 2].copy(),
        }

    def worst_first(self) -> np.ndarray:
        return self._point.worst_first()

    def plots(self) -> dict[str, list[dict]]:
        """Precision at each recall for overlap 0.5, mean and of each class; what a threshold gives; how sure is how
        right; errors by kind; what was taken for what."""
        precision = self._precision[0]  # (recalls, classes)
        known = precision[:, [number - 1 for number, _ in self._known]]
        tables = {"precision_recall": _curve_rows(known.mean(axis=1) if self._known else np.zeros(len(RECALLS)))}
        for number, label in self._known:
            file = f"precision_recall_by_class/{number:03d}-{quote(label, safe=' ')}"
            tables[file] = _curve_rows(precision[:, number - 1])
        tables["threshold"] = self._curve(None).rows()
        if len(self._matches.predictions):
            tables["calibration"] = reliability(self._matches.predictions.scores, self._matches.right)
        tables["errors"] = [{"kind": kind, "count": count} for kind, count in self._point.errors.counts().items()]
        names = [NOTHING, *self.classes]
        pairs = zip(*confusion(self._point.given, self._point.errors), strict=True)
        tables["confusion"] = [{"actual": names[true], "predicted": names[given]} for true, given in pairs]
        return tables

    def _mean_losses(self, weights: np.ndarray) -> Numbers:
        """What training would count if all images were one batch, for (weightings, images): how often each counts.

        So a batch counts as much as what it is divided by, and how examples are put into batches changes nothing.
        """
        losses = self._losses
        if losses is None or not len(losses):
            return {}
        classes, boxes, divisor = losses.T
        whole = np.maximum(weights @ divisor, 1)
        of_classes = weights @ (classes * np.maximum(divisor, 1)) / whole
        of_boxes = weights @ (boxes * np.maximum(divisor, 1)) / whole
        return {"loss": of_classes + of_boxes, "loss_classes": of_classes, "loss_boxes": of_boxes}

    @cached_property
    def _losses(self) -> np.ndarray | None:
        """(images, 3): of classes, of boxes, divisor; None if nobody counted that of some image."""
        known = [loss for loss in self.losses if loss is not None]
        rows = [(loss.classes, loss.boxes, loss.divisor) for loss in known]
        return np.array(rows, np.float64).reshape(-1, 3) if len(known) == len(self.truth) else None

    @cached_property
    def _coco(self) -> CocoMetrics:
        matches = self._matches
        return CocoMetrics(len(self.classes), matches.images, matches.truth, matches.predictions)

    @cached_property
    def _precision(self) -> np.ndarray:
        return self._coco.precision()

    @cached_property
    def _matches(self) -> Matches:
        return Matches.from_boxes(self.truth, self.predictions)

    @cached_property
    def _point(self) -> WorkingPoint:
        return WorkingPoint.from_matches(self._matches)

    @cached_property
    def _known(self) -> list[tuple[int, str]]:
        """Ids and labels of the classes that have true boxes."""
        there = set(self._matches.truth.classes.tolist())
        return [(number, label) for number, label in enumerate(self.classes, start=1) if number in there]

    def _curve(self, label: int | None) -> PrecisionRecallCurve:
        """Of one class, or of all answers together."""
        matches = self._matches
        rows = np.ones(len(matches.predictions), bool) if label is None else matches.predictions.classes == label
        return PrecisionRecallCurve.from_scores(
            matches.predictions.scores[rows], matches.right[rows], int(matches.true_counts(label).sum())
        )

    def _average_precisions(self, label: int, often: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        matches = self._matches
        rows = matches.predictions.classes == label
        return average_precisions(
            matches.predictions.image[rows], matches.hits[rows], matches.true_counts(label), often
        )

    def _by_image(self, boxes: BoxArrays, more: Mapping[str, np.ndarray | Texts]) -> Lists:
        order = np.argsort(boxes.image, kind="stable")
        sides = dict(zip(("ymin", "xmin", "ymax", "xmax"), boxes.corners[order].T, strict=True))
        counts = np.bincount(boxes.image, minlength=len(self.truth))
        values: dict[str, Column] = {"label": Texts(self.classes, boxes.classes[order] - 1), **sides}
        return Lists(counts, values | {name: _in_order(column, order) for name, column in more.items()})


def _in_order(column: np.ndarray | Texts, order: np.ndarray) -> np.ndarray | Texts:
    return Texts(column.names, column.which[order]) if isinstance(column, Texts) else column[order]


def _curve_rows(precision: np.ndarray) -> list[dict]:
    points = zip(RECALLS, precision, strict=True)
    return [{"recall": round(float(at), 2), "precision": round(float(value), 4)} for at, value in points]
