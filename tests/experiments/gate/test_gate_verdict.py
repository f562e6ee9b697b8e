"""The gate's verdicts, against the normal distribution they are made of and against worlds whose truth is known."""

import numpy as np
import pytest

from bakeoff.experiments.compare.paired_bootstrap import PairedDifference, compare_scores
from bakeoff.experiments.compare.slice_setbacks import Setback, Setbacks
from bakeoff.experiments.gate.answer_times import judge_times
from bakeoff.experiments.gate.gate_verdict import (
    FEWEST,
    Check,
    Outcome,
    check_metric,
    check_sizes,
    check_slices,
    count_more,
)
from bakeoff.learning.metrics.classification import Answer, ClassificationScore

ALLOWED = 0.02
ONE_SIDED = 1.6448536  # of the normal distribution: 5 % lie beyond
TWENTIETH = 2.5758293  # 0.5 %


def difference(value: float, deviation: float = 0.01) -> PairedDifference:
    return PairedDifference(0.5, 0.5 + value, value - 0.02, value + 0.02, 0.5, None, deviation)


def check(value: float, deviation: float = 0.01, name: str = "accuracy", groups: int = 10**6, **how: float) -> Check:
    return check_metric(name, difference(value, deviation), ALLOWED, (groups, groups), **how)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (-ALLOWED + ONE_SIDED * 0.01 + 1e-5, Outcome.NOT_WORSE),
        (-ALLOWED + ONE_SIDED * 0.01 - 1e-5, Outcome.UNDECIDED),
        (-ALLOWED - ONE_SIDED * 0.01 + 1e-5, Outcome.UNDECIDED),
        (-ALLOWED - ONE_SIDED * 0.01 - 1e-5, Outcome.WORSE),
    ],
)
def test_a_verdict_needs_the_interval_on_one_side_of_what_is_allowed(value: float, outcome: Outcome) -> None:
    assert check(value).outcome is outcome
    assert check(-value, name="loss").outcome is outcome  # of which less is better


def test_one_of_many_rules_blocks_only_what_is_surer() -> None:
    worse = -ALLOWED - TWENTIETH * 0.01
    assert check(worse + 1e-5, error=0.005).outcome is Outcome.UNDECIDED
    assert check(worse - 1e-5, error=0.005).outcome is Outcome.WORSE
    passing = -ALLOWED + ONE_SIDED * 0.01 + 1e-5
    assert check(passing, error=0.005).outcome is Outcome.NOT_WORSE  # all must pass, so that each may by itself


def test_equal_answers_pass_and_few_examples_decide_nothing() -> None:
    assert check(0.0, deviation=0.0, groups=12).outcome is Outcome.NOT_WORSE
    few = check(0.0, deviation=0.001, groups=FEWEST - 1)
    assert (few.outcome, few.more_examples) == (Outcome.UNDECIDED, 1)
    assert check(0.0, deviation=0.001, groups=FEWEST).outcome is Outcome.NOT_WORSE


def test_groups_are_counted_in_examples() -> None:
    once = count_more(0.01, 0.01, ONE_SIDED, (100, 100))
    assert once == round(100 * ((ONE_SIDED + 0.8416212) ** 2 - 1))
    assert count_more(0.01, 0.01, ONE_SIDED, (100, 300)) == pytest.approx(3 * (once or 0), abs=2)
    assert count_more(0.0, 0.01, ONE_SIDED, (100, 100)) is None
    assert count_more(1e-6, 0.01, ONE_SIDED, (100, 100)) is None  # more than anybody has


def test_a_slice_blocks_only_if_it_surely_lost_more_than_it_may() -> None:
    row = Setback("brightness", "under 63", 40, better=0.52, other=0.61, weakness=4.0, chance=0.001)
    setbacks = Setbacks("f1", 150, 20, [row])
    worse, allowed = check_slices(setbacks, 0.05), check_slices(setbacks, 0.1)
    assert worse and allowed
    assert (worse.outcome, worse.a, worse.b) == (Outcome.WORSE, 0.61, 0.52)
    assert "brightness is under 63" in worse.note and allowed.outcome is Outcome.NOT_WORSE
    assert check_slices(None, 0.1) is None and check_slices(Setbacks("f1", 9, 0, []), 0.1) is None


def test_a_file_may_grow_by_its_share() -> None:
    before = {"dynamic": 1000.0, "int8": 500.0, "onnx": 3.0}
    same, grown = check_sizes(before, {"dynamic": 1100.0, "int8": 551.0}, 0.1)
    assert (same.name, same.outcome, grown.outcome) == ("size of dynamic", Outcome.NOT_WORSE, Outcome.WORSE)
    [unknown] = check_sizes(before, {}, 0.1)
    assert unknown.outcome is Outcome.UNDECIDED and "dvc pull export" in unknown.note


def test_times_are_judged_by_the_ratio_of_each_turn() -> None:
    """A machine that becomes twice as slow in the middle makes both slower, and the ratio stays."""
    slow = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    jitter = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.0]
    a = [10 * one for one in slow]
    b = [11 * one * by for one, by in zip(slow, jitter, strict=True)]
    logs = np.log(np.divide(b, a))
    low, high = np.exp(logs.mean() + np.array([-1, 1]) * 1.9432 * logs.std(ddof=1) / 7**0.5) - 1
    check = judge_times("model.tflite", a, b, 0.2)
    assert (check.low, check.high) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))
    assert check.outcome is Outcome.NOT_WORSE
    assert judge_times("model.tflite", a, b, 0.05).outcome is Outcome.WORSE
    assert judge_times("model.tflite", a, b, 0.1).outcome is Outcome.UNDECIDED


def classifier(right: np.ndarray) -> ClassificationScore:
    answers = [Answer(1, 1 if yes else 2, 0.9, 0.9 if yes else 0.1, 0 if yes else 1) for yes in right]
    return ClassificationScore(("cat", "dog"), tuple(answers))


def draw_world(draw: np.random.Generator, examples: int, loses: float) -> tuple[np.ndarray, np.ndarray]:
    """A has 70 % right; of B a tenth of these turns wrong, and so many turn right that it has `loses` less."""
    a = draw.random(examples) < 0.7
    return a, a ^ (draw.random(examples) < np.where(a, 0.1, (0.07 - loses) / 0.3))


def judge_world(draw: np.random.Generator, examples: int, loses: float) -> Outcome:
    a, b = draw_world(draw, examples, loses)
    more = b.astype(float) - a
    found = PairedDifference(a.mean(), b.mean(), 0, 0, 0.5, None, float(more.std() / examples**0.5))
    return check_metric("accuracy", found, ALLOWED, (examples, examples)).outcome


def test_the_bootstrap_gives_the_deviation_of_the_closed_form() -> None:
    a, b = draw_world(np.random.default_rng(2), 200, 0.0)
    names = [str(number) for number in range(200)]
    found = compare_scores(classifier(a), classifier(b), names, 2000).numbers["accuracy"]
    assert found.deviation == pytest.approx((b.astype(float) - a).std() / 200**0.5, rel=0.05)


def test_error_rates_are_those_that_are_promised() -> None:
    """At just what is allowed 5 % are blocked and 5 % pass, in worlds of 200 examples."""
    draw, worlds = np.random.default_rng(3), 4000
    outcomes = [judge_world(draw, 200, ALLOWED) for _ in range(worlds)]
    three = 3 * (0.05 * 0.95 / worlds) ** 0.5
    assert outcomes.count(Outcome.WORSE) / worlds == pytest.approx(0.05, abs=three + 0.01)
    assert outcomes.count(Outcome.NOT_WORSE) / worlds == pytest.approx(0.05, abs=three + 0.01)


def test_power_is_as_foretold() -> None:
    """A difference of 0, whose true deviation is known: the number of examples that is asked for decides 80 %."""
    draw, worlds, start = np.random.default_rng(4), 2000, 200
    deviation = (0.14 / start) ** 0.5  # 7 % are gained and 7 % lost
    examples = start + (count_more(ALLOWED, deviation, ONE_SIDED, (start, start)) or 0)
    passed = sum(judge_world(draw, examples, 0.0) is Outcome.NOT_WORSE for _ in range(worlds)) / worlds
    assert passed == pytest.approx(0.8, abs=3 * (0.8 * 0.2 / worlds) ** 0.5)
