"""Pictures that are known already are found again, other ones are not."""

import io

import numpy as np
from PIL import Image

from bakeoff.dataset.building.image_check import check_image
from bakeoff.inference.active_learning.unlabelled_pool import KnownImages, open_grey


def make_jpeg(seed: int, side: int = 288, quality: int = 90) -> bytes:
    """Return coarse noise, which differs from seed to seed as photographs do."""
    pixels = np.random.default_rng(seed).integers(0, 255, (4, 4, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((side, side), Image.Resampling.NEAREST).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def add(known: KnownImages, name: str, encoded: bytes) -> None:
    known.add(name, check_image(encoded, None).likeness, lambda: open_grey(encoded))


def find(known: KnownImages, encoded: bytes) -> str | None:
    return known.find(encoded, check_image(encoded, None).likeness)


def test_a_picture_saved_again_smaller_is_known_and_another_is_not() -> None:
    known = KnownImages()
    assert find(known, make_jpeg(0)) is None
    add(known, "first.jpg", make_jpeg(0))
    assert find(known, make_jpeg(0, side=144, quality=60)) == "first.jpg"
    assert find(known, make_jpeg(1)) is None


def test_pictures_without_any_detail_are_all_new() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64), (90, 90, 90)).save(buffer, "PNG")
    known = KnownImages()
    add(known, "grey.png", buffer.getvalue())
    assert find(known, buffer.getvalue()) is None
