"""Validation examples with what was found in them, on one sheet: boxes, or the classes that were given.

Found boxes are drawn in colour with class and score, true ones as thin white frames; a wrong class is red.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SIDE, GAP, COLUMNS = 320, 8, 4
RIGHT, WRONG, TRUTH, PAPER = (64, 220, 120), (255, 70, 70), (255, 255, 255), (24, 26, 30)


def draw_sheet(
    examples: Iterable[tuple[np.ndarray, dict[str, Any]]], classes: Sequence[str], min_score: float, path: Path
) -> None:
    """`examples` are (pixels (h, w, 3) or (t, h, w, 3), values) with the values that batch and prediction hold."""
    tiles = [_tile(pixels, values, classes, min_score) for pixels, values in examples]
    columns, rows = min(COLUMNS, len(tiles)), -(-len(tiles) // COLUMNS)
    sheet = Image.new("RGB", (columns * (SIDE + GAP) + GAP, rows * (SIDE + GAP) + GAP), PAPER)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, COLUMNS)
        sheet.paste(tile, (GAP + column * (SIDE + GAP), GAP + row * (SIDE + GAP)))
    sheet.save(path, quality=90)


def _tile(pixels: np.ndarray, values: dict[str, Any], classes: Sequence[str], min_score: float) -> Image.Image:
    frame = pixels[len(pixels) // 2] if pixels.ndim == 4 else pixels
    image = Image.fromarray(np.clip(frame, 0, 255).astype(np.uint8)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    if "boxes" in values:
        _boxes(draw, values, classes, min_score)
    elif "class_scores" in values:
        _several(draw, values, classes, min_score)
    else:
        right = values["given"] == values["truth"]
        text = classes[values["given"] - 1] + ("" if right else f" (is {classes[values['truth'] - 1]})")
        _label(draw, (4, 4), f"{text} {values['score']:.2f}", RIGHT if right else WRONG)
    return image


def _several(draw: ImageDraw.ImageDraw, values: dict[str, Any], classes: Sequence[str], min_score: float) -> None:
    """Every label given, best first, and the true ones that were missed."""
    lines = []
    for place in np.argsort(-values["class_scores"], kind="stable"):
        score, right = values["class_scores"][place], place + 1 in values["true_classes"]
        if score >= min_score:
            lines.append((f"{classes[place]} {score:.2f}", RIGHT if right else WRONG))
        elif right:
            lines.append((f"(is {classes[place]}) {score:.2f}", WRONG))
    for row, (text, colour) in enumerate(lines):
        _label(draw, (4, 4 + 18 * row), text, colour)


def _boxes(draw: ImageDraw.ImageDraw, values: dict[str, Any], classes: Sequence[str], min_score: float) -> None:
    for corners in values["true_boxes"]:
        draw.rectangle(_pixels(corners), outline=TRUTH, width=1)
    for corners, label, score in zip(values["boxes"], values["classes"], values["scores"], strict=True):
        if score < min_score:
            continue
        right = _meets(corners, values["true_boxes"][values["true_classes"] == label])
        colour = RIGHT if right else WRONG
        draw.rectangle(_pixels(corners), outline=colour, width=3)
        left, top = _pixels(corners)[:2]
        _label(draw, (left, max(0, top - 18)), f"{classes[label - 1]} {score:.2f}", colour)


def _meets(corners: np.ndarray, truth: np.ndarray) -> bool:
    """Whether a true box of the same class overlaps by half."""
    if not len(truth):
        return False
    low, high = np.maximum(corners[:2], truth[:, :2]), np.minimum(corners[2:], truth[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    areas = np.prod(truth[:, 2:] - truth[:, :2], axis=1) + np.prod(corners[2:] - corners[:2])
    return bool((both / (areas - both) >= 0.5).any())


def _pixels(corners: np.ndarray) -> tuple[float, float, float, float]:
    ymin, xmin, ymax, xmax = (float(side) * SIDE for side in corners)
    return xmin, ymin, xmax, ymax


def _label(draw: ImageDraw.ImageDraw, place: tuple[float, float], text: str, colour: tuple[int, int, int]) -> None:
    font = ImageFont.load_default(size=14)
    draw.rectangle(draw.textbbox(place, text, font=font), fill=colour)
    draw.text(place, text, fill=(0, 0, 0), font=font)
