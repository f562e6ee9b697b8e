import colorsys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.errors import OutOfRange
from bakeoff.input import pixels
from bakeoff.input.augment import Augment

EVERYTHING = Augment(
    zoom_in=0.5, zoom_out=1.6, stretch=1.5, mirror=0.5, brightness=0.2, contrast=0.3, saturation=0.3, hue=0.1
)


def key(number: int) -> tf.Tensor:
    return pixels.key(7, epoch=tf.constant(0, tf.int64), example=tf.constant(number, tf.int64))


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def distorted(example: dict[str, Any], size: int, augment: Augment, number: int, frames: int = 1) -> dict[str, Any]:
    """Run directly, as plain arrays."""
    given = {name: tf.constant(value) for name, value in example.items()}
    found = pixels.distort(given, size, frames, augment=augment, key=key(number))
    return {name: value.numpy() for name, value in found.items()}


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
    fitted = pixels.fit({"image": tf.constant(image)}, size, 1)["image"]
    np.testing.assert_allclose(fitted, resized_by_hand(image, size), atol=0.01)


@pytest.mark.parametrize(("height", "width", "size"), [(7, 11, 16), (40, 30, 16), (9, 50, 33)])
def test_fit_equals_the_antialiased_bilinear_resize_of_tensorflow(height: int, width: int, size: int) -> None:
    image = noise(height, width, 3, seed=1)
    expected = tf.image.resize(image, (size, size), "bilinear", antialias=True)
    np.testing.assert_allclose(pixels.fit({"image": tf.constant(image)}, size, 1)["image"], expected, atol=1e-2)


def test_fit_of_an_image_of_the_right_size_is_the_image() -> None:
    image = noise(24, 24, 3)
    fitted = pixels.fit({"image": tf.constant(image)}, 24, 1)["image"]
    np.testing.assert_allclose(fitted, image, atol=1e-3)
    assert fitted.dtype == tf.float32


def test_fit_leaves_everything_but_the_image_as_it_was() -> None:
    example = {"image": tf.constant(noise(8, 16, 3)), "boxes": tf.constant([[0.1, 0.2, 0.3, 0.4]]), "label": 5}
    fitted = pixels.fit(example, 32, 1)
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
    fitted = pixels.fit({"image": tf.constant(clip)}, 6, wanted)["image"]
    assert fitted.shape == (wanted, 6, 6, 3)
    np.testing.assert_allclose(fitted[:, 3, 3, 0], np.array(shown) * 10, atol=1e-3)


def test_shapes_are_known_inside_a_graph_without_looking_at_the_data() -> None:
    def shapes(image: tf.TensorSpec, frames: int) -> list[list[int]]:
        fit = tf.function(lambda image: pixels.fit({"image": image}, 12, frames)["image"])
        distort = tf.function(
            lambda image: pixels.distort({"image": image}, 12, frames, augment=EVERYTHING, key=key(0))["image"]
        )
        return [way.get_concrete_function(image).output_shapes.as_list() for way in (fit, distort)]

    assert shapes(tf.TensorSpec([None, None, 3], tf.uint8), 1) == [[12, 12, 3]] * 2
    assert shapes(tf.TensorSpec([None, None, None, 3], tf.uint8), 5) == [[5, 12, 12, 3]] * 2


# What a change is keyed by.


def test_key_names_seed_epoch_and_example() -> None:
    keys = {
        tuple(
            pixels.key(seed, epoch=tf.constant(epoch, tf.int64), example=tf.constant(example, tf.int64))
            .numpy()
            .tolist()
        )
        for seed in (0, 1)
        for epoch in (0, 1, 2)
        for example in (0, 1, 2, 10**9)
    }
    assert len(keys) == 2 * 3 * 4


def test_same_key_gives_the_same_change_and_another_key_another() -> None:
    example = {"image": noise(20, 20, 3), "boxes": np.float32([[0.2, 0.2, 0.8, 0.8]]), "classes": np.int64([1])}
    first, again, other = (distorted(example, 16, EVERYTHING, number) for number in (1, 1, 2))
    for name in example:
        np.testing.assert_array_equal(first[name], again[name])
    assert np.abs(first["image"] - other["image"]).max() > 10


@pytest.mark.parametrize("number", range(4))
def test_graph_gives_what_direct_execution_gives(number: int) -> None:
    example = {"image": noise(20, 30, 3), "boxes": np.float32([[0.2, 0.2, 0.8, 0.6]]), "classes": np.int64([1])}
    given = {name: tf.constant(value) for name, value in example.items()}
    in_graph = tf.function(lambda it: pixels.distort(it, 16, 1, augment=EVERYTHING, key=key(number)))(given)
    for name, value in distorted(example, 16, EVERYTHING, number).items():
        np.testing.assert_allclose(in_graph[name], value, atol=1e-3)


@pytest.mark.parametrize("number", range(3))
def test_all_off_is_the_same_as_evaluation(number: int) -> None:
    example = {"image": noise(20, 30, 3), "boxes": np.float32([[0.0, 0.25, 1.0, 0.5]]), "classes": np.int64([3])}
    found = distorted(example, 16, Augment(), number)
    fitted = pixels.fit({"image": tf.constant(example["image"])}, 16, 1)["image"]
    np.testing.assert_allclose(found["image"], fitted, atol=1e-3)
    np.testing.assert_allclose(found["boxes"], example["boxes"], atol=1e-6)
    assert found["classes"].tolist() == [3]


# Zoom and mirror.


def scene(box: np.ndarray, side: int) -> np.ndarray:
    """Black with a white rectangle."""
    image = np.zeros((side, side, 3), np.uint8)
    y0, x0, y1, x1 = np.round(box * side).astype(int)
    image[y0:y1, x0:x1] = 255
    return image


def rectangle_in(image: np.ndarray) -> np.ndarray:
    """The white rectangle as shares; what lies beside the picture is grey, 127.5, the picture itself black."""
    white = image[..., 0] > 191
    rows, columns = np.flatnonzero(white.any(axis=1)), np.flatnonzero(white.any(axis=0))
    return np.array([rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]) / len(image)


@pytest.mark.parametrize(
    "augment",
    [
        Augment(zoom_in=0.4),
        Augment(zoom_out=2.5),
        Augment(mirror=0.5),
        Augment(stretch=3.0),
        Augment(zoom_in=0.5, zoom_out=2.0, stretch=2.0, mirror=0.5),
    ],
    ids=["zoom in", "zoom out", "mirror", "stretch", "all"],
)
def test_box_moves_with_its_pixels(augment: Augment) -> None:
    """The moved box is where the white rectangle is then found, to a pixel and a half of 96."""
    change = tf.function(
        lambda image, boxes, key: pixels.distort(
            {"image": image, "boxes": boxes, "classes": tf.constant([4], tf.int64)}, 96, 1, augment=augment, key=key
        )
    )
    box = np.array([[0.30, 0.10, 0.55, 0.60]], np.float32)
    image = scene(box[0], side=120)
    places = []
    for number in range(25):
        found = {name: value.numpy() for name, value in change(image, box, key(number)).items()}
        if not len(found["boxes"]):
            continue
        assert found["classes"].tolist() == [4]
        np.testing.assert_allclose(found["boxes"][0], rectangle_in(found["image"]), atol=1.5 / 96)
        places.append(found["boxes"][0])
    assert len(places) >= 12
    assert np.ptp(places, axis=0).max() > 0.1  # it did move


def test_zoomed_out_image_lies_on_grey() -> None:
    image = np.zeros((32, 32, 3), np.uint8)
    images = [distorted({"image": image}, 32, Augment(zoom_out=3.0), number)["image"] for number in range(8)]
    for changed in images:
        inner = np.round(changed[1:-1, 1:-1], 1)
        is_between = (inner > 0) & (inner < 127.5)
        assert is_between.mean() < 0.25
        assert set(np.unique(inner[~is_between])) <= {0.0, 127.5}
    assert np.mean([changed.mean() for changed in images]) > 30


def test_crop_shows_pixels_of_the_image_only() -> None:
    image = np.full((32, 32, 3), 10, np.uint8)
    for number in range(8):
        changed = distorted({"image": image}, 24, Augment(zoom_in=0.3), number)["image"]
        np.testing.assert_allclose(changed, 10, atol=1e-3)


def shown_part(augment: Augment, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Centre and size, (y, x) in image sides, of what is shown: read off an image whose pixels hold their own place."""
    ramp = np.stack(np.meshgrid(np.arange(200), np.arange(200), indexing="ij"), axis=-1).astype(np.float32)
    image = np.concatenate([ramp, np.zeros((200, 200, 1), np.float32)], axis=-1)
    middle = distorted({"image": image}, 50, augment, number)["image"][20:30, 20:30]
    size = np.array([middle[9, 5, 0] - middle[0, 5, 0], middle[5, 9, 1] - middle[5, 0, 1]]) / 9 * 50 / 200
    return (middle.mean(axis=(0, 1))[:2] + 0.5) / 200, size


def test_crops_keep_from_the_smallest_share_to_the_whole_side() -> None:
    shown = np.array([shown_part(Augment(zoom_in=0.4), number)[1] for number in range(30)])
    np.testing.assert_allclose(shown[:, 0], shown[:, 1], atol=0.01)
    assert 0.39 < shown.min() < 0.5 and 0.85 < shown.max() < 1.01


def test_crops_are_taken_from_all_over_the_image() -> None:
    centres = np.array([shown_part(Augment(zoom_in=0.1), number)[0] for number in range(60)])
    assert centres.min() < 0.25 and centres.max() > 0.75
    assert np.abs(centres.mean(axis=0) - 0.5).max() < 0.12
    assert abs(np.corrcoef(centres.T)[0, 1]) < 0.4


def test_stretch_changes_the_aspect_ratio_by_at_most_its_factor_either_way() -> None:
    shown = np.array([shown_part(Augment(zoom_in=0.5, stretch=2.0), number)[1] for number in range(30)])
    ratios = shown[:, 1] / shown[:, 0]
    assert 0.49 < ratios.min() < 0.65 and 1.5 < ratios.max() < 2.02


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ([0.0, 0.0, 1.0, 0.5], []),  # the box's left third is seen
        ([0.0, 0.0, 1.0, 0.65], [[0.25, 0.4 / 0.65, 0.5, 1.0]]),  # five sixths of it
        ([0.0, 0.0, 1.0, 1.0], [[0.25, 0.4, 0.5, 0.7]]),
        ([0.375, 0.0, 1.375, 1.0], [[0.0, 0.4, 0.125, 0.7]]),  # exactly half of it
        ([0.38, 0.0, 1.38, 1.0], []),  # a little less
        ([-0.5, -1.0, 1.5, 1.0], [[0.375, 0.7, 0.5, 0.85]]),  # zoomed out
        ([0.6, 0.0, 1.0, 1.0], []),  # outside
    ],
)
def test_box_is_kept_if_at_least_half_of_it_is_seen_and_cut_to_the_window(
    window: list[float], expected: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixels, "_draw_window", lambda augment, key: tf.constant(window))
    example = {"image": noise(8, 8, 3), "boxes": np.float32([[0.25, 0.4, 0.5, 0.7]]), "classes": np.int64([9])}
    found = distorted(example, 8, Augment(), 0)
    np.testing.assert_allclose(found["boxes"], np.reshape(expected, (-1, 4)), atol=1e-6)
    assert found["classes"].tolist() == [9] * len(expected)


def test_boxes_keep_their_classes_when_others_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixels, "_draw_window", lambda augment, key: tf.constant([0.0, 0.0, 0.5, 1.0]))
    boxes = np.float32([[0.1, 0.1, 0.2, 0.2], [0.7, 0.1, 0.9, 0.2], [0.0, 0.0, 0.5, 1.0]])
    found = distorted({"image": noise(8, 8, 3), "boxes": boxes, "classes": np.int64([5, 6, 7])}, 8, Augment(), 0)
    assert found["classes"].tolist() == [5, 7]
    np.testing.assert_allclose(found["boxes"], [[0.2, 0.1, 0.4, 0.2], [0, 0, 1, 1]], atol=1e-6)


def test_image_without_boxes_stays_without() -> None:
    example = {"image": noise(8, 8, 3), "boxes": np.zeros((0, 4), np.float32), "classes": np.zeros(0, np.int64)}
    found = distorted(example, 8, EVERYTHING, 0)
    assert found["boxes"].shape == (0, 4) and found["classes"].shape == (0,)


def test_mirror_turns_columns_round() -> None:
    example = {"image": noise(8, 8, 3), "boxes": np.float32([[0.0, 0.125, 0.5, 0.25]]), "classes": np.int64([1])}
    found = distorted(example, 8, Augment(mirror=1.0), 0)
    np.testing.assert_allclose(found["image"], example["image"][:, ::-1], atol=1e-3)
    np.testing.assert_allclose(found["boxes"], [[0.0, 0.75, 0.5, 0.875]], atol=1e-6)


def test_mirrored_twice_is_as_it_was() -> None:
    draw = np.random.default_rng(0)
    low = draw.uniform(0, 0.5, (10, 2))
    boxes = np.concatenate([low, low + draw.uniform(0.05, 0.5, (10, 2))], axis=1).astype(np.float32)
    example = {"image": noise(8, 8, 3), "boxes": boxes, "classes": np.arange(10)}
    twice = distorted(distorted(example, 8, Augment(mirror=1.0), 0), 8, Augment(mirror=1.0), 1)
    np.testing.assert_allclose(twice["boxes"], boxes, atol=1e-6)
    np.testing.assert_allclose(twice["image"], example["image"], atol=1e-3)


def test_mirror_is_a_probability() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    image[:, 0] = 200
    mirrored = [
        distorted({"image": image}, 4, Augment(mirror=0.25), number)["image"][0, 3, 0] > 100 for number in range(80)
    ]
    assert 8 <= sum(mirrored) <= 33  # 20 expected, standard deviation 3.9


# Colour.


def recoloured(image: np.ndarray, augment: Augment, number: int) -> np.ndarray:
    return distorted({"image": image}, len(image), augment, number)["image"]


@pytest.mark.parametrize("number", range(3))
def test_colour_off_leaves_the_image_alone(number: int) -> None:
    example = {"image": noise(20, 20, 3)}
    shape_only = Augment(zoom_in=0.7, mirror=0.5)
    nearly_nothing = Augment(zoom_in=0.7, mirror=0.5, brightness=1e-9)
    off, on = (distorted(example, 16, augment, number)["image"] for augment in (shape_only, nearly_nothing))
    np.testing.assert_allclose(off, on, atol=1e-2)
    np.testing.assert_allclose(recoloured(example["image"], Augment(), number), example["image"], atol=1e-3)


def test_brightness_adds_the_same_to_every_pixel() -> None:
    image = noise(8, 8, 3) // 4 + 96  # 96 to 159: nothing is cut at the ends of the range
    added = np.stack([recoloured(image, Augment(brightness=0.3), number) - image for number in range(40)])
    np.testing.assert_allclose(added, np.broadcast_to(added[:, :1, :1, :1], added.shape), atol=0.01)
    light = added[:, 0, 0, 0]
    most = 0.3 * 255
    assert -most - 0.1 <= light.min() < -most * 0.7 and most * 0.7 < light.max() <= most + 0.1


def test_contrast_stretches_around_middle_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    factors = []
    for number in range(40):
        changed = recoloured(image, Augment(contrast=0.5), number)
        factor = np.sum((changed - 127.5) * (image - 127.5)) / np.sum((image - 127.5) ** 2)
        np.testing.assert_allclose(changed - 127.5, factor * (image - 127.5), atol=0.01)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.65 and 1.35 < max(factors) <= 1.5


def lightness(image: np.ndarray) -> np.ndarray:
    return image @ np.array([0.299, 0.587, 0.114])


def test_saturation_moves_colours_away_from_or_towards_their_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    grey = lightness(image)[..., None]
    factors = []
    for number in range(40):
        changed = recoloured(image, Augment(saturation=0.5), number)
        factor = np.sum((changed - grey) * (image - grey)) / np.sum((image - grey) ** 2)
        np.testing.assert_allclose(changed, grey + factor * (image - grey), atol=0.3)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.65 and 1.35 < max(factors) <= 1.5


def test_hue_turns_colours_and_keeps_lightness_and_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    image[0] = image[0, :, :1]  # a row of greys
    for number in range(10):
        changed = recoloured(image, Augment(hue=0.3), number)
        np.testing.assert_allclose(lightness(changed), lightness(image), atol=0.5)
        np.testing.assert_allclose(changed[0], image[0], atol=0.5)


def test_hue_turns_by_at_most_its_share_of_the_circle_either_way_and_keeps_the_saturation() -> None:
    """As colorsys measures it, whose colour circle is not quite the one of the turn."""

    def chroma(colour: np.ndarray) -> complex:
        _, i, q = colorsys.rgb_to_yiq(*(colour / 255))
        return complex(i, q)

    colour = np.array([160, 110, 120], np.uint8)
    changed = [recoloured(np.full((4, 4, 3), colour, np.uint8), Augment(hue=0.2), number)[0, 0] for number in range(60)]
    turned = np.array([chroma(other) / chroma(colour) for other in changed])
    np.testing.assert_allclose(np.abs(turned), 1, atol=0.06)
    turns = np.angle(turned) / (2 * np.pi)
    assert -0.22 < turns.min() < -0.15 and 0.15 < turns.max() < 0.22


def test_colours_stay_in_the_range_of_pixels() -> None:
    image = noise(16, 16, 3)
    strong = Augment(brightness=0.8, contrast=0.9, saturation=0.9, hue=0.5)
    changed = np.stack([recoloured(image, strong, number) for number in range(8)])
    assert changed.min() == 0 and changed.max() == 255


# Clips.


@pytest.mark.parametrize("number", range(4))
def test_every_frame_of_a_clip_gets_the_change_that_one_image_would_get(number: int) -> None:
    clip = noise(3, 18, 24, 3)
    together = distorted({"image": clip}, 16, EVERYTHING, number, frames=3)["image"]
    alone = [distorted({"image": frame}, 16, EVERYTHING, number)["image"] for frame in clip]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-2)


def test_label_of_a_changed_clip_is_kept() -> None:
    assert distorted({"image": noise(2, 8, 8, 3), "label": np.int64(3)}, 8, EVERYTHING, 0, frames=2)["label"] == 3


# What is refused.


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"zoom_in": 0.05}, r"^zoom_in: must be between 0\.1 and 1, got 0\.05$"),
        ({"zoom_in": 1.1}, r"^zoom_in: must be between 0\.1 and 1, got 1\.1$"),
        ({"zoom_out": 0.9}, r"^zoom_out: must be between 1 and 8, got 0\.9$"),
        ({"zoom_out": 8.5}, r"^zoom_out: must be between 1 and 8, got 8\.5$"),
        ({"stretch": 0.5}, r"^stretch: must be between 1 and 4, got 0\.5$"),
        ({"stretch": 5.0}, r"^stretch: must be between 1 and 4, got 5\.0$"),
        ({"mirror": 1.5}, r"^mirror: must be between 0 and 1, got 1\.5$"),
        ({"mirror": -0.5}, r"^mirror: must be between 0 and 1, got -0\.5$"),
        ({"brightness": 2.0}, r"^brightness: must be between 0 and 1, got 2\.0$"),
        ({"contrast": 1.0}, r"^contrast: must be at least 0 and under 1, got 1\.0$"),
        ({"saturation": -0.1}, r"^saturation: must be at least 0 and under 1, got -0\.1$"),
        ({"hue": 0.6}, r"^hue: must be between 0 and 0\.5, got 0\.6$"),
    ],
)
def test_senseless_change_is_refused(fields: dict[str, float], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        Augment(**fields)


def test_every_kind_of_change_is_off_by_default() -> None:
    images = [recoloured(noise(8, 8, 3), Augment(), number) for number in range(5)]
    assert all(np.array_equal(images[0], image) for image in images[1:])
