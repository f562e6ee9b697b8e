"""Examples as a network gets them: fitted, resampled, changed at random."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input import augment as augmentations
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.crop import Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.scene import Scene, make_key
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.augment_and_resize import KERNELS, resample, resample_whole
from bakeoff.learning.input.view import View
from support.changed_pictures import change, distorted, key, noise, rectangle_in, scene

EVERYTHING = Augment(
    expand=Expand(largest=1.5),
    crop=Crop(min_area=0.3),
    zoom=Zoom(smallest=0.5, largest=1.6, stretch=1.5),
    resize=("smooth", "nearest", "bicubic"),
    turn=Turn(mirror=0.5, upside_down=0.5, quarter=0.5),
    colour=Colour(
        brightness=0.2,
        contrast=0.3,
        saturation=0.3,
        hue=0.1,
        orders=(("hue", "contrast", "saturation", "brightness"), ("brightness", "saturation", "hue", "contrast")),
    ),
)


# Resizing for evaluation.


def resized_by_hand(image: np.ndarray, size: int) -> np.ndarray:
    """Triangle filter, as wide as a pixel of the larger of the two grids, normalised at the edges."""

    def weights(length: int) -> np.ndarray:
        step = length / size
        table = np.zeros((size, length))
        for target in range(size):
            centre = (target + 0.5) * step
            for source in range(length):
                table[target, source] = max(0.0, 1 - abs(source + 0.5 - centre) / max(1.0, step))
        return table / table.sum(axis=1, keepdims=True)

    return np.einsum("yh,hwc,xw->yxc", weights(image.shape[0]), image.astype(float), weights(image.shape[1]))


@pytest.mark.parametrize(("height", "width", "size"), [(7, 11, 16), (40, 30, 16), (16, 16, 16), (9, 50, 16)])
def test_fit_smooths_as_a_triangle_filter_does(height: int, width: int, size: int) -> None:
    image = noise(height, width, 3)
    fitted = augment_and_resize.fit({"image": tf.constant(image)}, View(size, 1))["image"]
    np.testing.assert_allclose(fitted, resized_by_hand(image, size), atol=0.01)


@pytest.mark.parametrize(("height", "width", "size"), [(7, 11, 16), (40, 30, 16), (9, 50, 33)])
def test_fit_equals_the_antialiased_bilinear_resize_of_tensorflow(height: int, width: int, size: int) -> None:
    image = noise(height, width, 3, seed=1)
    expected = tf.image.resize(image, (size, size), "bilinear", antialias=True)
    np.testing.assert_allclose(
        augment_and_resize.fit({"image": tf.constant(image)}, View(size, 1))["image"], expected, atol=1e-2
    )


def test_fit_of_an_image_of_the_right_size_is_the_image() -> None:
    image = noise(24, 24, 3)
    fitted = augment_and_resize.fit({"image": tf.constant(image)}, View(24, 1))["image"]
    np.testing.assert_allclose(fitted, image, atol=1e-3)
    assert fitted.dtype == tf.float32


def test_fit_leaves_everything_but_the_image_as_it_was() -> None:
    example = {"image": tf.constant(noise(8, 16, 3)), "boxes": tf.constant([[0.1, 0.2, 0.3, 0.4]]), "label": 5}
    fitted = augment_and_resize.fit(example, View(32, 1))
    assert fitted["boxes"] is example["boxes"] and fitted["label"] == 5 and fitted.keys() == example.keys()


@pytest.mark.parametrize(
    ("given", "wanted", "shown"),
    [
        (8, 4, [0, 2, 5, 7]),  # 0, 2.33, 4.67, 7
        (5, 5, [0, 1, 2, 3, 4]),
        (9, 3, [0, 4, 8]),
        (2, 4, [0, 0, 1, 1]),  # a shorter clip shows some twice
        (1, 3, [0, 0, 0]),
    ],
)
def test_frames_are_taken_evenly_over_the_clip(given: int, wanted: int, shown: list[int]) -> None:
    clip = np.zeros((given, 6, 6, 3), np.uint8) + np.arange(given, dtype=np.uint8)[:, None, None, None] * 10
    fitted = augment_and_resize.fit({"image": tf.constant(clip)}, View(6, wanted))["image"]
    assert fitted.shape == (wanted, 6, 6, 3)
    np.testing.assert_allclose(fitted[:, 3, 3, 0], np.array(shown) * 10, atol=1e-3)


def test_shapes_are_known_inside_a_graph_without_looking_at_the_data() -> None:
    def shapes(image: tf.TensorSpec, frames: int) -> list[list[int]]:
        fit = compile_graph(lambda image: augment_and_resize.fit({"image": image}, View(12, frames))["image"])
        distort = compile_graph(
            lambda image: augment_and_resize.distort(
                {"image": image}, View(12, frames), augment=EVERYTHING, key=key(0)
            )["image"]
        )
        return [way.get_concrete_function(image).output_shapes.as_list() for way in (fit, distort)]

    assert shapes(tf.TensorSpec([None, None, 3], tf.uint8), 1) == [[12, 12, 3]] * 2
    assert shapes(tf.TensorSpec([None, None, None, 3], tf.uint8), 5) == [[5, 12, 12, 3]] * 2


# What a change is keyed by.


def test_key_names_seed_epoch_and_example() -> None:
    named = {
        tuple(make_key(seed, epoch=tf.constant(epoch, tf.int64), example=tf.constant(example, tf.int64)).numpy())
        for seed in (0, 1)
        for epoch in (0, 1, 2)
        for example in (0, 1, 2, 10**9)
    }
    assert len(named) == 2 * 3 * 4


def test_same_key_gives_the_same_change_and_another_key_another() -> None:
    example = {"image": noise(20, 20, 3), "boxes": np.float32([[0.2, 0.2, 0.8, 0.8]]), "classes": np.int64([1])}
    first, again, other = (distorted(example, 16, EVERYTHING, number) for number in (1, 1, 2))
    for name in example:
        np.testing.assert_array_equal(first[name], again[name])
    assert np.abs(first["image"] - other["image"]).max() > 10


def test_graph_gives_what_direct_execution_gives() -> None:
    example = {"image": noise(20, 30, 3), "boxes": np.float32([[0.2, 0.2, 0.8, 0.6]]), "classes": np.int64([1])}
    for number in range(4):
        in_graph = change(EVERYTHING, View(16))(example, number)
        for name, value in distorted(example, 16, EVERYTHING, number).items():
            np.testing.assert_allclose(in_graph[name], value, atol=1e-3)  # tf.function joins multiplications


@pytest.mark.parametrize("number", range(3))
def test_all_off_is_the_same_as_evaluation(number: int) -> None:
    example = {"image": noise(20, 30, 3), "boxes": np.float32([[0.0, 0.25, 1.0, 0.5]]), "classes": np.int64([3])}
    result = distorted(example, 16, Augment(), number)
    fitted = augment_and_resize.fit({"image": tf.constant(example["image"])}, View(16, 1))["image"]
    np.testing.assert_allclose(result["image"], fitted, atol=1e-3)
    np.testing.assert_allclose(result["boxes"], example["boxes"], atol=1e-6)
    assert result["classes"].tolist() == [3]


@pytest.mark.parametrize("central_crop", [0.875, 0.5])
def test_central_crop_shows_the_middle_of_the_image(central_crop: float) -> None:
    image = noise(32, 48, 3)
    fitted = augment_and_resize.fit({"image": tf.constant(image)}, View(16, central_crop=central_crop))["image"]
    top, left = round(32 * (1 - central_crop) / 2), round(48 * (1 - central_crop) / 2)
    middle = image[top : 32 - top, left : 48 - left]
    np.testing.assert_allclose(fitted, resized_by_hand(middle, 16), atol=0.01)


def test_encoded_images_give_what_their_pixels_give(png: Callable[[np.ndarray], bytes]) -> None:
    """Though only what is shown of them is decoded; a JPEG is compared with its own pixels, for it loses something."""
    image = noise(40, 56, 3)
    jpeg = tf.io.encode_jpeg(image, quality=80).numpy()
    truth = {"boxes": np.float32([[0.1, 0.2, 0.6, 0.7]]), "classes": np.int64([1])}
    for encoded in (png(image), jpeg):
        decoded = tf.io.decode_image(encoded).numpy()
        for number in range(6):
            whole = distorted({"image": decoded} | truth, 16, EVERYTHING, number)
            part = distorted({"image": encoded, "size": np.int64([40, 56])} | truth, 16, EVERYTHING, number)
            assert part.keys() == whole.keys()
            for name, value in whole.items():
                np.testing.assert_array_equal(part[name], value)
        view = View(16, central_crop=0.8)
        fitted = [
            augment_and_resize.fit(example, view)["image"]
            for example in ({"image": tf.constant(decoded)}, {"image": tf.constant(encoded), "size": [40, 56]})
        ]
        np.testing.assert_array_equal(*fitted)


def test_what_is_drawn_for_one_kind_of_change_does_not_depend_on_the_others() -> None:
    image = noise(16, 16, 3) // 2 + 60
    colour = Colour(brightness=0.2)
    for number in range(4):
        alone = distorted({"image": image}, 16, Augment(colour=colour), number)["image"]
        mirrored = distorted({"image": image}, 16, Augment(turn=Turn(mirror=1.0), colour=colour), number)["image"]
        np.testing.assert_allclose(mirrored, alone[:, ::-1], atol=1e-3)


# Clips.


@pytest.mark.parametrize("number", range(4))
def test_every_frame_of_a_clip_gets_the_change_that_one_image_would_get(number: int) -> None:
    clip = noise(3, 18, 24, 3)
    augment = replace(EVERYTHING, colour=replace(EVERYTHING.colour, orders=()))
    together = distorted({"image": clip}, 16, augment, number, frames=3)["image"]
    alone = [distorted({"image": frame}, 16, augment, number)["image"] for frame in clip]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-2)


@pytest.mark.parametrize("number", range(4))
def test_equal_frames_of_a_clip_stay_equal(number: int) -> None:
    clip = np.repeat(noise(1, 18, 24, 3), 3, axis=0)
    together = distorted({"image": clip}, 16, EVERYTHING, number, frames=3)["image"]
    assert np.ptp(together, axis=0).max() == 0 and np.ptp(together) > 50


def test_label_of_a_changed_clip_is_kept() -> None:
    assert distorted({"image": noise(2, 8, 8, 3), "label": np.int64(3)}, 8, EVERYTHING, 0, frames=2)["label"] == 3


# All of them.


KINDS = {
    "expand": Augment(expand=Expand(probability=0.8, largest=3.0)),
    "expand each side": Augment(expand=Expand(probability=1.0, largest=2.0, keep_aspect=False)),
    "crop": Augment(crop=Crop(min_area=0.2)),
    "ssd crop": Augment(crop=SsdCrop()),
    "zoom in": Augment(zoom=Zoom(smallest=0.4)),
    "zoom out": Augment(zoom=Zoom(largest=2.5)),
    "stretch": Augment(zoom=Zoom(stretch=3.0)),
    "mirror": Augment(turn=Turn(mirror=0.5)),
    "upside down": Augment(turn=Turn(upside_down=0.5)),
    "quarter": Augment(turn=Turn(quarter=0.5)),
    "all turns": Augment(turn=Turn(mirror=0.5, upside_down=0.5, quarter=0.5)),
    "all": Augment(
        expand=Expand(largest=2.0),
        crop=Crop(min_area=0.3),
        zoom=Zoom(smallest=0.7, largest=1.3, stretch=1.5),
        resize=("smooth", "bilinear", "nearest", "bicubic", "area"),
        turn=Turn(mirror=0.5, upside_down=0.5, quarter=0.5),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_box_moves_with_its_pixels(kind: str) -> None:
    """Under forty keys the moved box is where the white rectangle is then found, to a pixel and a half of 96."""
    box = np.array([[0.30, 0.10, 0.55, 0.60]], np.float32)
    image = scene(box[0], height=120, width=160)
    change_it = change(KINDS[kind], View(96))
    places = []
    for number in range(40):
        changed = change_it({"image": image, "boxes": box, "classes": np.int64([4])}, number)
        if not len(changed["boxes"]):
            continue
        assert changed["classes"].tolist() == [4]
        np.testing.assert_allclose(changed["boxes"][0], rectangle_in(changed["image"]), atol=1.5 / 96)
        places.append(changed["boxes"][0])
    assert len(places) >= 20
    assert np.ptp(places, axis=0).max() > 0.1  # it did move


WHOLE = [0.0, 0.0, 40.0, 30.0]


@dataclass(frozen=True)
class Lower:
    """A change as docs/guide.md says how to add one: it shows the lower half."""

    cuts: ClassVar[bool] = True
    shows_beyond: ClassVar[bool] = False

    def apply(self, scene: Scene, key: tf.Tensor) -> Scene:
        return scene.through(tf.constant([0.5, 0.0, 1.0, 1.0]), min_seen=0.5)


@dataclass(frozen=True)
class WithLower(Augment):
    lower: Lower | None = None


def test_a_new_change_needs_its_class_a_field_and_its_name_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (augmentations, augment_and_resize):
        monkeypatch.setattr(module, "MOVES", (*augmentations.MOVES, "lower"))
    image = noise(40, 20, 3)
    changed = distorted({"image": image}, 20, WithLower(lower=Lower()), number=0)["image"]
    np.testing.assert_allclose(changed, image[20:], atol=1e-3)


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_way_to_resize_is_the_one_of_that_name_of_tensorflow(method: str, size: int) -> None:
    image = noise(40, 30, 3)
    expected = tf.cast(tf.image.resize(image, (size, size), method), tf.float32)
    resampled = resample(tf.constant(image)[None], tf.constant(WHOLE), size, method)[0]
    # That cubic filter is looked up in a table of 1,024 places.
    np.testing.assert_allclose(resampled, expected, atol=0.5 if method == "bicubic" else 0.01)


def test_area_is_the_average_of_the_pixels_that_become_one() -> None:
    image = noise(40, 30, 3)
    averages = image.reshape(10, 4, 10, 3, 3).mean(axis=(1, 3))
    resampled = resample(tf.constant(image)[None], tf.constant(WHOLE), 10, "area")[0]
    np.testing.assert_allclose(resampled, averages, atol=0.01)


@pytest.mark.parametrize("method", KERNELS)
def test_window_shows_its_part_and_zeros_beside_the_image(method: str) -> None:
    """A window twice as large, whose upper left quarter is the image, at the image's own resolution."""
    image = noise(8, 8, 3)
    resampled = resample(tf.constant(image)[None], tf.constant([0.0, 0.0, 16.0, 16.0]), 16, method)[0].numpy()
    np.testing.assert_allclose(resampled[:8, :8], image, atol=1e-3)
    assert not resampled[8:].any() and not resampled[:, 8:].any()
    part = resample(tf.constant(image)[None], tf.constant([2.0, 4.0, 6.0, 8.0]), 4, method)[0]
    np.testing.assert_allclose(part, image[2:6, 4:8], atol=1e-3)


@pytest.mark.parametrize(("height", "width"), [(40, 30), (37, 53), (64, 64), (90, 41), (81, 20)])
def test_whole_images_are_resampled_as_windows_of_all_that_they_are(height: int, width: int) -> None:
    image = tf.constant(noise(height, width, 3))[None]
    expected = resample(image, tf.constant([0.0, 0.0, height, width]), 64)
    np.testing.assert_allclose(resample_whole(image, 64), expected, atol=1e-3)


@pytest.mark.parametrize(("height", "width"), [(80, 80), (65, 30)])
def test_whole_images_that_shrink_a_little_are_bilinear(height: int, width: int) -> None:
    image = noise(height, width, 3)
    np.testing.assert_allclose(
        resample_whole(tf.constant(image)[None], 64)[0], tf.image.resize(image, (64, 64)), atol=1e-3
    )


def test_bilinear_is_at_any_size_what_that_is_for_tensorflow() -> None:
    image = noise(200, 90, 3)
    resampled = resample_whole(tf.constant(image)[None], 64, "bilinear")[0]
    np.testing.assert_allclose(resampled, tf.image.resize(image, (64, 64)), atol=1e-3)


@pytest.mark.parametrize(("height", "width", "size"), [(40, 30, 64), (90, 41, 32), (37, 53, 20), (16, 16, 16)])
def test_legacy_bilinear_takes_the_corner_of_a_pixel_for_its_place(height: int, width: int, size: int) -> None:
    image = noise(height, width, 3).astype(np.float64)
    places = [np.arange(size) * side / size for side in (height, width)]
    low = [place.astype(int) for place in places]
    high = [np.minimum(one + 1, side - 1) for one, side in zip(low, (height, width), strict=True)]
    down, right = places[0] - low[0], places[1] - low[1]
    rows = image[low[0]] * (1 - down[:, None, None]) + image[high[0]] * down[:, None, None]
    expected = rows[:, low[1]] * (1 - right[:, None]) + rows[:, high[1]] * right[:, None]
    frames = tf.constant(image.astype(np.uint8))[None]
    np.testing.assert_allclose(resample_whole(frames, size, "legacy_bilinear")[0], expected, atol=1e-3)
    whole = tf.constant([0.0, 0.0, height, width])
    np.testing.assert_allclose(resample(frames, whole, size, "legacy_bilinear")[0], expected, atol=0.01)
