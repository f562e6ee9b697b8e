"""The interval holds the errors that it should, and a flat curve shows no gain."""

import numpy as np
import pytest

from bakeoff.experiments.learning_curve.fit import Level, fit

SIZES = (96, 200, 400, 800)


def draw_levels(floor: float, excess: float, exponent: float, *, noise: float, seed: int) -> list[Level]:
    draw = np.random.default_rng(seed)
    errors = [floor + excess * (size / SIZES[0]) ** -exponent for size in SIZES]
    return [
        Level(size, tuple(error * (1 + draw.normal(0, noise, 3)))) for size, error in zip(SIZES, errors, strict=True)
    ]


@pytest.mark.parametrize(("floor", "excess", "exponent"), [(0.05, 0.3, 0.5), (0.2, 0.1, 0.7), (0.0, 0.5, 0.3)])
def test_the_interval_of_three_sizes_holds_the_fourth(floor: float, excess: float, exponent: float) -> None:
    held = 0
    for seed in range(6):
        *before, last = draw_levels(floor, excess, exponent, noise=0.05, seed=seed)
        predicted = fit(before).predict(800, 3)
        assert 0 <= predicted.low < predicted.middle < predicted.high
        held += predicted.low <= last.mean <= predicted.high
    assert held >= 5


def test_twice_the_data_of_a_steep_curve_brings_what_the_curve_has() -> None:
    gain = fit(draw_levels(0.0, 0.4, 0.6, noise=0.02, seed=1)).gain(1600)
    true = 0.4 * ((800 / 96) ** -0.6 - (1600 / 96) ** -0.6)
    assert 0 < gain.low < true < gain.high


def test_a_flat_curve_shows_no_gain() -> None:
    shown = sum(fit(draw_levels(0.3, 0.0, 0.5, noise=0.05, seed=seed)).gain(1600).low > 0 for seed in range(6))
    assert shown == 0


def test_seeds_that_agree_give_a_narrower_interval_and_the_same_errors_the_same() -> None:
    wide, narrow = (fit(draw_levels(0.05, 0.3, 0.5, noise=noise, seed=0)).predict(1600, 3) for noise in (0.2, 0.01))
    assert narrow.high - narrow.low < 0.7 * (wide.high - wide.low)
    assert narrow == fit(draw_levels(0.05, 0.3, 0.5, noise=0.01, seed=0)).predict(1600, 3)


def test_no_error_at_all_is_predicted_as_none() -> None:
    predicted = fit([Level(size, (0.0, 0.0, 0.0)) for size in SIZES]).predict(1600, 3)
    assert 0 <= predicted.low <= predicted.high < 0.001
