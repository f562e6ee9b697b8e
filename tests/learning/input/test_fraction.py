"""JPEGs much larger than the network's input, which training decodes at a fraction of their size."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.crop import Crop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.batches import first_examples, training_batches
from bakeoff.learning.input.decode import RATIOS, choose_ratio, decode_frames
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape, View
from support.changed_pictures import change, distorted, key, rectangle_in, scene

MOST_LOST = 42.0  # decibels; a triangle filter and a bicubic one are 36 to 40 apart on such pictures


def clouds(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Shapes of any size with some noise, as a photograph has them."""
    draw = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for cells in (3, 12, 50):
        small = Image.fromarray(draw.integers(0, 256, (cells, cells, 3), np.uint8))
        total += np.asarray(small.resize((width, height), Image.Resampling.BICUBIC), float) / 3
    return np.clip(total + draw.normal(0, 5, total.shape), 0, 255).astype(np.uint8)


def jpeg(image: np.ndarray, quality: int = 90, subsampling: int = 2) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=quality, subsampling=subsampling)
    return buffer.getvalue()


def decibels(one: np.ndarray, other: np.ndarray) -> float:
    """The peak signal-to-noise ratio."""
    return float(10 * np.log10(255**2 / np.mean((np.asarray(one, float) - np.asarray(other, float)) ** 2)))


def encoded(image: np.ndarray, data: bytes) -> dict[str, object]:
    return {"image": data, "size": np.array(image.shape[:2], np.int64)}


@pytest.mark.parametrize(
    ("extent", "sides", "expected"),
    [
        ((768, 1024), (224, 224), 2),  # 768 / 2 is 1.7 times 224
        ((1536, 2048), (224, 224), 4),
        ((3000, 4000), (224, 224), 8),
        ((375, 500), (224, 224), 1),
        ((671, 2000), (224, 224), 1),  # the shorter side decides; 672 would be 3 times 224
        ((672, 2000), (224, 224), 2),
        ((3000, 4000), (100, 1000), 2),  # a tile of a mosaic
        ((3, 4000), (224, 224), 1),
    ],
)
def test_ratio_leaves_one_and_a_half_times_the_pixels_that_are_wanted(
    extent: tuple[int, int], sides: tuple[int, int], expected: int, png: Callable[[np.ndarray], bytes]
) -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    ratios = [
        int(choose_ratio(tf.constant([data]), tf.constant(extent, tf.float32), tf.constant(sides)))
        for data in (jpeg(image), png(image))
    ]
    assert ratios == [expected, 1]


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("ratio", RATIOS)
def test_part_of_a_fraction_has_the_very_pixels_that_the_whole_has_there(ratio: int, subsampling: int) -> None:
    image = clouds(203, 301)
    data = tf.constant([jpeg(image, subsampling=subsampling)])
    whole = decode_frames(data, None, tf.constant(ratio))[0].numpy()
    assert whole.shape == (-(-203 // ratio), -(-301 // ratio), 3)
    draw = np.random.default_rng(ratio)
    for _ in range(20):
        top, left = (int(draw.integers(0, side)) for side in whole.shape[:2])
        height, width = int(draw.integers(1, len(whole) - top + 1)), int(draw.integers(1, whole.shape[1] - left + 1))
        part = decode_frames(data, tf.constant([top, left, height, width]), tf.constant(ratio))[0]
        np.testing.assert_array_equal(part, whole[top : top + height, left : left + width])


@pytest.mark.parametrize(("height", "width"), [(480, 640), (403, 611), (1001, 397), (389, 389)])
@pytest.mark.parametrize("size", [32, 61])
def test_fraction_shows_what_pillow_makes_of_all_pixels(height: int, width: int, size: int) -> None:
    """Pillow's bilinear way to shrink is the same triangle filter; it rounds to whole levels."""
    image = clouds(height, width)
    data = jpeg(image)
    expected = Image.open(io.BytesIO(data)).convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    decoded = distorted(encoded(image, data), size, Augment(), 0)["image"]
    all_pixels = distorted(encoded(image, data), size, Augment(decode="full"), 0)["image"]
    assert np.abs(decoded - all_pixels).max() > 0.1  # it was a fraction
    assert decibels(decoded, np.asarray(expected)) > MOST_LOST
    assert decibels(decoded, all_pixels) > MOST_LOST  # TensorFlow's fast way to decode all pixels is a level darker


def test_png_shows_the_same_pixels_as_a_jpeg_that_loses_little(png: Callable[[np.ndarray], bytes]) -> None:
    image = clouds(403, 611)
    images = [distorted(encoded(image, data), 32, Augment(), 0)["image"] for data in (png(image), jpeg(image, 98, 0))]
    assert decibels(*images) > MOST_LOST


@pytest.mark.parametrize(
    "augment",
    [Augment(crop=Crop(min_area=0.3)), Augment(zoom=Zoom(0.4, 1.5, 1.5)), Augment(expand=Expand(1.0, 1.5, 2))],
)
def test_changes_show_the_same_place_of_a_fraction(augment: Augment) -> None:
    """A smaller crop is decoded at more of its size, and the picture ends where it did."""
    image = clouds(603, 811)
    by_fraction, by_all = (
        change(Augment(expand=augment.expand, crop=augment.crop, zoom=augment.zoom, decode=how), View(48))
        for how in ("fraction", "full")
    )
    differ = 0
    for number in range(8):
        given = encoded(image, jpeg(image))
        one, other = by_fraction(given, number)["image"], by_all(given, number)["image"]
        assert decibels(one, other) > MOST_LOST
        differ += not np.array_equal(one, other)
    assert differ > 4


def test_box_is_where_its_pixels_are() -> None:
    box = np.array([[0.30, 0.10, 0.55, 0.60]], np.float32)
    image = scene(box[0], height=1203, width=1607)
    change_it = change(Augment(crop=Crop(min_area=0.4), zoom=Zoom(0.7, 1.3)), View(96))
    for number in range(10):
        example = encoded(image, jpeg(image, 95)) | {"boxes": box, "classes": np.int64([4])}
        changed = change_it(example, number)
        if len(changed["boxes"]):
            np.testing.assert_allclose(changed["boxes"][0], rectangle_in(changed["image"]), atol=1.5 / 96)


@pytest.mark.parametrize("resize", [("bilinear",), ("smooth", "nearest"), ("bicubic",)])
def test_ways_that_look_at_single_pixels_get_all_of_them(resize: tuple[str, ...]) -> None:
    image = clouds(403, 611)
    data = jpeg(image)
    whole = tf.io.decode_image(data).numpy()
    augment = Augment(resize=resize)  # type: ignore[arg-type]
    for number in range(3):
        changed = distorted(encoded(image, data), 32, augment, number)["image"]
        np.testing.assert_array_equal(changed, distorted({"image": whole}, 32, augment, number)["image"])


def test_evaluation_decodes_all_pixels() -> None:
    """So its numbers are those of prediction, which is given pixels."""
    image = clouds(403, 611)
    data = jpeg(image)
    whole = tf.io.decode_image(data)
    fitted = augment_and_resize.fit({"image": tf.constant(data), "size": [403, 611]}, View(32))["image"]
    np.testing.assert_array_equal(fitted, augment_and_resize.fit({"image": whole}, View(32))["image"])
    full = augment_and_resize.distort(
        {"image": tf.constant(data), "size": tf.constant([403, 611])},
        View(32),
        augment=Augment(decode="full"),
        key=key(0),
    )["image"]
    np.testing.assert_array_equal(full, fitted)


def test_frames_of_a_clip_become_what_each_is_alone() -> None:
    frames = [clouds(203, 301, seed) for seed in range(3)]
    data = [jpeg(frame) for frame in frames]
    clip = {"image": np.array(data, object), "size": np.int64([203, 301])}
    together = distorted(clip, 16, Augment(), 0, frames=3)["image"]
    alone = [distorted(encoded(frames[0], one), 16, Augment(), 0)["image"] for one in data]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-3)


@pytest.fixture
def store(
    write_train: Callable[..., Split], open_store: Callable[[Path, Split], RecordReader], tmp_path: Path
) -> RecordReader:
    """Five photographs of sizes that no ratio divides."""
    records = []
    for number in range(5):
        image = clouds(301 + 50 * number, 403 - 20 * number, number)
        boxes = (Box(0.1, 0.2, 0.5, 0.7, "a"), Box(0.4, 0.4, 0.9, 0.8, "b"))
        records.append(Record(f"r{number}", (jpeg(image),), *image.shape[:2], boxes=boxes))
    return open_store(tmp_path, write_train(records, ("a", "b")))


def test_batches_of_any_step_and_threads_are_the_examples_one_by_one(store: RecordReader) -> None:
    augment = Augment(crop=Crop(min_area=0.3), mosaic=Mosaic(probability=0.5))
    shape = Shape("detection", 32, 1, batch_size=3, decode_threads=7, prefetch_batches=2)
    order = ExampleOrder(5, 3)
    batches = training_batches(
        store, shape, order=order, steps=range(1, 3), augment=augment,
        encode=lambda example: {"count": tf.size(example["classes"])},
    )  # fmt: skip
    images = [image for batch in batches.as_numpy_iterator() for image in batch["image"]]
    alone = [example["image"] for example in first_examples(store, shape, order=order, augment=augment, count=9)]
    np.testing.assert_allclose(images, np.stack(alone)[3:], atol=1e-3)  # a graph joins multiplications
