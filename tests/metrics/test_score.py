import numpy as np
import pytest

from bakeoff.metrics import score
from bakeoff.metrics.score import average_known, draw_weights, find_intervals


def mean_interval(values: np.ndarray, groups: list[str], samples: int = 4000) -> dict[str, float]:
    def numbers(weights: np.ndarray) -> score.Numbers:
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
    parts = list(draw_weights(np.arange(7), 30, size=score.AT_ONCE // 4))
    assert len(parts) == 8
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_drawings_without_a_number_are_left_out_and_no_number_at_all_has_no_interval() -> None:
    def numbers(weights: np.ndarray) -> score.Numbers:
        there = weights[:, 0] > 0
        return {"sometimes": np.where(there, 3.0, np.nan), "never": np.full(len(weights), np.nan)}

    assert find_intervals(numbers, apart(2), 200) == {"sometimes": {"low": 3.0, "high": 3.0}}


@pytest.mark.parametrize(("groups", "samples"), [([], 100), (["a"], 0)])
def test_nothing_to_draw_gives_no_intervals(groups: list[str], samples: int) -> None:
    assert find_intervals(lambda weights: {"one": weights[:, 0].astype(float)}, groups, samples) == {}


def test_mean_of_arrays_passes_over_what_has_no_number() -> None:
    nan = np.nan
    found = average_known([np.array([1.0, nan, nan]), np.array([3.0, 5.0, nan])])
    np.testing.assert_array_equal(found, [2.0, 5.0, nan])
