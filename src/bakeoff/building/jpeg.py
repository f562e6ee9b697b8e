"""The markers of a JPEG file, read without decoding: size, kind of coding, orientation, where the image ends."""

import re
import struct
from dataclasses import dataclass

import numpy as np

START, END = b"\xff\xd8", b"\xff\xd9"
START_OF_SCAN, APP1, APP14 = 0xDA, 0xE1, 0xEE
FRAMES = {marker for marker in range(0xC0, 0xD0) if marker not in (0xC4, 0xC8, 0xCC)}
BASELINE, EXTENDED, PROGRESSIVE = 0xC0, 0xC1, 0xC2
ALONE = {0x01, *range(0xD0, 0xD8)}  # markers without a length
ORIENTATION = 0x0112  # the EXIF tag
IN_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # the first marker after entropy-coded data


class JpegError(ValueError):
    """What is wrong with the stream, for a person."""


@dataclass(frozen=True)
class Jpeg:
    width: int
    height: int
    coding: int  # the frame marker: BASELINE, PROGRESSIVE, ...
    bits: int  # of a sample
    components: int
    orientation: int  # 1..8 as in EXIF
    length: int  # bytes up to and including the end marker

    @property
    def is_common(self) -> bool:
        """What every decoder reads: Huffman-coded, 8 bits a sample, grey or three colours."""
        return self.coding in (BASELINE, EXTENDED, PROGRESSIVE) and self.bits == 8 and self.components in (1, 3)


def read_markers(data: bytes) -> Jpeg:
    place, orientation = 2, 1
    frame: tuple[int, int, int, int, int] | None = None
    while True:
        marker, place = _marker(data, place)
        if marker == 0xD9:
            raise JpegError("ends before the image data: only a header")
        if marker in ALONE:
            continue
        length = int.from_bytes(data[place : place + 2])
        segment = data[place + 2 : place + length]
        if length < 2 or len(segment) < length - 2:
            raise JpegError("cut off inside the header")
        if marker in FRAMES:
            if len(segment) < 6:
                raise JpegError("damaged header: frame too short")
            bits, height, width, components = struct.unpack(">BHHB", segment[:6])
            frame = (marker, bits, height, width, components)
        elif marker == APP1 and segment.startswith(b"Exif\0\0"):
            orientation = exif_orientation(segment[6:])
        elif marker == START_OF_SCAN:
            break
        place += length
    if frame is None:
        raise JpegError("damaged header: image data before the frame")
    coding, bits, height, width, components = frame
    if not width or not height:
        raise JpegError(f"damaged header: {width}x{height} pixels")
    return Jpeg(width, height, coding, bits, components, orientation, _end(data, place))


def exif_orientation(tiff: bytes) -> int:
    """1 if the block has none, or none that makes sense."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 8:
        return 1
    [offset] = struct.unpack(f"{order}I", tiff[4:8])
    count = struct.unpack(f"{order}H", tiff[offset : offset + 2])[0] if offset + 2 <= len(tiff) else 0
    for entry in range(count):
        row = tiff[offset + 2 + entry * 12 : offset + 14 + entry * 12]
        if len(row) == 12 and struct.unpack(f"{order}H", row[:2])[0] == ORIENTATION:
            [value] = struct.unpack(f"{order}H", row[8:10])
            return value if 1 <= value <= 8 else 1
    return 1


def _marker(data: bytes, place: int) -> tuple[int, int]:
    """The marker at `place` and where its content starts."""
    if place + 2 > len(data):
        raise JpegError("cut off inside the header")
    if data[place] != 0xFF:
        raise JpegError(f"damaged header: no marker at byte {place}")
    while place + 1 < len(data) and data[place + 1] == 0xFF:  # fill bytes
        place += 1
    if place + 1 >= len(data):
        raise JpegError("cut off inside the header")
    return data[place + 1], place + 2


def _end(data: bytes, scan: int) -> int:
    """Just after the end marker; `scan` is where the first scan's header starts."""
    found = np.frombuffer(data, np.uint8)[scan:]
    ends = np.flatnonzero((found[1:] == END[1]) & (found[:-1] == END[0]))  # four times as fast as bytes.find
    if len(ends) == 1 and ends[0] + scan == len(data) - 2:
        return len(data)
    place = scan
    while True:
        following = IN_SCAN.search(data, place)
        if not following:
            raise JpegError("cut off: the end of the image is missing")
        marker, place = data[following.start() + 1], following.end()
        if marker == 0xD9:
            return place
        if marker not in ALONE:
            place += int.from_bytes(data[place : place + 2])
