"""A film of things that move before a photograph, whose boxes are known at every moment."""

import math
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageDraw
from sklearn.datasets import load_sample_image

SIZE = (480, 360)
RATE = 10  # pictures a second
Place = tuple[str, float, float, float, float]  # class, left, top, right, bottom


def places(seconds: float) -> list[Place]:
    """Return where the ball and the cube are."""
    ball = (240 + 170 * math.sin(0.42 * seconds), 120 + 55 * math.sin(0.9 * seconds), 30 + 5 * math.sin(0.3 * seconds))
    cube = (240 - 150 * math.cos(0.35 * seconds), 265 + 35 * math.sin(0.7 * seconds), 26 + 5 * math.cos(0.25 * seconds))
    return [(name, x - r, y - r, x + r, y + r) for name, (x, y, r) in (("ball", ball), ("cube", cube))]


def draw(seconds: float) -> Image.Image:
    image = Image.fromarray(load_sample_image("china.jpg")).resize(SIZE).convert("RGB")
    pen = ImageDraw.Draw(image)
    for name, left, top, right, bottom in places(seconds):
        if name == "ball":
            pen.ellipse((left, top, right, bottom), "#e8d020", "#443300", 3)
            pen.arc((left + 6, top + 6, right - 6, bottom - 6), 20, 160, "#775500", 4)
        else:
            pen.rectangle((left, top, right, bottom), "#a030c0", "#200030", 3)
            pen.line((left, top, right, bottom), "#f0c0ff", 4)
    return image


def write_film(path: Path, seconds: float, first: float = 0) -> None:
    """Film so many seconds from a moment on."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=RATE)
        stream.width, stream.height = SIZE
        stream.pix_fmt, stream.bit_rate = "yuv420p", 4_000_000
        stream.codec_context.time_base = Fraction(1, RATE)
        for number in range(round(seconds * RATE)):
            frame = av.VideoFrame.from_ndarray(np.asarray(draw(first + number / RATE)), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the intersection over the union of two boxes."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(0.0, wide) * max(0.0, high)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return shared / (sum(areas) - shared)
