"""PATHs -> files, of folders those inside, of patterns those that fit; and their pixels, upright, as uint8 RGB."""

import glob
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import simplejpeg
from PIL import Image

from bakeoff.dataset.building import image_check, jpeg
from bakeoff.dataset.building.video import decode_frames, open_container
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, VIDEO_SUFFIXES, format_of, read_head
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.files import NO_REGULAR_FILE
from bakeoff.foundation.tf_loading import quiet_pillow

SUFFIXES = IMAGE_SUFFIXES | VIDEO_SUFFIXES
DEFAULT_RATE = Fraction(25)
CLIP_SIDE = 512  # pixels; larger frames of a clip are made smaller before all of them are kept
CLIP_BYTES = 500_000_000  # bytes of all frames of a clip


@dataclass(frozen=True)
class InputFile:
    path: Path
    name: Path  # under which its answers go: relative to the folder that was named


def sources(paths: Iterable[str], out: Path | None) -> list[InputFile]:
    """Return each file once, in the order of the paths. What lies in `out` was written by an earlier call."""
    by_path: dict[Path, InputFile] = {}

    def is_own(path: Path) -> bool:
        return out is not None and _follow_links(path).is_relative_to(_follow_links(out))

    for text in paths:
        if is_own(Path(text)):
            raise DataError(f"{text}: lies in --out {out}, where it could be written over; choose another folder")
        of_path = list(_find(text))
        if not of_path:
            raise DataError(f"{text}: no image or video is there")
        for source in of_path:
            if not is_own(source.path):
                by_path.setdefault(_follow_links(source.path), source)
    return list(by_path.values())


def _follow_links(path: Path) -> Path:
    """Return where a path leads; where it leads to itself, itself. `Path.resolve` raises then."""
    return Path(os.path.realpath(path))


def _find(text: str) -> Iterable[InputFile]:
    path = Path(text)  # a name with brackets may be a file's own
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and not file.is_dir())
        return (InputFile(file, file.relative_to(path)) for file in files if not file.name.startswith("."))
    if path.exists():
        if not path.is_file():
            raise DataError(f"{text}: {NO_REGULAR_FILE}")
        return [InputFile(path, Path(path.name))]
    matches = sorted(Path(match) for match in glob.glob(text, recursive=True))
    if not matches:
        raise DataError(f"{text}: no such file or folder, and no file fits it as a pattern")
    return (InputFile(match, Path(match.name)) for match in matches if not match.is_dir())


def is_video(path: Path) -> bool:
    """Return whether its first bytes are those of a video; a GIF with one frame is an image. Raises DataError."""
    head = read_head(path)
    if isinstance(head, str):
        raise DataError(head)
    image_format = format_of(head)
    if image_format == "GIF":
        with suppress(Exception), quiet_pillow(), Image.open(path) as image:  # `read_image` says what is wrong with it
            return bool(getattr(image, "is_animated", False))
        return False
    return image_format is None and path.suffix.lower() in VIDEO_SUFFIXES


def read_image(path: Path) -> np.ndarray:
    """Return the pixels that training sees of such a file: it becomes what a record holds, decoded as training does."""
    try:
        data = image_check.read_image(path)
        stored = image_check.encode_stored(data, image_check.check_image(data, None), None)
        return decode_stored(stored)
    except (image_check.RejectedItem, ValueError) as error:
        raise DataError(one_line(error)) from None


def decode_stored(stored: bytes) -> np.ndarray:
    """Return the pixels of an image that a record holds, as TensorFlow decodes them. Raises ValueError."""
    if stored.startswith(jpeg.START):
        return simplejpeg.decode_jpeg(stored, "RGB", fastdct=True)
    with quiet_pillow(), Image.open(io.BytesIO(stored)) as image:
        return np.asarray(image.convert("RGB"))


class Video:
    """`rate` and `frames` as the file tells them; 0 frames if it does not."""

    def __init__(self, path: Path) -> None:
        try:
            self._container = open_container(path)
        except (av.error.FFmpegError, ValueError) as error:
            raise DataError(f"broken video: {one_line(error)}") from None
        if not self._container.streams.video:
            self._container.close()
            raise DataError("has no video in it")
        self._stream = self._container.streams.video[0]
        self._stream.thread_type = "AUTO"
        self.rate = self._stream.average_rate or self._stream.guessed_rate or DEFAULT_RATE
        self.frames = self._stream.frames

    def read(self) -> Iterator[np.ndarray]:
        count = 0
        try:
            for frame in decode_frames(self._container, self._stream):
                turns = round(frame.rotation / 90) % 4
                yield np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))
                count += 1
        except (av.error.FFmpegError, ValueError) as error:
            raise DataError(f"broken video after frame {count}: {one_line(error)}") from None
        if not count:
            raise DataError("broken video: not one frame can be decoded")

    def close(self) -> None:
        self._container.close()


def read_clip(video: Video) -> np.ndarray:
    """Return all frames of a clip, small; a film of an hour is none."""
    return np.stack(list(_few_bytes(video)))


def _few_bytes(video: Video) -> Iterator[np.ndarray]:
    kept = 0
    for number, frame in enumerate(video.read()):
        image = Image.fromarray(frame)
        image.thumbnail((CLIP_SIDE, CLIP_SIDE), Image.Resampling.BICUBIC)
        smaller = np.asarray(image)
        kept += smaller.nbytes
        if kept > CLIP_BYTES:
            full = f"{number:,} frames fill {CLIP_BYTES / 1e6:,.0f} MB"
            raise DataError(f"is too long for one clip, {full}; cut it into clips")
        yield smaller
