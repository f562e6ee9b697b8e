"""One image file -> what is known of it, or why it is refused; and the JPEG that a record holds.

A JPEG that every decoder reads passes through untouched, after its whole stream was decoded at an eighth of its size.
Everything else is decoded in full and becomes a JPEG: other formats, CMYK, EXIF-rotated or oversized images.
"""

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import simplejpeg
from PIL import Image, UnidentifiedImageError

from bakeoff.building import jpeg
from bakeoff.building.likeness import picture_hash
from bakeoff.sources.sniff import format_of, what_instead

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
DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


class ImageRefused(ValueError):
    """Why an image cannot become a record, for a person."""


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

    @property
    def is_turned(self) -> bool:
        return self.orientation in TURNED


def check_image(data: bytes, max_side: int | None) -> Checked:
    """Decode the whole stream. Raises ImageRefused."""
    if not data:
        raise ImageRefused("empty file")
    if len(data) > MOST_BYTES:
        raise ImageRefused(f"{len(data) / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:,.0f} MB for one image")
    found = _check_jpeg(data) if data.startswith(jpeg.START) else _check_other(data)
    if max_side and max(found.width, found.height) > max_side:
        found = _with_change(found, f"resized to {max_side} pixels on its longer side")
    return found


def stored_size(checked: Checked, max_side: int | None) -> tuple[int, int]:
    """(width, height) in the record."""
    width, height = checked.width, checked.height
    longest = max(width, height)
    if not max_side or longest <= max_side:
        return width, height
    return max(1, round(width * max_side / longest)), max(1, round(height * max_side / longest))


def stored_bytes(data: bytes, checked: Checked, max_side: int | None) -> bytes:
    """The JPEG of the record."""
    if not checked.changes:
        return data
    if all(change.startswith("cut off") for change in checked.changes):
        return data[: checked.length]
    size = stored_size(checked, max_side)
    with _refused_plainly():
        opened = Image.open(io.BytesIO(data))
        if checked.orientation not in TURNED and size != (checked.width, checked.height):
            opened.draft("RGB", size)  # lets the decoder skip what would be thrown away
        image = _in_rgb(opened)
    if checked.orientation in ORIENTED:
        image = image.transpose(ORIENTED[checked.orientation])
    if image.size != size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    return simplejpeg.encode_jpeg(np.ascontiguousarray(image), QUALITY, "RGB", "444")


def _check_jpeg(data: bytes) -> Checked:
    try:
        header = jpeg.read_markers(data)
    except jpeg.JpegError as error:
        raise ImageRefused(f"broken JPEG: {error}") from None
    _require_pixels(header.width, header.height)
    changes = []
    if header.length < len(data):
        changes.append(f"cut off {len(data) - header.length:,} bytes after the end of the image")
    if header.is_common:
        try:
            grey = simplejpeg.decode_jpeg(data, "GRAY", min_height=1, min_width=1, min_factor=8, strict=True)
        except ValueError as error:
            raise ImageRefused(f"broken JPEG: {_plain(error)}") from None
        small = grey[..., 0]
    else:
        coding = "CMYK" if header.components == 4 else f"{header.bits}-bit JPEG with {header.components} components"
        changes.append(f"converted from {coding}")
        if header.components == 4:
            _require_sound_cmyk(data)
        with _refused_plainly():
            small = _thumbnail(_in_rgb(Image.open(io.BytesIO(data))))
    if header.orientation in ORIENTED:
        changes.append(f"turned upright (EXIF orientation {header.orientation})")
        small = np.asarray(Image.fromarray(small).transpose(ORIENTED[header.orientation]))
    turned = header.orientation in TURNED
    width, height = (header.height, header.width) if turned else (header.width, header.height)
    return Checked(
        width, height, header.orientation, hashlib.sha256(data).hexdigest(), picture_hash(small), tuple(changes),
        header.length,
    )  # fmt: skip


def _require_sound_cmyk(data: bytes) -> None:
    try:
        simplejpeg.decode_jpeg(data, "CMYK", min_height=1, min_width=1, min_factor=8, strict=True)
    except ValueError as error:
        raise ImageRefused(f"broken JPEG: {_plain(error)}") from None


def _check_other(data: bytes) -> Checked:
    name = format_of(data)
    if name is None:
        raise ImageRefused(what_instead(data))
    with _refused_plainly():
        opened = Image.open(io.BytesIO(data))
        _require_pixels(*opened.size)
        frames = getattr(opened, "n_frames", 1)
        if frames > 1:
            raise ImageRefused(f"animated: {frames} frames in one {name}; save the one that is meant as an image")
        orientation = opened.getexif().get(jpeg.ORIENTATION, 1)
        mode = opened.mode
        image = _in_rgb(opened)
    orientation = orientation if orientation in ORIENTED else 1
    changes = [f"converted from {name}" + ("" if mode == "RGB" else f" ({_said(mode)})")]
    if orientation in ORIENTED:
        changes.append(f"turned upright (EXIF orientation {orientation})")
        image = image.transpose(ORIENTED[orientation])
    width, height = image.size
    likeness = picture_hash(_thumbnail(image))
    return Checked(width, height, orientation, hashlib.sha256(data).hexdigest(), likeness, tuple(changes), len(data))


def _in_rgb(image: Image.Image) -> Image.Image:
    """8 bits a colour; what is transparent shows white."""
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


def _thumbnail(image: Image.Image) -> np.ndarray:
    small = image.convert("L").resize((max(1, image.width // 8), max(1, image.height // 8)), Image.Resampling.BOX)
    return np.asarray(small)


@contextmanager
def _refused_plainly() -> Iterator[None]:
    """Pillow's many ways to say that it cannot read a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            yield
        except ImageRefused:
            raise
        except UnidentifiedImageError:
            raise ImageRefused("broken: its header cannot be read") from None
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise ImageRefused(f"more than {MOST_PIXELS:,} pixels") from None
        except MemoryError:
            raise ImageRefused("does not fit into memory") from None
        except Exception as error:  # a decoder may raise anything on damaged bytes
            raise ImageRefused(f"broken: {_plain(error)}") from None


def _require_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise ImageRefused(f"{width}x{height}: more than {MOST_PIXELS:,} pixels")


def _said(mode: str) -> str:
    names = {"P": "palette", "L": "grey", "LA": "grey with transparency", "RGBA": "with transparency", "1": "1 bit"}
    return "16 bit" if mode.startswith("I") else names.get(mode, mode)


def _with_change(checked: Checked, change: str) -> Checked:
    return replace(checked, changes=(*checked.changes, change))


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
