"""That API's steps as settings of `train.augment`."""

from collections.abc import Callable
from typing import Any

import pytest

from bakeoff.config.compose.whole_run import Run
from support.api_files import TF1, import_changed
from support.messages import missing_in

Variant = Callable[..., Run]
STEP = "ssd_random_crop { }"  # of that file, beside a flip


# What that API's defaults are in the words used here.
EVERY_TIME = {"probability": 1.0, "smallest": 1.0, "largest": 2.0, "keep_aspect": False}
WIDEST = {
    "kind": "single", "min_object_covered": 1.0, "min_aspect_ratio": 0.75, "max_aspect_ratio": 100.0,
    "min_area": 0.01, "max_area": 1.0, "min_seen": 0.3, "untouched": 0.0, "when_empty": "keep",
}  # fmt: skip
WAY = {
    "min_object_covered": 0.3, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0, "min_area": 0.1, "max_area": 1.0,
    "min_seen": 0.2, "untouched": 0.15, "when_empty": "keep",
}  # fmt: skip
DISTORTED = {
    "brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 0.2,
    "orders": [["brightness", "saturation", "hue", "contrast"]],
}  # fmt: skip


@pytest.mark.parametrize(
    "step, messages, values",
    [
        (
            "random_crop_image { max_aspect_ratio: 900 min_area: 0 }",
            [("min_area: ", "0.01", "0"), ("max_aspect_ratio: ", "100", "900")],
            {"crop": WIDEST},
        ),
        (
            "random_crop_pad_image { }",
            [("train.augment.zoom {smallest: 0.316228, largest: 2, stretch: 1.33333}",)],
            {"zoom": {"smallest": 0.316227766, "largest": 2.0, "stretch": 1.333333333}, "fill": []},
        ),
        (
            "random_crop_pad_image { max_padded_size_ratio: [1, 20] min_area: 1 min_aspect_ratio: 1 max_aspect_ratio: 9 }",
            [("largest: 8, stretch: 4}",)],
            {"zoom": {"smallest": 1.0, "largest": 8.0, "stretch": 4.0}, "fill": []},
        ),
        (
            "random_crop_pad_image { random_coef: 1 max_padded_size_ratio: [1, 20] }",
            [("max_padded_size_ratio: ", "16 times")],
            {"expand": EVERY_TIME | {"largest": 16.0}, "fill": []},
        ),
        (
            "random_pad_image { max_image_height: 900 pad_color: [1, 300, 2] }",
            [("max_image_height: ", "twice")],
            {"expand": EVERY_TIME, "fill": [1.0, 255.0, 2.0]},
        ),
        (
            "ssd_random_crop { } } data_augmentation_options { random_pad_image { }",
            [("data_augmentation_options: ", "order", "random_horizontal_flip, random_pad_image, ssd_random_crop")],
            {"crop": {"kind": "ssd"}, "expand": EVERY_TIME, "fill": []},
        ),
        (
            "random_resize_method { target_height: 9 target_width: 9 }",
            [("random_resize_method", "own input size")],
            {"resize": ["bilinear", "nearest", "bicubic", "area"]},
        ),
        (
            "random_adjust_contrast { }",
            [("random_adjust_contrast", "0.75 to 1.25")],
            {"colour": {"contrast": 0.25}},
        ),
        (
            "random_adjust_saturation { min_delta: 0 max_delta: 2 }",
            [("random_adjust_saturation", "0.01 to 1.99")],
            {"colour": {"saturation": 0.99}},
        ),
        (
            "random_adjust_hue { } } data_augmentation_options { random_adjust_hue { max_delta: 0.3 }",
            [("random_adjust_hue: ", "twice", "last one")],
            {"colour": {"hue": 0.3}},
        ),
        (
            "random_distort_color { color_ordering: 7 }",
            [("color_ordering: ", "0", "7")],
            {"colour": DISTORTED},
        ),
    ],
)
def test_augmentation_gets_the_nearest_values_and_says_them(
    step: str, messages: list[tuple[str, ...]], values: dict[str, Any], variant: Variant
) -> None:
    imported = import_changed(TF1, (STEP, step))
    for parts in messages:
        assert [line for line in imported.report if not missing_in(line, *parts)], "\n".join(imported.report)
    augment = imported.settings["train"]["augment"]
    assert augment == values | {"turn": {"mirror": 0.5}}
    assert variant(**(imported.settings | {"train": imported.settings["train"] | {"steps": 9000}}))


@pytest.mark.parametrize(
    ("step", "values"),
    [
        ("ssd_random_crop { }", {"crop": {"kind": "ssd"}}),
        ("ssd_random_crop { operations { min_object_covered: 0.3 min_aspect_ratio: 0.5 max_aspect_ratio: 2 min_area: 0.1 "
         "max_area: 1 overlap_thresh: 0.2 random_coef: 0.15 } }", {"crop": {"kind": "ssd", "ways": [WAY]}}),
        ("random_vertical_flip { probability: 0.1 }", {"turn": {"mirror": 0.5, "upside_down": 0.1}}),
        ("random_rotation90 { }", {"turn": {"mirror": 0.5, "quarter": 0.5}}),
        ("random_pad_image { }", {"expand": EVERY_TIME, "fill": []}),
        ("random_rgb_to_gray { }", {"colour": {"grey": 0.1}}),
        ("rgb_to_gray { }", {"colour": {"grey": 1.0}}),
        ("random_distort_color { }", {"colour": DISTORTED}),
        ("random_adjust_brightness { }", {"colour": {"brightness": 0.2}}),
    ],
)  # fmt: skip
def test_augmentation_that_means_the_same_is_carried_over_without_a_word(step: str, values: dict[str, Any]) -> None:
    imported = import_changed(TF1, (STEP, step))
    assert imported.settings["train"]["augment"] == {"turn": {"mirror": 0.5}} | values
    assert [line for line in imported.report if "data_augmentation" in line] == []
