"""Small pictures and clips for the tests of sources, each different from the others."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def pixels(seed: int, width: int = 32, height: int = 24) -> np.ndarray:
    """Smooth enough that a JPEG hardly changes it, different for every seed."""
    draw = np.random.default_rng(seed)
    coarse = Image.fromarray(draw.integers(0, 256, (4, 4, 3), np.uint8))
    return np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))


def encoded(seed: int, kind: str = "JPEG", width: int = 32, height: int = 24, **options: Any) -> bytes:
    return saved(Image.fromarray(pixels(seed, width, height)), kind, **options)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def write_scenes(root: Path, count: int) -> None:
    """Pascal VOC: pictures with a cat each."""
    for number in range(count):
        write(root / f"images/{number}.jpg", encoded(number))
        write(root / f"annotations/{number}.xml", voc([("cat", 4, 6, 20, 18)]))


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_images(folder: Path, counts: dict[str, int], first_seed: int = 0) -> None:
    """`counts` says how many by folder: {"cat": 3, "dog": 2}."""
    seed = first_seed
    for label, count in counts.items():
        for number in range(count):
            write(folder / label / f"{number:03d}.jpg", encoded(seed))
            seed += 1


def write_numbered(folder: Path, count: int) -> None:
    """`0.jpg`, `1.jpg` and so on."""
    for number in range(count):
        write(folder / f"{number}.jpg", encoded(number))


def voc(boxes: list[tuple[str, float, float, float, float]], size: tuple[int, int] = (32, 24), name: str = "") -> str:
    objects = "".join(
        f"<object><name>{label}</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax><ymax>{d}</ymax></bndbox>"
        "</object>"
        for label, a, b, c, d in boxes
    )
    sides = f"<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>"
    return f"<annotation><filename>{name}</filename>{sides}{objects}</annotation>"


def write_video(path: Path, frames: int, seed: int = 0, size: tuple[int, int] = (64, 48), rate: int = 10) -> Path:
    """Motion JPEG in whatever container the name says; every FFmpeg can write it."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        codec = {".gif": "gif", ".webm": "libvpx", ".mp4": "mpeg4"}.get(path.suffix, "mjpeg")
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = {"gif": "rgb8", "mjpeg": "yuvj420p"}.get(codec, "yuv420p")
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(pixels(seed * 1000 + number // 4, *size), format="rgb24")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path
