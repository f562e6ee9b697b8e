from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.metrics.detection_errors import KINDS
from support.coco_sets import (
    CLASSES,
    COCO_NAMES,
    EMPTY,
    Pairs,
    by_pycocotools,
    edge_pairs,
    given,
    hard_pairs,
    random_pairs,
    scored,
    true,
)
from support.score_rows import rows_of


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_equal_those_of_pycocotools_reading_files(seed: int, tmp_path: Path) -> None:
    pairs = random_pairs(seed, images=20)
    result, judge = scored(pairs).result(), by_pycocotools(pairs, tmp_path)
    assert {name: result[name] for name in COCO_NAMES} == pytest.approx(dict(zip(COCO_NAMES, judge.stats, strict=True)))
    by_class = [by_pycocotools(pairs, tmp_path, only=number).stats for number in (1, 2, 3)]
    assert result["AP"] == pytest.approx({label: stats[0] for label, stats in zip(CLASSES, by_class, strict=True)})
    assert result["AP_50"] == pytest.approx({label: stats[1] for label, stats in zip(CLASSES, by_class, strict=True)})
    assert len({round(value, 6) for value in result["AP_50"].values()}) == 3 and 0.1 < result["mAP"] < 0.9


@pytest.mark.parametrize(("make", "sets"), [(hard_pairs, 200), (edge_pairs, 100)])
def test_numbers_equal_those_of_pycocotools_in_crowds_ties_empty_classes_and_at_the_limits(
    make: Callable[[int], Pairs], sets: int
) -> None:
    undefined = 0
    for seed in range(sets):
        pairs = make(seed)
        score, judge = scored(pairs), by_pycocotools(pairs)
        result = score.result()
        expected = {name: value for name, value in zip(COCO_NAMES, judge.stats, strict=True) if value >= 0}
        undefined += len(COCO_NAMES) - len(expected)
        assert {name: result[name] for name in COCO_NAMES if name in result} == pytest.approx(expected, abs=1e-6), seed
        precision = judge.eval["precision"][:, :, :, 0, -1].mean(axis=(0, 1))
        known = {label: value for label, value in zip(CLASSES, precision, strict=True) if value > -1}
        assert result["AP"] == pytest.approx(known, abs=1e-6), seed
    assert undefined > 100  # the sets are such that many numbers have no meaning


def test_ten_thousand_detections_in_an_image_count_as_pycocotools_counts_them() -> None:
    draw = np.random.default_rng(0)
    low = draw.uniform(0, 400, (10_000, 2))
    crowd = Boxes(np.concatenate([low, low + 50], axis=1), draw.integers(1, 4, 10_000), draw.random(10_000))
    [(truth, _)] = random_pairs(3, images=1)
    pairs = [(truth, crowd)]
    result, stats = scored(pairs).result(), by_pycocotools(pairs).stats
    assert result["AR_100"] == pytest.approx(stats[8]) and result["mAP_50"] == pytest.approx(stats[1])
    assert len(rows_of(scored(pairs))[0]["prediction"]) == 300  # what COCO counts: a hundred of each class


UNCOUNTED = dict.fromkeys(("loss", "loss_classes", "loss_boxes", "loss_divisor"))
BOX, FAR, HIGH = [10.0, 20.0, 60.0, 50.0], [100.0, 100.0, 160.0, 140.0], [10.0, 200.0, 110.0, 220.0]


def test_all_detected_and_nothing_else_scores_one() -> None:
    pairs = [(true((BOX, 1), (FAR, 2)), given((FAR, 2, 0.5), (BOX, 1, 0.9)))]
    result = scored(pairs).result()
    assert result["mAP"] == pytest.approx(1) and result["AP_50"] == pytest.approx({"ant": 1, "bee": 1})
    assert scored(pairs).plots()["precision_recall"] == [
        {"recall": round(step / 100, 2), "precision": 1.0} for step in range(101)
    ]


def test_nothing_detected_scores_zero() -> None:
    result = scored([(true((BOX, 1)), given())]).result()
    assert (result["mAP"], result["mAP_50"], result["AR_100"], result["AP_50"]) == (0, 0, 0, {"ant": 0})


def test_box_in_another_class_does_not_match() -> None:
    assert scored([(true((BOX, 1)), given((BOX, 2, 0.9)))]).result()["mAP_50"] == 0


def test_box_in_another_image_does_not_match() -> None:
    pairs = [(true((BOX, 1)), given()), (true(), given((BOX, 1, 0.9)))]
    assert scored(pairs).result()["mAP_50"] == 0


def test_wrong_box_in_between_costs_precision_where_recall_is_beyond_it() -> None:
    """Right at 0.9, wrong at 0.8, right at 0.7: precision 1 up to half of the recall, then 2/3."""
    score = scored([(true((BOX, 1), (FAR, 1)), given((BOX, 1, 0.9), (HIGH, 1, 0.8), (FAR, 1, 0.7)))])
    expected = (51 * 1 + 50 * 2 / 3) / 101
    assert score.result()["mAP_50"] == pytest.approx(expected)
    curve = score.plots()["precision_recall"]
    assert [row["precision"] for row in curve] == [1.0] * 51 + [0.6667] * 50
    assert [row["recall"] for row in curve] == [round(step / 100, 2) for step in range(101)]


def test_rows_and_columns_are_not_mixed_up() -> None:
    """A tall box of 20 x 60 is medium; one found lying down is not it."""
    tall, lying = [0.0, 0.0, 60.0, 20.0], [0.0, 0.0, 20.0, 60.0]
    assert scored([(true((tall, 1)), given((lying, 1, 0.9)))]).result()["mAP_50"] == 0
    assert scored([(true((tall, 1)), given((tall, 1, 0.9)))]).result()["mAP_medium"] == pytest.approx(1)


def test_numbers_without_a_meaning_are_left_out() -> None:
    result = scored([(true((BOX, 1)), given((BOX, 1, 0.9)))]).result()  # 50 x 30 pixels is medium
    assert not {"mAP_small", "mAP_large", "AR_small", "AR_large"} & result.keys()
    assert result["AP_50"].keys() == {"ant"}


def test_curve_is_the_mean_over_the_classes_that_have_examples() -> None:
    score = scored([(true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9)))])
    assert {row["precision"] for row in score.plots()["precision_recall"]} == {0.5}


def test_images_without_boxes_count_for_wrong_ones_only(tmp_path: Path) -> None:
    good = (true((BOX, 1)), given((BOX, 1, 0.5)))
    wrong = (true(), given((FAR, 1, 0.9)))
    assert scored([good]).result()["mAP_50"] == pytest.approx(1)
    assert scored([good, wrong]).result()["mAP_50"] == pytest.approx(0.5)
    assert scored([good, (true(), given())]).result()["mAP_50"] == pytest.approx(1)


@pytest.mark.parametrize(
    "pairs", [[], [(true(), given())], [(true(), given((BOX, 1, 0.9)))]], ids=["no images", "no boxes", "no truth"]
)
def test_score_without_any_true_box_has_no_numbers(pairs: list[tuple[Boxes, Boxes]]) -> None:
    result = scored(pairs).result()
    assert {name: value for name, value in result.items() if value and name != "errors"} == {}
    assert set(result["errors"]) == set(KINDS) and scored(pairs).intervals(["a"] * len(pairs), 100) == {}
    assert {row["precision"] for row in scored(pairs).plots()["precision_recall"]} == {0.0}


def test_merging_is_associative() -> None:
    a, b, c = (scored(random_pairs(seed, images=4)) for seed in (1, 2, 3))
    left, right = (a + b) + c, a + (b + c)
    assert rows_of(left) == rows_of(right) and left.result() == right.result() and left.plots() == right.plots()


def test_score_of_parts_is_the_score_of_the_whole() -> None:
    pairs = random_pairs(4, images=9)
    parts = scored(pairs[:2]) + scored(pairs[2:7]) + scored(pairs[7:])
    assert rows_of(parts) == rows_of(scored(pairs)) and parts.result() == scored(pairs).result()


def test_empty_score_changes_nothing() -> None:
    some = scored(random_pairs(5, images=3))
    assert rows_of(EMPTY + some) == rows_of(some) == rows_of(some + EMPTY)
    assert (EMPTY + some).result() == some.result() == (some + EMPTY).result()


def test_updating_leaves_the_old_score_as_it_was() -> None:
    before = scored(random_pairs(6, images=1))
    rows = rows_of(before)
    before.update(true((BOX, 1)), given())
    assert rows_of(before) == rows


def test_rows_have_boxes_best_first_with_what_is_wrong_with_them() -> None:
    pairs = [(true((BOX, 1), (FAR, 3)), given((HIGH, 2, 0.5), (BOX, 1, 0.9), (HIGH, 3, 0.25))), (true(), given())]
    box, far, high = ([round(side, 3) for side in corners] for corners in (BOX, FAR, HIGH))
    sides = ("ymin", "xmin", "ymax", "xmax")
    first, second = rows_of(scored(pairs))
    assert first == {
        "example": 0,
        "truth": [
            {"label": "ant", **dict(zip(sides, box, strict=True)), "found": True},
            {"label": "cow", **dict(zip(sides, far, strict=True)), "found": False},
        ],
        "prediction": [
            {"label": "ant", **dict(zip(sides, box, strict=True)), "score": pytest.approx(0.9), "error": "right"},
            {"label": "bee", **dict(zip(sides, high, strict=True)), "score": 0.5, "error": ""},
            {"label": "cow", **dict(zip(sides, high, strict=True)), "score": 0.25, "error": ""},
        ],
        "score": pytest.approx(2 / 3),
        **UNCOUNTED,
    }
    assert second == {"example": 1, "truth": [], "prediction": [], "score": 1.0, **UNCOUNTED}


def test_losses_are_reported_if_somebody_counts_them() -> None:
    image = true((BOX, 1)), given((BOX, 1, 0.9))
    score = EMPTY.update(*image, Loss(0.5, 0.25, 3)) + EMPTY.update(*image, Loss(0.25, 0.0, 1))
    names = ("loss", "loss_classes", "loss_boxes", "loss_divisor")
    assert [tuple(row[name] for name in names) for row in rows_of(score)] == [(0.75, 0.5, 0.25, 3), (0.25, 0.25, 0, 1)]
    incomplete = score + EMPTY.update(*image)
    assert "loss" not in incomplete.result() and [row["loss"] for row in rows_of(incomplete)] == [None] * 3


def test_the_loss_of_all_images_is_that_of_one_batch_with_all_of_them() -> None:
    """Three matched anchors paid 6 and 1.5 together, one paid 1; an image without any paid 0.2 for its background."""
    image = true((BOX, 1)), given((BOX, 1, 0.9))
    score = EMPTY.update(*image, Loss(2.0, 0.5, 3)) + EMPTY.update(*image, Loss(1.0, 0, 1))
    score += EMPTY.update(*image, Loss(0.2, 0, 0))
    result = score.result()
    assert result["loss_classes"] == pytest.approx(7.2 / 4) and result["loss_boxes"] == pytest.approx(1.5 / 4)
    assert result["loss"] == pytest.approx(8.7 / 4)
    drawn, _ = score.count_weighted(np.array([[1, 1, 1], [0, 2, 1], [0, 0, 3]]))  # the third twice, and alone
    assert drawn["loss"] == pytest.approx([8.7 / 4, 2.2 / 2, 0.6])
    assert set(score.intervals(["a", "b", "c"], 100)) >= {"loss", "mAP_50"}
    assert EMPTY.result().get("loss") is None


def test_best_threshold_is_that_of_the_highest_f1_and_each_class_has_its_own() -> None:
    """Of ant, right at 0.9 and 0.5 with a wrong one at 0.7; of bee, right at 0.3 only.

    Down to 0.9: 1 right of 1 given and 3 true, F1 2/4; 0.7: 2/5; 0.5: 4/6; 0.3: 6/7.
    """
    score = scored(
        [(true((BOX, 1), (FAR, 1), (HIGH, 2)), given((BOX, 1, 0.9), (HIGH, 1, 0.7), (FAR, 1, 0.5), (HIGH, 2, 0.3)))]
    )
    result = score.result()
    assert result["f1"] == pytest.approx(6 / 7) and result["threshold"] == pytest.approx(0.3)
    assert result["precision"] == pytest.approx(3 / 4) and result["recall"] == 1
    assert result["class_f1"] == pytest.approx({"ant": 4 / 5, "bee": 1.0})
    assert result["class_threshold"] == pytest.approx({"ant": 0.5, "bee": 0.3})
    at = {row["threshold"]: row["f1"] for row in score.plots()["threshold"]}
    assert (at[0.95], at[0.8], at[0.6], at[0.4], at[0.2]) == (0, 0.5, 0.4, 0.6667, 0.8571)


def test_scores_are_compared_with_the_share_that_is_right() -> None:
    """Of two detections at about 0.9 one is right."""
    score = scored([(true((BOX, 1)), given((BOX, 1, 0.875), (FAR, 1, 0.925)))])
    assert score.plots()["calibration"] == [{"probability": 0.9, "accuracy": 0.5, "examples": 2}]


def test_examples_are_ordered_from_the_worst_to_the_surest() -> None:
    wrong_and_missed = (true((BOX, 1)), given((FAR, 1, 0.8)))
    two_missed = (true((BOX, 1), (FAR, 2)), given())
    sure, unsure = ((true((BOX, 1)), given((BOX, 1, score))) for score in (0.95, 0.6))
    half = (true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9)))
    score = scored([sure, half, unsure, wrong_and_missed, two_missed])
    assert score.worst_first().tolist() == [3, 4, 1, 2, 0]


def test_every_class_has_a_curve_in_a_file_that_any_system_can_name() -> None:
    pairs = [(true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9)))]
    score = DetectionScore(("a/b", "ü:")).update(*pairs[0])
    tables = score.plots()
    names = [name for name in tables if "/" in name]
    assert names == ["precision_recall_by_class/001-a%2Fb", "precision_recall_by_class/002-%C3%BC%3A"]
    assert {row["precision"] for row in tables[names[0]]} == {1.0} and {r["precision"] for r in tables[names[1]]} == {0}


def test_intervals_hold_the_numbers_and_are_wider_over_groups() -> None:
    pairs = random_pairs(8, images=60)
    score = scored(pairs)
    result, apart = score.result(), score.intervals([str(number) for number in range(60)], 400)
    assert list(apart) == ["mAP", "mAP_50", "mAP_75", "AR_100", "f1"]
    for name, ends in apart.items():
        assert ends["low"] < result[name] < ends["high"] < ends["low"] + 0.3, name
    assert score.intervals([str(number) for number in range(60)], 400) == apart
    twice = scored([*pairs, *pairs])
    together = twice.intervals([str(number % 60) for number in range(120)], 400)
    as_if_apart = twice.intervals([str(number) for number in range(120)], 400)
    width = {name: ends["high"] - ends["low"] for name, ends in together.items()}
    assert width["mAP_50"] > 1.2 * (as_if_apart["mAP_50"]["high"] - as_if_apart["mAP_50"]["low"])
    # Each image being there twice changes nothing for whoever knows that they are the same.
    assert width["f1"] == pytest.approx(apart["f1"]["high"] - apart["f1"]["low"], rel=1e-6)


def test_judging_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    scored(random_pairs(7, images=2)).result()
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
