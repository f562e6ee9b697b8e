from typing import Any

import pytest

from bakeoff.evaluation.settings import Evaluate
from bakeoff.export.settings import Export
from bakeoff.foundation.errors import OutOfRange


def test_examples_of_one_video_are_one_group_and_others_are_groups_of_their_own() -> None:
    settings = Evaluate(group=r"^(.+)_\d+\.png$")
    names = ["match one_00001.png", "match one_00002.png", "match two_00001.png", "drawn.jpg"]
    assert [settings.group_of(name) for name in names] == ["match one", "match one", "match two", "drawn.jpg"]


def test_without_a_pattern_every_example_is_a_group() -> None:
    assert Evaluate().group_of("a_1.png") == "a_1.png"


def test_pattern_whose_bracket_found_nothing_leaves_the_example_by_itself() -> None:
    assert Evaluate(group=r"^x|(\d+)").group_of("x17") == "x17"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, r"batch_size: must be 1 or more, got 0"),
        ({"interval_samples": 50}, r"interval_samples: must be 0 or between 100 and 100,000, got 50"),
        ({"interval_samples": -1}, r"interval_samples: must be 0 or between 100 and 100,000, got -1"),
        ({"group": "video"}, r"group: must be a regular expression with one \(group\), got 'video'"),
        ({"group": "(a)(b)"}, r"group: must be a regular expression with one \(group\)"),
        ({"group": "(a"}, r"group: must be a regular expression with one \(group\)"),
        ({"report_examples": 101}, r"report_examples: must be between 0 and 100, got 101"),
    ],
)
def test_senseless_settings_of_evaluate_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        Evaluate(**settings)


def test_the_first_tflite_format_is_the_main_file() -> None:
    files = Export(formats=("saved_model", "int8", "float32")).files
    assert files == {"saved_model": "saved_model", "int8": "model.tflite", "float32": "model_float32.tflite"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"formats": ()},
            r"formats: must be one or more of saved_model, float32, float16, dynamic, int8, onnx, rknn, each once, got",
        ),
        ({"formats": ("int8", "int8")}, r"each once, got \['int8', 'int8'\]"),
        ({"max_detections": 0}, r"max_detections: must be between 1 and 1000, got 0"),
        ({"representative_examples": 0}, r"representative_examples: must be between 1 and 100,000, got 0"),
        ({"sample": -1}, r"sample: must be 0 or more, got -1"),
        ({"max_drop": 1.5}, r"max_drop: must be between 0 and 1, got 1.5"),
        ({"latency_calls": 0}, r"latency_calls: must be between 1 and 10,000, got 0"),
        ({"threads": 0}, r"threads: must be between 1 and 256, got 0"),
        (
            {"threads": 17},
            r"threads: must be at most 16 with per_class_suppression, for there TensorFlow Lite loses a class with",
        ),
    ],
)
def test_senseless_settings_of_export_are_refused(settings: dict, expected: str) -> None:
    with pytest.raises(OutOfRange, match=expected):
        Export(**settings)
