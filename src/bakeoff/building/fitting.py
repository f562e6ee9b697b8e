"""Annotated boxes -> shares of the image as it is shown, or why they cannot be right.

An image with an EXIF orientation may have been labelled as stored or as shown; the recorded size tells which.
"""

from bakeoff.records.record import Box
from bakeoff.sources.dataset import Corners, Item
from bakeoff.sources.paths import shown

SLACK = 1.0  # pixels that a box may stick out, as tools that count from 1 make them


class BoxesRefused(ValueError):
    """Why an annotation does not fit its image, for a person."""


def fit_boxes(item: Item, width: int, height: int, orientation: int) -> tuple[tuple[Box, ...], tuple[str, ...]]:
    """Boxes on the upright image of `width` by `height`, and what was changed."""
    as_stored = _labelled_as_stored(item, width, height, orientation)
    sides = (height, width) if as_stored and orientation >= 5 else (width, height)
    notes: list[str] = []
    boxes: list[Box] = []
    for number, corners in enumerate(item.boxes, start=1):
        place, clipped = _shares(number, corners, sides, item.in_shares)
        if clipped:
            notes.append(f"box {number} clipped to the image")
        if as_stored:
            place = turned(place, orientation)
        xmin, ymin, xmax, ymax = place
        box = Box(ymin, xmin, ymax, xmax, corners[4])
        if box in boxes:
            notes.append(f"box {number} left out, annotated twice")
        else:
            boxes.append(box)
    if as_stored and boxes:
        notes.append("boxes turned upright with the image")
    return tuple(boxes), tuple(notes)


def turned(place: tuple[float, float, float, float], orientation: int) -> tuple[float, float, float, float]:
    """xmin ymin xmax ymax on the stored image -> on the upright one."""
    x0, y0, x1, y1 = place
    if orientation in (2, 3):
        x0, x1 = 1 - x1, 1 - x0
    if orientation in (3, 4):
        y0, y1 = 1 - y1, 1 - y0
    if orientation >= 5:
        x0, y0, x1, y1 = y0, x0, y1, x1  # as 5 does; the others flip afterwards
        if orientation in (6, 7):
            x0, x1 = 1 - x1, 1 - x0
        if orientation in (7, 8):
            y0, y1 = 1 - y1, 1 - y0
    return x0, y0, x1, y1


def _labelled_as_stored(item: Item, width: int, height: int, orientation: int) -> bool:
    """Whether the annotation was drawn without heeding EXIF."""
    if item.recorded is None or item.recorded == (width, height):
        return False
    if orientation >= 5 and item.recorded == (height, width):
        return True
    said = "x".join(map(str, item.recorded))
    raise BoxesRefused(f"the annotation is for {said} pixels, the image has {width}x{height}")


def _shares(
    number: int, corners: Corners, sides: tuple[int, int], in_shares: bool
) -> tuple[tuple[float, float, float, float], bool]:
    x0, y0, x1, y1, label = corners
    width, height = sides
    if in_shares:
        x0, y0, x1, y1 = x0 * width, y0 * height, x1 * width, y1 * height
    said = f"box {number} ({shown(label)})"
    if not all(abs(value) < 1e9 for value in (x0, y0, x1, y1)):  # also refuses NaN
        raise BoxesRefused(f"{said} has a corner that is no number")
    if x1 <= x0 or y1 <= y0:
        which = "xmax" if x1 <= x0 else "ymax"
        high, low = (x1, x0) if x1 <= x0 else (y1, y0)
        raise BoxesRefused(f"{said} has {which} {high:g} <= {which.replace('max', 'min')} {low:g}")
    for name, value, limit in (("xmin", x0, width), ("ymin", y0, height), ("xmax", x1, width), ("ymax", y1, height)):
        if not -SLACK - 1e-6 <= value <= limit + SLACK + 1e-6:
            raise BoxesRefused(f"{said} has {name} {value:g}, outside of the image's {width}x{height}")
    inside = _clip(x0, width), _clip(y0, height), _clip(x1, width), _clip(y1, height)
    if inside[2] <= inside[0] or inside[3] <= inside[1]:
        raise BoxesRefused(f"{said} lies outside of the image's {width}x{height}")
    # Shares that left the image by a rounding error are not worth a note.
    clipped = any(abs(a - b) > 1e-3 for a, b in zip(inside, (x0, y0, x1, y1), strict=True))
    return (inside[0] / width, inside[1] / height, inside[2] / width, inside[3] / height), clipped


def _clip(value: float, limit: int) -> float:
    return min(max(value, 0.0), float(limit))
