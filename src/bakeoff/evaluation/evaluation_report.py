"""`report.html`: an evaluation on one page, with its numbers, curves, errors, classes, worst and best examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.evaluation.error_ranking import Mistake, describe_costliest, list_mistakes
from bakeoff.evaluation.example_facts import MEANINGS
from bakeoff.evaluation.gallery import MOST_BOXES, Shown, draw_figure
from bakeoff.evaluation.header import ReportHeader
from bakeoff.evaluation.metric_meanings import is_higher_better, meaning_of
from bakeoff.evaluation.plots_svg import draw_charts, draw_losses
from bakeoff.evaluation.slice_significance import CHANCE, SAMPLES
from bakeoff.evaluation.weak_slices import SliceReport, describe_row
from bakeoff.foundation.html import template
from bakeoff.learning.metrics.names import BY_HEADLINE, Kind

FILE = "report.html"
COST_NAMES: dict[Kind, str] = {"detection": "mAP_50", "one_label": "accuracy", "several_labels": "share"}
MOST_CLASSES = 300
MOST_CONFUSED, MOST_PAIRS = 30, 10  # a larger table of classes can't be read; the most frequent pairs below it can


@dataclass(frozen=True)
class EvaluationReport:
    about: ReportHeader
    headline: str
    numbers: Mapping[str, Any]  # what metrics.json holds, but for the intervals
    intervals: Mapping[str, Mapping[str, float]]
    intervals_of: str  # what the bootstrap resampled; empty if no interval was asked for
    tables: Mapping[str, Sequence[Mapping[str, Any]]]  # the plots
    counts: Mapping[str, int]  # true labels or boxes by class
    history: Sequence[Mapping[str, Any]] = field(default=())  # of the training, if it is known
    worst: Sequence[Shown] = field(default=())
    best: Sequence[Shown] = field(default=())
    slices: SliceReport | None = None
    augmented: str = ""  # a sheet of the training's examples as its network got them, as a data: address


@dataclass(frozen=True)
class Confusion:
    """What was taken for what."""

    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, int, float]]]]  # what is true; then given, count, share of the row
    pairs: Sequence[tuple[str, str, int]]  # true, given: the most frequent mistakes

    @classmethod
    def from_rows(cls, table: Sequence[Mapping[str, Any]], classes: Sequence[str]) -> "Confusion":
        """Count rows {"actual": …, "predicted": …}; labels that are no classes, such as for nothing, come last."""
        counts = Counter((row["actual"], row["predicted"]) for row in table)
        labels = [*classes, *dict.fromkeys(label for pair in counts for label in pair if label not in classes)]
        rows = []
        for true in labels if len(labels) <= MOST_CONFUSED else ():
            total = max(1, sum(counts[true, given] for given in labels))
            rows.append((true, [(given, counts[true, given], counts[true, given] / total) for given in labels]))
        wrong = [(true, given, count) for (true, given), count in counts.most_common() if true != given]
        return cls(labels, rows, wrong[:MOST_PAIRS])


def summarize_metrics(metrics: Mapping[str, Any]) -> str:
    """Return the first numbers, the headline with its interval."""
    numbers = [(name, value) for name, value in metrics.items() if isinstance(value, float)][:3]
    ends = metrics.get("interval", {})
    parts = [f"{name} {value:.3f}" for name, value in numbers]
    if numbers and numbers[0][0] in ends:
        first = ends[numbers[0][0]]
        parts[0] += f" ({first['low']:.3f} to {first['high']:.3f})"
    return ", ".join(parts) or "nothing to count numbers on"


def write_page(folder: Path, report: EvaluationReport) -> None:
    numbers = report.numbers
    judgement = BY_HEADLINE[report.headline]
    cards = dict.fromkeys([report.headline, *report.intervals, *judgement.added])
    confused = report.tables.get("confusion")
    threshold = numbers.get("threshold", numbers.get("best_threshold"))
    mistakes = list_mistakes(numbers, report.tables)
    is_weak = numbers.get("f1") == 0.0
    template.write_page(
        folder / FILE, "evaluation.html.jinja", title=report.about.title, report=report,
        meaning_of=meaning_of, is_higher_better=is_higher_better,
        has_boxes=judgement.kind == "detection", is_of_one_label=judgement.kind == "one_label",
        is_weak=is_weak, most_boxes=MOST_BOXES,
        cards=[name for name in cards if name in numbers],
        findings=_list_findings(report, mistakes),
        worst=[draw_figure(one, f"worst{number}", is_weak=is_weak) for number, one in enumerate(report.worst)],
        best=[draw_figure(one, f"best{number}", is_weak=is_weak) for number, one in enumerate(report.best)],
        charts=[*draw_charts(report.tables, threshold), *draw_losses(report.history)],
        mistakes=mistakes, cost_name=COST_NAMES[judgement.kind],
        most_cost=max([0.01, *(one.cost for one in mistakes)]),
        most_count=max([1, *(one.count for one in mistakes)]),
        class_columns=[name for name in judgement.of_classes if name in numbers],
        classes=list(report.counts.items())[:MOST_CLASSES],
        confusion=Confusion.from_rows(confused, list(report.counts)) if confused else None,
        statistics=_explain_intervals(report), meanings=MEANINGS, samples=SAMPLES, chance=CHANCE,
    )  # fmt: skip


def _list_findings(report: EvaluationReport, mistakes: Sequence[Mistake]) -> list[str]:
    """What stands out, in words."""
    numbers, sentences = report.numbers, []
    if "threshold" in numbers and "f1" in numbers:
        sentences.append(
            f"Counting detections from a score of {numbers['threshold']:.2f} on, {_percent(numbers['precision'])} of "
            f"them are right (precision) and {_percent(numbers['recall'])} of the true boxes are found (recall)."
        )
    metric_name = "mAP_50" if "lost_mAP_50" in numbers else "accuracy"
    if costliest := describe_costliest(mistakes, metric_name, numbers.get(metric_name)):
        sentences.append(costliest)
    name = next((name for name in ("AP_50", "average_precision", "f1") if isinstance(numbers.get(name), dict)), None)
    if name and len(numbers[name]) > 1:
        label, value = min(numbers[name].items(), key=lambda item: item[1])
        sentences.append(f"The weakest class is {label} ({meaning_of(name).heading or name} {value:.2f}).")
    if report.slices and report.slices.weakest:
        row = report.slices.weakest[0]
        sentences.append(f"The weakest slice is {describe_row(row, report.slices.metric)}.")
    return sentences


def _percent(share: float) -> str:
    return f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"


def _explain_intervals(report: EvaluationReport) -> str:
    if not report.intervals:
        return ""
    return (
        f"Ranges are 95 % intervals over {report.intervals_of}: there the numbers would be, counted on all "
        "examples like these. Few examples make some numbers too high, so a number may stand near the end of its "
        "range. Two variants whose ranges overlap widely may well be equally good."
    )
