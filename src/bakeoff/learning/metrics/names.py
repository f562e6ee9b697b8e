"""The table of the numbers that judge a model: what each means, which way it is better, and which task gives it.

METRICS["ece"].is_higher_better -> False; DETECTION.headline -> "mAP_50"; is_higher_better("export/drop") -> False
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.learning.metrics.score import Column

Kind = Literal["detection", "one_label", "several_labels"]  # of a score
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
    meaning: str  # one sentence, as pages show it
    is_higher_better: bool | None = True  # None: neither way
    heading: str | None = None  # on a page, if it is not the name
    kinds: tuple[Kind, ...] = ()  # of the scores that `count` adds the number to
    count: "Count | None" = None  # of a metric that has a file of its own; None: the scores count it themselves
    scale: Scale = "share"  # where its values are, for its interval; a share that is above 1 or below 0 is "any"


METRICS = {
    "mAP": Metric(
        "Average precision, mean over classes and over overlaps from 0.50 to 0.95: found, named and placed well."
    ),
    "mAP_50": Metric(
        "Average precision, mean over the classes; a box counts as found if it overlaps the true one by half."
    ),
    "mAP_75": Metric("The same with an overlap of three quarters: how well boxes are placed."),
    "mAP_small": Metric("mAP of true boxes under 32 × 32 pixels."),
    "mAP_medium": Metric("mAP of true boxes from 32 × 32 to 96 × 96 pixels."),
    "mAP_large": Metric("mAP of true boxes over 96 × 96 pixels."),
    "AR_1": Metric("Share of true boxes found with one detection of a class an image, mean over overlaps."),
    "AR_10": Metric("Share found with up to ten detections of a class an image."),
    "AR_100": Metric("Share found with up to a hundred: what the network sees at all, however unsure."),
    "AR_small": Metric("AR_100 of true boxes under 32 × 32 pixels."),
    "AR_medium": Metric("AR_100 of true boxes from 32 × 32 to 96 × 96 pixels."),
    "AR_large": Metric("AR_100 of true boxes over 96 × 96 pixels."),
    "mAP_voc": Metric("mAP at overlap 0.5 as Pascal VOC 2010 counts it: the whole area under the curve."),
    "mAP_voc_11": Metric("mAP at overlap 0.5 as Pascal VOC 2007 counts it: at eleven recalls."),
    "AP": Metric("Average precision of one class, mean over overlaps from 0.50 to 0.95."),
    "AP_50": Metric("Average precision of one class; a box counts as found if it overlaps the true one by half."),
    "f1": Metric("One number for precision and recall together: high only if both are.", heading="F1"),
    "precision": Metric("Of what the model gives, how much is right."),
    "recall": Metric("Of what is there, how much the model gives."),
    "threshold": Metric("The score threshold where F1 is highest; use it in the robot to begin with.", None),
    "class_f1": Metric("F1 of one class at the threshold where it is highest.", heading="best F1"),
    "class_threshold": Metric("That threshold.", None, heading="at score"),
    "errors": Metric("How many errors of each kind there are at the threshold.", False),
    "lost_mAP_50": Metric("How much higher mAP_50 would be without the errors of a kind.", False),
    "accuracy": Metric("Share of examples whose class is given rightly."),
    "top_5": Metric("Share of examples whose class is among the five likeliest."),
    "loss": Metric(
        "What training minimises, of these examples, without penalties: 0 is perfect, sure mistakes cost most.",
        is_higher_better=False,
        scale="positive",
    ),
    "loss_classes": Metric("The part of a detector's loss that wrong classes cost.", False, scale="positive"),
    "loss_boxes": Metric("The part of a detector's loss that badly placed boxes cost.", False, scale="positive"),
    "ece": Metric(
        "Expected calibration error: how far, on average, the probability is from the share that is right.", False
    ),
    "macro_precision": Metric("Precision of each class, mean over the classes."),
    "macro_recall": Metric("Recall of each class, mean over the classes: rare classes count as much as frequent ones."),
    "macro_f1": Metric("F1 of each class, mean over the classes."),
    "mean_average_precision": Metric("Average precision of each class's scores, mean over the classes."),
    "mean_auc": Metric(
        "The chance that a right example scores above a wrong one, mean over the classes; 0.5 is guessing."
    ),
    "best_f1": Metric("F1 at the threshold where it is highest, all decisions together."),
    "best_threshold": Metric("That threshold.", None),
    "average_precision": Metric("Average precision of the scores of one class.", heading="AP"),
    "auc": Metric("The chance that a right example of the class scores above a wrong one.", heading="AUC"),
}
ERRORS = {  # kinds of wrong detections, in the sense of TIDE (Bolya et al., arXiv:2008.08115)
    "missed": "a true box that nothing found, not even badly placed or under another name",
    "duplicate": "a second detection on a box that was found already",
    "wrong_class": "well placed, wrongly named",
    "badly_placed": "the right name, but it overlaps its box by less than half",
    "wrong_class_and_place": "wrongly named and badly placed",
    "background": "a detection where nothing is",
}


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

# What training and export write beside the numbers of a score, by the parts of their names.
COSTS = ("loss", "errors", "bytes", "seconds", "memory", "latency", "parameters", "drop")
FACTS = ("learning_rate", "phase", "bad_records", "calls", "threads")


def choose_judgement(task: str, *, multi_label: bool) -> Judgement:
    if task == "detection":
        return DETECTION
    return SEVERAL_LABELS if multi_label else ONE_LABEL


def is_higher_better(name: str) -> bool | None:
    """Which way a number is better, None if neither; `name` may be in full: `evaluation/AP_50.cat`."""
    first, _, rest = name.rpartition("/")[2].partition(".")
    key = rest if rest and name.startswith("export/") else first  # export/dynamic.latency_ms
    if key in METRICS:
        return METRICS[key].is_higher_better
    if key in FACTS:
        return None
    return not any(key == cost or key.startswith(f"{cost}_") or key.endswith(f"_{cost}") for cost in COSTS)


def merit(name: str, value: float) -> float:
    """Turn a number into one that is better the higher it is, and back."""
    return -value if is_higher_better(name) is False else value
