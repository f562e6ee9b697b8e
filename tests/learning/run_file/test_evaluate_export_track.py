from typing import Any

import pytest

from bakeoff.evaluation.settings import Evaluate
from bakeoff.export.settings import Export
from bakeoff.foundation.errors import OutOfRange


def test_examples_of_one_video_are_one_group_and_others_are_groups_of_their_own() -> None:
    settings = Evaluate(group=r"^(.+)_\d+\.png$")
    names = ["match one_00001.png", "match one_00002.png", "match two_00001.png", "drawn.jpg"]
    assert settings.groups_of(names) == ["match one", "match one", "match two", "drawn.jpg"]


def test_without_a_pattern_every_example_is_a_group() -> None:
    assert Evaluate().groups_of(["a_1.png"]) == ["a_1.png"]


def test_pattern_whose_bracket_found_nothing_leaves_the_example_by_itself() -> None:
    assert Evaluate(group=r"^x|(\d+)").groups_of(["x17"]) == ["x17"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, r"batch_size:\D+1\D+0"),
        ({"interval_samples": 50}, r"interval_samples:\D+0\D+100\D+100,000\D+50"),
        ({"interval_samples": -1}, r"interval_samples:\D+0\D+100\D+100,000\D+-1"),
        ({"group": "video"}, r"group: .*\(group\).*'video'"),
        ({"group": "(a)(b)"}, r"group: .*\(group\).*'\(a\)\(b\)'"),
        ({"group": "(a"}, r"group: .*\(group\).*'\(a'"),
        ({"report_examples": 101}, r"report_examples:\D+0\D+100\D+101"),
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
            r"formats: .*saved_model, float32, float16, dynamic, int8, onnx, rknn\b",
        ),
        ({"formats": ("int8", "int8")}, r"formats: .*once.*\['int8', 'int8'\]"),
        ({"max_detections": 0}, r"max_detections:\D+1\D+1000\D+0"),
        ({"representative_examples": 0}, r"representative_examples:\D+1\D+100,000\D+0"),
        ({"sample": -1}, r"sample:\D+0\D+-1"),
        ({"max_drop": 1.5}, r"max_drop:\D+0\D+1\D+1\.5"),
        ({"latency_calls": 0}, r"latency_calls:\D+1\D+10,000\D+0"),
        ({"threads": 0}, r"threads:\D+1\D+256\D+0"),
        (
            {"threads": 17},
            r"threads:\D+16\D+per_class_suppression\D+17$",
        ),
    ],
)
def test_senseless_settings_of_export_are_refused(settings: dict, expected: str) -> None:
    with pytest.raises(OutOfRange, match=expected):
        Export(**settings)
