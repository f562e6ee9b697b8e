"""One image file -> what is known of it, or why it is refused; and the JPEG that a record holds.

A JPEG that every decoder reads passes through untouched, after its whole stream was decoded at an eighth of its size.
Everything else is decoded in full and becomes a JPEG: other formats, CMYK, EXIF-rotated or oversized images.
Images that look alike have hashes that differ in few bits.
"""

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import simplejpeg
from PIL import ExifTags, Image, UnidentifiedImageError

from bakeoff.building import jpeg
from bakeoff.sources.raw_files import format_of, what_instead

MOST_BYTES = 1 << 28
MOST_PIXELS = 178_000_000
QUALITY = 95
ORIENTED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
TURNED = (5, 6, 7, 8)  # orientations that exchange width and height
PALETTES = ("P", "PA")
NEAR = 3  # bits; two hashes this near share at least one of their four 16-bit parts
MOST_LOOKED_AT = 200  # candidates for one image, so that thousands of blank images do not make millions of pairs
FLAT = (0, (1 << 64) - 1)  # hashes of images without any detail; they would all be alike
DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


class Refused(ValueError):
    """Why an image, a clip or its annotation cannot become a record, for a person."""


@dataclass(frozen=True)
class Checked:
    """An image that can become a record."""

    width: int  # as it is shown: turned as EXIF says; before any resizing
    height: int
    orientation: int
    sha256: str  # of the file
    likeness: int  # 64 bits, alike for images that look alike
    changes: tuple[str, ...]  # what has to be done to it; none: the bytes stay as they are
    length: int  # of the image in the file


def check_image(data: bytes, max_side: int | None) -> Checked:
    """Decode the whole stream. Raises Refused."""
    if not data:
        raise Refused("empty file")
    if len(data) > MOST_BYTES:
        raise Refused(f"{len(data) / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:,.0f} MB for one image")
    found = _check_jpeg(data) if data.startswith(jpeg.START) else _check_other(data)
    if max_side and max(found.width, found.height) > max_side:
        change = f"resized to {max_side} pixels on its longer side"
        found = replace(found, changes=(*found.changes, change))
    return found


def limit_size(size: tuple[int, int], max_side: int | None) -> tuple[int, int]:
    """Return (width, height) in the record."""
    longest = max(size)
    if not max_side or longest <= max_side:
        return size
    width, height = (max(1, round(side * max_side / longest)) for side in size)
    return width, height


def encode_stored(data: bytes, checked: Checked, max_side: int | None) -> bytes:
    """Return the JPEG of the record."""
    if not checked.changes:
        return data
    if all(change.startswith("cut off") for change in checked.changes):
        return data[: checked.length]
    shown = (checked.width, checked.height)
    size = limit_size(shown, max_side)
    with _refuse_plainly():
        opened = Image.open(io.BytesIO(data))
        if checked.orientation not in TURNED and size != shown:
            opened.draft("RGB", size)  # lets the decoder skip what would be thrown away
        image = _load_upright(opened, checked.orientation)
    if image.size != size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    return simplejpeg.encode_jpeg(np.ascontiguousarray(image), QUALITY, "RGB", "444")


def _check_jpeg(data: bytes) -> Checked:
    try:
        header = jpeg.read_markers(data)
    except ValueError as error:
        raise Refused(f"broken JPEG: {error}") from None
    _require_pixels(header.width, header.height)
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
        with _refuse_plainly():
            small = _shrink(_convert(Image.open(io.BytesIO(data))))
    if header.orientation in ORIENTED:
        changes.append(f"turned upright (EXIF orientation {header.orientation})")
        small = np.asarray(Image.fromarray(small).transpose(ORIENTED[header.orientation]))
    size = (header.width, header.height)
    width, height = size[::-1] if header.orientation in TURNED else size
    sha256, likeness = hashlib.sha256(data).hexdigest(), hash_picture(small)
    return Checked(width, height, header.orientation, sha256, likeness, tuple(changes), header.length)


def _decode_small(data: bytes, colours: str) -> np.ndarray:
    """Return the JPEG at an eighth of its size, which takes its whole stream. Raises Refused."""
    try:
        return simplejpeg.decode_jpeg(data, colours, min_height=1, min_width=1, min_factor=8, strict=True)
    except ValueError as error:
        raise Refused(f"broken JPEG: {_shorten(error)}") from None


def _check_other(data: bytes) -> Checked:
    name = format_of(data)
    if name is None:
        raise Refused(what_instead(data))
    with _refuse_plainly():
        opened = Image.open(io.BytesIO(data))
        _require_pixels(*opened.size)
        frames = getattr(opened, "n_frames", 1)
        if frames > 1:
            raise Refused(f"animated: {frames} frames in one {name}; save the one that is meant as an image")
        orientation = opened.getexif().get(ExifTags.Base.Orientation, 1)
        mode = opened.mode
        image = _load_upright(opened, orientation)
    changes = [f"converted from {name}" + ("" if mode == "RGB" else f" ({_describe_mode(mode)})")]
    if orientation in ORIENTED:
        changes.append(f"turned upright (EXIF orientation {orientation})")
    else:
        orientation = 1
    sha256, likeness = hashlib.sha256(data).hexdigest(), hash_picture(_shrink(image))
    return Checked(*image.size, orientation, sha256, likeness, tuple(changes), len(data))


def _load_upright(opened: Image.Image, orientation: int) -> Image.Image:
    """Return the pixels in RGB, turned as EXIF says."""
    image = _convert(opened)
    if opened.format == "TIFF":  # Pillow turns it as it loads it; this is what is left to do
        orientation = opened.getexif().get(ExifTags.Base.Orientation, 1)
    return image.transpose(ORIENTED[orientation]) if orientation in ORIENTED else image


def _convert(image: Image.Image) -> Image.Image:
    """Return the image in RGB, 8 bits a colour; what is transparent shows white."""
    if image.mode in DEEP:
        deep = np.asarray(image).astype(np.float64)
        top = 65535 if deep.max() > 255 or image.mode.startswith("I;16") else 255
        image = Image.fromarray(np.clip(np.rint(deep * 255 / top), 0, 255).astype(np.uint8))
    if image.mode in PALETTES or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "LA", "La", "RGBa"):
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _shrink(image: Image.Image) -> np.ndarray:
    small = image.convert("L").resize((max(1, image.width // 8), max(1, image.height // 8)), Image.Resampling.BOX)
    return np.asarray(small)


@contextmanager
def _refuse_plainly() -> Iterator[None]:
    """Turn Pillow's many ways to say that it cannot read a file into one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # from 89 million pixels; ours are MOST_PIXELS
        try:
            yield
        except Refused:
            raise
        except UnidentifiedImageError:
            raise Refused("broken: its header cannot be read") from None
        except Image.DecompressionBombError:
            raise Refused(f"more than {MOST_PIXELS:,} pixels") from None
        except MemoryError:
            raise Refused("does not fit into memory") from None
        except Exception as error:  # a decoder may raise anything on damaged bytes
            raise Refused(f"broken: {_shorten(error)}") from None


def _require_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise Refused(f"{width}x{height}: more than {MOST_PIXELS:,} pixels")


def _describe_mode(mode: str) -> str:
    names = {"P": "palette", "L": "grey", "LA": "grey with transparency", "RGBA": "with transparency", "1": "1 bit"}
    return "16 bit" if mode.startswith("I") else names.get(mode, mode)


def _shorten(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def hash_picture(grey: np.ndarray) -> int:
    """Return 64 bits that say for an 8 by 8 grid over 9 by 8 mean greys whether it gets lighter to the right.

    Of a small grey image (h, w) uint8; enlarged images, other qualities and sizes of the same picture stay near.
    """
    rows, columns = (np.arange(count) * side // count for count, side in zip((8, 9), grey.shape, strict=True))
    sums = np.add.reduceat(np.add.reduceat(grey, rows, axis=0, dtype=np.int64), columns, axis=1)
    # So many pixels `reduceat` adds up from each start to the next; one where the next is no further.
    heights, widths = (
        np.maximum(np.diff(starts, append=end), 1) for starts, end in zip((rows, columns), grey.shape, strict=True)
    )
    grid = np.rint(sums / heights[:, None] / widths)  # whole greys: half of one more or less is noise
    return int.from_bytes(np.packbits(grid[:, 1:] > grid[:, :-1]).tobytes())


def find_near_pairs(train: np.ndarray, validation: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield (place in train, place in validation) of uint64 hashes that differ in at most NEAR bits."""
    seen: set[tuple[int, int]] = set()
    detailed = np.flatnonzero(~np.isin(validation, np.array(FLAT, np.uint64)))
    for part in range(4):
        shift = np.uint64(16 * part)
        keys = (train >> shift).astype(np.uint16)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        wanted = (validation[detailed] >> shift).astype(np.uint16)
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        for place, low, high in zip(detailed, first, last, strict=True):
            candidates = order[low : min(high, low + MOST_LOOKED_AT)]
            near = candidates[np.bitwise_count(train[candidates] ^ validation[place]) <= NEAR]
            for other in near:
                pair = (int(other), int(place))
                if pair not in seen:
                    seen.add(pair)
                    yield pair
