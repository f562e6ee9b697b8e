import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score, roc_auc_score

from bakeoff.learning.metrics.curves import areas_under_roc, average_precisions
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from support.score_rows import rows_of

CLASSES = ("ant", "bee", "cow")
EMPTY = MultiLabelScore(CLASSES)


def some(seed: int, count: int, decimals: int = 9) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    truth = draw.random((count, 3)) < [0.5, 0.2, 0.8]
    return truth, np.round(np.clip(draw.normal(0.4 + 0.2 * truth, 0.2), 0, 1), decimals)


def test_average_precision_by_hand() -> None:
    """Right ones are second and third of four: recall rises by a half at precision 1/2 and again at 2/3."""
    truth, scores = np.array([True, False, True, False]), np.array([0.6, 0.9, 0.4, 0.1])
    assert average_precisions(truth, scores, np.ones((1, 4))) == pytest.approx([0.5 * 1 / 2 + 0.5 * 2 / 3])


def test_area_under_roc_by_hand() -> None:
    """Of four pairs of a right and a wrong one, two are in order and one is equal."""
    truth, scores = np.array([True, False, True, False]), np.array([0.6, 0.9, 0.4, 0.4])
    assert areas_under_roc(truth, scores, np.ones((1, 4))) == pytest.approx([(0 + 1 + 0 + 0.5) / 4])


@pytest.mark.parametrize("decimals", [9, 1])
def test_weights_are_those_of_scikit_learn(decimals: int) -> None:
    truth, scores = (column[:, 0] for column in some(5, 80, decimals))
    weights = np.random.default_rng(6).integers(0, 4, (3, 80))
    precisions, areas = (judge(truth, scores, weights) for judge in (average_precisions, areas_under_roc))
    for row, times in enumerate(weights):
        assert precisions[row] == pytest.approx(average_precision_score(truth, scores, sample_weight=times))
        assert areas[row] == pytest.approx(roc_auc_score(truth, scores, sample_weight=times))


def test_sample_without_a_right_or_without_a_wrong_one_has_no_area() -> None:
    truth, scores, weights = np.array([True, False]), np.array([0.6, 0.4]), np.array([[1, 0], [0, 1]])
    assert np.isnan(areas_under_roc(truth, scores, weights)).all()
    np.testing.assert_array_equal(average_precisions(truth, scores, weights), [1.0, np.nan])


@pytest.mark.parametrize("decimals", [9, 1])  # at one decimal, many scores are equal
def test_numbers_equal_those_of_scikit_learn(decimals: int) -> None:
    truth, scores = some(0, 300, decimals)
    result = EMPTY.update(truth, scores).result()
    given = scores >= 0.5
    assert result["mean_average_precision"] == pytest.approx(average_precision_score(truth, scores, average="macro"))
    assert result["mean_auc"] == pytest.approx(roc_auc_score(truth, scores, average="macro"))
    assert result["f1"] == pytest.approx(f1_score(truth, given, average="micro"))
    assert result["precision"] == pytest.approx(precision_score(truth, given, average="micro"))
    assert result["recall"] == pytest.approx(recall_score(truth, given, average="micro"))
    for column, label in enumerate(CLASSES):
        expected = average_precision_score(truth[:, column], scores[:, column])
        assert result["average_precision"][label] == pytest.approx(expected)
        assert result["auc"][label] == pytest.approx(roc_auc_score(truth[:, column], scores[:, column]))


def test_scores_are_not_rounded_to_yes_or_no_first() -> None:
    """All four are below a half, so rounded they would be equal; as they are, the right ones are on top."""
    result = MultiLabelScore(("ant",)).update([[True], [False], [True], [False]], [[0.4], [0.1], [0.3], [0.2]]).result()
    assert result["mean_auc"] == 1.0 and result["mean_average_precision"] == 1.0
    assert result["recall"] == 0.0


def test_score_of_a_half_is_a_yes() -> None:
    result = MultiLabelScore(("ant",)).update([[True], [True]], [[0.5], [0.499]]).result()
    assert result["recall"] == 0.5 and result["precision"] == 1.0


def test_classes_that_nothing_can_be_counted_on_are_left_out_of_the_means() -> None:
    """The first has no right examples, the second no wrong ones, the third both."""
    truth, scores = [[False, True, True], [False, True, False]], [[0.9, 0.2, 0.3], [0.8, 0.1, 0.6]]
    result = EMPTY.update(truth, scores).result()
    assert result["average_precision"] == {"bee": 1.0, "cow": 0.5} and result["mean_average_precision"] == 0.75
    assert result["auc"] == {"cow": 0.0} and result["mean_auc"] == 0.0


def test_empty_score_has_no_numbers() -> None:
    assert {name: value for name, value in EMPTY.result().items() if value} == {}
    assert rows_of(EMPTY) == [] and not any(EMPTY.plots().values()) and EMPTY.intervals([], 100) == {}


def test_best_threshold_by_hand() -> None:
    """Of all decisions: right at 0.4 and 0.3, wrong at 0.2 and 0.1. From 0.3 on all is right."""
    result = MultiLabelScore(("ant", "bee")).update([[True, False], [False, True]], [[0.4, 0.1], [0.2, 0.3]]).result()
    assert (result["best_f1"], result["best_threshold"], result["f1"]) == (1.0, 0.3, 0.0)
    assert result["class_threshold"] == {"ant": 0.4, "bee": 0.3} and result["class_f1"] == {"ant": 1.0, "bee": 1.0}


def test_intervals_hold_the_numbers_and_come_from_repeated_examples() -> None:
    truth, scores = some(7, 60)
    score, times = EMPTY.update(truth, scores), np.random.default_rng(8).integers(0, 3, 60)
    result, ends = score.result(), score.intervals([str(number) for number in range(60)], 500)
    assert list(ends) == ["mean_average_precision", "mean_auc", "f1", "precision", "recall", "loss"]
    assert all(ends[name]["low"] < result[name] < ends[name]["high"] for name in ends)
    repeated = EMPTY.update(np.repeat(truth, times, axis=0), np.repeat(scores, times, axis=0)).result()
    weighted = {name: float(value[0]) for name, value in score._numbers(times[None]).items()}
    assert weighted == pytest.approx({name: repeated[name] for name in weighted})


def test_worst_examples_are_surest_of_the_wrong() -> None:
    score = MultiLabelScore(("ant",)).update([[True], [True], [False]], [[0.9], [0.1], [0.6]])
    assert score.worst_first().tolist() == [1, 2, 0]
    assert score.losses == pytest.approx(-np.log([0.9, 0.1, 0.4]))


def test_merging_is_associative_and_empty_is_neutral() -> None:
    a, b, c = (EMPTY.update(*some(seed, 3 + seed)) for seed in range(3))
    assert (a + b) + c == a + (b + c) and EMPTY + a == a == a + EMPTY
    assert len(rows_of((a + b) + c)) == 3 + 4 + 5


def test_score_of_parts_is_the_score_of_the_whole() -> None:
    truth, scores = some(1, 40)
    parts = EMPTY.update(truth[:15], scores[:15]) + EMPTY.update(truth[15:], scores[15:])
    assert parts.result() == EMPTY.update(truth, scores).result()


def test_rows_name_the_true_classes_those_given_and_all_scores() -> None:
    [row] = rows_of(EMPTY.update([[True, False, True]], [[0.25, 0.5, 1.0]]))
    assert (row["truth"], row["prediction"], row["scores"]) == (["ant", "cow"], ["bee", "cow"], [0.25, 0.5, 1.0])
    assert row["score"] == pytest.approx((0.25 + 0.5 + 1) / 3)
    assert row["loss"] == pytest.approx(-(np.log(0.25) + np.log(0.5)) / 3)


def test_curve_ends_at_full_recall_with_the_share_of_right_decisions() -> None:
    truth, scores = some(2, 500)
    curve = EMPTY.update(truth, scores).plots()["precision_recall"]
    assert len(curve) <= 101 and [row["recall"] for row in curve] == sorted(row["recall"] for row in curve)
    assert curve[-1] == {"recall": 1.0, "precision": pytest.approx(truth.mean(), abs=1e-4)}


def test_curve_by_hand() -> None:
    """From the top: right, wrong, then one right and one wrong of equal score."""
    score = MultiLabelScore(("ant", "bee")).update([[True, False], [True, False]], [[0.9, 0.8], [0.3, 0.3]])
    assert score.plots()["precision_recall"] == [
        {"recall": 0.5, "precision": 1.0},
        {"recall": 0.5, "precision": 0.5},
        {"recall": 1.0, "precision": 0.5},
    ]


def test_errors_are_counted_by_label_and_way_the_most_frequent_first() -> None:
    truth = np.array([[True, False], [True, False], [True, True]])
    scores = np.array([[0.1, 0.9], [0.2, 0.1], [0.9, 0.9]])  # the first label missed twice, the second once too often
    errors = MultiLabelScore(("ant", "bee")).update(truth, scores).plots()["errors"]
    assert errors == [{"kind": "ant missed", "count": 2}, {"kind": "bee given wrongly", "count": 1}]
