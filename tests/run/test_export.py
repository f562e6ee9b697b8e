import pytest

from bakeoff.errors import OutOfRange
from bakeoff.run.export import Export


def test_the_first_tflite_format_is_the_main_file() -> None:
    files = Export(formats=("saved_model", "int8", "float32")).files
    assert files == {"saved_model": "saved_model", "int8": "model.tflite", "float32": "model_float32.tflite"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"formats": ()},
            r"formats: must be one or more of saved_model, float32, float16, dynamic, int8, each once, got",
        ),
        ({"formats": ("int8", "int8")}, r"each once, got \['int8', 'int8'\]"),
        ({"max_detections": 0}, r"max_detections: must be between 1 and 1000, got 0"),
        ({"representative_examples": 0}, r"representative_examples: must be between 1 and 100,000, got 0"),
        ({"sample": -1}, r"sample: must be 0 or more, got -1"),
        ({"max_drop": 1.5}, r"max_drop: must be between 0 and 1, got 1.5"),
        ({"latency_calls": 0}, r"latency_calls: must be between 1 and 10,000, got 0"),
        ({"threads": 0}, r"threads: must be between 1 and 256, got 0"),
        (
            {"threads": 2, "per_class_suppression": True},
            r"threads: must be 1 with per_class_suppression, for there TensorFlow Lite loses detections with more, got",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict, said: str) -> None:
    with pytest.raises(OutOfRange, match=said):
        Export(**settings)
