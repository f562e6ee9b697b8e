"""Any bytes in the place of an image end in a record that every decoder reads, or in one line that says why not."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, limit_size
from bakeoff.foundation.errors import DataError
from bakeoff.inference.predict.read_images import is_video, read_image
from support.drawing import encoded, pixels, saved, turned
from support.odd_bytes import bounded_memory, edited, examples, few_or_many

MOST_BYTES = 7.5 * (1 << 26)  # of memory: an image of as many pixels as are decoded at once, and its record


PICTURE = Image.fromarray(pixels(1, 40, 28))
SEE_THROUGH = PICTURE.copy()
SEE_THROUGH.putalpha(Image.linear_gradient("L").resize((40, 28)))
DEEP = Image.fromarray(np.asarray(PICTURE)[..., 0].astype(np.uint16) * 257)
FILES = {
    "jpeg": [
        encoded(1), encoded(2, progressive=True), encoded(3, exif=turned(6)), saved(PICTURE.convert("L"), "JPEG"),
        saved(PICTURE.convert("CMYK"), "JPEG"), saved(PICTURE, "JPEG", subsampling=0, optimize=True),
    ],
    "png": [
        saved(PICTURE, "PNG", exif=turned(3)), saved(SEE_THROUGH, "PNG"), saved(DEEP, "PNG"),
        saved(PICTURE.quantize(7), "PNG", transparency=2), saved(PICTURE.convert("1"), "PNG"),
        saved(PICTURE, "PNG", save_all=True, append_images=[SEE_THROUGH]),
    ],
    "tiff": [
        *(saved(PICTURE, "TIFF", compression=one, exif=turned(8)) for one in ("raw", "tiff_lzw", "jpeg", "packbits")),
        saved(DEEP, "TIFF"), saved(SEE_THROUGH, "TIFF", compression="tiff_adobe_deflate"),
        saved(PICTURE.convert("1"), "TIFF", compression="group4"), saved(PICTURE.convert("F"), "TIFF"),
    ],
    "gif": [
        saved(PICTURE.quantize(9), "GIF", transparency=1), saved(PICTURE, "GIF", save_all=True, append_images=[DEEP]),
    ],
    "webp": [
        saved(PICTURE, "WEBP", exif=turned(5)), saved(SEE_THROUGH, "WEBP", lossless=True),
        saved(PICTURE, "WEBP", save_all=True, append_images=[SEE_THROUGH]),
    ],
    "others": [saved(PICTURE, "BMP"), saved(PICTURE, "PPM"), saved(DEEP, "PPM"), saved(PICTURE.quantize(4), "BMP")],
}  # fmt: skip


def require_record_or_reason(data: bytes, max_side: int | None) -> None:
    try:
        checked = check_image(data, max_side)
        record = encode_stored(data, checked, max_side)
    except RejectedItem as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 300
        return
    width, height = limit_size((checked.width, checked.height), max_side)
    trained_on = tf.io.decode_image(record, channels=3, expand_animations=False)
    assert trained_on.shape == (height, width, 3)


@few_or_many
@pytest.mark.parametrize("kind", FILES)
def test_any_bytes_become_a_record_or_are_refused(kind: str, number: int, capfd: pytest.CaptureFixture[str]) -> None:
    @examples(number)
    @given(st.sampled_from(FILES[kind]).flatmap(edited), st.sampled_from([None, 16]))
    def check(data: bytes, max_side: int | None) -> None:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            require_record_or_reason(data, max_side)
        assert warned == []

    for data in FILES[kind]:
        require_record_or_reason(data, None)
    capfd.readouterr()
    with bounded_memory(MOST_BYTES):
        check()
    assert capfd.readouterr().err == ""


@few_or_many
def test_any_bytes_are_predicted_on_or_passed_over(number: int, tmp_path: Path) -> None:
    every = [data for files in FILES.values() for data in files]

    @examples(number)
    @given(st.one_of(st.sampled_from(every).flatmap(edited), st.binary(max_size=300)))
    def check(data: bytes) -> None:
        path = tmp_path / "a.gif"
        path.write_bytes(data)
        try:
            if not is_video(path):
                assert read_image(path).shape[2] == 3
        except DataError as error:
            assert str(error) and "\n" not in str(error)

    check()
