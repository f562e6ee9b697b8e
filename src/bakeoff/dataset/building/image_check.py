"""One image file -> what is known of it, or why it is refused; and the JPEG that a record holds.

A JPEG that every decoder reads passes through untouched, after its whole stream was decoded at an eighth of its size.
Everything else is decoded in full and becomes a JPEG: other formats, CMYK, EXIF-rotated or oversized images.
Images that look alike have hashes that differ in few bits.
"""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import ExifTags, Image, UnidentifiedImageError

from bakeoff.dataset.building import jpeg
from bakeoff.dataset.sources.paths import format_of, what_instead
from bakeoff.foundation.files import read_regular
from bakeoff.foundation.tf_loading import quiet_pillow, stderr_aside

MOST_BYTES = 1 << 28
MOST_PIXELS = 178_000_000  # of a JPEG that can be decoded at an eighth of its size
MOST_AT_ONCE = 1 << 26  # pixels, 8192 x 8192, of what must be decoded whole: about 7 bytes of memory for each
MOST_SIDE = 65_500  # pixels, the most that libjpeg writes; a row or a column of more takes many bytes for each
MOST_SCANS = 100  # of a JPEG; each is a pass over all of its pixels
MANY_BYTES = 1 << 20  # of an animation, whose frames are not counted then
STRIP = 1 << 20  # pixels that are converted at once
QUALITY = 95
SQUARE_QUALITY = 90  # of squares; at 95 TensorFlow's fast way to decode loses as much as there is to gain
TURNED = (5, 6, 7, 8)  # orientations that exchange width and height
PALETTES = ("P", "PA")
NEAR = 3  # bits; two hashes this near share at least one of their four 16-bit parts
FLAT = (0, (1 << 64) - 1)  # hashes of images without any detail; they would all be alike
DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


class RejectedItem(ValueError):
    """Why an image, a clip or its annotation cannot become a record, for a person."""


@dataclass(frozen=True)
class Checked:
    width: int  # as it is shown: turned as EXIF says; before any resizing
    height: int
    orientation: int
    sha256: str  # of the file
    likeness: int  # 64 bits, alike for images that look alike
    changes: tuple[str, ...]  # what has to be done to it; none: the bytes stay as they are
    length: int  # of the image in the file

    @property
    def is_decoded(self) -> bool:
        """Whether the record's image is encoded anew."""
        return not all(change.startswith("cut off") for change in self.changes)


def read_image(path: str | Path) -> bytes:
    """Return the file's bytes, unless they are too many for an image. Raises RejectedItem."""
    try:
        return read_regular(path, require_length)
    except ValueError as error:
        raise RejectedItem(str(error)) from None


def require_length(length: int) -> None:
    if length > MOST_BYTES:
        raise RejectedItem(f"{length / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:,.0f} MB for one image")


def check_image(data: bytes, max_side: int | None, is_square: bool = False) -> Checked:
    """Decode the whole stream. Raises RejectedItem.

    With `is_square` a larger image is to become a square of `max_side`.
    """
    if not data:
        raise RejectedItem("empty file")
    require_length(len(data))
    checked = _check_jpeg(data) if data.startswith(jpeg.START) else _check_other(data)
    shown = checked.width, checked.height
    size = limit_size(shown, max_side, is_square)
    if size != shown:
        checked = replace(checked, changes=(*checked.changes, describe_limit(max_side, is_square)))
    if checked.is_decoded:
        times = max(1, min(side // wanted for side, wanted in zip(shown, size, strict=True)))
        part = next(part for part in (8, 4, 2, 1) if part <= times)  # of the sides of a JPEG, as Pillow's draft has it
        remedy = "; set data.max_side to half its longer side or less, or make it smaller"
        _require_pixels(shown, MOST_AT_ONCE * part * part, remedy)
    return checked


def limit_size(size: tuple[int, int], max_side: int | None, is_square: bool = False) -> tuple[int, int]:
    """Return (width, height) in the record."""
    longest = max(size)
    if not max_side or longest <= max_side:
        return size
    if is_square:
        return max_side, max_side
    width, height = (max(1, round(side * max_side / longest)) for side in size)
    return width, height


def describe_limit(max_side: int | None, is_square: bool) -> str:
    return (
        f"resized to {max_side}x{max_side} pixels" if is_square else f"resized to {max_side} pixels on its longer side"
    )


def encode_stored(data: bytes, checked: Checked, max_side: int | None, is_square: bool = False) -> bytes:
    """Return the JPEG that the record holds.

    A square is made as a network's input is, by a triangle filter, so that nothing is left to resize.
    """
    if not checked.is_decoded:
        return data[: checked.length]
    shown = (checked.width, checked.height)
    size = limit_size(shown, max_side, is_square)
    with _open(data) as opened:
        if size != shown:  # lets the decoder skip what would be thrown away
            opened.draft("RGB", size[::-1] if checked.orientation in TURNED else size)
        pixels = _decode(opened, "RGB")
        upright = turn_pixels(pixels, _left_to_turn(opened, checked.orientation))
        opened.close()  # its pixels take more room than these
    if upright.shape[1::-1] != size:
        way = Image.Resampling.BILINEAR if is_square else Image.Resampling.LANCZOS
        upright = np.asarray(Image.fromarray(upright).resize(size, way))
    quality = SQUARE_QUALITY if is_square and size != shown else QUALITY
    return simplejpeg.encode_jpeg(np.ascontiguousarray(upright), quality, "RGB", "444")


def turn_pixels(stored: np.ndarray, orientation: int) -> np.ndarray:
    """Return the image (h, w, ...) as it is shown."""
    shown = stored.swapaxes(0, 1) if orientation in TURNED else stored
    return shown[:: -1 if orientation in (3, 4, 7, 8) else 1, :: -1 if orientation in (2, 3, 6, 7) else 1]


def _check_jpeg(data: bytes) -> Checked:
    try:
        header = jpeg.read_markers(data)
    except ValueError as error:
        raise RejectedItem(f"broken JPEG: {error}") from None
    size = (header.width, header.height)
    _require_pixels(size, MOST_PIXELS if header.is_streamed else MOST_AT_ONCE)
    if header.scans > MOST_SCANS:
        raise RejectedItem(f"broken JPEG: {header.scans:,} scans, more than {MOST_SCANS}")
    changes = []
    if header.length < len(data):
        changes.append(f"cut off {len(data) - header.length:,} bytes after the end of the image")
    if header.is_common:
        small = _decode_small(data, "GRAY")[..., 0]
    else:
        coding = "CMYK" if header.components == 4 else f"{header.bits}-bit JPEG with {header.components} components"
        changes.append(f"converted from {coding}")
        if header.components == 4:
            _decode_small(data, "CMYK")
        with _open(data) as opened:
            small = _shrink(_decode(opened, "L"))
    if header.orientation > 1:
        changes.append(f"turned upright (EXIF orientation {header.orientation})")
        small = turn_pixels(small, header.orientation)
    width, height = size[::-1] if header.orientation in TURNED else size
    sha256, likeness = hashlib.sha256(data).hexdigest(), hash_picture(small)
    return Checked(width, height, header.orientation, sha256, likeness, tuple(changes), header.length)


def _decode_small(data: bytes, colours: str) -> np.ndarray:
    """Return the JPEG at an eighth of its size, which takes its whole stream. Raises RejectedItem."""
    try:
        return simplejpeg.decode_jpeg(data, colours, min_height=1, min_width=1, min_factor=8, strict=True)
    except ValueError as error:
        raise RejectedItem(f"broken JPEG: {_shorten(error)}") from None


def _check_other(data: bytes) -> Checked:
    name = format_of(data)
    if name is None:
        raise RejectedItem(what_instead(data))
    with _open(data) as opened:
        _require_pixels(opened.size, MOST_AT_ONCE)
        if getattr(opened, "is_animated", False):
            count = f"{opened.n_frames} frames" if len(data) < MANY_BYTES else "several frames"  # type: ignore[attr-defined]
            raise RejectedItem(f"animated: {count} in one {name}; save the one that is meant as an image")
        orientation, mode = _read_orientation(opened), opened.mode
        pixels = _decode(opened, "L")
        grey = turn_pixels(pixels, _left_to_turn(opened, orientation))
    changes = [f"converted from {name}" + ("" if mode == "RGB" else f" ({_describe_mode(mode)})")]
    if orientation > 1:
        changes.append(f"turned upright (EXIF orientation {orientation})")
    sha256, likeness = hashlib.sha256(data).hexdigest(), hash_picture(_shrink(grey))
    height, width = grey.shape
    return Checked(width, height, orientation, sha256, likeness, tuple(changes), len(data))


def _read_orientation(opened: Image.Image) -> int:
    """Return the EXIF orientation, 1..8; 1 if it has none, or none that makes sense."""
    try:
        orientation = opened.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # damaged bytes may raise anything, and spoil no image
        return 1
    return int(orientation) if orientation in range(1, 9) else 1


def _left_to_turn(opened: Image.Image, orientation: int) -> int:
    """Return which orientation is still to be applied to what was decoded: a TIFF Pillow turns as it loads it."""
    return _read_orientation(opened) if opened.format == "TIFF" else orientation


def _decode(opened: Image.Image, mode: str) -> np.ndarray:
    """Return the pixels in RGB (h, w, 3) or L (h, w). They are converted in strips, so that nothing is held thrice."""
    opened.load()
    width, height = opened.size
    rows = max(1, STRIP // width)
    boxes = [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
    white = 255
    if opened.mode in DEEP:
        is_16_bit = opened.mode.startswith("I;16")
        white = 65535 if is_16_bit or any(np.asarray(opened.crop(box)).max() > 255 for box in boxes) else 255
    pixels = np.empty((height, width, 3) if mode == "RGB" else (height, width), np.uint8)
    for box in boxes:
        pixels[box[1] : box[3]] = np.asarray(_convert(opened.crop(box), white).convert(mode))
    return pixels


def _convert(image: Image.Image, white: int) -> Image.Image:
    """Return the image in RGB, 8 bits a colour; what is transparent shows white."""
    if image.mode in DEEP:
        with np.errstate(invalid="ignore"):  # of bytes that are no number, which are black
            deep = np.nan_to_num(np.asarray(image).astype(np.float64))
        image = Image.fromarray(np.clip(np.rint(deep * 255 / white), 0, 255).astype(np.uint8))
    if image.mode in PALETTES or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "LA", "La", "RGBa"):
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _shrink(grey: np.ndarray) -> np.ndarray:
    height, width = (max(1, side // 8) for side in grey.shape)
    return np.asarray(Image.fromarray(grey).resize((width, height), Image.Resampling.BOX))


@contextmanager
def _open(data: bytes) -> Iterator[Image.Image]:
    """Open an image with Pillow, and turn the many errors with which it refuses one into RejectedItem.

    What libtiff prints by itself, without a file's name, is left out.
    """
    printed = stderr_aside(is_shown=False) if format_of(data) == "TIFF" else nullcontext()
    with quiet_pillow(), printed:
        try:
            with Image.open(io.BytesIO(data)) as opened:
                yield opened
        except RejectedItem:
            raise
        except UnidentifiedImageError:
            raise RejectedItem("broken image: its header cannot be read") from None
        except Image.DecompressionBombError:
            raise RejectedItem(f"more than {MOST_AT_ONCE:,} pixels") from None
        except MemoryError:
            raise RejectedItem("does not fit into memory") from None
        except Exception as error:  # a decoder may raise anything on damaged bytes
            raise RejectedItem(f"broken image: {_shorten(error)}") from None


def _require_pixels(size: tuple[int, int], most: int, remedy: str = "; make it smaller") -> None:
    if size[0] * size[1] > most:
        raise RejectedItem(f"{size[0]}x{size[1]}: more than {most:,} pixels{remedy}")
    if max(size) > MOST_SIDE:
        raise RejectedItem(f"{size[0]}x{size[1]}: more than {MOST_SIDE:,} pixels on a side{remedy}")


def _describe_mode(mode: str) -> str:
    names = {"P": "palette", "L": "grey", "LA": "grey with transparency", "RGBA": "with transparency", "1": "1 bit"}
    return "16 bit" if mode.startswith("I") else names.get(mode, mode)


def _shorten(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def hash_picture(grey: np.ndarray) -> int:
    """Return 64 bits: for each place of an 8 by 8 grid over 9 by 8 mean greys, whether it gets lighter to the right.

    Of a small grey image (h, w) uint8; enlarged images, other qualities and sizes of the same picture stay near.
    """
    rows, heights = _cut_side(grey.shape[0], 8)
    columns, widths = _cut_side(grey.shape[1], 9)
    sums = np.add.reduceat(np.add.reduceat(grey, rows, axis=0, dtype=np.int64), columns, axis=1)
    grid = np.rint(sums / heights[:, None] / widths)  # whole greys: half of one more or less is noise
    return int.from_bytes(np.packbits(grid[:, 1:] > grid[:, :-1]).tobytes())


@lru_cache(maxsize=256)
def _cut_side(side: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the parts of a side start, and how many pixels `reduceat` adds up for each: at least one."""
    starts = np.arange(count) * side // count
    return starts, np.maximum(np.diff(starts, append=side), 1)
