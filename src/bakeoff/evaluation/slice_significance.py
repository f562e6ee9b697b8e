"""Slices against chance: which of them are weaker than slices of as many examples that were drawn at random.

Many slices are looked at, and of many the weakest looks weak by luck. So each is compared with the weakest of all
slices in every sample (Westfall and Young, Resampling-Based Multiple Testing): a share of 0.025 means that
examples without any weak slice would show one so weak in 25 of 1,000 evaluations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bakeoff.learning.metrics.score import Column, Lists, Texts

SAMPLES = 1000
CHANCE = 0.025  # below 0.05, so that 100 evaluations by luck alone hardly ever name something in more than 5
SEED = 0
AT_ONCE = 4_000_000  # numbers of a block of samples
PRIOR = 10  # examples of the usual spread that are added to each slice's own: few examples know little of theirs
TIE = 1e-9  # of two statistics that are equal but for the order of a sum


@dataclass(frozen=True)
class ExampleCounts:
    """Of each example what is right and what it is counted against; a share of them all is `metric`."""

    metric: str
    right: np.ndarray
    whole: np.ndarray

    def shares(self, members: np.ndarray) -> np.ndarray:
        """Return the metric of each slice, for `members` (examples, slices); NaN where nothing is counted."""
        counted = members.astype(np.float64)
        whole = self.whole @ counted
        return np.where(whole > 0, self.right @ counted / np.maximum(whole, 1), np.nan)


@dataclass(frozen=True)
class Comparison:
    weakness: np.ndarray  # (slices,) in standard deviations
    chance: np.ndarray  # (slices,) the share of samples in which some slice is as weak


def count_right(columns: Mapping[str, Column]) -> ExampleCounts:
    """Count a score's columns: F1 of boxes at the best threshold and of several labels, the accuracy of one label."""
    truth, given = columns["truth"], columns["prediction"]
    if isinstance(truth, Texts) and isinstance(given, Texts):
        return ExampleCounts("accuracy", (truth.which == given.which).astype(np.float64), np.ones(len(truth.which)))
    assert isinstance(truth, Lists) and isinstance(given, Lists)
    size = len(truth.counts)
    if isinstance(truth.values, Mapping) and isinstance(given.values, Mapping):
        error = given.values["error"]
        assert isinstance(error, Texts)
        right = _sum_lists(np.asarray(truth.values["found"]), truth.counts)
        counts = _sum_lists(np.asarray(error.which) > 0, given.counts)
        return ExampleCounts("f1", 2 * right, counts + truth.counts)
    there, answered = truth.values, given.values
    assert isinstance(there, Texts) and isinstance(answered, Texts)
    owners = [np.repeat(np.arange(size), counts) * max(1, len(there.names)) for counts in (truth.counts, given.counts)]
    right = _sum_lists(np.isin(owners[0] + there.which, owners[1] + answered.which), truth.counts)
    return ExampleCounts("f1", 2 * right, (truth.counts + given.counts).astype(np.float64))


def find_weak(tally: ExampleCounts, members: np.ndarray, groups: np.ndarray | None, is_group: np.ndarray) -> Comparison:
    """Return how weak each slice is, and the share of samples in which the weakest slice of all is as weak as it.

    `members` is (examples, slices). Where examples come in `groups`, (examples,) numbers from 0, those of a group
    change together; slices that are groups themselves, `is_group` (slices,), are compared with single examples.
    """
    ratio = tally.right.sum() / max(1.0, tally.whole.sum())
    above = tally.right - ratio * tally.whole  # how much more than usual is right; its sum is 0
    alone = np.ones(members.shape[1], bool) if groups is None else is_group
    observed = np.zeros(members.shape[1])
    observed[alone] = _weakness(above[None], members[:, alone])[0]
    blocks = _permute(above, members[:, alone])
    if groups is None or alone.all():
        return _compare_with_samples(observed, blocks)
    parts = _add_groups(above[:, None] * _contrasts(members[:, ~alone]), groups)
    observed[~alone] = _standardize(parts).sum(axis=0)
    flipped = _flip(_standardize(parts))
    samples = (np.maximum(one, other) for one, other in zip(_rows(blocks), _rows(flipped), strict=True))
    return _compare_with_samples(observed, samples)


def find_worse(
    a: ExampleCounts, b: ExampleCounts, members: np.ndarray, groups: np.ndarray | None, is_group: np.ndarray
) -> Comparison:
    """Return the same of how much worse B is than A on each slice, beside the most on any; in a sample each
    example's two answers, or those of a group's examples, change places by the toss of a coin."""
    counted = members.astype(np.float64)
    pooled = ((a.right + b.right) @ counted) / np.maximum((a.whole + b.whole) @ counted, 1)
    lost = (a.right - b.right)[:, None] * counted - (a.whole - b.whole)[:, None] * counted * pooled
    alone = np.ones(members.shape[1], bool) if groups is None else is_group
    single = _standardize(lost[:, alone])
    observed = np.zeros(members.shape[1])
    observed[alone] = single.sum(axis=0)
    if groups is None or alone.all():
        return _compare_with_samples(observed, _flip(single))
    together = _standardize(_add_groups(lost[:, ~alone], groups))
    observed[~alone] = together.sum(axis=0)
    pairs = zip(_rows(_flip(single)), _rows(_flip(together)), strict=True)
    return _compare_with_samples(observed, (np.maximum(one, other) for one, other in pairs))


def _weakness(above: np.ndarray, members: np.ndarray) -> np.ndarray:
    """How far each slice lies below the other examples, in standard deviations: (samples, slices)."""
    inside = members.astype(np.float64)
    count = inside.sum(axis=0)
    rest = len(inside) - count
    usual = above.var(axis=1, keepdims=True)
    sums, squares = above @ inside, above**2 @ inside
    total, all_squares = above.sum(axis=1, keepdims=True), (above**2).sum(axis=1, keepdims=True)
    spread = 0.0
    for number, one, square in ((count, sums, squares), (rest, total - sums, all_squares - squares)):
        own = np.maximum(square - one**2 / np.maximum(number, 1), 0)
        spread = spread + (own + PRIOR * usual) / (number + PRIOR) / np.maximum(number, 1)
    lower = (total - sums) / np.maximum(rest, 1) - sums / np.maximum(count, 1)
    return np.where(spread > 0, lower / np.sqrt(np.where(spread > 0, spread, 1)), 0)


def _permute(above: np.ndarray, members: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the largest weakness of each sample, of samples that deal the examples' results out anew."""
    draw = np.random.default_rng(SEED)
    block = max(1, AT_ONCE // max(1, len(above)))
    for start in range(0, SAMPLES, block):
        dealt = draw.permuted(np.tile(above, (min(block, SAMPLES - start), 1)), axis=1)
        yield _weakness(dealt, members).max(axis=1, initial=0.0)


def _flip(parts: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the largest sum of each sample, of samples that turn the sign of each row, (rows, slices), or do not."""
    draw = np.random.default_rng(SEED + 1)
    block = max(1, AT_ONCE // max(1, len(parts)))
    for start in range(0, SAMPLES, block):
        signs = draw.integers(0, 2, (min(block, SAMPLES - start), len(parts))) * 2.0 - 1
        yield (signs @ parts).max(axis=1, initial=0.0)


def _contrasts(members: np.ndarray) -> np.ndarray:
    """What each example adds to the difference of the others' mean and a slice's: (examples, slices)."""
    count = members.sum(axis=0)
    return np.where(members, -1 / np.maximum(count, 1), 1 / np.maximum(len(members) - count, 1))


def _add_groups(parts: np.ndarray, groups: np.ndarray) -> np.ndarray:
    total = np.zeros((int(groups.max(initial=-1)) + 1, parts.shape[1]))
    np.add.at(total, groups, parts)
    return total


def _standardize(parts: np.ndarray) -> np.ndarray:
    size = np.sqrt((parts**2).sum(axis=0))
    return parts / np.where(size > 0, size, 1)


def _rows(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the samples of the blocks one by one: blocks of two kinds of samples have other lengths."""
    for block in blocks:
        yield from block[:, None]


def _compare_with_samples(observed: np.ndarray, samples: Iterator[np.ndarray]) -> Comparison:
    largest = np.sort(np.concatenate(list(samples)))
    as_weak = len(largest) - np.searchsorted(largest, observed - TIE)
    return Comparison(observed, (as_weak + 1) / (len(largest) + 1))


def _sum_lists(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.bincount(np.repeat(np.arange(len(counts)), counts), values.astype(np.float64), len(counts))
