"""What each number of an evaluation means, as pages show it, and which way any number of a run is better.

meaning_of("ece").text -> "Expected calibration error: …"; is_higher_better("export/drop") -> False
"""

import sys
from dataclasses import dataclass

from bakeoff.learning.metrics.names import METRICS


@dataclass(frozen=True)
class Meaning:
    text: str  # one sentence
    heading: str | None = None  # on a page, if it is not the name


MEANINGS = {
    "mAP": Meaning(
        "Average precision, mean over classes and over overlaps from 0.50 to 0.95: found, named and placed well."
    ),
    "mAP_50": Meaning(
        "Average precision, mean over the classes; a box counts as found if it overlaps the true one by half."
    ),
    "mAP_75": Meaning("The same with an overlap of three quarters: how well boxes are placed."),
    "mAP_small": Meaning("mAP of true boxes under 32 × 32 pixels."),
    "mAP_medium": Meaning("mAP of true boxes from 32 × 32 to 96 × 96 pixels."),
    "mAP_large": Meaning("mAP of true boxes over 96 × 96 pixels."),
    "AR_1": Meaning("Share of true boxes found with one detection of a class an image, mean over overlaps."),
    "AR_10": Meaning("Share found with up to ten detections of a class an image."),
    "AR_100": Meaning("Share found with up to a hundred: what the network sees at all, however unsure."),
    "AR_small": Meaning("AR_100 of true boxes under 32 × 32 pixels."),
    "AR_medium": Meaning("AR_100 of true boxes from 32 × 32 to 96 × 96 pixels."),
    "AR_large": Meaning("AR_100 of true boxes over 96 × 96 pixels."),
    "mAP_voc": Meaning("mAP at overlap 0.5 as Pascal VOC 2010 counts it: the whole area under the curve."),
    "mAP_voc_11": Meaning("mAP at overlap 0.5 as Pascal VOC 2007 counts it: at eleven recalls."),
    "AP": Meaning("Average precision of one class, mean over overlaps from 0.50 to 0.95."),
    "AP_50": Meaning("Average precision of one class; a box counts as found if it overlaps the true one by half."),
    "f1": Meaning("One number for precision and recall together: high only if both are.", "F1"),
    "precision": Meaning("Of what the model gives, how much is right."),
    "recall": Meaning("Of what is there, how much the model gives."),
    "threshold": Meaning("The score threshold where F1 is highest; use it in the robot to begin with."),
    "class_f1": Meaning("F1 of one class at the threshold where it is highest.", "best F1"),
    "class_threshold": Meaning("That threshold.", "at score"),
    "errors": Meaning("How many errors of each kind there are at the threshold."),
    "lost_mAP_50": Meaning("How much higher mAP_50 would be without the errors of a kind."),
    "accuracy": Meaning("Share of examples whose class is given rightly."),
    "top_5": Meaning("Share of examples whose class is among the five likeliest."),
    "loss": Meaning(
        "What training minimises, of these examples, without penalties: 0 is perfect, sure mistakes cost most."
    ),
    "loss_classes": Meaning("The part of a detector's loss that wrong classes cost."),
    "loss_boxes": Meaning("The part of a detector's loss that badly placed boxes cost."),
    "ece": Meaning("Expected calibration error: how far, on average, the probability is from the share that is right."),
    "macro_precision": Meaning("Precision of each class, mean over the classes."),
    "macro_recall": Meaning(
        "Recall of each class, mean over the classes: rare classes count as much as frequent ones."
    ),
    "macro_f1": Meaning("F1 of each class, mean over the classes."),
    "mean_average_precision": Meaning("Average precision of each class's scores, mean over the classes."),
    "mean_auc": Meaning(
        "The chance that a right example scores above a wrong one, mean over the classes; 0.5 is guessing."
    ),
    "best_f1": Meaning("F1 at the threshold where it is highest, all decisions together."),
    "best_threshold": Meaning("That threshold."),
    "average_precision": Meaning("Average precision of the scores of one class.", "AP"),
    "auc": Meaning("The chance that a right example of the class scores above a wrong one.", "AUC"),
}
ERROR_MEANINGS = {
    "missed": "a true box that nothing found, not even badly placed or under another name",
    "duplicate": "a second detection on a box that was found already",
    "wrong_class": "well placed, wrongly named",
    "badly_placed": "the right name, but it overlaps its box by less than half",
    "wrong_class_and_place": "wrongly named and badly placed",
    "background": "a detection where nothing is",
}
# What training and export write beside the numbers of a score, by the parts of their names.
COSTS = ("loss", "errors", "bytes", "seconds", "memory", "latency", "parameters", "drop")
FACTS = ("learning_rate", "phase", "bad_records", "calls", "threads")


def meaning_of(name: str) -> Meaning:
    """Return what a number means. A metric with a file of its own is explained by the first line of that file."""
    if name in MEANINGS:
        return MEANINGS[name]
    count = METRICS[name].count
    text = sys.modules[count.__module__].__doc__ if count else None
    return Meaning((text or name).strip().splitlines()[0], name.replace("_", " "))


def is_higher_better(name: str) -> bool | None:
    """Which way a number is better, None if neither; `name` may be in full: `evaluation/AP_50.cat`."""
    first, _, rest = name.rpartition("/")[2].partition(".")
    key = rest if rest and name.startswith("export/") else first  # export/dynamic.latency_ms
    if key in METRICS:
        return METRICS[key].is_higher_better
    if key in FACTS:
        return None
    return not any(key == cost or key.startswith(f"{cost}_") or key.endswith(f"_{cost}") for cost in COSTS)
