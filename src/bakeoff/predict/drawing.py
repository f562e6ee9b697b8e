"""Answers drawn onto pictures: boxes with label and score, or the likeliest label in a corner."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

# Okabe and Ito's colours, which the colour-blind can tell apart; a class has always the same.
COLOURS = ((86, 180, 233), (230, 159, 0), (0, 190, 140), (240, 228, 66), (213, 94, 0), (204, 121, 167), (90, 130, 255))
INK = (0, 0, 0)
SIDES_PER_LINE, SIDES_PER_LETTER = 260, 36  # a line is so much thinner than the picture's shorter side
SMALLEST_LETTER = 11


def drawn(pixels: np.ndarray, rows: Sequence[dict[str, Any]]) -> Image.Image:
    """`rows` as results.py writes them, best first."""
    image = Image.fromarray(pixels)
    draw, shorter = ImageDraw.Draw(image), min(image.size)
    width, letter = max(2, shorter // SIDES_PER_LINE), max(SMALLEST_LETTER, shorter // SIDES_PER_LETTER)
    for row in reversed(rows):  # the best on top
        if "bbox" in row:
            left, top, wide, high = row["bbox"]
            corners = (left, top, left + wide, top + high)
            draw.rectangle([round(side) for side in corners], outline=_colour(row), width=width)
    for place, row in reversed(list(enumerate(rows))):
        left, top = row["bbox"][:2] if "bbox" in row else (0, place * letter * 1.4 + letter * 1.4)
        _tag(draw, image.size, (left, top), f"{row['category']}: {row['score']:.2f}", _colour(row), letter)
    return image


def _tag(
    draw: ImageDraw.ImageDraw,
    size: tuple[int, int],
    corner: tuple[float, float],
    text: str,
    colour: tuple[int, int, int],
    letter: int,
) -> None:
    """Above the corner where there is room, and never out of the picture."""
    font, high = _font(letter), letter * 1.4
    width = draw.textlength(text, font=font) + letter * 0.5
    left = max(0.0, min(corner[0], size[0] - width))
    top = max(0.0, min(corner[1] - high, size[1] - high))
    draw.rectangle((left, top, left + width, top + high), fill=colour)
    draw.text((left + letter * 0.25, top), text, fill=INK, font=font)


def _colour(row: dict[str, Any]) -> tuple[int, int, int]:
    return COLOURS[(row["category_id"] - 1) % len(COLOURS)]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)
