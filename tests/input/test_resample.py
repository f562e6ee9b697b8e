import numpy as np
import pytest
import tensorflow as tf

from bakeoff.input.resample import KERNELS, resampled, whole_resampled
from changed_pictures import noise

WHOLE = [0.0, 0.0, 40.0, 30.0]


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_way_to_resize_is_the_one_of_that_name_of_tensorflow(method: str, size: int) -> None:
    image = noise(40, 30, 3)
    expected = tf.cast(tf.image.resize(image, (size, size), method), tf.float32)
    found = resampled(tf.constant(image)[None], tf.constant(WHOLE), size, method)[0]
    # That cubic filter is looked up in a table of 1,024 places.
    np.testing.assert_allclose(found, expected, atol=0.5 if method == "bicubic" else 0.01)


def test_area_is_the_average_of_the_pixels_that_become_one() -> None:
    image = noise(40, 30, 3)
    averages = image.reshape(10, 4, 10, 3, 3).mean(axis=(1, 3))
    found = resampled(tf.constant(image)[None], tf.constant(WHOLE), 10, "area")[0]
    np.testing.assert_allclose(found, averages, atol=0.01)


@pytest.mark.parametrize("method", KERNELS)
def test_window_shows_its_part_and_zeros_beside_the_image(method: str) -> None:
    """A window twice as large, whose upper left quarter is the image, at the image's own resolution."""
    image = noise(8, 8, 3)
    found = resampled(tf.constant(image)[None], tf.constant([0.0, 0.0, 16.0, 16.0]), 16, method)[0].numpy()
    np.testing.assert_allclose(found[:8, :8], image, atol=1e-3)
    assert not found[8:].any() and not found[:, 8:].any()
    part = resampled(tf.constant(image)[None], tf.constant([2.0, 4.0, 6.0, 8.0]), 4, method)[0]
    np.testing.assert_allclose(part, image[2:6, 4:8], atol=1e-3)


@pytest.mark.parametrize(("height", "width"), [(40, 30), (37, 53), (64, 64), (90, 41), (81, 20)])
def test_whole_images_are_resampled_as_windows_of_all_that_they_are(height: int, width: int) -> None:
    image = tf.constant(noise(height, width, 3))[None]
    expected = resampled(image, tf.constant([0.0, 0.0, height, width]), 64)
    np.testing.assert_allclose(whole_resampled(image, 64), expected, atol=1e-3)


@pytest.mark.parametrize(("height", "width"), [(80, 80), (65, 30)])
def test_whole_images_that_shrink_a_little_are_bilinear(height: int, width: int) -> None:
    image = noise(height, width, 3)
    np.testing.assert_allclose(
        whole_resampled(tf.constant(image)[None], 64)[0], tf.image.resize(image, (64, 64)), atol=1e-3
    )


def test_bilinear_is_at_any_size_what_that_is_for_tensorflow() -> None:
    image = noise(200, 90, 3)
    found = whole_resampled(tf.constant(image)[None], 64, "bilinear")[0]
    np.testing.assert_allclose(found, tf.image.resize(image, (64, 64)), atol=1e-3)
