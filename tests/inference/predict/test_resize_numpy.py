"""What a file is shown of an image without TensorFlow is what the network is shown of it with TensorFlow."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.inference.predict.read_images import read_image
from bakeoff.inference.predict.resize_numpy import fit
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.decode import decode_frames
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.network import Sampling

SIDES = [(1, 1), (7, 300), (48, 48), (60, 45), (61, 60), (333, 90)]


@pytest.mark.parametrize("resizing", ["smooth", "legacy_bilinear"])
@pytest.mark.parametrize("crop", [1.0, 0.875, 0.5])
def test_an_image_is_resized_as_its_network_saw_it_in_evaluation(resizing: str, crop: float) -> None:
    random = np.random.default_rng(3)
    for sides in SIDES:
        image = random.integers(0, 256, (*sides, 3), np.uint8)
        view = View(48, central_crop=crop, resizing=resizing)
        shown = fit(image, view)
        assert shown.dtype == np.float32 and shown.shape == (48, 48, 3)
        np.testing.assert_allclose(
            shown, augment_and_resize.fit({"image": tf.constant(image)}, view)["image"], atol=0.02
        )


@pytest.mark.parametrize(
    "sampling",
    [Sampling("whole")] + [Sampling("part", stride, "centred", short)  # type: ignore[arg-type]
    for stride, short in itertools.product((1, 3), ("loop", "hold", "zeros"))],
)  # fmt: skip
def test_a_clip_shows_the_frames_that_its_network_saw_in_evaluation(sampling: Sampling) -> None:
    random = np.random.default_rng(4)
    view = View(8, frames=5, sampling=sampling)
    for length in (1, 2, 4, 5, 6, 13, 14, 40):
        clip = random.integers(1, 256, (length, 8, 8, 3), np.uint8)
        np.testing.assert_allclose(
            fit(clip, view), augment_and_resize.fit({"image": tf.constant(clip)}, view)["image"], atol=1e-3
        )


def test_a_photo_has_the_very_pixels_that_training_decodes(tmp_path: Path) -> None:
    noise = np.random.default_rng(5).integers(0, 256, (37, 53, 3), np.uint8)
    for number, subsampling in enumerate(("4:4:4", "4:2:2", "4:2:0")):
        path = tmp_path / f"{number}.jpg"
        Image.fromarray(noise).save(path, subsampling=subsampling, quality=90)
        decoded = decode_frames(tf.constant([path.read_bytes()]), None)[0]
        np.testing.assert_array_equal(read_image(path), decoded)
