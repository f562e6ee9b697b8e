"""Random changes of training examples in that API's steps."""

from collections.abc import Callable
from typing import Any

from support.messages import missing_in

ORDER = ("hue", "contrast", "brightness", "saturation")


def test_what_of_augmentation_that_api_has_no_word_for_is_a_comment(written: Callable[..., tuple[Any, str]]) -> None:
    augment = {
        "expand": {"probability": 0.5, "smallest": 1.5, "largest": 3},
        "crop": {"kind": "ssd", "ways": [{"min_seen": 0.25, "untouched": 0.125}, {"max_area": 0.5}]},
        "fill": [10, 20, 30],
        "resize": ["nearest", "area"],
        "colour": {"hue": 0.2, "brightness": 0.1, "orders": [list(ORDER), list(ORDER[::-1])]},
    }
    read, text = written(train={"batch_size": 4, "steps": 2000, "augment": augment})
    kinds = [step.WhichOneof("preprocessing_step") for step in read.train_config.data_augmentation_options]
    assert kinds == ["random_crop_pad_image", "ssd_random_crop", "random_adjust_hue", "random_adjust_brightness"]
    for unsaid in (
        ("Expanded", "0.5", "always", "one factor"),
        ("crop", "no box"),
        ("several orders", "first"),
        ("cannot resize", "nearest, area"),
    ):
        assert missing_in(text, *unsaid) == []
