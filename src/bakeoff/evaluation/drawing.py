"""Validation examples on one sheet: the ground truth beside the predictions.

Boxes: ground truth on the left, predictions on the right with class and score. A label: under the picture. A clip:
a strip of frames. Right answers are blue, wrong ones and what was missed orange and dashed: they differ for the
colour-blind and in print.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bakeoff.foundation.formatting import format_count

Colour = tuple[int, int, int]
Line = tuple[str, Colour]

SIDE, FRAME_SIDE, GAP, SEAM, WIDTH = 256, 128, 12, 2, 1084  # pixels; the sheet is so wide at most
FRAMES = 6  # of a clip, from its first to its last
TEXT_SIZE, LINE_HEIGHT, DASH = 14, 20, 6
MOST_BOXES = 10  # predictions drawn in a picture
RIGHT, WRONG, TRUTH = (86, 180, 233), (240, 150, 0), (255, 255, 255)
UNSURE = (208, 212, 218)  # what scores too little to count, of a weak model
PAPER, INK = (24, 26, 30), (0, 0, 0)


def draw_sheet(
    examples: Iterable[tuple[np.ndarray, dict[str, Any]]], classes: Sequence[str], min_score: float, path: Path
) -> None:
    """`examples` are (pixels (h, w, 3) or (t, h, w, 3), values) with the values that batch and prediction hold."""
    examples = list(examples)
    # Of a weak model, which gives nothing in any picture, what it is surest of says more than nothing.
    is_weak = all((values["scores"] < min_score).all() for _, values in examples if "boxes" in values)
    cells = [_cell(pixels, values, classes, min_score, is_weak=is_weak) for pixels, values in examples]
    _lay_out(cells).save(path, quality=88)


def draw_truth(examples: Iterable[tuple[np.ndarray, dict[str, Any]]], classes: Sequence[str]) -> Image.Image:
    """Draw examples with what is true of them: boxes (n, 4) and their classes, a label's id, or 1 for each label."""
    return _lay_out([_true_cell(pixels, values, classes) for pixels, values in examples])


def _lay_out(cells: Sequence[Image.Image]) -> Image.Image:
    wide = max((cell.width for cell in cells), default=0) + GAP
    columns = max(1, min(len(cells), (WIDTH - GAP) // wide))
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    heights = [max(cell.height for cell in row) + GAP for row in rows]
    sheet = Image.new("RGB", (columns * wide + GAP, sum(heights) + GAP), PAPER)
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            sheet.paste(cell, (GAP + column * wide, GAP + sum(heights[:number])))
    return sheet


def _true_cell(pixels: np.ndarray, values: dict[str, Any], classes: Sequence[str]) -> Image.Image:
    if "boxes" in values:
        boxes = list(zip(values["boxes"], values["classes"], strict=True))
        marks = [(corners, classes[label - 1], TRUTH) for corners, label in boxes]
        return _join_panels(
            [_draw_marks(_image(pixels, SIDE), marks)],
            [[(format_count(len(boxes), "box"), TRUTH)]],
        )
    ids = (np.flatnonzero(values["labels"]) + 1).tolist() if "labels" in values else [int(values["label"])]
    names = ", ".join(classes[number - 1] for number in ids)
    return _join_panels(_panels(pixels), [[(names or "nothing", TRUTH)]])


def _panels(pixels: np.ndarray) -> list[Image.Image]:
    """Return an image, or some frames of a clip."""
    clip = pixels.ndim == 4
    shown = pixels[np.linspace(0, len(pixels) - 1, min(FRAMES, len(pixels))).round().astype(int)] if clip else [pixels]
    return [_image(frame, FRAME_SIDE if clip else SIDE) for frame in shown]


def _cell(
    pixels: np.ndarray, values: dict[str, Any], classes: Sequence[str], min_score: float, *, is_weak: bool
) -> Image.Image:
    if "boxes" in values:
        panels, lines = _boxes(pixels, values, classes, min_score, is_weak=is_weak)
        return _join_panels(panels, [lines])
    lines = _several(values, classes, min_score) if "class_scores" in values else _one(values, classes)
    return _join_panels(_panels(pixels), [[line] for line in lines])


def _join_panels(panels: Sequence[Image.Image], rows: Sequence[Sequence[Line]]) -> Image.Image:
    """Panels side by side, and rows of text under them; the texts of a row begin under one panel each."""
    side = panels[0].height
    width = len(panels) * (side + SEAM) - SEAM
    cell = Image.new("RGB", (width, side + len(rows) * LINE_HEIGHT), PAPER)
    for place, panel in enumerate(panels):
        cell.paste(panel, (place * (side + SEAM), 0))
    draw = ImageDraw.Draw(cell)
    for number, row in enumerate(rows):
        for place, (text, colour) in enumerate(row):
            draw.text((place * (side + SEAM), side + number * LINE_HEIGHT + 1), text, fill=colour, font=_font())
    return cell


def _one(values: dict[str, Any], classes: Sequence[str]) -> list[Line]:
    colour = RIGHT if values["given"] == values["truth"] else WRONG
    return [
        (f"truth {classes[values['truth'] - 1]}", TRUTH),
        (f"predicted {classes[values['given'] - 1]} {values['score']:.2f}", colour),
    ]


def _several(values: dict[str, Any], classes: Sequence[str], min_score: float) -> list[Line]:
    """Every label given, best first, and the true ones that were missed."""
    lines = []
    for place in np.argsort(-values["class_scores"], kind="stable"):
        score, true = values["class_scores"][place], place + 1 in values["true_classes"]
        if score >= min_score:
            line = f"predicted {classes[place]} {score:.2f}"
            lines.append((line, RIGHT) if true else (f"{line}, not true", WRONG))
        elif true:
            lines.append((f"missed {classes[place]} {score:.2f}", WRONG))
    return lines or [("no prediction, no ground truth", RIGHT)]


def _boxes(
    pixels: np.ndarray, values: dict[str, Any], classes: Sequence[str], min_score: float, *, is_weak: bool
) -> tuple[list[Image.Image], list[Line]]:
    """Return ground truth and predictions as two panels with a line each; of many predictions the surest are drawn."""
    kept = values["scores"] >= min_score
    shown = np.argsort(-values["scores"], kind="stable")[:MOST_BOXES]
    shown = shown if is_weak else shown[kept[shown]]
    predictions = list(zip(values["boxes"][shown], values["classes"][shown], values["scores"][shown], strict=True))
    truth = list(zip(values["true_boxes"], values["true_classes"], strict=True))
    marks_of_truth, marks_of_predictions = [], []
    for corners, label, score in reversed(predictions):  # the best on top
        right = _meets(corners, values["true_boxes"][values["true_classes"] == label])
        marks_of_predictions.append(
            (corners, f"{classes[label - 1]} {score:.2f}", UNSURE if is_weak else RIGHT if right else WRONG)
        )
    for corners, label in truth:
        met = _meets(corners, values["boxes"][kept][values["classes"][kept] == label])
        marks_of_truth.append((corners, classes[label - 1], TRUTH if met else WRONG))
    missed = sum(colour == WRONG for _, _, colour in marks_of_truth)
    of_truth = f"truth {len(truth)}" + (f", {missed} missed" if missed else "")
    panels = [_draw_marks(_image(pixels, SIDE), marks) for marks in (marks_of_truth, marks_of_predictions)]
    drawn = f"; the {len(predictions)} surest" if len(predictions) != kept.sum() else ""
    return panels, [(of_truth, TRUTH), (f"predicted {kept.sum()}{drawn}", TRUTH)]


def _draw_marks(image: Image.Image, marks: Sequence[tuple[np.ndarray, str, Colour]]) -> Image.Image:
    draw = ImageDraw.Draw(image)
    for corners, _, colour in marks:
        _box(draw, corners, colour, dashed=colour in (WRONG, UNSURE))
    for corners, text, colour in marks:
        _tag(draw, corners, text, colour)
    return image


def _meets(corners: np.ndarray, others: np.ndarray) -> bool:
    """Whether one of the others overlaps by half."""
    if not len(others):
        return False
    low, high = np.maximum(corners[:2], others[:, :2]), np.minimum(corners[2:], others[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1) + np.prod(corners[2:] - corners[:2])
    return bool((both / np.maximum(areas - both, 1e-12) >= 0.5).any())


def _box(draw: ImageDraw.ImageDraw, corners: np.ndarray, colour: Colour, *, dashed: bool) -> None:
    top, left, bottom, right = (float(side) * (SIDE - 1) for side in corners)
    draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), outline=INK, width=4)  # seen on any picture
    if not dashed:
        draw.rectangle((left, top, right, bottom), outline=colour, width=2)
        return
    for y in (top, bottom):
        for x in np.arange(left, right, 2 * DASH):
            draw.line((x, y, min(x + DASH, right), y), fill=colour, width=2)
    for x in (left, right):
        for y in np.arange(top, bottom, 2 * DASH):
            draw.line((x, y, x, min(y + DASH, bottom)), fill=colour, width=2)


def _tag(draw: ImageDraw.ImageDraw, corners: np.ndarray, text: str, colour: Colour) -> None:
    """Above the box where there is room, and never out of the picture."""
    top, left = (float(side) * (SIDE - 1) for side in corners[:2])
    width = draw.textlength(text, font=_font()) + 4
    place = (max(0.0, min(left - 1, SIDE - width)), max(0.0, top - LINE_HEIGHT + 2))
    draw.rectangle((*place, place[0] + width, place[1] + LINE_HEIGHT - 3), fill=colour, outline=INK)
    draw.text((place[0] + 2, place[1]), text, fill=INK, font=_font())


def _image(pixels: np.ndarray, side: int) -> Image.Image:
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    return image.resize((side, side), Image.Resampling.BICUBIC)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=TEXT_SIZE)
