from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.config.api_export.augmentation import explain_augmentation
from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.crop import SSD_WAYS, Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.run_file.parse import Problems, parse
from support.changed_pictures import distorted, noise
from support.messages import missing_in


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Zoom, {"smallest": 0.05}, r"^smallest:\D+0\.1\D+1\D+0\.05$"),
        (Zoom, {"smallest": 1.1}, r"^smallest:\D+0\.1\D+1\D+1\.1$"),
        (Zoom, {"largest": 0.9}, r"^largest:\D+1\D+8\D+0\.9$"),
        (Zoom, {"largest": 8.5}, r"^largest:\D+1\D+8\D+8\.5$"),
        (Zoom, {"stretch": 0.5}, r"^stretch:\D+1\D+4\D+0\.5$"),
        (Zoom, {"stretch": 5.0}, r"^stretch:\D+1\D+4\D+5\.0$"),
        (Turn, {"mirror": 1.5}, r"^mirror:\D+0\D+1\D+1\.5$"),
        (Turn, {"upside_down": -0.5}, r"^upside_down:\D+0\D+1\D+-0\.5$"),
        (Turn, {"quarter": 2}, r"^quarter:\D+0\D+1\D+2$"),
        (Colour, {"brightness": 2.0}, r"^brightness:\D+0\D+1\D+2\.0$"),
        (Colour, {"grey": 1.1}, r"^grey:\D+0\D+1\D+1\.1$"),
        (Colour, {"contrast": 1.0}, r"^contrast:\D+0\D+1\D+1\.0$"),
        (Colour, {"saturation": -0.1}, r"^saturation:\D+0\D+1\D+-0\.1$"),
        (Colour, {"hue": 0.6}, r"^hue:\D+0\D+0\.5\D+0\.6$"),
        (Colour, {"orders": (("hue", "hue", "contrast", "brightness"),)}, r"^orders: .*'hue', 'hue', 'contrast', "),
        (Colour, {"orders": (("hue",),)}, r"^orders: .*contrast\b.*saturation\b.*hue\b.*\[\['hue'\]\]$"),
        (Expand, {"probability": 0.0}, r"^probability:\D+0\D+1\D+0\.0$"),
        (Expand, {"smallest": 0.5}, r"^smallest:\D+1\D+16\D+0\.5$"),
        (Expand, {"smallest": 3, "largest": 2}, r"^largest:\D+smallest\D+3\D+16\D+2$"),
        (Crop, {"min_object_covered": 1.1}, r"^min_object_covered:\D+0\D+1\D+1\.1$"),
        (Crop, {"min_seen": -1}, r"^min_seen:\D+0\D+1\D+-1$"),
        (Crop, {"untouched": 2}, r"^untouched:\D+0\D+1\D+2$"),
        (Crop, {"min_aspect_ratio": 0}, r"^min_aspect_ratio:\D+0\D+100\D+0$"),
        (Crop, {"max_aspect_ratio": 0.5}, r"^max_aspect_ratio:\D+min_aspect_ratio\D+0\.75\D+100\D"),
        (Crop, {"min_area": 1.5}, r"^min_area:\D+0\D+1\D+1\.5$"),
        (Crop, {"min_area": 0.5, "max_area": 0.4}, r"^max_area:\D+min_area\D+0\.5\D+1\D+0\.4$"),
        (SsdCrop, {"ways": ()}, r"^ways: .*\[\]$"),
        (Augment, {"fill": (1.0, 2.0)}, r"^fill:\D+0\D+255\D+\[1\.0, 2"),
        (Augment, {"fill": (1.0, 2.0, 256.0)}, r"^fill:\D+0\D+255\D+"),
        (Mosaic, {"probability": 0.0}, r"^probability:\D+0\D+1\D+0\.0$"),
        (Mosaic, {"smallest": 0.05}, r"^smallest:\D+0\.1\D+2\D+0\.05$"),
        (Mosaic, {"largest": 0.4}, r"^largest:\D+smallest\D+0\.5\D+2\D+0\.4$"),
        (Mosaic, {"min_tile": 0.6}, r"^min_tile:\D+0\.1\D+0\.5\D+0\.6$"),
        (Mosaic, {"min_seen": 1.5}, r"^min_seen:\D+0\D+1\D+1\.5$"),
        (Mixup, {"probability": 1.5}, r"^probability:\D+0\D+1\D+1\.5$"),
        (Mixup, {"alpha": 0.1}, r"^alpha:\D+0\.5\D+1000\D+0\.1$"),
        (CopyPaste, {"probability": 2}, r"^probability:\D+0\D+1\D+2$"),
        (CopyPaste, {"most": 11}, r"^most:\D+1\D+10\D+11$"),
        (CopyPaste, {"most_hidden": 1.0}, r"^most_hidden:\D+0\D+0\.9\D+1\.0$"),
        (Augment, {"until": 0.0}, r"^until:\D+0\D+1\D+0\.0$"),
        (Augment, {"resize": ()}, r"^resize: .*\[\]$"),
    ],
)  # fmt: skip
def test_senseless_change_is_refused(kind: Callable[..., Any], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


def test_every_kind_of_change_is_off_by_default() -> None:
    images = [distorted({"image": noise(8, 8, 3)}, 8, Augment(), number)["image"] for number in range(5)]
    assert all(np.array_equal(images[0], image) for image in images[1:])


def parsed(tree: dict[str, Any]) -> tuple[Augment | None, list[str]]:
    problems = Problems(lambda key: "params.yaml:3")
    return parse(Augment, tree, "train.augment", problems), problems.lines


def test_settings_are_read_as_they_are_written_in_yaml() -> None:
    augment, mistakes = parsed(
        {
            "expand": {"largest": 3},
            "crop": {"kind": "ssd", "ways": [{"min_seen": 0.25}]},
            "resize": ["bilinear", "area"],
            "fill": [],
            "mosaic": {"largest": 1.5},
            "copy_paste": {},
            "until": 0.8,
            "turn": {"mirror": 0.5},
            "colour": {"hue": 0.1, "orders": [["hue", "brightness", "contrast", "saturation"]]},
        }
    )
    assert mistakes == []
    assert augment == Augment(
        expand=Expand(largest=3.0),
        crop=SsdCrop((Crop(min_seen=0.25),)),
        resize=("bilinear", "area"),
        fill=(),
        mosaic=Mosaic(largest=1.5),
        copy_paste=CopyPaste(),
        until=0.8,
        turn=Turn(mirror=0.5),
        colour=Colour(hue=0.1, orders=(("hue", "brightness", "contrast", "saturation"),)),
    )
    assert parsed({"crop": {"kind": "ssd"}})[0] == Augment(crop=SsdCrop(SSD_WAYS))
    assert parsed({"crop": {"kind": "single"}, "expand": None})[0] == Augment(crop=Crop())


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"crop": {"min_area": 0.2}}, ("train.augment.crop.kind: ", "missing", "single", "ssd")),
        ({"crop": {"kind": "single", "min_area": 0}}, ("train.augment.crop.min_area: ", "0", "1")),
        ({"crop": {"kind": "ssd", "ways": [{"min_seen": 3}]}}, ("train.augment.crop.ways[0].min_seen", "0", "1", "3")),
        ({"resize": ["cubic"]}, ("train.augment.resize[0]: ", "'cubic'", "'bicubic'?")),
        ({"mirror": 0.5}, ("train.augment.mirror: ", "no such", "colour, copy_paste, crop, decode, expand, fill")),
    ],
)  # fmt: skip
def test_mistakes_are_said_by_their_full_key(tree: dict[str, Any], expected: tuple[str, ...]) -> None:
    augment, mistakes = parsed(tree)
    assert augment is None
    assert missing_in(mistakes[0], "params.yaml:3: ", *expected) == []


@dataclass(frozen=True)
class Lighter:
    """A change of one's own: as much lighter as is drawn, and every box a tenth to the right."""

    most: float = 10.0

    def apply(self, image: tf.Tensor, boxes: tf.Tensor, key: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        light = tf.random.stateless_uniform([], key, 0, self.most, alg="philox")
        return image + light, boxes + tf.constant([0.0, 0.1, 0.0, 0.1])


@dataclass(frozen=True)
class Own(Augment):
    first: Lighter | None = None
    second: Lighter | None = None


def test_a_change_that_brings_along_what_it_does_comes_last_and_draws_by_its_name() -> None:
    example = {
        "image": noise(8, 8, 3), "boxes": np.array([[0.0, 0.25, 1.0, 0.5]], np.float32), "classes": np.array([1]),
        "height": np.array(8), "width": np.array(8),
    }  # fmt: skip
    plain = distorted(example, 8, Augment(turn=Turn(mirror=1.0)), 3)
    mirrored = Turn(mirror=1.0)

    def light(augment: Augment) -> float:
        changed = distorted(example, 8, augment, 3)
        [difference] = set(np.round(changed["image"] - plain["image"], 3).ravel().tolist())
        times = len(augment.added)
        np.testing.assert_allclose(changed["boxes"], [[0.0, 0.5 + 0.1 * times, 1.0, 0.75 + 0.1 * times]], atol=1e-6)
        return difference

    first, second = (light(Own(turn=mirrored, **{name: Lighter()})) for name in ("first", "second"))
    assert 0 < first < 10 and 0 < second < 10 and first != second
    both = Own(turn=mirrored, first=Lighter(), second=Lighter())
    assert light(both) == pytest.approx(first + second, abs=2e-3) and light(Own(turn=mirrored)) == 0
    notes = zip(explain_augmentation(both), ("first (Lighter)", "second (Lighter)"), strict=True)
    assert [missing_in(note, "no step", step) for note, step in notes] == [[], []]


def test_pipeline_config_says_that_it_mixes_nothing() -> None:
    [note] = explain_augmentation(Augment(mosaic=Mosaic(), mixup=Mixup(), until=0.75))
    assert missing_in(note, "mixes no", "mosaic", "mixup", "75%") == []
