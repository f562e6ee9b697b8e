"""A model of somebody else is named by its file, whatever it tells of itself and answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.export.foreign_models import MOST_PIXELS, check_answer, errors_naming, require_labels, require_shape
from bakeoff.export.nms_numpy import Rule
from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks import network
from support.messages import missing_in

FILE, LABELS = Path("robot/model.onnx"), ("a", "b")
BOXES = {"boxes": np.array([[0.1, 0.1, 0.5, 0.5]]), "scores": np.array([0.9]), "classes": np.array([2])}


@pytest.mark.parametrize(
    "odd",
    [
        {"probabilities": np.array([0.5, np.nan])},
        {"probabilities": np.array([0.5])},
        {"scores": np.array([["a", "b"]])},
        BOXES | {"boxes": np.full((1, 4), np.inf)},
        BOXES | {"boxes": np.zeros((1, 3))},
        BOXES | {"scores": np.zeros(2)},
        BOXES | {"classes": np.array([3])},
        BOXES | {"classes": np.array([0])},
    ],
)
def test_answer_that_means_nothing_is_refused_with_the_file(odd: dict[str, Any]) -> None:
    with pytest.raises(DataError) as refused:
        check_answer(FILE, odd, LABELS)
    assert missing_in(str(refused.value), str(FILE), "cannot answer") == []


def test_sound_answer_is_taken_and_its_boxes_stay_inside_the_picture() -> None:
    answer = check_answer(FILE, BOXES | {"boxes": np.array([[-1.0, 0.2, 0.5, 7.0]])}, LABELS)
    assert answer["boxes"].tolist() == [[0.0, 0.2, 0.5, 1.0]] and answer["classes"].tolist() == [2]
    empty = {name: value[:0] for name, value in BOXES.items()}
    assert len(check_answer(FILE, empty, LABELS)["scores"]) == 0


@pytest.mark.parametrize("shape", [(24, 24), (24, 24, 1), (24, 30, 3), (10**6, 10**6, 3), ("h", "w", 3), (0, 0, 3)])
def test_input_that_no_picture_becomes_is_refused(shape: tuple[Any, ...]) -> None:
    with pytest.raises(DataError, match=r"robot/model\.onnx: takes"):
        require_shape(FILE, shape)


@pytest.mark.parametrize("labels", [(), (1, 2), (None,), ("y" * 10**6,)])
def test_labels_are_texts(labels: tuple[Any, ...]) -> None:
    with pytest.raises(DataError, match=r"robot/model\.onnx: its labels"):
        require_labels(FILE, labels)


@pytest.mark.parametrize(
    "odd", [{"max_detections": [1]}, {"max_detections": 10**9}, {"min_score": "x"}, {"max_overlap": 1e400}, {"more": 1}]
)
def test_rule_with_odd_numbers_is_none(odd: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Rule.of({"min_score": 0.1, "max_overlap": 0.5, "max_detections": 10} | odd)


def test_whatever_a_runtime_raises_names_the_file_in_one_line() -> None:
    with pytest.raises(DataError) as refused, errors_naming(FILE, "cannot answer"):
        raise RuntimeError("first line\nsecond \x1b[31m")
    assert str(refused.value) == f"{FILE}: cannot answer (RuntimeError: first line second \\x1b[31m)"


def test_sides_are_limited_as_those_of_networks_here() -> None:
    assert MOST_PIXELS == network.MOST_PIXELS
