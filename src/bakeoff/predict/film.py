"""Drawn frames as a video file, which has its name only when it is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

CODECS = ("libx264", "mpeg4")  # the first that this FFmpeg has


class Film:
    def __init__(self, path: Path, rate: Fraction) -> None:
        self._container = av.open(str(path), "w", format="mp4")
        self._rate = rate.limit_denominator(60_000)
        self._stream: av.VideoStream | None = None

    @property
    def is_empty(self) -> bool:
        return self._stream is None

    def add(self, image: Image.Image) -> None:
        stream = self._stream = self._stream or self._begun(image.size)
        pixels = np.asarray(image)
        missing = (stream.height - pixels.shape[0], stream.width - pixels.shape[1])
        if min(missing) < 0:  # a video may change its size on the way
            pixels, missing = np.asarray(image.resize((stream.width, stream.height))), (0, 0)
        pixels = np.pad(pixels, [(0, missing[0]), (0, missing[1]), (0, 0)], mode="edge")
        self._write(av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24"))

    def close(self) -> None:
        if self._stream is not None:
            self._write(None)
        self._container.close()

    def _begun(self, size: tuple[int, int]) -> av.VideoStream:
        codec = next(name for name in CODECS if name in av.codecs_available)
        stream = self._container.add_stream(codec, rate=self._rate)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = (side + side % 2 for side in size)
        stream.pix_fmt = "yuv420p"  # of which sides must be even
        return stream

    def _write(self, frame: "av.VideoFrame | None") -> None:
        assert self._stream is not None
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


@contextmanager
def film(path: Path | None, rate: Fraction) -> Iterator[Film | None]:
    """What was added stays, also if the block fails: of a broken video, the frames before the break."""
    if path is None:
        yield None
        return
    partial = path.with_name(f"{path.name}.partial")
    made = Film(partial, rate)
    try:
        yield made
    finally:
        made.close()
        if made.is_empty:
            partial.unlink(missing_ok=True)
        else:
            partial.replace(path)
