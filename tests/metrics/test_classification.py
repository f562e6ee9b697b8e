import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, recall_score

from bakeoff.metrics.classification import Answer, ClassificationScore

CLASSES = ("ant", "bee", "cow")
EMPTY = ClassificationScore(CLASSES)


def score(*pairs: tuple[int, int]) -> ClassificationScore:
    return EMPTY.update([Answer(truth, given, 0.5) for truth, given in pairs])


def test_accuracy_is_the_share_of_right_answers_and_recall_that_of_each_class() -> None:
    result = score((1, 1), (1, 2), (2, 2), (2, 2), (3, 1)).result()
    assert result == {"accuracy": 0.6, "recall": {"ant": 0.5, "bee": 1.0, "cow": 0.0}}


def test_class_without_examples_has_no_recall() -> None:
    assert score((1, 3), (2, 2)).result()["recall"] == {"ant": 0.0, "bee": 1.0}


def test_confusion_counts_true_classes_down_and_given_ones_across() -> None:
    assert score((1, 2), (1, 2), (3, 1), (2, 2)).confusion().tolist() == [[0, 2, 0], [0, 1, 0], [1, 0, 0]]


def test_counts_equal_those_of_scikit_learn() -> None:
    draw = np.random.default_rng(0)
    truth, given = draw.integers(1, 4, 200), draw.integers(1, 4, 200)
    counted = score(*zip(truth.tolist(), given.tolist(), strict=True))
    np.testing.assert_array_equal(counted.confusion(), confusion_matrix(truth, given))
    assert counted.result()["accuracy"] == pytest.approx(accuracy_score(truth, given))
    assert list(counted.result()["recall"].values()) == pytest.approx(recall_score(truth, given, average=None))


def test_merging_is_associative_and_keeps_the_order() -> None:
    a, b, c = score((1, 1), (2, 1)), score((3, 3)), score((2, 2), (1, 3))
    assert (a + b) + c == a + (b + c) == score((1, 1), (2, 1), (3, 3), (2, 2), (1, 3))


def test_empty_score_changes_nothing() -> None:
    some = score((1, 2))
    assert EMPTY + some == some == some + EMPTY


def test_updating_leaves_the_old_score_as_it_was() -> None:
    before = score((1, 1))
    before.update([Answer(2, 2, 1.0)])
    assert before == score((1, 1))


def test_empty_score_is_zero() -> None:
    assert EMPTY.result() == {"accuracy": 0.0, "recall": {}}


def test_rows_name_the_classes_of_each_example() -> None:
    rows = EMPTY.update([Answer(1, 3, 0.123456789), Answer(2, 2, 1.0)]).rows()
    assert rows == [
        {"example": 0, "truth": "ant", "given": "cow", "probability": 0.123457},
        {"example": 1, "truth": "bee", "given": "bee", "probability": 1.0},
    ]


def test_confusion_plot_has_a_row_for_every_example() -> None:
    assert score((1, 3), (2, 2)).plots() == {
        "confusion": [{"actual": "ant", "predicted": "cow"}, {"actual": "bee", "predicted": "bee"}]
    }
