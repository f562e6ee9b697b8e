"""Errors at a few sizes of the training set -> a power law, and an interval of what it predicts for another size.

The error is a + b·n^-c. How well that describes learning is measured in https://arxiv.org/abs/1712.00409 and
https://arxiv.org/abs/2107.01294. Three or four sizes cannot determine a, b and c. So no single curve is fitted: every
curve counts as much as it suits the errors, and the interval holds 95 % of what all of them predict.

fit([Level(96, (0.31, 0.28, 0.33)), Level(200, (0.22, 0.25, 0.21)), …]).predict(1600).low
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
from scipy import stats

LEAST_LEVELS = 3  # sizes
ENDS = (2.5, 97.5)  # percent
DRAWS = 20_000
FLOORS, EXPONENTS = 40, 30  # values of a and of c that are tried
MIDDLE_EXPONENT, EXPONENT_SPREAD = 0.5, 0.6  # c before any error is known: half of them lie from 0.33 to 0.75
# How far a mean error lies off its curve, as a share of the error, for no learning is a power law to the digit.
MISFITS = (0.01, 0.03, 0.06, 0.1, 0.15)
USUAL_MISFIT = 0.06
NOISES = 9  # factors of the variance over seeds that are tried, because a few seeds measure it badly
BORROWED = 3.0  # degrees of freedom that all sizes together lend to the variance of each
HIGHEST_FLOOR = 1.3  # the highest a, as a share of the largest error: above 1, more data does harm
LEAST_ERROR = 1e-4


@dataclass(frozen=True)
class Level:
    """The errors of several seeds on one number of training examples."""

    examples: int
    errors: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))


@dataclass(frozen=True)
class Interval:
    middle: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        return self.low <= 0 <= self.high


def find_mean(values: Sequence[float], tried: int = 1) -> Interval:
    """Return the mean and its 95 % interval by Student's t, which is that of the best of so many that were tried."""
    middle = fmean(values)
    half = float(stats.t.ppf(1 - 0.025 / tried, len(values) - 1) * stats.sem(values))
    return Interval(middle, middle - half, middle + half)


@dataclass(frozen=True)
class Curves:
    """Many curves, drawn at random. A curve that suits the errors better is among them more often."""

    levels: tuple[Level, ...]
    floor: np.ndarray  # a of each curve
    excess: np.ndarray  # b, for sizes as shares of the largest
    exponent: np.ndarray  # c
    misfit: np.ndarray
    noise: np.ndarray  # the standard deviation over seeds, as a share of the error

    def predict(self, examples: int, seeds: int | None = None) -> Interval:
        """Return the error at a size: that of the curve itself, or that of a mean over so many seeds."""
        error = self._find_errors(examples)
        spread = self.misfit if seeds is None else np.hypot(self.misfit, self.noise / np.sqrt(seeds))
        return _take_interval(np.maximum(0.0, error + self._normal[0] * spread * np.maximum(error, LEAST_ERROR)))

    def gain(self, examples: int) -> Interval:
        """Return by how much the error is less at a size than at the largest that was trained on."""
        now, then = self._find_errors(self.levels[-1].examples), self._find_errors(examples)
        off = self._normal[0] * now - self._normal[1] * then
        return _take_interval(np.maximum(0.0, now) - np.maximum(0.0, then) + self.misfit * off)

    def _find_errors(self, examples: int) -> np.ndarray:
        return self.floor + self.excess * (examples / self.levels[-1].examples) ** -self.exponent

    @cached_property
    def _normal(self) -> np.ndarray:
        return np.random.default_rng(1).standard_normal((2, DRAWS))


def fit(levels: Sequence[Level]) -> Curves:
    """Return curves drawn by how well they suit the errors.

    `levels` are three sizes or more, from the smallest up, with two seeds or more each.
    """
    means = np.maximum([level.mean for level in levels], LEAST_ERROR)
    noise, freedom = _estimate_noise(levels, means)
    draw = np.random.default_rng(0)
    floors = (np.arange(FLOORS) + 0.5) / FLOORS * HIGHEST_FLOOR * means.max()
    exponents = MIDDLE_EXPONENT * np.exp(EXPONENT_SPREAD * np.linspace(-2.5, 2.5, EXPONENTS))
    factors = freedom / np.quantile(draw.chisquare(freedom, 100_000), (np.arange(NOISES) + 0.5) / NOISES)
    a, c, misfit, factor = (axis.ravel() for axis in np.meshgrid(floors, exponents, MISFITS, factors, indexing="ij"))
    seeds = np.array([len(level.errors) for level in levels])
    sizes = np.array([level.examples for level in levels]) / levels[-1].examples
    shape = sizes[None, :] ** -c[:, None]
    variance = means**2 * (factor[:, None] * noise**2 / seeds + misfit[:, None] ** 2)
    above = means - a[:, None]
    precision = (shape**2 / variance).sum(1) + 1 / means.max() ** 2  # of b; before any error, b may be anything
    excess = (shape * above / variance).sum(1) / precision
    suits = -0.5 * (np.log(variance).sum(1) + (above**2 / variance).sum(1) - precision * excess**2 + np.log(precision))
    suits -= 0.5 * (np.log(c / MIDDLE_EXPONENT) / EXPONENT_SPREAD) ** 2 + 0.5 * (misfit / USUAL_MISFIT) ** 2
    weights = np.exp(suits - suits.max())
    chosen = draw.choice(len(weights), DRAWS, p=weights / weights.sum())
    return Curves(
        tuple(levels),
        a[chosen] + draw.uniform(-0.5, 0.5, DRAWS) * HIGHEST_FLOOR * means.max() / FLOORS,
        excess[chosen] + draw.standard_normal(DRAWS) / np.sqrt(precision[chosen]),
        c[chosen] * np.exp(EXPONENT_SPREAD * draw.uniform(-0.5, 0.5, DRAWS) * 5 / (EXPONENTS - 1)),
        misfit[chosen],
        np.sqrt(factor[chosen]) * noise[-1],
    )


def _estimate_noise(levels: Sequence[Level], means: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the standard deviation over seeds of each size as a share of its error, and its degrees of freedom."""
    each = np.array([np.var(level.errors, ddof=1) for level in levels]) / means**2
    freedom = np.array([len(level.errors) - 1 for level in levels])
    together = (each * freedom).sum() / freedom.sum()
    mixed = (each * freedom + together * BORROWED) / (freedom + BORROWED)
    return np.sqrt(np.maximum(mixed, 1e-8)), float(freedom.sum())


def _take_interval(numbers: np.ndarray) -> Interval:
    low, high = np.percentile(numbers, ENDS)
    return Interval(float(np.median(numbers)), float(low), float(high))
