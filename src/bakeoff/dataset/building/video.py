"""Clips: checked by decoding every frame, kept as JPEGs at a rate of their own.

A video file is decoded by FFmpeg (PyAV), colours converted in its bit-exact mode, so that every machine gets the
same pixels. A folder of frames is so many image files; the seed system's raw clips are so many bytes.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import av
import numpy as np
import simplejpeg
from av.video.reformatter import Interpolation
from PIL import Image

from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, hash_picture, read_image
from bakeoff.dataset.sources.clips import list_frames
from bakeoff.foundation.files import NO_REGULAR_FILE, hash_file

QUALITY = 90  # of frames; over 42 dB against the decoded video at a twentieth of the raw bytes, on short scenes
EXACT = Interpolation.AREA | Interpolation.ACCURATE_RND | Interpolation.BITEXACT | Interpolation.FULL_CHR_H_INT
UNBELIEVABLE_RATE = 1000.0
MOST_PIXELS = 1 << 25  # of a frame; 8K has 33 million
MANY_FRAMES, LEAST_BYTES = 100_000, 256  # a film of more frames than many has so many bytes for each
MANY_PIXELS, MOST_IN_BYTE = 1 << 30, 1 << 17  # of all frames; a film of more pixels than many has fewer in each byte
# Containers that hold their own frames. A playlist, or a text that FFmpeg takes for one, names other files.
CONTAINERS = "mov,matroska,avi,mpegts,mpeg,mpegvideo,m4v,flv,asf,ogg,gif,apng,mjpeg,h264,hevc,ivf,dv,mxf,nut"


@dataclass(frozen=True)
class CheckedClip:
    width: int  # as shown
    height: int
    frames: int  # in the file
    frames_per_second: float
    sha256: str
    likeness: int  # of the middle frame


def check_video(path: Path) -> CheckedClip:
    """Decode every frame. Raises RejectedItem."""
    with _refuse_plainly(), _open(path) as (container, stream):
        declared, rate = stream.frames, _read_rate(stream)
        count, sample, size = 0, None, (0, 0)
        middle = declared // 2
        for frame in decode_frames(container, stream):
            if frame.is_corrupt:
                raise RejectedItem(f"broken video: frame {count} is damaged")
            if count == 0 or count == middle:
                sample = frame.reformat(format="gray", interpolation=EXACT).to_ndarray()
                size = (frame.width, frame.height)
                turned = frame.rotation % 180 != 0
            count += 1
    if sample is None:
        raise RejectedItem("broken video: not one frame can be decoded")
    if count < declared:
        raise RejectedItem(f"broken video: {count} of its {declared} frames can be decoded")
    width, height = size[::-1] if turned else size
    return CheckedClip(width, height, count, rate, hash_file(path), hash_picture(sample))


def check_frames(folder: Path, frames_per_second: float) -> CheckedClip:
    """Decode every image of a folder. They must be of one size."""
    digest, size, likeness, count = hashlib.sha256(), None, 0, 0
    files = list_frames(folder)
    for count, file in enumerate(files, start=1):
        try:
            data = read_image(file)
            checked = check_image(data, None)
        except RejectedItem as error:
            raise RejectedItem(f"frame {file.name}: {error}") from None
        if size not in (None, (checked.width, checked.height)):
            raise RejectedItem(f"frame {file.name} is {checked.width}x{checked.height}, others are {size[0]}x{size[1]}")
        size = (checked.width, checked.height)
        digest.update(bytes.fromhex(checked.sha256))
        likeness = checked.likeness if count == (len(files) + 1) // 2 else likeness
    if size is None:
        raise RejectedItem("a folder without a frame")
    return CheckedClip(*size, count, frames_per_second, digest.hexdigest(), likeness)


def check_raw(data: bytes, width: int, height: int, frames_per_second: float) -> CheckedClip:
    """Raw frames, width x height x 3 bytes each."""
    frames, rest = divmod(len(data), width * height * 3)
    if rest or not frames:
        raise RejectedItem(
            f"{len(data):,} bytes are no whole number of {width}x{height} frames (data.width, data.height)"
        )
    grey = np.ascontiguousarray(view_raw(data, width, height)[frames // 2][::2, ::2, 1])
    return CheckedClip(width, height, frames, frames_per_second, hashlib.sha256(data).hexdigest(), hash_picture(grey))


def view_raw(data: bytes, width: int, height: int) -> np.ndarray:
    return np.frombuffer(data, np.uint8).reshape(-1, height, width, 3)


def encode_video(path: Path, size: tuple[int, int], step: int) -> Iterator[bytes]:
    """Yield JPEGs of every `step`-th frame at (width, height), upright."""
    with _refuse_plainly(), _open(path) as (container, stream):
        for frame in islice(decode_frames(container, stream), 0, None, step):
            turns = round(frame.rotation / 90) % 4
            width, height = size[::-1] if turns % 2 else size
            rgb = frame.reformat(width, height, "rgb24", dst_colorspace="itu601", interpolation=EXACT)
            yield _encode(np.rot90(rgb.to_ndarray(), turns))


def encode_folder(folder: Path, step: int, max_side: int | None, is_square: bool) -> Iterator[bytes]:
    for file in list_frames(folder)[::step]:
        data = read_image(file)
        yield encode_stored(data, check_image(data, max_side, is_square), max_side, is_square)


def hash_frames(folder: Path) -> str:
    """Return the digest that `check_frames` gives a folder."""
    digest = hashlib.sha256()
    for file in list_frames(folder):
        digest.update(hashlib.sha256(read_image(file)).digest())
    return digest.hexdigest()


def encode_arrays(frames: np.ndarray, size: tuple[int, int], step: int) -> Iterator[bytes]:
    for frame in frames[::step]:
        if frame.shape[:2] != size[::-1]:
            frame = np.asarray(Image.fromarray(frame).resize(size, Image.Resampling.LANCZOS))
        yield _encode(frame)


def _encode(rgb: np.ndarray) -> bytes:
    return simplejpeg.encode_jpeg(np.ascontiguousarray(rgb), QUALITY, "RGB", "420")


def open_container(path: Path) -> av.container.InputContainer:
    """Open a film by the format that its bytes name. Raises FFmpegError, or ValueError for what is no regular file."""
    if not path.is_file():
        raise ValueError("no such file" if not path.exists() else NO_REGULAR_FILE)
    return av.open(str(path.resolve()), options={"format_whitelist": CONTAINERS, "protocol_whitelist": "file"})


def decode_frames(container: av.container.InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
    """Yield each frame. Raises FFmpegError, or ValueError for frames that no memory or no patience is enough for."""
    codec, pixels = stream.codec_context, 0
    codec.options = {**codec.options, "max_pixels": str(MOST_PIXELS)}  # also of a frame in the middle
    if codec.width * codec.height > MOST_PIXELS:
        raise ValueError(f"{codec.width}x{codec.height}: more than {MOST_PIXELS:,} pixels; make its frames smaller")
    most_frames = max(MANY_FRAMES, container.size // LEAST_BYTES)
    most = max(MANY_PIXELS, MOST_IN_BYTE * container.size)
    for count, frame in enumerate(container.decode(stream), start=1):
        pixels += frame.width * frame.height
        if count > most_frames or pixels > most:
            what = f"{most_frames:,} frames" if count > most_frames else f"{most:,} pixels"
            raise ValueError(f"{container.size:,} bytes become more than {what}; no film packs so well")
        yield frame


@contextmanager
def _open(path: Path) -> Iterator[tuple[av.container.InputContainer, av.VideoStream]]:
    with open_container(path) as container:
        if not container.streams.video:
            raise RejectedItem("has no video in it")
        stream = container.streams.video[0]
        stream.thread_type = "NONE"  # the processes are as many as the cores
        stream.codec_context.options = {"err_detect": "explode"}  # else FFmpeg paints over what is damaged
        yield container, stream


@contextmanager
def _refuse_plainly() -> Iterator[None]:
    try:
        yield
    except av.error.FFmpegError as error:
        raise RejectedItem(f"broken video: {error.strerror}") from None
    except (ValueError, MemoryError) as error:
        if isinstance(error, RejectedItem):
            raise
        raise RejectedItem(f"broken video: {error}") from None


def _read_rate(stream: av.VideoStream) -> float:
    rate = float(stream.average_rate or stream.guessed_rate or 0)
    if not 0 < rate < UNBELIEVABLE_RATE:
        raise RejectedItem(f"broken video: a rate of {rate:g} frames a second")
    return rate
