"""One image file: what passes untouched, what is converted and how, what is refused and why."""

import io
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError

from bakeoff.dataset.building import jpeg
from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, limit_size, read_image
from bakeoff.dataset.building.survey import draw_sample
from bakeoff.dataset.records.record import Record
from support.drawing import encoded, pixels, saved, turned, write
from support.messages import missing_in

SCENE = pixels(7, 48, 32)


def stored(data: bytes, max_side: int | None = None) -> np.ndarray:
    """Pixels of the record's JPEG, by another decoder than the one that checked it."""
    checked = check_image(data, max_side)
    image = Image.open(io.BytesIO(encode_stored(data, checked, max_side)))
    assert image.format == "JPEG"
    assert image.size == limit_size((checked.width, checked.height), max_side)
    return np.asarray(image.convert("RGB")).astype(int)


def assert_alike(pixels: np.ndarray, expected: np.ndarray, most: float = 4) -> None:
    assert pixels.shape == expected.shape
    assert np.abs(pixels - expected.astype(int)).mean() < most


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 30}, {"optimize": True}]
)
def test_a_sound_jpeg_keeps_its_bytes(options: dict) -> None:
    data = saved(Image.fromarray(SCENE), "JPEG", **options)
    checked = check_image(data, None)
    assert checked.changes == ()
    assert encode_stored(data, checked, None) is data


def test_a_grey_jpeg_keeps_its_bytes() -> None:
    data = saved(Image.fromarray(SCENE).convert("L"), "JPEG")
    assert encode_stored(data, check_image(data, None), None) is data


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "WEBP", "GIF", "PPM"])
def test_another_format_becomes_a_jpeg_of_the_same_pixels(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    assert_alike(stored(saved(Image.fromarray(SCENE), kind, **options)), SCENE, 8 if kind == "GIF" else 4)


def test_cmyk_shows_the_colours_that_it_prints() -> None:
    """Pure inks, by hand: no ink is white, cyan takes the red away, black takes all."""
    inks = np.zeros((16, 64, 4), np.uint8)
    inks[:, 16:32, 0] = 255
    inks[:, 32:48, 3] = 255
    inks[:, 48:, 1] = 255
    pixels = stored(saved(Image.fromarray(inks, "CMYK"), "JPEG", quality=100, subsampling=0))
    expected = np.array([[255, 255, 255], [0, 255, 255], [0, 0, 0], [255, 0, 255]])
    np.testing.assert_allclose(pixels[8, 8::16], expected, atol=6)


def test_sixteen_bits_keep_their_whole_range() -> None:
    ramp = np.tile(np.linspace(0, 65535, 64).astype(np.uint16), (16, 1))
    pixels = stored(saved(Image.fromarray(ramp), "PNG"))
    np.testing.assert_allclose(pixels[8, :, 0], np.linspace(0, 255, 64), atol=3)


def test_what_is_transparent_shows_white_and_half_of_it_half() -> None:
    image = np.zeros((16, 48, 4), np.uint8)
    image[:, 16:32, 3], image[:, 32:, 3] = 128, 255  # black ink: not there, half there, there
    pixels = stored(saved(Image.fromarray(image), "PNG"))
    np.testing.assert_allclose(pixels[8, 8::16, 0], [255, 127, 0], atol=3)


def test_a_transparent_palette_and_one_bit_and_grey_are_read_as_colours() -> None:
    picture = Image.fromarray(SCENE).convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
    picture.putpixel((0, 0), 0)
    assert_alike(stored(saved(picture, "PNG", transparency=255)), np.asarray(picture.convert("RGB")), 6)
    bits = Image.fromarray(SCENE).convert("1")
    assert set(np.unique(np.asarray(bits))) == {False, True}
    assert_alike(stored(saved(bits, "PNG")), np.asarray(bits.convert("RGB")), 12)
    grey = Image.fromarray(SCENE).convert("L")
    assert_alike(stored(saved(grey, "PNG")), np.asarray(grey.convert("RGB")))


# What each EXIF orientation says, on an array, from the standard's table: where stored row 0 and column 0 are shown.
UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: a.transpose(1, 0, 2)[:, ::-1],
    7: lambda a: a.transpose(1, 0, 2)[::-1, ::-1],
    8: lambda a: a.transpose(1, 0, 2)[::-1],
}


@pytest.mark.parametrize("orientation", sorted(UPRIGHT))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_exif_orientation_is_applied_to_the_pixels(orientation: int, kind: str) -> None:
    data = saved(Image.fromarray(SCENE), kind, exif=turned(orientation))
    assert_alike(stored(data), UPRIGHT[orientation](SCENE))
    reread = Image.open(io.BytesIO(encode_stored(data, check_image(data, None), None)))
    assert reread.getexif().get(0x0112, 1) == 1  # else a viewer would turn it twice


@pytest.mark.parametrize("orientation", [0, 9, 255])
def test_an_orientation_that_does_not_exist_is_none(orientation: int) -> None:
    data = saved(Image.fromarray(SCENE), "JPEG", exif=turned(orientation))
    assert encode_stored(data, check_image(data, None), None) is data
    other = check_image(saved(Image.fromarray(SCENE), "PNG", exif=turned(orientation)), None)
    assert (other.orientation, other.changes) == (1, ("converted from PNG",))


def test_bytes_after_the_image_are_cut_off() -> None:
    data = encoded(1)
    checked = check_image(data + b"\xff\xd8 something else", None)
    [change] = checked.changes
    assert missing_in(change, "cut off", "17 bytes") == []
    assert encode_stored(data + b"\xff\xd8 something else", checked, None) == data


def test_an_end_marker_inside_the_header_is_not_the_end() -> None:
    """A thumbnail in the header is a JPEG of its own."""
    data = encoded(1)
    whole = data[:2] + b"\xff\xe3\x00\x08x\xff\xd8\xff\xd9y" + data[2:]
    assert encode_stored(whole, check_image(whole, None), None) is whole


@pytest.mark.parametrize("comment", [0, 5000], ids=["short file", "long file"])
@pytest.mark.parametrize(("mode", "scans"), [("L", 6), ("RGB", 10)])
def test_all_scans_of_a_progressive_jpeg_are_counted(mode: str, scans: int, comment: int) -> None:
    """As many as libjpeg's own script of a progression has."""
    data = saved(Image.fromarray(SCENE[:16, :16]).convert(mode), "JPEG", progressive=True, comment=b"c" * comment)
    assert (len(data) < jpeg.FEW) == (comment == 0)
    for behind in (b"", b"\xff\xda\xff\xd9"):
        header = jpeg.read_markers(data + behind)
        assert (header.scans, header.length) == (scans, len(data))


@pytest.mark.parametrize(
    ("size", "max_side", "expected"), [((200, 100), 50, (50, 25)), ((100, 300), 60, (20, 60)), ((40, 30), 64, (40, 30))]
)
def test_a_large_image_is_resized_to_its_longer_side(
    size: tuple[int, int], max_side: int, expected: tuple[int, int]
) -> None:
    data = encoded(3, width=size[0], height=size[1])
    shown = stored(data, max_side)
    assert shown.shape[1::-1] == expected
    shrunk = np.asarray(Image.fromarray(pixels(3, *size)).resize(expected, Image.Resampling.BOX))
    assert_alike(shown, shrunk, 6)


@pytest.mark.parametrize(("size", "side"), [((200, 100), 50), ((100, 300), 60), ((400, 30), 64), ((1200, 900), 64)])
def test_a_square_is_what_a_network_is_shown_of_the_image(size: tuple[int, int], side: int) -> None:
    """Of all its pixels, by a triangle filter; a side that is shorter than the square grows, as it would there."""
    image = Image.fromarray(pixels(3, *size)).resize(size)
    data = saved(image, "JPEG", quality=95, subsampling=0)
    checked = check_image(data, side, is_square=True)
    assert checked.changes == (f"resized to {side}x{side} pixels",) and (checked.width, checked.height) == size
    decoded = np.asarray(Image.open(io.BytesIO(encode_stored(data, checked, side, is_square=True)))).astype(int)
    assert_alike(decoded, np.asarray(image.resize((side, side), Image.Resampling.BILINEAR)), 2)


def test_an_image_no_larger_than_the_square_keeps_its_bytes() -> None:
    data = encoded(3, width=64, height=30)
    assert encode_stored(data, check_image(data, 64, is_square=True), 64, is_square=True) is data


def test_every_cut_of_a_jpeg_is_noticed() -> None:
    data = encoded(5, quality=90)
    for length in range(1, len(data)):
        with pytest.raises(RejectedItem):
            check_image(data[:length], None)


def test_damage_of_the_entropy_stream_is_noticed_unless_it_decodes_into_as_many_blocks() -> None:
    """JPEG has no checksum: damage that is as long, in blocks and bits, as what was there cannot be found."""
    whole = encoded(6, width=320, height=240, quality=95)
    scan = whole.index(b"\xff\xda") + 14
    noticed = 0
    for seed in range(40):
        data, draw = bytearray(whole), np.random.default_rng(seed)
        start = int(draw.integers(scan, len(data) - 600))
        data[start : start + 512] = draw.integers(0, 255, 512, np.uint8).tobytes()
        try:
            check_image(bytes(data), None)
        except RejectedItem as error:
            assert str(error).startswith("broken JPEG")
            noticed += 1
    assert noticed >= 30


def test_a_stretch_of_zeros_in_the_entropy_stream_is_noticed() -> None:
    whole = encoded(6, width=320, height=240, quality=95)
    half = len(whole) // 2
    with pytest.raises(RejectedItem, match="broken JPEG"):
        check_image(whole[:half] + bytes(1024) + whole[half + 1024 :], None)


def test_damage_in_the_header_is_noticed() -> None:
    data = encoded(6)
    table = data.index(b"\xff\xc4")
    with pytest.raises(RejectedItem, match="broken JPEG"):
        check_image(data[:table] + b"\x00\x00" + data[table + 2 :], None)
    frame = data.index(b"\xff\xc0")
    with pytest.raises(RejectedItem, match="broken JPEG: damaged header: 0x0 pixels"):
        check_image(data[: frame + 5] + b"\0\0\0\0" + data[frame + 9 :], None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"<!DOCTYPE html><html>gone</html>", "no image: a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS pointer.*`git lfs pull`"),
        (b"\x00\x05\x16\x07" + bytes(80), "a macOS resource fork"),
        (b"\0\0\0\x18ftypheic" + bytes(80), "HEIC or AVIF.*JPEG"),
        (b"%PDF-1.7", "a PDF document"),
        (b"PK\x03\x04 zip", "a zip archive"),
        (b"hello there", r"no image: starts with b'hello th'"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "broken JPEG: cut off.*header"),
        (b"\xff\xd8\xff\xd9", "broken JPEG: .*only a header"),
        (encoded(1, "PNG")[:-40], "broken image:"),
    ],
)
def test_what_is_no_sound_image_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(RejectedItem, match=reason):
        check_image(data, None)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animated_image_is_refused(kind: str) -> None:
    frames = [Image.fromarray(pixels(seed)) for seed in (1, 2, 3)]
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    with pytest.raises(RejectedItem, match="animated: 3 frames in one"):
        check_image(data, None)


def test_a_header_that_promises_too_many_pixels_is_refused_before_decoding() -> None:
    data = encoded(1, "PNG")
    wide = data[:16] + (60000).to_bytes(4) + (60000).to_bytes(4) + data[24:]
    with pytest.raises(RejectedItem):
        check_image(wide, None)
    jpeg = encoded(1)
    frame = jpeg.index(b"\xff\xc0")
    with pytest.raises(RejectedItem, match="65535x65535: more than 178,000,000 pixels"):
        check_image(jpeg[: frame + 5] + b"\xff\xff\xff\xff" + jpeg[frame + 9 :], None)


def test_pillows_own_warning_about_many_pixels_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It warns from 89 million pixels on, and refuses twice as many."""
    data = saved(Image.fromarray(SCENE), "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", SCENE.shape[0] * SCENE.shape[1] - 1)
    checked = check_image(data, None)
    assert encode_stored(data, checked, None) and checked.changes == ("converted from PNG",)


@pytest.mark.parametrize(
    "block",
    [
        b"Exif\0\0",
        b"Exif\0\0II*\0\xff\xff\xff\xff",
        b"Exif\0\0MM\0*\0\0\0\x08\0\x05\x01\x12",
        b"Exif\0\0no TIFF at all",
    ],
)
def test_a_damaged_exif_block_spoils_no_image(block: bytes) -> None:
    data = encoded(1)
    whole = data[:2] + b"\xff\xe1" + (len(block) + 2).to_bytes(2) + block + data[2:]
    assert encode_stored(whole, check_image(whole, None), None) is whole


def test_images_that_look_alike_have_hashes_that_are_near() -> None:
    picture = Image.fromarray(pixels(11, 320, 240))
    alike = [
        saved(picture, "JPEG", quality=90),
        saved(picture, "JPEG", quality=40),
        saved(picture.resize((160, 120)), "JPEG"),
        saved(picture, "PNG"),
    ]
    hashes = [check_image(data, None).likeness for data in alike]
    other = check_image(encoded(12, width=320, height=240), None).likeness
    assert all((hashes[0] ^ one).bit_count() <= 3 for one in hashes)
    assert (hashes[0] ^ other).bit_count() > 10


# What an image may cost.

COST = """
import io, sys
from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored
data, max_side = open(sys.argv[1], "rb").read(), int(sys.argv[2]) or None
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
check_image(open(sys.argv[3], "rb").read(), None)  # loads all that is needed
before = peak()
try:
    encode_stored(data, check_image(data, max_side), max_side)
except RejectedItem as error:
    print(error)
print(peak() - before)
"""


def cost(tmp_path: Path, data: bytes, max_side: int = 0) -> tuple[list[str], int]:
    """Return what was said, and the bytes of memory that checking and encoding took, in a process of its own."""
    write(tmp_path / "large", data), write(tmp_path / "small", encoded(1, "PNG"))
    command = [sys.executable, "-c", COST, str(tmp_path / "large"), str(max_side), str(tmp_path / "small")]
    *messages, taken = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return messages, int(taken)


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc, as on Linux")


@needs_proc
@pytest.mark.parametrize(("mode", "most"), [("RGB", 9), ("RGBA", 9), ("L", 6), ("I;16", 7)])
def test_an_image_takes_few_bytes_a_pixel(mode: str, most: float, tmp_path: Path) -> None:
    """Pillow's pixels and the record's, but no copies of them: 4 + 3 bytes, of grey ones 1 + 3, of deep ones 2 + 3."""
    side = 4000
    messages, taken = cost(tmp_path, saved(Image.new(mode, (side, side)), "PNG", compress_level=1))
    assert messages == [] and taken < most * side * side + 1e6  # what is no pixel


@needs_proc
@pytest.mark.parametrize("orientation", [1, 6])
def test_a_photograph_of_108_megapixels_is_read_in_parts(orientation: int, tmp_path: Path) -> None:
    data = saved(Image.new("L", (12000, 9000), 99), "JPEG", exif=turned(orientation))
    messages, taken = cost(tmp_path, data, max_side=1024)
    assert messages == [] and taken < 40e6
    messages, taken = cost(tmp_path, data)
    assert len(messages) == (orientation != 1) and taken < 40e6
    assert all(missing_in(rule, "9000x12000", "67,108,864", "data.max_side", "smaller") == [] for rule in messages)


@needs_proc
@pytest.mark.parametrize(("kind", "options"), [("PNG", {"compress_level": 1}), ("JPEG", {"progressive": True})])
def test_more_than_67_megapixels_that_must_be_decoded_at_once_are_refused_before(
    kind: str, options: dict, tmp_path: Path
) -> None:
    data = saved(Image.new("L", (9400, 9400)), kind, **options)
    [message], taken = cost(tmp_path, data, max_side=1024)
    assert missing_in(message, "9400x9400", "67,108,864", "smaller") == [] and "max_side" not in message
    assert taken < 10e6


def test_a_file_too_large_for_an_image_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RejectedItem, match=r"^1,099,512 MB.*\b268 MB"):
        read_image(path)


def test_a_jpeg_of_endless_scans_is_refused_before_it_is_decoded() -> None:
    """Each is a pass over all pixels: 20,000 of them over a large image take hours."""
    data = saved(Image.fromarray(SCENE), "JPEG", progressive=True)
    scan = data.index(b"\xff\xda")
    many = data[:scan] + b"\xff\xda\x00\x08\x01\x01\x00\x01\x05\x00" * 20_000 + b"\xff\xd9"
    with pytest.raises(RejectedItem, match="broken JPEG: 20,000 scans, more than 100"):
        check_image(many, None)


def test_frames_of_a_large_animation_are_not_counted() -> None:
    """A million of them take half a minute."""
    frames = [Image.new("L", (16, 16), value) for value in (1, 2)]
    whole = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    frame = whole[whole.index(b"!\xf9", whole.index(b",")) : -1]
    start = time.monotonic()
    with pytest.raises(RejectedItem, match="animated: .*several.*GIF"):
        check_image(whole[:-1] + frame * (30_000_000 // len(frame)) + b";", None)
    assert time.monotonic() - start < 5


def test_not_a_number_is_black() -> None:
    deep = np.full((16, 16), 200, np.float32)
    deep[:, 8:] = np.nan
    np.testing.assert_allclose(stored(saved(Image.fromarray(deep), "TIFF"))[8, ::8, 0], [200, 0], atol=3)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "CMYK", "I;16", "1"])
def test_strips_make_the_pixels_of_the_whole(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(3).integers(0, 256, (37, 29, 4), np.uint8)
    image = Image.fromarray(noise)
    if mode == "I;16":
        image = Image.fromarray(noise[..., :2].copy().view(np.uint16)[..., 0])
    data = saved(image if mode == "I;16" else image.convert(mode), "TIFF" if mode == "CMYK" else "PNG")
    whole = encode_stored(data, check_image(data, None), None)
    monkeypatch.setattr("bakeoff.dataset.building.image_check.STRIP", 60)
    assert encode_stored(data, check_image(data, None), None) == whole


# Nothing is printed that names no file.


def test_libtiff_and_pillow_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    whole = saved(Image.fromarray(pixels(5, 200, 200)), "TIFF", compression="tiff_lzw")
    draw, refused, damaged = np.random.default_rng(0), 0, list[bytes]()
    for _ in range(60):
        data = bytearray(whole)
        for place in draw.integers(8, len(data), 8):
            data[place] = draw.integers(0, 256)
        damaged.append(bytes(data))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for one in damaged:
            with suppress(UnidentifiedImageError, OSError, ValueError, SyntaxError):
                Image.open(io.BytesIO(one)).load()
        assert "tempfile.tif: " in capfd.readouterr().err  # so it does by itself
        for one in damaged:
            with suppress(RejectedItem):
                check_image(one, None)
                refused -= 1
            refused += 1
    assert refused > 10
    assert capfd.readouterr().err == ""


def test_a_jpeg_with_a_broken_list_of_pictures_is_drawn_without_a_message() -> None:
    """Pillow takes it for a broken MPO, and says so without a file's name."""
    data = encoded(1)
    block = b"MPF\0II*\0\x08\0\0\0\0\0\0\0\0\0"  # a list without a length
    whole = data[:2] + b"\xff\xe2" + (len(block) + 2).to_bytes(2) + block + data[2:]
    with pytest.warns(UserWarning, match="malformed MPO"):
        Image.open(io.BytesIO(whole))
    assert check_image(whole, None).changes == ()
    assert draw_sample("train", Record("a.jpg", (whole,), 24, 32, labels=("cat",))).picture.startswith(
        "data:image/jpeg"
    )
