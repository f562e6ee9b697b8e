import numpy as np
import pytest

from bakeoff.metrics.calibration import BINS, calibration_errors, reliability


def test_error_by_hand() -> None:
    """Two answers at 0.9, one right: 0.4 off; two at 0.3, none right: 0.3 off; half of the answers in each bin."""
    probability, right = np.array([0.9, 0.9, 0.3, 0.3]), np.array([True, False, False, False])
    assert calibration_errors(probability, right, np.ones((1, 4))) == pytest.approx([0.5 * 0.4 + 0.5 * 0.3])


def test_answers_that_are_as_right_as_they_are_sure_have_no_error() -> None:
    probability, right = np.full(10, 0.8), np.arange(10) < 8
    assert calibration_errors(probability, right, np.ones((1, 10))) == pytest.approx([0])


def test_error_equals_one_counted_bin_by_bin_and_weights_are_copies() -> None:
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
