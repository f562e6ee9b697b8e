"""What a file is by its first bytes, whatever its name says."""

import re

IMAGE_SUFFIXES = frozenset(
    ".jpg .jpeg .jpe .jfif .png .gif .bmp .webp .tif .tiff .mpo .ppm .pgm .heic .heif .avif".split()
)
VIDEO_SUFFIXES = frozenset(".mp4 .m4v .mkv .avi .mov .webm .gif".split())
HEAD = 64  # bytes that are enough to tell

_FORMATS = (
    (rb"\xff\xd8", "JPEG"),
    (rb"\x89PNG\r\n\x1a\n", "PNG"),
    (rb"GIF8[79]a", "GIF"),
    (rb"RIFF....WEBP", "WebP"),
    (rb"BM....\0\0\0\0", "BMP"),
    (rb"II\*\0|MM\0\*", "TIFF"),
    (rb"P[1-6]\s", "PNM"),
)
_OTHERS = (
    (rb"\s*(<!doctype html|<html|<head)", "no image: a web page; the download went wrong"),
    (rb"version https://git-lfs", "no image: a Git LFS pointer; run `git lfs pull`"),
    (rb"\x00\x05\x16\x07|\x00\x05\x16\x00", "no image: a macOS resource fork; it can be deleted"),
    (rb"....ftyp(heic|heix|mif1|msf1|avif)", "HEIC or AVIF, which is not supported; convert it to JPEG"),
    (rb"....ftyp", "no image: a video"),
    (rb"\s*(<\?xml|<svg)", "no image: XML or SVG"),
    (rb"%PDF", "no image: a PDF document"),
    (rb"PK\x03\x04", "no image: a zip archive"),
    (rb"\s*[{\[]", "no image: text that looks like JSON"),
)


def format_of(data: bytes) -> str | None:
    """The image format, or None if it is none that can be read."""
    return next((name for start, name in _FORMATS if re.match(start, data, re.DOTALL)), None)


def what_instead(data: bytes) -> str:
    """Why bytes that are no image are none."""
    for start, reason in _OTHERS:
        if re.match(start, data, re.DOTALL | re.IGNORECASE):
            return reason
    return f"no image: starts with {data[:8]!r}"
