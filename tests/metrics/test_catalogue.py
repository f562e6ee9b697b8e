"""One table knows every number that a score gives; the tasks, the pages and the docs go by it."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bakeoff.metrics import catalogue
from bakeoff.metrics.boxes import Boxes
from bakeoff.metrics.catalogue import BY_HEADLINE, ERRORS, METRICS, is_higher_better, judgement_of
from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.metrics.detection import DetectionScore
from bakeoff.metrics.multi_label import MultiLabelScore
from imports import ROOT


def boxes(sides: float, score: float) -> Boxes:
    """One of each of COCO's sizes."""
    corners = np.array([[0, 0, size, size] for size in (sides, 3 * sides, 8 * sides)], float)
    return Boxes(corners, np.array([1, 1, 1]), np.full(3, score))


RESULTS: dict[str, dict[str, Any]] = {
    "mAP_50": DetectionScore(("a",)).update(boxes(20.0, 1.0), boxes(20.0, 0.5), 0.1).result(),
    "accuracy": ClassificationScore(tuple("abcdef")).update([Answer(1, 2, 0.5, 0.25, 1)]).result(),
    "mean_average_precision": MultiLabelScore(("a",))
    .update(np.array([[True], [False]]), np.array([[0.9], [0.2]]))
    .result(),
}


@pytest.mark.parametrize("headline", BY_HEADLINE)
def test_the_table_has_the_numbers_that_a_score_gives_and_no_others(headline: str) -> None:
    judgement, result = BY_HEADLINE[headline], RESULTS[headline]
    assert set(judgement.numbers) == {name for name, value in result.items() if isinstance(value, float)}
    assert {*judgement.of_classes, *judgement.of_errors} == {
        name for name, value in result.items() if isinstance(value, dict)
    }
    assert all(set(result[name]) == set(ERRORS) for name in judgement.of_errors)
    assert set(result) <= set(METRICS)
    assert {headline, *judgement.beside} <= set(judgement.measures)
    assert all(METRICS[name].is_higher_better for name in judgement.measures)
    assert set(judgement.only_evaluated) < set(judgement.numbers)


def test_every_entry_is_a_number_that_some_score_gives_and_says_what_it_means() -> None:
    assert set(METRICS) == {name for result in RESULTS.values() for name in result}
    assert all(re.fullmatch(r"\w.{8,110}\.", metric.meaning) for metric in METRICS.values())


def test_every_number_and_every_kind_of_error_is_explained_in_the_docs() -> None:
    """In the first cell of a table's line."""
    docs = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8")
    told = {
        name for line in re.findall(r"^\| (`[^|]+) \|", docs, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)
    }
    assert {*METRICS, *ERRORS} - told == set()


@pytest.mark.parametrize(
    ("name", "higher"),
    [
        ("mAP_50", True), ("evaluation/AP_50.cat", True), ("validation/accuracy", True), ("precision", True),
        ("loss", False), ("train/loss", False), ("train/classes_loss", False), ("ece", False),
        ("evaluation/errors.missed", False), ("lost_mAP_50.background", False),
        ("threshold", None), ("class_threshold.cat", None), ("best_threshold", None),
        ("export/bytes", False), ("export/dynamic.latency_ms", False), ("export/dynamic.mAP_50", True),
        ("export/drop", False), ("train/seconds", False), ("parameters", False),
        ("learning_rate", None), ("train/phase", None), ("bad_records", None), ("export/dynamic.threads", None),
        ("whatever", True),
    ],
)  # fmt: skip
def test_which_way_a_number_is_better(name: str, higher: bool | None) -> None:
    assert is_higher_better(name) is higher


@pytest.mark.parametrize(
    ("task", "multi_label", "headline"),
    [
        ("detection", False, "mAP_50"), ("classification", False, "accuracy"), ("video", False, "accuracy"),
        ("classification", True, "mean_average_precision"), ("video", True, "mean_average_precision"),
    ],
)  # fmt: skip
def test_a_task_is_judged_by_its_headline(task: str, multi_label: bool, headline: str) -> None:
    assert judgement_of(task, multi_label=multi_label).headline == headline


def test_the_table_is_light() -> None:
    script = f"import sys, {catalogue.__name__}; print({{'numpy', 'tensorflow'}} & set(sys.modules) or 'light')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "light"
