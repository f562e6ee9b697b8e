import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from bakeoff.metrics.detection import Boxes, DetectionScore

CLASSES = ("ant", "bee", "cow")
EMPTY = DetectionScore(CLASSES)
COCO_NAMES = [
    *("mAP", "mAP_50", "mAP_75", "mAP_small", "mAP_medium", "mAP_large"),
    *("AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large"),
]


def true(*rows: tuple[list[float], int]) -> Boxes:
    corners = np.array([box for box, _ in rows], np.float32).reshape(-1, 4)
    return Boxes(corners, np.array([label for _, label in rows], np.int64))


def given(*rows: tuple[list[float], int, float]) -> Boxes:
    boxes = true(*((box, label) for box, label, _ in rows))
    return Boxes(boxes.corners, boxes.classes, np.array([score for _, _, score in rows], np.float32))


def random_pairs(seed: int, images: int) -> list[tuple[Boxes, Boxes]]:
    """Truth of all sizes; found are most of it, moved a little, some with another class, and some of nothing."""
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(images):
        count = int(draw.integers(0, 7))
        low, size = draw.uniform(0, 200, (count, 2)), np.exp(draw.uniform(np.log(8), np.log(250), (count, 2)))
        truth = np.concatenate([low, low + size], axis=1).astype(np.float32)
        classes = draw.integers(1, 4, count)
        kept = draw.random(count) < 0.8
        moved = truth[kept] + (draw.normal(0, 0.08, (kept.sum(), 4)) * np.tile(size[kept], 2)).astype(np.float32)
        moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
        confused = np.where(draw.random(kept.sum()) < 0.15, draw.integers(1, 4, kept.sum()), classes[kept])
        wrong = draw.uniform(0, 200, (3, 2))
        corners = np.concatenate([moved, np.concatenate([wrong, wrong + 40], axis=1)]).astype(np.float32)
        labels = np.concatenate([confused, draw.integers(1, 4, 3)])
        pairs.append((Boxes(truth, classes), Boxes(corners, labels, draw.random(len(labels)).astype(np.float32))))
    return pairs


def scored(pairs: list[tuple[Boxes, Boxes]]) -> DetectionScore:
    score = EMPTY
    for truth, found in pairs:
        score = score.update(truth, found)
    return score


def by_pycocotools(pairs: list[tuple[Boxes, Boxes]], folder: Path, only: int | None = None) -> COCOeval:
    """Written as COCO's files and read by its own program, for one class or all of them."""
    annotations, results = [], []
    for image, (truth, found) in enumerate(pairs):
        for (y0, x0, y1, x1), label in zip(truth.corners.tolist(), truth.classes.tolist(), strict=True):
            size = {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "iscrowd": 0}
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": label} | size)
        assert found.scores is not None
        rows = zip(found.corners.tolist(), found.classes.tolist(), found.scores.tolist(), strict=True)
        for (y0, x0, y1, x1), label, score in rows:
            box = [x0, y0, x1 - x0, y1 - y0]
            results.append({"image_id": image, "category_id": label, "bbox": box, "score": score})
    categories = [{"id": number} for number in (1, 2, 3)]
    dataset = {"images": [{"id": image} for image in range(len(pairs))], "annotations": annotations}
    (folder / "truth.json").write_text(json.dumps({"info": {}, "categories": categories} | dataset))
    (folder / "found.json").write_text(json.dumps(results))
    with contextlib.redirect_stdout(io.StringIO()):
        truth_file = COCO(str(folder / "truth.json"))
        judge = COCOeval(truth_file, truth_file.loadRes(str(folder / "found.json")), "bbox")
        if only is not None:
            judge.params.catIds = [only]
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return judge


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_numbers_equal_those_of_pycocotools(seed: int, tmp_path: Path) -> None:
    pairs = random_pairs(seed, images=20)
    result, judge = scored(pairs).result(), by_pycocotools(pairs, tmp_path)
    assert {name: result[name] for name in COCO_NAMES} == pytest.approx(dict(zip(COCO_NAMES, judge.stats, strict=True)))
    by_class = {
        label: by_pycocotools(pairs, tmp_path, only=number).stats[1] for number, label in enumerate(CLASSES, start=1)
    }
    assert result["AP_50"] == pytest.approx(by_class)
    assert len({round(value, 6) for value in result["AP_50"].values()}) == 3 and 0.1 < result["mAP"] < 0.9


BOX, FAR, HIGH = [10.0, 20.0, 60.0, 50.0], [100.0, 100.0, 160.0, 140.0], [10.0, 200.0, 110.0, 220.0]


def test_all_found_and_nothing_else_scores_one() -> None:
    pairs = [(true((BOX, 1), (FAR, 2)), given((FAR, 2, 0.5), (BOX, 1, 0.9)))]
    result = scored(pairs).result()
    assert result["mAP"] == pytest.approx(1) and result["AP_50"] == pytest.approx({"ant": 1, "bee": 1})
    assert scored(pairs).plots()["precision_recall"] == [
        {"recall": round(step / 100, 2), "precision": 1.0} for step in range(101)
    ]


def test_nothing_found_scores_zero() -> None:
    result = scored([(true((BOX, 1)), given())]).result()
    assert (result["mAP"], result["mAP_50"], result["AR_100"], result["AP_50"]) == (0, 0, 0, {"ant": 0})


def test_box_in_another_class_is_not_found() -> None:
    assert scored([(true((BOX, 1)), given((BOX, 2, 0.9)))]).result()["mAP_50"] == 0


def test_box_in_another_image_is_not_found() -> None:
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
    assert scored(pairs).result() == {"AP_50": {}}
    assert {row["precision"] for row in scored(pairs).plots()["precision_recall"]} == {0.0}


def test_merging_is_associative() -> None:
    a, b, c = (scored(random_pairs(seed, images=4)) for seed in (1, 2, 3))
    left, right = (a + b) + c, a + (b + c)
    assert left.rows() == right.rows() and left.result() == right.result() and left.plots() == right.plots()


def test_score_of_parts_is_the_score_of_the_whole() -> None:
    pairs = random_pairs(4, images=9)
    parts = scored(pairs[:2]) + scored(pairs[2:7]) + scored(pairs[7:])
    assert parts.rows() == scored(pairs).rows() and parts.result() == scored(pairs).result()


def test_empty_score_changes_nothing() -> None:
    some = scored(random_pairs(5, images=3))
    assert (EMPTY + some).rows() == some.rows() == (some + EMPTY).rows()
    assert (EMPTY + some).result() == some.result() == (some + EMPTY).result()


def test_updating_leaves_the_old_score_as_it_was() -> None:
    before = scored(random_pairs(6, images=1))
    rows = before.rows()
    before.update(true((BOX, 1)), given())
    assert before.rows() == rows


def test_rows_name_classes_and_round_what_people_read() -> None:
    score = scored([(true(([1.234, 2.0, 3.456, 4.0], 3)), given(([0.0, 0.5, 10.0, 20.004], 1, 0.123456)))])
    assert score.rows() == [
        {
            "example": 0,
            "truth": [{"label": "cow", "box": [1.23, 2.0, 3.46, 4.0]}],
            "found": [{"label": "ant", "box": [0.0, 0.5, 10.0, 20.0], "score": 0.12346}],
        }
    ]


def test_judging_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    scored(random_pairs(7, images=2)).result()
    assert capsys.readouterr().out == ""
