"""Intervals against formulas for means and shares, and against the truth that samples were drawn from."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from bakeoff.learning.metrics import intervals
from bakeoff.learning.metrics.intervals import draw_weights, find_intervals, split_weights
from support.populations import Score, classifications, detections, holds, labels


def mean_interval(values: np.ndarray, groups: list[str], samples: int = 4000) -> dict[str, float]:
    def numbers(weights: np.ndarray) -> intervals.Numbers:
        return {"mean": weights @ values / weights.sum(axis=1)}

    return find_intervals(numbers, groups, samples)["mean"]


def apart(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(5, 2, 400)
    ends = mean_interval(values, apart(400))
    off = 1.96 * values.std() / np.sqrt(400)
    assert ends == pytest.approx({"low": values.mean() - off, "high": values.mean() + off}, abs=0.1 * off)


def test_examples_of_one_group_are_drawn_together() -> None:
    groups = np.array([0, 1, 0, 2, 1])
    [weights] = draw_weights(groups, 50, size=5)
    assert weights.shape == (50, 5)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 2])
    np.testing.assert_array_equal(weights[:, 1], weights[:, 4])
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()  # as many groups as there are


def test_interval_over_groups_of_copies_is_that_of_their_means() -> None:
    """Ten copies of each of 40 examples tell no more than the 40 do."""
    values = np.random.default_rng(2).normal(0, 1, 40)
    copies = mean_interval(np.repeat(values, 10), [str(number // 10) for number in range(400)])
    assert copies == pytest.approx(mean_interval(values, apart(40)))
    as_if_apart = mean_interval(np.repeat(values, 10), apart(400))
    shrunk = (as_if_apart["high"] - as_if_apart["low"]) / (copies["high"] - copies["low"])
    assert shrunk == pytest.approx(1 / np.sqrt(10), rel=0.1)


def test_drawings_are_the_same_in_whatever_blocks_they_come() -> None:
    whole = np.concatenate(list(draw_weights(np.arange(7), 30, size=7)))
    parts = list(draw_weights(np.arange(7), 30, size=intervals.AT_ONCE // 4))
    assert len(parts) == 8
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_drawings_without_a_number_are_left_out_and_no_number_at_all_has_no_interval() -> None:
    def numbers(weights: np.ndarray) -> intervals.Numbers:
        there = weights[:, 0] > 0
        return {"sometimes": np.where(there, 3.0, np.nan), "never": np.full(len(weights), np.nan)}

    assert find_intervals(numbers, apart(2), 200) == {"sometimes": {"low": 3.0, "high": 3.0}}


@pytest.mark.parametrize(("groups", "samples"), [([], 100), (["a"], 0)])
def test_nothing_to_draw_gives_no_intervals(groups: list[str], samples: int) -> None:
    assert find_intervals(lambda weights: {"one": weights[:, 0].astype(float)}, groups, samples) == {}


def test_every_split_holds_each_group_once_in_parts_of_one_size() -> None:
    groups = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7])  # 8 groups
    weights = np.concatenate(list(split_weights(groups, 20, 4, size=9)))
    assert weights.shape == (80, 9) and set(weights.ravel()) == {0, 1}
    np.testing.assert_array_equal(weights.reshape(20, 4, 9).sum(axis=1), 1)
    np.testing.assert_array_equal(weights[:, [0, 1, 2, 4, 5, 6, 7, 8]].sum(axis=1), 2)
    np.testing.assert_array_equal(weights[:, 2], weights[:, 3])
    assert len(np.unique(weights, axis=0)) > 20
    in_blocks = list(split_weights(groups, 20, 4, size=intervals.AT_ONCE // 8))
    assert len(in_blocks) > 5
    np.testing.assert_array_equal(np.concatenate(in_blocks), weights)


def accuracy(right: int) -> Callable[[np.ndarray], intervals.Numbers]:
    return lambda weights: {"accuracy": weights[:, :right].sum(axis=1) / weights.sum(axis=1)}


@pytest.mark.parametrize("right", [40, 0])
def test_where_all_are_right_or_none_the_interval_is_wilsons(right: int) -> None:
    ends = find_intervals(accuracy(right), apart(40), 100)["accuracy"]
    by_scipy = stats.binomtest(right, 40).proportion_ci(method="wilson")
    assert (ends["low"], ends["high"]) == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-4)


@pytest.mark.parametrize("right", [12, 30, 37])
def test_interval_of_a_share_is_nearly_wilsons(right: int) -> None:
    ends = find_intervals(accuracy(right), apart(40), 4000)["accuracy"]
    by_scipy = stats.binomtest(right, 40).proportion_ci(method="wilson")
    assert (ends["low"], ends["high"]) == pytest.approx((by_scipy.low, by_scipy.high), abs=0.025)


def test_ends_stay_where_the_number_can_be() -> None:
    values = np.array([0.001, 0.002, 0.9, 0.003])

    def numbers(weights: np.ndarray) -> intervals.Numbers:
        mean = weights @ values / weights.sum(axis=1)
        return {"accuracy": mean, "loss": 9 * mean, "of one's own": mean - 3}

    ends = find_intervals(numbers, apart(4), 200)
    assert 0 < ends["accuracy"]["low"] < 0.2 < 0.9 < ends["accuracy"]["high"] < 1
    assert 0 < ends["loss"]["low"] < 2 < ends["loss"]["high"]
    assert ends["of one's own"]["low"] < -3 < -2.5 < ends["of one's own"]["high"]


def test_two_examples_that_differ_widely_have_ends_all_the_same() -> None:
    values = np.array([1e-9, 30.0])

    def numbers(weights: np.ndarray) -> intervals.Numbers:
        return {"loss": weights @ values / weights.sum(axis=1)}

    ends = find_intervals(numbers, apart(2), 200)["loss"]
    assert 0 < ends["low"] < 1e-3 and 1e3 < ends["high"] < np.inf


def test_what_few_examples_make_too_low_is_added() -> None:
    """The largest of few numbers is below that of all: no drawing is above it, and the interval is."""
    values = np.random.default_rng(3).uniform(0, 0.9, 60)

    def numbers(weights: np.ndarray) -> intervals.Numbers:
        return {"largest": np.where(weights > 0, values, 0).max(axis=1)}

    ends = find_intervals(numbers, apart(60), 400)["largest"]
    drawn = np.concatenate([numbers(weights)["largest"] for weights in draw_weights(np.arange(60), 400, 60)])
    assert drawn.max() == values.max() < ends["high"] <= 1


@pytest.mark.parametrize(
    ("population", "misled"),
    [
        (lambda: detections(4, 1.0, wrong=15, many=1200), "mAP"),
        (lambda: classifications(4, 2.0, many=1200), "ece"),
    ],
    ids=["detections", "classifications"],
)
def test_most_intervals_hold_the_truth_where_percentiles_do_not(population: Callable[[], Score], misled: str) -> None:
    by_metric = holds(population(), 40, 60)
    assert all(shares["interval"] >= 0.88 for shares in by_metric.values()), by_metric
    assert by_metric[misled]["percentile"] < 0.85, by_metric


@pytest.mark.slow
@pytest.mark.parametrize("size", [40, 150, 400])
@pytest.mark.parametrize(
    "population",
    [
        lambda: detections(10, 0.7),
        lambda: detections(10, 2.0),
        lambda: detections(2, 3.0, objects=1.5),
        lambda: classifications(10, 2.0),
        lambda: labels(5, 2.0),
    ],
    ids=["weak", "middling", "good", "classifier", "several labels"],
)
def test_intervals_hold_the_truth(population: Callable[[], Score], size: int) -> None:
    """Of 200 samples 95 % should; three standard deviations of that share are 4.6 %."""
    by_metric = holds(population(), size, 200)
    print(size, {name: f"{shares['true']:.2f}: {shares['interval']:.1%}" for name, shares in by_metric.items()})
    assert not [name for name, shares in by_metric.items() if 0.1 <= shares["true"] <= 0.9 and shares["interval"] < 0.9]
