"""PATHs -> files: images and videos, of folders those inside, of patterns those that fit."""

import glob
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.sources.raw_files import IMAGE_SUFFIXES, VIDEO_SUFFIXES, format_of

SUFFIXES = IMAGE_SUFFIXES | VIDEO_SUFFIXES
HEAD = 64


@dataclass(frozen=True)
class Source:
    path: Path
    name: Path  # under which its answers go: relative to the folder that was named


def sources(paths: Iterable[str], out: Path) -> list[Source]:
    """Each file once, in the order of the paths. What lies in `out` was written by an earlier call."""
    found: dict[Path, Source] = {}
    for text in paths:
        if Path(text).resolve().is_relative_to(out.resolve()):
            raise DataError(f"{text}: lies in --out {out}, where it could be written over; choose another folder")
        of_path = list(_of(text))
        if not of_path:
            raise DataError(f"{text}: no image or video is there")
        for source in of_path:
            if not source.path.resolve().is_relative_to(out.resolve()):
                found.setdefault(source.path.resolve(), source)
    return list(found.values())


def _of(text: str) -> Iterable[Source]:
    path = Path(text)  # a name with brackets may be a file's own
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        return (Source(file, file.relative_to(path)) for file in files if not file.name.startswith("."))
    if path.exists():
        return [Source(path, Path(path.name))]
    matches = sorted(Path(match) for match in glob.glob(text, recursive=True))
    if not matches:
        raise DataError(f"{text}: no such file or folder, and no file fits it as a pattern")
    return (Source(match, Path(match.name)) for match in matches if match.is_file())


def is_video(path: Path) -> bool:
    """By its first bytes; a GIF with one frame is an image."""
    with path.open("rb") as file:
        found = format_of(file.read(HEAD))
    if found == "GIF":
        from PIL import Image

        with Image.open(path) as image:
            return bool(getattr(image, "is_animated", False))
    return found is None and path.suffix.lower() in VIDEO_SUFFIXES
