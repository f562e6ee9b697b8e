"""A film -> pictures at a chosen rate, without those that look like one before.

match12_00004500ms.jpg is what match12.mp4 shows after 4.5 seconds. All pictures of a film have its name, by which
`split.group` keeps them on one side.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
import simplejpeg

from bakeoff.dataset.building.video import decode_frames, open_container
from bakeoff.dataset.sources.paths import format_of
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.importing.datasets.seen_pictures import SeenPictures, take_look

QUALITY = 95
DIGITS = 8  # of milliseconds, so that names sort as the film runs
HEAD = 64


@dataclass
class Taken:
    """What became of a film."""

    frames: int = 0  # that it has, as far as it was read
    alike: int = 0  # left out
    files: list[Path] = field(default_factory=list)
    broken: str | None = None  # why reading ended before the film did


def name_film(path: Path) -> str:
    """Return the film's name as names of its pictures begin."""
    plain = re.sub(r"[^\w-]+", "_", path.stem).strip("_")
    return plain or "film"


def take_frames(path: Path, out: Path, every: float) -> Taken:
    """Write a picture of every so many seconds. Of a broken film, those before the break.

    Raises DataError, and OSError where a picture cannot be written; then none of them stays.
    """
    film, taken, seen = name_film(path), Taken(), SeenPictures()
    if out.is_dir() and next(out.glob(f"{film}_*ms.jpg"), None):
        remedy = "remove them, choose another --out or rename the film"
        raise DataError(f"{out}: has pictures of a film {film!r} already; {remedy}")
    with _open(path) as container:
        due = 0.0
        try:
            for seconds, frame in _decode(container, taken):
                if seconds < due - 1e-6:
                    continue
                due = every * (np.floor(seconds / every + 1e-6) + 1)
                turns = round(frame.rotation / 90) % 4
                look = take_look(np.rot90(frame.to_ndarray(format="gray"), turns))
                if seen.find(look) is not None:
                    taken.alike += 1
                    continue
                seen.add(look)
                pixels = np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))
                place = out / f"{film}_{round(seconds * 1000):0{DIGITS}d}ms.jpg"
                out.mkdir(parents=True, exist_ok=True)
                taken.files.append(place)
                place.write_bytes(simplejpeg.encode_jpeg(pixels, QUALITY, "RGB", "444"))
        except BaseException:
            for place in taken.files:
                place.unlink(missing_ok=True)
            raise
    if not taken.frames:
        raise DataError(f"{path}: broken video: {taken.broken or 'not one frame can be decoded'}")
    return taken


def _open(path: Path) -> "av.container.InputContainer":
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    with path.open("rb") as file:
        kind = format_of(file.read(HEAD))
    if kind not in (None, "GIF"):
        raise DataError(f"{path}: must be a film, is a picture ({kind})")
    try:
        container = open_container(path)
    except (av.error.FFmpegError, ValueError) as error:
        raise DataError(f"{path}: broken video: {_plain(error)}") from None
    if not container.streams.video:
        container.close()
        raise DataError(f"{path}: has no video in it")
    return container


def _decode(container: "av.container.InputContainer", taken: Taken) -> Iterator[tuple[float, av.VideoFrame]]:
    """Yield each frame with the seconds since the first; end where the film is broken."""
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    rate, first = float(stream.average_rate or stream.guessed_rate or 25), None
    try:
        for frame in decode_frames(container, stream):
            time = taken.frames / rate if frame.time is None else frame.time
            first = time if first is None else first
            taken.frames += 1
            yield max(time - first, 0.0), frame
    except (av.error.FFmpegError, ValueError) as error:
        taken.broken = f"broken after frame {taken.frames}: {_plain(error)}"
    if taken.frames < stream.frames and not taken.broken:
        taken.broken = f"broken, {taken.frames:,} of its {stream.frames:,} frames can be decoded"


def _plain(error: Exception) -> str:
    return getattr(error, "strerror", None) or one_line(error)
