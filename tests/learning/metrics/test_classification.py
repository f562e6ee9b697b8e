import math

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
    top_k_accuracy_score,
)

from bakeoff.learning.metrics.classification import Answer, ClassificationScore, make_answers
from support.score_rows import rows_of

CLASSES = ("ant", "bee", "cow")
EMPTY = ClassificationScore(CLASSES)
MANY = tuple("abcdefgh")


def score(*pairs: tuple[int, int]) -> ClassificationScore:
    return EMPTY.update([Answer(truth, given, 0.5, 0.5 if truth == given else 0.25, 1) for truth, given in pairs])


def drawn(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """True ids of eight classes, and probabilities that lean towards them."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(1, 9, count)
    logits = draw.normal(0, 1, (count, 8)) + 1.5 * np.eye(8)[truth - 1]
    powers = np.exp(logits)
    return truth, powers / powers.sum(axis=1, keepdims=True)


def test_answers_name_the_likeliest_class_and_how_many_are_above_the_true_one() -> None:
    probabilities = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.4, 0.4, 0.2]])
    assert make_answers(np.array([1, 1, 2]), probabilities) == [
        Answer(1, 2, 0.5, 0.2, 2),
        Answer(1, 1, 0.4, 0.4, 0),  # of two as likely the first is given
        Answer(2, 1, 0.4, 0.4, 1),
    ]


def test_shares_by_hand() -> None:
    """Of ant one of two, of bee both of two and one more given, of cow none."""
    result = score((1, 1), (1, 2), (2, 2), (2, 2), (3, 1)).result()
    assert result["accuracy"] == 0.6
    assert result["recall"] == {"ant": 0.5, "bee": 1.0, "cow": 0.0}
    assert result["precision"] == {"ant": 0.5, "bee": pytest.approx(2 / 3)}  # a cow is never given
    assert result["f1"] == pytest.approx({"ant": 0.5, "bee": 0.8, "cow": 0.0})
    assert result["macro_recall"] == pytest.approx(0.5) and result["macro_precision"] == pytest.approx(7 / 18)
    assert result["loss"] == pytest.approx(-(3 * math.log(0.5) + 2 * math.log(0.25)) / 5)


def test_class_without_examples_has_no_recall_and_no_part_in_the_means() -> None:
    result = score((1, 3), (2, 2)).result()
    assert result["recall"] == {"ant": 0.0, "bee": 1.0} and result["macro_recall"] == 0.5


def test_confusion_counts_true_classes_down_and_given_ones_across() -> None:
    assert score((1, 2), (1, 2), (3, 1), (2, 2)).confusion().tolist() == [[0, 2, 0], [0, 1, 0], [1, 0, 0]]


def test_numbers_equal_those_of_scikit_learn() -> None:
    truth, probabilities = drawn(0, 300)
    counted = ClassificationScore(MANY).update(make_answers(truth, probabilities))
    given, result = probabilities.argmax(axis=1) + 1, counted.result()
    np.testing.assert_array_equal(counted.confusion(), confusion_matrix(truth, given))
    assert result["accuracy"] == pytest.approx(accuracy_score(truth, given))
    assert result["top_5"] == pytest.approx(top_k_accuracy_score(truth, probabilities, k=5))
    assert result["loss"] == pytest.approx(log_loss(truth, probabilities))
    for name, judge in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        assert result[f"macro_{name}"] == pytest.approx(judge(truth, given, average="macro"))
        assert list(result[name].values()) == pytest.approx(judge(truth, given, average=None))
    assert 0.3 < result["accuracy"] < 0.9 and result["top_5"] < 1


def test_top_five_of_five_classes_is_no_number() -> None:
    assert "top_5" not in ClassificationScore(MANY[:5]).update([Answer(1, 1, 1.0, 1.0, 0)]).result()
    assert ClassificationScore(MANY[:6]).update([Answer(1, 2, 0.4, 0.1, 5)]).result()["top_5"] == 0.0


def test_intervals_hold_the_numbers_of_repeated_examples() -> None:
    """A drawing's weights are copies: the same numbers as of examples that are really repeated."""
    truth, probabilities = drawn(1, 40)
    answers = make_answers(truth, probabilities)
    times = np.random.default_rng(2).integers(0, 3, 40)
    weighted = ClassificationScore(MANY).update(answers)._numbers(times[None])
    repeated = [answer for answer, count in zip(answers, times, strict=True) for _ in range(count)]
    result = ClassificationScore(MANY).update(repeated).result()
    assert {name: values[0] for name, values in weighted.items()} == pytest.approx(
        {name: value for name, value in result.items() if isinstance(value, float)}
    )


def test_interval_of_accuracy_is_that_of_a_share() -> None:
    """Of 400, 300 right: the normal interval, a 95 % share of whose width is 1.96 sqrt(p (1 - p) / n)."""
    counted = score(*[(1, 1)] * 300, *[(1, 2)] * 100)
    ends = counted.intervals([str(number) for number in range(400)], 4000)["accuracy"]
    off = 1.96 * math.sqrt(0.75 * 0.25 / 400)
    assert ends == pytest.approx({"low": 0.75 - off, "high": 0.75 + off}, abs=0.005)


def test_merging_is_associative_and_keeps_the_order() -> None:
    a, b, c = score((1, 1), (2, 1)), score((3, 3)), score((2, 2), (1, 3))
    assert (a + b) + c == a + (b + c) == score((1, 1), (2, 1), (3, 3), (2, 2), (1, 3))


def test_score_of_parts_has_the_numbers_of_the_whole() -> None:
    answers = make_answers(*drawn(3, 50))
    whole, empty = ClassificationScore(MANY, tuple(answers)), ClassificationScore(MANY)
    parts = empty.update(answers[:20]) + empty.update(answers[20:]) + empty
    groups = [str(number % 7) for number in range(50)]
    assert parts.result() == whole.result() and parts.plots() == whole.plots() and rows_of(parts) == rows_of(whole)
    assert parts.intervals(groups, 100) == whole.intervals(groups, 100)


def test_empty_score_changes_nothing() -> None:
    some = score((1, 2))
    assert EMPTY + some == some == some + EMPTY


def test_updating_leaves_the_old_score_as_it_was() -> None:
    before = score((1, 1))
    before.update([Answer(2, 2, 1.0, 1.0, 0)])
    assert before == score((1, 1))


def test_empty_score_has_no_numbers() -> None:
    assert EMPTY.result() == {"precision": {}, "recall": {}, "f1": {}}
    assert EMPTY.intervals([], 100) == {} and rows_of(EMPTY) == [] and EMPTY.worst_first().tolist() == []
    assert EMPTY.plots() == {"confusion": [], "calibration": []}


def test_rows_name_the_classes_of_each_example() -> None:
    assert rows_of(EMPTY.update([Answer(1, 3, 0.7, 0.25, 1)])) == [
        {
            "example": 0,
            "truth": "ant",
            "prediction": "cow",
            "score": 0.7,
            "true_score": 0.25,
            "rank": 1,
            "loss": pytest.approx(math.log(4)),
        }
    ]


def test_worst_mistakes_are_the_surest_ones() -> None:
    sure_wrong, unsure_wrong = Answer(1, 2, 0.9, 0.05, 1), Answer(1, 2, 0.5, 0.4, 1)
    sure_right, unsure_right = Answer(1, 1, 0.95, 0.95, 0), Answer(1, 1, 0.6, 0.6, 0)
    ordered = EMPTY.update([unsure_right, sure_right, sure_wrong, unsure_wrong]).worst_first()
    assert ordered.tolist() == [2, 3, 0, 1]


def test_probability_of_zero_costs_much_but_not_everything() -> None:
    assert EMPTY.update([Answer(1, 2, 1.0, 0.0, 1)]).result()["loss"] == pytest.approx(-math.log(1e-12))


def test_confusion_plot_has_a_row_for_every_example() -> None:
    assert score((1, 3), (2, 2)).plots()["confusion"] == [
        {"actual": "ant", "predicted": "cow"},
        {"actual": "bee", "predicted": "bee"},
    ]
