"""Images and films that would take minutes or gigabytes are refused by what their first bytes say."""

import struct
import zlib
from pathlib import Path

import pytest

from bakeoff.dataset.building.image_check import RejectedItem, check_image
from bakeoff.dataset.building.video import check_video
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.video_frames import take_frames
from bakeoff.inference.predict.read_images import Video
from support.drawing import encoded, turned, write
from support.messages import missing_in

FRAME = b"\x21\xf9\x04\x08\x0a\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"  # of a GIF, one pixel


def gif(width: int, height: int, frames: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0\0\0\0\xff\xff\xff" + FRAME * frames + b";"


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes((1 + width) * height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def exif_segment() -> bytes:
    block = turned(6).tobytes()
    return b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block


@pytest.mark.parametrize(
    "unit", [b"\xff", b"\xff\x01", b"\xff\xfe\0\x02", exif_segment()], ids=["fill", "alone", "comment", "exif"]
)
def test_a_jpeg_with_megabytes_of_markers_before_its_data_is_refused(unit: bytes) -> None:
    """Each is a step of Python: 60 MB of them take minutes."""
    data = encoded(1)
    with pytest.raises(RejectedItem, match="broken JPEG: damaged header"):
        check_image(data[:2] + unit * (1_000_000 // len(unit)) + data[2:], None)


@pytest.mark.parametrize("unit", [b"\xff\x01", b"\xff\xc4\0\0", b"\xff\xda\0\0"])
def test_a_jpeg_with_megabytes_of_markers_in_its_data_is_refused(unit: bytes) -> None:
    data = encoded(1)
    scan = data.find(b"\xff\xda") + 14
    with pytest.raises(RejectedItem, match="broken JPEG: damaged: .*markers"):
        check_image(data[:scan] + unit * (1_000_000 // len(unit)) + data[scan:] + b"\xff\xd9", None)


def test_the_first_exif_block_says_how_a_jpeg_is_turned() -> None:
    data = encoded(1, exif=turned(3))
    assert check_image(data[:2] + exif_segment() + data[2:], None).orientation == 6


@pytest.mark.parametrize("size", [(65_501, 1), (1, 70_000)])
def test_an_image_with_more_pixels_on_a_side_than_a_jpeg_can_have_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(RejectedItem, match=r"\d+x\d+: .*\b65,500 pixels on a side"):
        check_image(png(*size), None)
    assert check_image(png(*(min(side, 65_500) for side in size)), None).width


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "frames", "named"),
    [((8_192, 4_097), 3, ["8192x4097", "33,554,432"]), ((8_000, 4_000), 40, ["bytes", "1,073,741,824"])],
)
def test_a_film_of_more_pixels_than_its_bytes_can_hold_is_refused(
    size: tuple[int, int], frames: int, named: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "film.gif", gif(*size, frames))
    with pytest.raises(RejectedItem, match="broken video") as refused:
        check_video(path)
    assert missing_in(str(refused.value), *named) == []
    with pytest.raises(DataError, match="broken video") as passed_over:
        for _ in Video(path).read():
            pass
    assert missing_in(str(passed_over.value), *named) == []


def test_pictures_of_a_film_are_taken_until_it_is_unbelievably_large(tmp_path: Path) -> None:
    taken = take_frames(write(tmp_path / "film.gif", gif(8_000, 4_000, 40)), tmp_path / "out", 1.0)
    assert taken.frames == 33 and missing_in(taken.broken or "", "bytes", "1,073,741,824") == []


def test_a_film_of_more_frames_than_its_bytes_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RejectedItem, match="broken video") as refused:
        check_video(write(tmp_path / "film.gif", gif(1, 1, 100_001)))
    assert missing_in(str(refused.value), "bytes", "100,000 frames") == []


def test_a_small_film_of_many_frames_is_read(tmp_path: Path) -> None:
    assert check_video(write(tmp_path / "film.gif", gif(16, 16, 500))).frames == 500
