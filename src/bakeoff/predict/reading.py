"""Pixels of image files and videos, upright, as uint8 RGB."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from bakeoff.errors import DataError, one_line
from bakeoff.sources.raw_files import what_instead

DEFAULT_RATE = Fraction(25)


def read_image(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except UnidentifiedImageError:
        with path.open("rb") as file:
            raise DataError(what_instead(file.read(64))) from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"broken image: {one_line(error)}") from None


class Video:
    """`rate` and `frames` as the file tells them; 0 frames if it does not."""

    def __init__(self, path: Path) -> None:
        try:
            self._container = av.open(str(path))
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
            for frame in self._container.decode(self._stream):
                turns = round(frame.rotation / 90) % 4
                yield np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))
                count += 1
        except av.error.FFmpegError as error:
            raise DataError(f"broken video after frame {count}: {one_line(error)}") from None
        if not count:
            raise DataError("broken video: not one frame can be decoded")

    def close(self) -> None:
        self._container.close()
