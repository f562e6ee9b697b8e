"""The plots: what is drawn, what is written, and that neither names nor values can break the page."""

import re
from dataclasses import replace

import pytest

from bakeoff.experiments.importance.describe import describe_effect, find_effects
from bakeoff.experiments.importance.html_section import draw_section
from bakeoff.experiments.importance.trial import Question, Trial, merge_seeds, seed_deviation
from support.messages import missing_in

KEYS = ("lr.use", "lr.peak", "seed")
VALUES = {"cosine": 0.3, "exponential": 0.5}


def make_grid(seeds: int = 2) -> list[Trial]:
    """Return trials in which exponential is better by 0.2, peaks add 0.01 and 0.02, and seeds 0.002."""
    return [
        Trial(f"{use} {peak} {seed}", {"lr.use": use, "lr.peak": peak, "seed": str(seed)}, (number,), "SUCCEEDED")
        for use, base in VALUES.items()
        for step, peak in enumerate(("0.001", "0.01", "0.1"))
        for seed in range(seeds)
        for number in [base + step / 100 + seed * 0.002 + 0.001 * (seed - 0.5) * (step - 1)]
    ]


def draw_page(trials: list[Trial], question: Question) -> str:
    return str(draw_section(trials, question))


def test_a_line_for_each_trial_and_the_best_on_top() -> None:
    page = draw_page(make_grid(), Question(KEYS, "mAP_50"))
    lines = re.findall(r'<polyline points="([^"]+)" class="([^"]+)" data-at="(\d+)"><title>([^<]+)', page)
    assert (
        len(lines) == 12 and lines[-1][1] == "trial best" and lines[-1][3].startswith("exponential 0.1 1\nmAP_50 0.5")
    )
    assert [line[1] for line in lines].count("trial best") == 1 and lines[0][1] == "trial k0"
    heights = {int(at): float(corners.split()[-1].split(",")[1]) for corners, _, at, _ in lines}
    assert sorted(heights, key=lambda at: heights[at]) == sorted(heights, key=lambda at: -make_grid()[at].numbers[0])
    names = re.findall(r'<text [^>]*class="name own">([^<]+)', page)
    assert names == ["seed", "peak", "use", "mAP_50"]  # what explains most next to the number, which is last


def test_of_a_loss_the_lowest_is_the_best() -> None:
    page = draw_page(make_grid(), Question(KEYS, "loss", False))
    assert "the best: cosine 0.001 0" in page and "lower is better" in page and "Best with cosine" in page


def test_what_is_not_done_is_drawn_and_counted_apart() -> None:
    trials = make_grid()
    trials[0] = replace(trials[0], numbers=(), state="FAILED: diverged", is_done=False)
    trials[5] = replace(trials[5], numbers=(0.99,), state="PRUNED", is_done=False)
    page = draw_page(trials, Question(KEYS, "mAP_50"))
    assert page.count('class="trial undone"') == 2 and "without a result: 2" in page and ">no result<" in page
    assert "no result\nFAILED: diverged" in page and "the best: exponential" in page


def describe_effects(trials: list[Trial], question: Question) -> dict[str, str]:
    configurations = merge_seeds(trials)
    deviation = seed_deviation(configurations)
    return {
        effect.key: " ".join(describe_effect(effect, question, deviation))
        for effect in find_effects(configurations, question)
    }


def test_each_key_is_described_in_sentences_the_one_that_moves_most_first() -> None:
    sentences = describe_effects(make_grid(), Question(KEYS, "mAP_50"))
    assert list(sentences) == ["lr.use", "lr.peak"]
    parts = "Best with exponential: 0.511", "3", "cosine: 0.311", "3", "0.200", "99 %", "less than 0.1 %"
    assert missing_in(sentences["lr.use"], *parts) == []
    assert missing_in(sentences["lr.peak"], "Best with 0.1: 0.421", "2", "worst with 0.001: 0.401") == []


@pytest.mark.parametrize(
    ("trials", "parts"),
    [
        ([Trial("a", {"k": "1"}, (0.1,)), Trial("b", {"k": "2"}, (0.2,))], ("2 configurations", "too few")),
        (
            [Trial(str(at), {"k": str(at % 2), "l": str(at % 2), "m": str(at)}, (at / 10,)) for at in range(8)],
            ("only together with l:",),
        ),
        (
            [Trial(str(at), {"k": "ab"[at > 3], "l": "cd"[at > 4], "m": str(at)}, (at % 3,)) for at in range(9)],
            ("often", "together with l (0.7"),
        ),
        (
            [Trial(f"{k}{at}", {"k": k, "seed": str(at)}, (at + 0.1 * int(k),)) for k in "12" for at in range(3)],
            ("not much", "the seed", "± 1.000"),
        ),
        (
            [Trial(str(at), {"k": str(at)} if at else {}, (at,)) for at in range(4)],
            ("1 of 4", "no such key"),
        ),
        (
            [Trial(str(at), {"k": str(at)}, (float(at * at),)) for at in range(9)],
            ("larger", "higher", "+1.00"),
        ),
        (
            [Trial(str(at), {"k": "abc"[at % 3], "m": str(at)}, (at % 2 + 0.1 * at,)) for at in range(6)],
            ("nothing is shown",),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_reported(trials: list[Trial], parts: tuple[str, ...]) -> None:
    assert missing_in(describe_effects(trials, Question(("k", "l", "seed"), "mAP"))["k"], *parts) == []


def test_nothing_is_drawn_where_nothing_differs_or_was_measured() -> None:
    one = Trial("a", {"k": "1"}, (0.5,))
    assert draw_page([one, replace(one, name="b")], Question(("k",), "mAP")) == ""
    assert draw_page([one, Trial("b", {"k": "2"})], Question(("k",), "mAP")) == ""


def test_names_and_values_are_text_not_markup() -> None:
    trials = [
        replace(trial, name=f"<b>'{trial.name}", values=trial.values | {"x<i": "a&<u>'"}) for trial in make_grid()
    ]
    trials[0] = replace(trials[0], values=trials[0].values | {"x<i": "b"})
    page = draw_page(trials, Question((*KEYS, "x<i"), "m<s>'"))
    assert "a&amp;&lt;u&gt;" in page and not re.search(r"<b>|<i[^ >]*<|<u>|<s>|https?:", page)


def test_a_thousand_runs_of_twenty_keys_are_one_page_of_two_megabytes() -> None:
    keys = tuple(f"group.key_{at}" for at in range(20))
    rows = [{key: str(at * 7919 % (3 + place)) for place, key in enumerate(keys)} for at in range(1000)]
    trials = [Trial(f"sweep-20260102-030405-{at}", row, (at % 97,)) for at, row in enumerate(rows)]
    page = draw_page(trials, Question(keys, "mAP_50"))
    assert page.count("data-at=") == 1000 and page.count('<div class="card') == 20 and len(page) < 2e6
