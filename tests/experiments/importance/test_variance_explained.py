"""The share that a key explains, and its chance, against numbers computed by hand or taken from tables."""

import math
import random

import pytest
from scipy import stats

from bakeoff.experiments.importance.describe import Effect, find_effects
from bakeoff.experiments.importance.trial import Question, Trial, merge_seeds, seed_deviation


def find_by_key(numbers: dict[tuple[str, ...], tuple[float, ...]], *keys: str) -> dict[str, Effect]:
    """Return the effects of configurations, given by their values in the order of the keys."""
    trials = [
        Trial(f"t{at}", dict(zip(keys, values, strict=True)), own) for at, (values, own) in enumerate(numbers.items())
    ]
    return {effect.key: effect for effect in find_effects(merge_seeds(trials), Question(keys, "mAP"))}


def test_the_share_is_what_is_left_of_the_variance_within_values() -> None:
    """0, 2 and 4, 6: within 2 x 1 + 2 x 1 over 2 degrees of freedom, in all 20 over 3: 1 - 2 / (20 / 3)."""
    effect = find_by_key({("a", "1"): (0.0,), ("a", "2"): (2.0,), ("b", "1"): (4.0,), ("b", "2"): (6.0,)}, "k", "l")[
        "k"
    ]
    assert effect.share.explained == pytest.approx(0.7)


def test_a_key_that_does_nothing_explains_nothing_however_many_values_it_has() -> None:
    chance = random.Random(3)
    shares = []
    for _ in range(60):
        configurations = {(str(at % 6), str(at)): (chance.gauss(0, 1),) for at in range(12)}
        shares.append(find_by_key(configurations, "k", "number")["k"].share.explained or 0.0)
    assert sum(share == 0 for share in shares) > 20  # the plain share would be 0.45 on average, and never 0
    assert sum(shares) / len(shares) < 0.2


def test_what_the_other_keys_do_is_allowed_for() -> None:
    """`k` moves by 1 among moves by 100; what neither explains is 0.1. Two-way analysis: F with 1 and 3 degrees."""
    configurations = {}
    for row, noise in zip(range(4), (0.1, -0.1, 0.1, -0.1), strict=True):
        configurations["a", f"row {row}"] = (100.0 * row + noise,)
        configurations["b", f"row {row}"] = (100.0 * row + 1.0 - noise,)
    effect = find_by_key(configurations, "k", "row")["k"]
    # Of each row one less the other is 0.8 or 1.2: the mean 1, so 8 x 0.5 ** 2 = 2 with one degree; left
    # 4 x 2 x 0.1 ** 2 = 0.08 with three. F = 2 / (0.08 / 3) = 75.
    assert effect.share.chance == pytest.approx(stats.f.sf(75.0, 1, 3))
    assert effect.is_shown and not effect.share.is_alone and effect.share.explained == 0.0


def test_keys_that_change_only_together_are_not_separable() -> None:
    configurations = {(value, value.upper(), str(at)): (float(at),) for at in range(8) for value in ["ab"[at % 2]]}
    one = find_by_key(configurations, "k", "same", "other")["k"]
    assert one.share.others[0] == ("same", pytest.approx(1.0)) and not one.share.is_separable


def test_two_configurations_give_no_chance_unless_they_have_several_seeds() -> None:
    assert find_by_key({("a",): (0.1,), ("b",): (0.9,)}, "k")["k"].share.chance is None
    seeds = find_by_key({("a",): (0.10, 0.12, 0.14), ("b",): (0.20, 0.22, 0.24)}, "k")["k"]
    chance = stats.ttest_ind((0.10, 0.12, 0.14), (0.20, 0.22, 0.24)).pvalue
    assert seeds.share.chance == pytest.approx(chance)
    assert seeds.share.explained is None


def test_seeds_are_no_configurations_of_their_own() -> None:
    trials = [
        Trial(f"{peak} {seed}", {"lr.peak": peak, "seed": str(seed)}, (value,))
        for peak, values in (("0.1", (0.4, 0.6)), ("0.2", (0.7,))) for seed, value in enumerate(values)
    ]  # fmt: skip
    configurations = merge_seeds(trials)
    assert [(configuration.number, len(configuration.numbers)) for configuration in configurations] == [
        (0.5, 2),
        (0.7, 1),
    ]
    assert seed_deviation(configurations) == pytest.approx(0.2 / math.sqrt(2))
    keys = ("lr.peak", "seed")
    assert [effect.key for effect in find_effects(configurations, Question(keys, "mAP"))] == ["lr.peak"]


def test_what_is_not_done_counts_for_nothing() -> None:
    trials = [Trial("a", {"k": "1"}, (0.5,)), Trial("b", {"k": "2"}, (0.9,), "PRUNED", False), Trial("c", {"k": "2"})]
    assert [configuration.name for configuration in merge_seeds(trials)] == ["a"]


def test_false_alarms_are_about_as_many_as_the_threshold_promises() -> None:
    """If no key does anything, 5 % of sweeps should seem to show one. Here 6 keys and 30 configurations."""
    chance = random.Random(5)
    alarms = 0
    for _ in range(60):
        configurations = {
            tuple(chance.choice("ab") if at % 2 else f"{chance.random():.4f}" for at in range(6)): (chance.gauss(0, 1),)
            for _ in range(30)
        }
        alarms += any(effect.is_shown for effect in find_by_key(configurations, *"klmnop").values())
    assert alarms <= 9  # more than 9 of 60 at 5 % happen once in 1,000 times


def test_the_chance_of_a_single_key_is_that_of_a_one_way_analysis() -> None:
    numbers = {"a": (0.1, 0.4, 0.2), "b": (0.5, 0.3, 0.9, 0.6), "c": (0.7, 0.2)}
    trials = [Trial(f"{key} {one}", {"k": key}, (one,)) for key, its in numbers.items() for one in its]
    [effect] = find_effects(trials, Question(("k",), "mAP"))
    assert effect.share.chance == pytest.approx(stats.f_oneway(*numbers.values()).pvalue)


def test_the_trend_is_spearmans_rank_correlation() -> None:
    def find_trend(values: tuple[int, ...], numbers: tuple[int, ...]) -> float | None:
        pairs = zip(values, numbers, strict=True)
        return find_by_key({(str(value),): (float(number),) for value, number in pairs}, "k")["k"].trend

    assert find_trend((1, 2, 3, 4, 5), (5, 6, 7, 8, 7)) == pytest.approx(8 / 95**0.5)  # by hand, with a tie
    assert find_trend((1, 10, 100), (3, 2, 1)) == pytest.approx(-1)
    assert find_trend((1, 2, 3), (1, 1, 1)) is None
