"""One table knows every number that a score gives; the tasks, the pages and the docs go by it."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bakeoff.evaluation.metric_meanings import ERROR_MEANINGS, MEANINGS, is_higher_better, meaning_of
from bakeoff.learning.metrics import names
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from bakeoff.learning.metrics.names import BY_HEADLINE, BY_KIND, ERRORS, METRICS, Metric, choose_judgement, merit
from support.imports import ROOT


def boxes(sides: float, score: float) -> Boxes:
    """One of each of COCO's sizes."""
    corners = np.array([[0, 0, size, size] for size in (sides, 3 * sides, 8 * sides)], float)
    return Boxes(corners, np.array([1, 1, 1]), np.full(3, score))


RESULTS: dict[str, dict[str, Any]] = {
    "mAP_50": DetectionScore(("a",)).update(boxes(20.0, 1.0), boxes(20.0, 0.5), Loss(0.1, 0.2, 3)).result(),
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


def test_every_entry_is_a_number_that_some_score_gives_and_says_what_it_means() -> None:
    assert set(METRICS) == {name for result in RESULTS.values() for name in result}
    assert set(MEANINGS) == set(METRICS) and tuple(ERROR_MEANINGS) == ERRORS
    assert all(re.fullmatch(r"\w.{8,110}\.", meaning_of(name).text) for name in METRICS)


def test_every_number_and_every_kind_of_error_is_explained_in_the_docs() -> None:
    """In the first cell of a table's line."""
    docs = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8")
    used = {
        name for line in re.findall(r"^\| (`[^|]+) \|", docs, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)
    }
    assert {*METRICS, *ERRORS} - used == set()


@pytest.mark.parametrize(
    ("name", "higher"),
    [
        ("mAP_50", True), ("evaluation/AP_50.cat", True), ("validation/accuracy", True), ("precision", True),
        ("loss", False), ("validation/loss_boxes", False), ("train/loss", False), ("train/classes_loss", False),
        ("loss_classes", False), ("ece", False),
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
    assert choose_judgement(task, multi_label=multi_label).headline == headline


def test_the_table_is_light() -> None:
    script = f"import sys, {names.__name__}; print({{'numpy', 'tensorflow'}} & set(sys.modules) or 'light')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "light"


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        ("detection", {"mAP_50", "f1", "AR_100", "loss", "loss_classes", "loss_boxes"}),
        ("one_label", {"accuracy", "top_5", "loss", "ece"}),
        ("several_labels", {"mean_average_precision", "best_f1", "loss"}),
    ],
)  # fmt: skip
def test_what_validation_gives_and_has_a_better_direction_may_say_which_weights_are_best(
    kind: str, choices: set[str]
) -> None:
    judgement = {str(name): one for name, one in BY_KIND.items()}[kind]
    assert choices <= set(judgement.choices) <= set(judgement.numbers)
    assert not {"threshold", "best_threshold"} & set(judgement.choices)


def test_merit_is_higher_for_what_is_better() -> None:
    assert (merit("accuracy", 0.5), merit("validation/loss", 0.5), merit("loss", -0.5)) == (0.5, -0.5, 0.5)


def test_a_metric_with_a_file_of_its_own_is_in_every_result_interval_and_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the second example, which counts alone in the second drawing, it is nothing that can be counted."""

    def worst(columns: Any, weights: np.ndarray) -> np.ndarray:
        score = np.asarray(columns["score"], float)
        return np.where(weights[:, 0] > 0, np.where(weights > 0, score, np.inf).min(axis=1), np.nan)

    monkeypatch.setitem(METRICS.built_in, "worst", Metric(kinds=("detection", "one_label"), count=worst))
    assert meaning_of("worst").text == __doc__
    detection = DetectionScore(("a",)).update(boxes(20.0, 1.0), boxes(20.0, 0.5)).update(boxes(9.0, 1.0), boxes(9.0, 1))
    answers = [Answer(1, 2, 0.5, 0.25, 1), Answer(2, 2, 0.75, 0.75, 0)]
    one_label = ClassificationScore(("a", "b")).update(answers)
    assert detection.result()["worst"] == min(detection.columns()["score"]) and one_label.result()["worst"] == 0.5
    weights = np.array([[1, 1], [0, 2], [2, 0]])
    for score in (detection, one_label):
        np.testing.assert_array_equal(
            score.count_weighted(weights)[0]["worst"][1:], [np.nan, score.columns()["score"][0]]
        )
        ends = score.intervals(["x", "y"], 100)["worst"]
        assert ends["low"] <= score.result()["worst"] <= ends["high"]
    assert "worst" not in ClassificationScore(("a", "b")).result()
    assert BY_KIND["detection"].compared == ("mAP_50", "mAP", "worst") and "worst" in BY_KIND["one_label"].choices
    assert "worst" not in BY_KIND["several_labels"].numbers


def test_a_metric_with_a_file_of_its_own_is_left_out_where_it_cannot_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(columns: Any, weights: np.ndarray) -> np.ndarray:
        return np.full(len(weights), np.nan)

    kinds = ("detection", "one_label", "several_labels")
    monkeypatch.setitem(METRICS.built_in, "never", Metric(None, kinds=kinds, count=never))
    several = MultiLabelScore(("a",)).update(np.array([[True]]), np.array([[0.5]]))
    one_label = ClassificationScore(("a",)).update([Answer(1, 1, 0.5, 0.5, 0)])
    detection = DetectionScore(("a",)).update(boxes(20.0, 1.0), boxes(20.0, 0.5))
    for score in (several, one_label, detection):
        assert "never" in score.count_weighted(np.ones((1, 1), np.int64))[0] and "never" not in score.result()
    assert "never" in BY_KIND["one_label"].numbers and "never" not in BY_KIND["one_label"].choices
