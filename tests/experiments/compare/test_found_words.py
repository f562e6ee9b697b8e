"""What a person would say of a detector, from the examples of its evaluation."""

from pathlib import Path

import numpy as np
import pytest

from bakeoff.evaluation import examples_parquet
from bakeoff.experiments.compare.found_words import (
    AtScore,
    FoundCount,
    describe_answers,
    describe_found,
    describe_wrong,
    find_interval,
    judge_boxes,
    name_class,
)
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore
from support.coco_sets import given, true

NEAR, FAR, NOWHERE = [10.0, 10.0, 60.0, 40.0], [70.0, 100.0, 90.0, 190.0], [200.0, 200.0, 240.0, 230.0]


def write(folder: Path, score: DetectionScore | ClassificationScore, kind: str) -> Path:
    count = len(score.columns()["score"])
    files = [f"images/IMG_{number}.jpg" for number in range(count)]
    table = examples_parquet.make_table(score.columns(), list(range(count)), files, kind, score.classes)
    examples_parquet.write_examples(folder, table)
    return folder / examples_parquet.FILE


def test_a_detector_is_judged_at_the_score_that_its_evaluation_chose(tmp_path: Path) -> None:
    score = DetectionScore(("marker", "box"))
    score = score.update(true((NEAR, 1), (FAR, 2)), given((NEAR, 1, 0.9), (FAR, 2, 0.8), (NOWHERE, 1, 0.7)))
    score = score.update(true((NEAR, 1)), given((FAR, 1, 0.95)))
    judgement = judge_boxes(write(tmp_path, score, "boxes"))
    assert judgement is not None and judgement.threshold == pytest.approx(score.result()["threshold"])
    point = judgement.count_at(0.75)
    assert point.classes == (FoundCount("marker", 2, 1), FoundCount("box", 1, 1))
    assert (point.given, point.wrong) == (3, 1)
    assert point.sentences[0] == "It finds 1 of 2 markers and the only box."
    assert "2" in point.sentences[-1] and "Too few" in point.sentences[-1]
    assert judgement.count_at(0.65).wrong == 2 and judgement.count_at(0.99).given == 0
    assert judgement.list_right(0) == [True, True, False] and judgement.list_right(1) == [False]
    missed = [*judgement.show_mistake("missed", 6)]
    assert [(number, [box["label"] for box in boxes]) for number, boxes in missed] == [(1, ["marker"])]
    assert judgement.mistakes[0].cost == max(score.result()["lost_mAP_50"].values())


@pytest.mark.parametrize(
    ("found", "there", "words"),
    [
        (9, 10, "9 of 10 markers"), (10, 10, "all 10 markers"), (0, 3, "none of 3 markers"), (2, 2, "both markers"),
        (1, 1, "the only marker"), (1, 2, "1 of 2 markers"),
    ],
)  # fmt: skip
def test_what_is_found_is_said_with_its_number(found: int, there: int, words: str) -> None:
    assert describe_found(FoundCount("marker", there, found)) == words


@pytest.mark.parametrize(
    ("wrong", "boxes", "words"),
    [
        (0, 0, "no box"), (0, 1, "only box is right"), (1, 1, "only box is wrong"), (0, 12, "None of its 12 boxes is"),
        (2, 2, "Both of its boxes are"), (3, 3, "All 3 of its boxes are"), 
        (2, 24, "1 in 12 of its boxes is wrong (2 of 24)"), (2, 23, "About 1 in 12 of its boxes is wrong (2 of 23)"),
        (1, 2, "1 of its 2 boxes is"), (7, 12, "7 of its 12 boxes are"),
    ],
)  # fmt: skip
def test_wrong_boxes_are_counted_honestly(wrong: int, boxes: int, words: str) -> None:
    assert words in describe_wrong(wrong, boxes)


@pytest.mark.parametrize(
    ("label", "several"),
    [("cube", "cubes"), ("box", "boxes"), ("berry", "berries"), ("toy", "toys"),
     ("7", "objects “7”"), ("Käfer", "objects “Käfer”")],
)  # fmt: skip
def test_labels_become_words_where_they_are_some(label: str, several: str) -> None:
    assert name_class(label)[1] == several


def test_the_only_object_of_a_class_can_be_missed() -> None:
    classes = FoundCount("marker", 10, 9), FoundCount("cube", 1, 0), FoundCount("ball", 0, 0)
    sentences = AtScore(0.5, classes, 10, 1, 50).sentences
    assert sentences[:2] == ["It finds 9 of 10 markers.", "It misses the only cube."]


def test_many_classes_are_summed_and_the_weakest_named() -> None:
    classes = tuple(FoundCount(str(number), 10, number) for number in range(8))
    sentences = AtScore(0.5, classes, 30, 2, 100).sentences
    assert "28 of 80 objects" in sentences[0] and "none of 10 objects “0”" in sentences[1]
    assert len(sentences) == 3  # enough photos


def test_the_interval_of_a_share_is_wilsons() -> None:
    """Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662, 0 of 20 is 0 to 0.1611, 1 of 29 is 0.0061 to 0.1718."""
    table = {(81, 263): (0.2553, 0.3662), (0, 20): (0, 0.1611), (1, 29): (0.0061, 0.1718)}
    for (found, there), expected in table.items():
        assert np.allclose(find_interval(found, there), expected, atol=1e-4)
    assert find_interval(0, 0) == (0.0, 1.0)


def test_a_classifier_is_judged_by_what_it_names_right(tmp_path: Path) -> None:
    score = ClassificationScore(("a", "b")).update(make_answers(np.array([1, 2]), np.array([[0.9, 0.1], [0.8, 0.2]])))
    file = write(tmp_path, score, "one label")
    assert judge_boxes(file) is None
    assert describe_answers(file)[0] == "It names 1 of 2 examples right."
