"""The table of the numbers that judge a model: which way each is better, and which task gives it.

METRICS["ece"].is_higher_better -> False; DETECTION.headline -> "mAP_50"
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from bakeoff.foundation.own_parts import PartTable

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.learning.metrics.score import Column

Kind = Literal["detection", "one_label", "several_labels"]  # the kind of a score
Scale = Literal["share", "positive", "any"]  # share: from 0 to 1
# From a score's columns and weights (samples, examples), how often each example counts, to a value for each sample.
Count: TypeAlias = "Callable[[Mapping[str, Column], np.ndarray], np.ndarray]"
SIZES = ("small", "medium", "large")
COCO = (  # in the order of COCO's summary
    "mAP", "mAP_50", "mAP_75", *(f"mAP_{size}" for size in SIZES),
    "AR_1", "AR_10", "AR_100", *(f"AR_{size}" for size in SIZES),
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    is_higher_better: bool | None = True  # None: neither way
    kinds: tuple[Kind, ...] = ()  # of the scores that `count` adds the number to
    count: "Count | None" = None  # of a metric that has a file of its own; None: the scores count it themselves
    scale: Scale = "share"  # where its values are, for its interval; a share that is above 1 or below 0 is "any"


# evaluation/metric_meanings.py says what each of them means.
BUILT_IN = {
    **dict.fromkeys(COCO, Metric()),
    **dict.fromkeys(
        (
            "mAP_voc",
            "mAP_voc_11",
            "AP",
            "AP_50",
            "f1",
            "precision",
            "recall",
            "class_f1",
            "accuracy",
            "top_5",
            "macro_precision",
            "macro_recall",
            "macro_f1",
            "mean_average_precision",
            "mean_auc",
            "best_f1",
            "average_precision",
            "auc",
        ),
        Metric(),
    ),
    "threshold": Metric(None),
    "class_threshold": Metric(None),
    "errors": Metric(False),
    "lost_mAP_50": Metric(False),
    "loss": Metric(False, scale="positive"),
    "loss_classes": Metric(False, scale="positive"),
    "loss_boxes": Metric(False, scale="positive"),
    "ece": Metric(False),
    "best_threshold": Metric(None),
}
METRICS = PartTable("METRICS", BUILT_IN)
# Kinds of wrong detections, in the sense of TIDE (Bolya et al., arXiv:2008.08115).
ERRORS = ("missed", "duplicate", "wrong_class", "badly_placed", "wrong_class_and_place", "background")


@dataclass(frozen=True)
class Judgement:
    """The numbers that one kind of score gives, by their names in METRICS."""

    kind: Kind
    headline: str  # says which weights are best
    beside: tuple[str, ...]  # stands next to the headline in a comparison
    measures: tuple[str, ...]  # may stand in for the headline: of all examples, higher is better
    more: tuple[str, ...]  # other numbers of all examples
    of_classes: tuple[str, ...]  # a number for each class
    of_errors: tuple[str, ...] = ()  # a number for each of ERRORS

    @property
    def added(self) -> dict[str, Count]:
        """The numbers that have a file of their own, with what counts each."""
        return {name: one.count for name, one in METRICS.items() if one.count and self.kind in one.kinds}

    @property
    def numbers(self) -> tuple[str, ...]:
        """Of all examples."""
        return (*self.measures, *self.more, *self.added)

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns of a comparison of runs."""
        return (self.headline, *self.beside, *self.added)

    @property
    def choices(self) -> tuple[str, ...]:
        """The numbers of a validation that can say which weights are best: those with a better direction."""
        return tuple(name for name in self.numbers if METRICS[name].is_higher_better is not None)


DETECTION = Judgement(
    kind="detection",
    headline="mAP_50",
    beside=("mAP",),
    measures=(*COCO, "mAP_voc", "mAP_voc_11", "f1", "precision", "recall"),
    more=("threshold", "loss", "loss_classes", "loss_boxes"),
    of_classes=("AP_50", "AP", "class_f1", "class_threshold"),
    of_errors=("errors", "lost_mAP_50"),
)
SEVERAL_LABELS = Judgement(
    kind="several_labels",
    headline="mean_average_precision",
    beside=("f1",),
    measures=("mean_average_precision", "mean_auc", "f1", "precision", "recall"),
    more=("loss", "best_f1", "best_threshold"),
    of_classes=("average_precision", "auc", "class_f1", "class_threshold"),
)
ONE_LABEL = Judgement(
    kind="one_label",
    headline="accuracy",
    beside=("macro_f1",),
    measures=("accuracy", "macro_precision", "macro_recall", "macro_f1"),
    more=("top_5", "loss", "ece"),
    of_classes=("precision", "recall", "f1"),
)
BY_HEADLINE = {one.headline: one for one in (DETECTION, SEVERAL_LABELS, ONE_LABEL)}
BY_KIND = {one.kind: one for one in BY_HEADLINE.values()}


def choose_judgement(task: str, *, multi_label: bool) -> Judgement:
    if task == "detection":
        return DETECTION
    return SEVERAL_LABELS if multi_label else ONE_LABEL


def merit(name: str, value: float) -> float:
    """Turn a number into one that is better the higher it is, and back; one that is in no table is so already."""
    known = METRICS.get(name.rpartition("/")[2])
    return -value if known and known.is_higher_better is False else value
