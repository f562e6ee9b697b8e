import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from bakeoff.learning.metrics.curves import BINS, PrecisionRecallCurve, Working, calibration_errors, reliability


def test_best_threshold_by_hand() -> None:
    """F1 is 2/3 at 0.9, 1/2 at 0.8 and 4/5 at 0.7."""
    curve = PrecisionRecallCurve.from_scores(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), total=2)
    assert curve.f1 == pytest.approx([2 / 3, 1 / 2, 4 / 5])
    assert curve.best() == Working(0.7, 2 / 3, 1.0, 0.8)


def test_of_equally_good_thresholds_the_highest_is_the_best() -> None:
    """F1 is 2/3 at 0.9, and 2/3 again at 0.4 with 2 right of 4 given and 2 true."""
    curve = PrecisionRecallCurve.from_scores(
        np.array([0.9, 0.6, 0.5, 0.4]), np.array([True, False, False, True]), total=2
    )
    assert curve.f1[[0, 3]] == pytest.approx([2 / 3, 2 / 3])
    assert curve.best() == Working(0.9, 1.0, 0.5, pytest.approx(2 / 3))


def test_equal_scores_are_given_together_in_whatever_order_they_come() -> None:
    for order in ([0, 1, 2], [2, 1, 0]):
        curve = PrecisionRecallCurve.from_scores(
            np.array([0.5, 0.5, 0.3])[order], np.array([True, False, True])[order], total=2
        )
        assert (curve.thresholds.tolist(), curve.given.tolist(), curve.right.tolist()) == ([0.5, 0.3], [2, 3], [1, 2])


def test_nothing_right_has_no_best_threshold() -> None:
    assert PrecisionRecallCurve.from_scores(np.array([0.9]), np.array([False]), total=3).best() is None
    assert PrecisionRecallCurve.from_scores(np.zeros(0), np.zeros(0, bool), total=3).best() is None


@pytest.mark.parametrize("decimals", [9, 1])
def test_rows_equal_scikit_learn_at_each_threshold(decimals: int) -> None:
    draw = np.random.default_rng(0)
    right = draw.random(200) < 0.4
    scores = np.round(np.clip(draw.normal(0.4 + 0.3 * right, 0.2), 0, 1), decimals)
    for row in PrecisionRecallCurve.from_scores(scores, right, int(right.sum())).rows()[::10]:
        given = scores >= row["threshold"]
        assert row["f1"] == pytest.approx(f1_score(right, given, zero_division=0), abs=1e-4), row
        assert row["precision"] == pytest.approx(precision_score(right, given, zero_division=1), abs=1e-4), row
        assert row["recall"] == pytest.approx(recall_score(right, given), abs=1e-4), row


def test_what_was_never_given_counts_as_missed() -> None:
    curve = PrecisionRecallCurve.from_scores(np.array([0.9]), np.array([True]), total=4)
    assert curve.recall.tolist() == [0.25] and curve.f1 == pytest.approx([2 / 5])
    assert curve.rows()[0] == {"threshold": 0.0, "f1": 0.4, "precision": 1.0, "recall": 0.25}


# Calibration.


def test_calibration_error_by_hand() -> None:
    """Two answers at 0.9, one right: 0.4 off; two at 0.3, none right: 0.3 off; half of the answers in each bin."""
    probability, right = np.array([0.9, 0.9, 0.3, 0.3]), np.array([True, False, False, False])
    assert calibration_errors(probability, right, np.ones((1, 4))) == pytest.approx([0.5 * 0.4 + 0.5 * 0.3])


def test_answers_that_are_as_right_as_they_are_sure_have_no_error() -> None:
    probability, right = np.full(10, 0.8), np.arange(10) < 8
    assert calibration_errors(probability, right, np.ones((1, 10))) == pytest.approx([0])


def test_calibration_error_equals_one_counted_bin_by_bin_and_weights_are_copies() -> None:
    draw = np.random.default_rng(0)
    probability = draw.random(500)
    right = draw.random(500) < probability**2
    times = draw.integers(0, 3, 500)
    expected = []
    for rows in (np.arange(500), np.repeat(np.arange(500), times)):
        total = 0.0
        for low in np.arange(BINS) / BINS:
            inside = rows[(probability[rows] > low) & (probability[rows] <= low + 1 / BINS)]
            if len(inside):
                total += len(inside) / len(rows) * abs(probability[inside].mean() - right[inside].mean())
        expected.append(total)
    assert calibration_errors(probability, right, np.stack([np.ones(500), times])) == pytest.approx(expected)


def test_reliability_has_a_row_for_each_bin_that_has_answers() -> None:
    rows = reliability(np.array([0.0, 0.02, 0.95, 1.0]), np.array([True, False, True, True]))
    assert rows == [
        {"probability": 0.01, "accuracy": 0.5, "examples": 2},
        {"probability": 0.975, "accuracy": 1.0, "examples": 2},
    ]
