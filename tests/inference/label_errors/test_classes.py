"""Which labels of images are doubted, by predictions whose mistakes are known."""

from typing import Any

import numpy as np
import pytest

from bakeoff.inference.label_errors.classes import find_wrong_classes, find_wrong_labels
from bakeoff.inference.label_errors.suspect import LabelErrorFindings
from support.messages import missing_in

CLASSES = ("cat", "dog", "emu", "fox")


def make_predictions(
    seed: int, examples: int = 400, wrong: int = 20, skill: float = 4.0
) -> tuple[list[dict[str, Any]], dict]:
    """Return rows of examples.parquet, and the true class of those with a wrong label. With `skill` 0 they guess."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, len(CLASSES), examples)
    logits = draw.normal(0, 1, (examples, len(CLASSES)))
    logits[np.arange(examples), truth] += skill
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = truth.copy()
    labels[:wrong] = (truth[:wrong] + draw.integers(1, len(CLASSES), wrong)) % len(CLASSES)
    rows = [
        {
            "file": f"{at}.jpg", "truth": CLASSES[labels[at]], "prediction": CLASSES[scores[at].argmax()],
            "score": float(scores[at].max()), "true_score": float(scores[at, labels[at]]),
        }
        for at in range(examples)
    ]  # fmt: skip
    return rows, {f"{at}.jpg": CLASSES[truth[at]] for at in range(wrong)}


def test_planted_labels_come_first_with_the_class_that_they_should_have() -> None:
    rows, wrong = make_predictions(0)
    findings = find_wrong_classes(rows)
    assert isinstance(findings, LabelErrorFindings)
    assert len(findings.ranking) == 400 == len(set(findings.ranking))
    assert len(set(findings.ranking[:20]) & wrong.keys()) >= 16 and len(set(findings.ranking[:40]) & wrong.keys()) >= 19
    right = [one for one in findings.suspects if one.file in wrong]
    assert len(right) >= 12 and [one.proposal for one in right] == [wrong[one.file] for one in right]
    assert len(findings.suspects) <= 30
    assert "agree with 9" in findings.quality and findings.suspects[0].why.startswith("the models give ")


def test_predictions_that_guess_allow_no_statement() -> None:
    """Of 100 networks that know nothing, sure as they may be, none makes a statement."""
    results = [find_wrong_classes(make_predictions(seed, 60, 0, 0.0)[0]) for seed in range(100)]
    assert [one for one in results if not isinstance(one, str)] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_always_gives_the_commonest_class_says_nothing(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = [
        {"file": str(at), "truth": CLASSES[int(at % 10 == 0)], "prediction": "cat", "score": score, "true_score": 0.5}
        for at, score in enumerate(draw.uniform(0.8, 1, 200).tolist())
    ]
    reason = find_wrong_classes(rows)
    assert isinstance(reason, str) and missing_in(reason, "accuracy 0.900", "guessing", "0.900") == []


def test_one_class_alone_is_no_question() -> None:
    row = {"file": "a", "truth": "cat", "prediction": "cat", "score": 0.9, "true_score": 0.9}
    assert find_wrong_classes([row] * 50) == "one class only, 'cat'"


def test_a_class_of_few_is_proposed_for_none_and_named() -> None:
    rows, _ = make_predictions(1)
    odd = [
        {"file": f"odd{at}", "truth": "gnu", "prediction": "gnu", "score": 1.0, "true_score": 1.0} for at in range(3)
    ]
    meant = {"file": "meant", "truth": "cat", "prediction": "gnu", "score": 0.99, "true_score": 0.0}
    findings = find_wrong_classes([*rows, *odd, meant])
    assert isinstance(findings, LabelErrorFindings)
    [silence] = findings.silences
    assert missing_in(silence, "gnu", "5") == []
    assert "meant" not in {one.file for one in findings.suspects}


def make_several(seed: int, skill: float) -> list[dict[str, Any]]:
    """Return rows with three labels, each on half of 300 examples. Ten lack `red`, ten others have it wrongly."""
    draw = np.random.default_rng(seed)
    has = draw.random((300, 3)) < 0.5
    scores = 1 / (1 + np.exp(-draw.normal(np.where(has, skill, -skill), 1)))
    has[np.flatnonzero(has[:, 0])[:10], 0] = False
    has[np.flatnonzero(~has[:, 0])[-10:], 0] = True
    names = ("red", "round", "ripe")
    return [
        {
            "file": str(at), "truth": [name for name, is_there in zip(names, has[at], strict=True) if is_there],
            "scores": scores[at].tolist(),
        }
        for at in range(300)
    ]  # fmt: skip


def test_of_several_labels_one_is_missing_or_superfluous() -> None:
    findings = find_wrong_labels(make_several(0, 3.0), ("red", "round", "ripe"))
    assert isinstance(findings, LabelErrorFindings)
    kinds = [one.kind for one in findings.suspects]
    assert kinds.count("missing label") >= 8 and kinds.count("superfluous label") >= 8 and len(kinds) <= 26
    first = next(one for one in findings.suspects if one.kind == "missing label")
    assert "red" in first.proposal.split(", ") and "red" not in first.label.split(", ")


def test_guesses_of_several_labels_allow_no_statement() -> None:
    reasons = [find_wrong_labels(make_several(seed, 0.0), ("red", "round", "ripe")) for seed in range(20)]
    assert sum(isinstance(reason, str) and "of no class" in reason for reason in reasons) >= 19
