"""The markers of a JPEG file, read without decoding: size, kind of coding, orientation, where the image ends.

Pillow reads the EXIF block; it does not show how the samples are coded, nor where the image ends.
"""

import re
import struct
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image

START, END, SCAN = b"\xff\xd8", b"\xff\xd9", b"\xff\xda"
START_OF_SCAN, APP1 = 0xDA, 0xE1
FRAMES = {marker for marker in range(0xC0, 0xD0) if marker not in (0xC4, 0xC8, 0xCC)}
SEGMENTS_READ = {APP1, *FRAMES}
BASELINE, EXTENDED, PROGRESSIVE = 0xC0, 0xC1, 0xC2
ALONE = {0x01, *range(0xD0, 0xD8)}  # markers without a length
FEW = 2048  # bytes, which `bytes.find` looks through sooner than NumPy
MANY = 1 << 24  # bytes, too many for an array of them all
MOST_MARKERS = 1 << 16  # before the image data, with the bytes that fill up between them, and as many in these data
MOST_EXIF = 100  # blocks; Pillow copies all before each
FILL = re.compile(rb"\xff*")
IN_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # the first marker after entropy-coded data


@dataclass(frozen=True)
class Jpeg:
    width: int
    height: int
    coding: int  # the frame marker: BASELINE, PROGRESSIVE, ...
    bits: int  # of a sample
    components: int
    orientation: int  # 1..8 as in EXIF
    length: int  # bytes up to and including the end marker
    scans: int

    @property
    def is_common(self) -> bool:
        """What every decoder reads: Huffman-coded, 8 bits a sample, grey or three colours."""
        return self.coding in (BASELINE, EXTENDED, PROGRESSIVE) and self.bits == 8 and self.components in (1, 3)

    @property
    def is_streamed(self) -> bool:
        """Whether a decoder holds a few lines at a time; all of what several scans refine has to be held."""
        return self.is_common and self.coding != PROGRESSIVE and self.scans == 1


def read_markers(data: bytes) -> Jpeg:
    """Return what the header says. Raises ValueError with what is wrong with the stream, for a person."""
    place, orientation, exif_blocks = 2, 1, 0
    frame: tuple[int, int, int, int, int] | None = None
    left, size = MOST_MARKERS, len(data)
    while True:
        fill_bytes = 0
        if place + 2 < size and data[place] == 0xFF and data[place + 1] != 0xFF:  # nothing fills up, as in most files
            marker, place = data[place + 1], place + 2
        else:
            marker, place, fill_bytes = _find_marker(data, place)
        left -= 1 + fill_bytes
        if left < 0 or exif_blocks > MOST_EXIF:
            raise ValueError("damaged header: thousands of markers before the image data")
        if marker == 0xD9:
            raise ValueError("ends before the image data: only a header")
        if marker in ALONE:
            continue
        length = int.from_bytes(data[place : place + 2])
        if length < 2 or (length > 2 and place + length > size):
            raise ValueError("cut off inside the header")
        segment = data[place + 2 : place + length] if marker in SEGMENTS_READ else b""
        if marker in FRAMES:
            if len(segment) < 6:
                raise ValueError("damaged header: frame too short")
            bits, height, width, components = struct.unpack(">BHHB", segment[:6])
            frame = (marker, bits, height, width, components)
        elif marker == APP1 and segment.startswith(b"Exif\0\0"):
            exif_blocks += 1
            orientation = read_orientation(segment) if exif_blocks == 1 else orientation
        elif marker == START_OF_SCAN:
            break
        place += length
    if frame is None:
        raise ValueError("damaged header: image data before the frame")
    coding, bits, height, width, components = frame
    if not width or not height:
        raise ValueError(f"damaged header: {width}x{height} pixels")
    end, scans = _find_end(data, place)
    return Jpeg(width, height, coding, bits, components, orientation, end, 1 + scans)


def read_orientation(block: bytes) -> int:
    """Return the orientation of an EXIF block, 1..8; 1 if it has none, or none that makes sense."""
    exif = Image.Exif()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a camera's block that is odd elsewhere
        try:
            exif.load(block)
            orientation = int(exif.get(ExifTags.Base.Orientation, 1))
        except Exception:  # damaged bytes may raise anything, and spoil no image
            return 1
    return orientation if orientation in range(1, 9) else 1


def _find_marker(data: bytes, place: int) -> tuple[int, int, int]:
    """Return the marker at `place`, where its content starts, and how many bytes before it fill up."""
    if place + 2 > len(data):
        raise ValueError("cut off inside the header")
    if data[place] != 0xFF:
        raise ValueError(f"damaged header: no marker at byte {place}")
    match = FILL.match(data, place + 1)
    end = match.end() if match else place + 1
    if end >= len(data):
        raise ValueError("cut off inside the header")
    return data[end], end + 1, end - place - 1


def _find_end(data: bytes, scan: int) -> tuple[int, int]:
    """Return the place just after the end marker, and how many scans start before it after the first one.

    `scan` is where the first scan's header starts.
    """
    if len(data) < FEW:
        if data.find(END, scan) == len(data) - 2:
            return len(data), data.count(SCAN, scan)
    elif len(data) < MANY:
        rest = np.frombuffer(data, np.uint8)[scan:]
        places = np.flatnonzero(rest[:-1] == END[0])  # one in two hundred, and in long files faster than bytes.find
        markers = rest[places + 1]
        ends = places[markers == END[1]]
        if len(ends) == 1 and ends[0] + scan == len(data) - 2:
            return len(data), int(np.count_nonzero(markers == START_OF_SCAN))
    place = scan
    for _ in range(MOST_MARKERS):
        following = IN_SCAN.search(data, place)
        if not following:
            raise ValueError("cut off: the end of the image is missing")
        marker, place = data[following.start() + 1], following.end()
        if marker == 0xD9:
            return place, data.count(SCAN, scan, place)
        if marker not in ALONE:
            place += int.from_bytes(data[place : place + 2])
    raise ValueError("damaged: thousands of markers in the image data")
