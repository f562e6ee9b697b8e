"""Random changes of training examples in that API's steps."""

from collections.abc import Callable
from typing import Any

import pytest

from support.messages import missing_in

ORDER = ("hue", "contrast", "brightness", "saturation")


@pytest.fixture
def steps_of(written: Callable[..., tuple[Any, str]]) -> Callable[[dict[str, Any]], tuple[Any, str]]:
    """The steps of a variant's augmentation, and the text of its pipeline.config with comments on one line."""

    def steps(augment: dict[str, Any]) -> tuple[Any, str]:
        read, text = written(train={"batch_size": 4, "steps": 2000, "augment": augment})
        return read.train_config.data_augmentation_options, text

    return steps


def test_augmentation_is_written_as_steps_of_that_api(steps_of: Callable[[dict[str, Any]], tuple[Any, str]]) -> None:
    augment = {
        "zoom": {"smallest": 0.5, "largest": 2.0, "stretch": 1.25},
        "turn": {"mirror": 0.3},
        "colour": {"contrast": 0.2, "hue": 0.05},
    }
    steps, _ = steps_of(augment)
    kinds = [step.WhichOneof("preprocessing_step") for step in steps]
    assert kinds == ["random_horizontal_flip", "random_crop_pad_image", "random_adjust_contrast", "random_adjust_hue"]
    flip, crop, contrast, hue = steps
    assert flip.random_horizontal_flip.probability == pytest.approx(0.3)
    assert crop.random_crop_pad_image.min_area == pytest.approx(0.25)
    assert crop.random_crop_pad_image.min_aspect_ratio == pytest.approx(0.8)
    assert crop.random_crop_pad_image.max_aspect_ratio == pytest.approx(1.25)
    assert list(crop.random_crop_pad_image.max_padded_size_ratio) == [2.0, 2.0]
    assert contrast.random_adjust_contrast.min_delta == pytest.approx(0.8)
    assert contrast.random_adjust_contrast.max_delta == pytest.approx(1.2)
    assert hue.random_adjust_hue.max_delta == pytest.approx(0.05)
    [alone] = steps_of({"zoom": {"smallest": 0.5}})[0]
    assert alone.random_crop_image.min_area == pytest.approx(0.25)


def test_crops_and_canvases_are_written_field_by_field(steps_of: Callable[[dict[str, Any]], tuple[Any, str]]) -> None:
    """With a comment for what that API has no word for."""
    augment = {
        "expand": {"probability": 0.5, "smallest": 1.5, "largest": 3},
        "crop": {"kind": "ssd", "ways": [{"min_seen": 0.25, "untouched": 0.125}, {"max_area": 0.5}]},
        "fill": [10, 20, 30],
        "resize": ["nearest", "area"],
        "colour": {"hue": 0.2, "brightness": 0.1, "orders": [list(ORDER), list(ORDER[::-1])]},
    }
    (pad, crop, hue, brightness), text = steps_of(augment)
    assert pad.random_crop_pad_image.random_coef == 1
    assert list(pad.random_crop_pad_image.min_padded_size_ratio) == [1.5, 1.5]
    assert list(pad.random_crop_pad_image.max_padded_size_ratio) == [3, 3]
    assert list(pad.random_crop_pad_image.pad_color) == [10, 20, 30]
    first, second = crop.ssd_random_crop.operations
    assert (first.overlap_thresh, first.random_coef, second.max_area) == (0.25, 0.125, 0.5)
    assert first.min_area == pytest.approx(0.05)
    assert hue.random_adjust_hue.max_delta == pytest.approx(0.2)
    assert brightness.random_adjust_brightness.max_delta == pytest.approx(0.1)
    for unsaid in (
        ("Expanded", "0.5", "always", "one factor"),
        ("crop", "no box"),
        ("several orders", "first"),
        ("cannot resize", "nearest, area"),
    ):
        assert missing_in(text, *unsaid) == []
