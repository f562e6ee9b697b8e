"""Steps that put an image on a larger canvas <-> `expand` and `zoom` of `Augment`.

`random_crop_pad_image` that never crops is `expand`, each side by itself and always. Otherwise it stands for `zoom`,
which draws a side and a change of the aspect ratio where that API draws an area and the crop's own aspect ratio.
"""

import math
from typing import Any

from bakeoff.input.augment import Augment
from bakeoff.input.augment.expand import Expand
from bakeoff.input.augment.zoom import MIN_SEEN, Zoom
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field, fields, rounded

MOST_STRETCH, MOST_ZOOM, MOST_EXPAND = 4.0, 8.0, 16.0  # what `Zoom` and `Expand` take
DEFAULT_PADDING = [2.0, 2.0]  # of that API: up to twice the image's sides


def written(augment: Augment) -> list[Lines]:
    canvas = [_expand(augment.expand, augment.fill)] if augment.expand else []
    return canvas + ([_zoom(augment.zoom, augment.fill)] if augment.zoom.is_on else [])


def _expand(expand: Expand, fill: tuple[float, ...]) -> Lines:
    unsaid = [
        *([f"with a probability of {expand.probability:g}; there always"] if expand.probability < 1 else []),
        *(["both sides by one factor; there each by its own"] if expand.keep_aspect else []),
    ]
    return [
        *(comment(f"Expanded by bakeoff {'; '.join(unsaid)}.") if unsaid else []),
        *block(
            "random_crop_pad_image",
            field("random_coef", 1.0),
            fields("min_padded_size_ratio", [expand.smallest] * 2),
            fields("max_padded_size_ratio", [expand.largest] * 2),
            fields("pad_color", fill),
        ),
    ]


def _zoom(zoom: Zoom, fill: tuple[float, ...]) -> Lines:
    pads = zoom.largest > 1
    least = rounded(zoom.smallest / math.sqrt(zoom.stretch))
    return [
        *comment(
            "The nearest to the variant's zoom and stretch: that API draws an area and the crop's aspect ratio, "
            "bakeoff a side and a change of the image's aspect ratio."
        ),
        *block(
            "random_crop_pad_image" if pads else "random_crop_image",
            field("min_object_covered", 0.0),
            field("min_aspect_ratio", rounded(1 / zoom.stretch)),
            field("max_aspect_ratio", zoom.stretch),
            field("min_area", rounded(zoom.smallest**2)),
            field("max_area", 1.0),
            field("overlap_thresh", MIN_SEEN),
            fields("min_padded_size_ratio", [least] * 2) if pads else [],
            fields("max_padded_size_ratio", [zoom.largest] * 2) if pads else [],
            fields("pad_color", fill) if pads else [],
        ),
    ]


def _read_pad(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    sizes = [f"{most}_image_{side}" for most in ("min", "max") for side in ("height", "width")]
    if any(said.has(size) for size in sizes):
        report.changed(said, next(filter(said.has, sizes)), "canvases are as large as twice the image here")
    said.pass_over(*sizes)
    return _canvas(1.0, DEFAULT_PADDING[0]) | _fill(said)


def _read_crop_and_pad(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    least, most = said.numbers("min_padded_size_ratio"), said.numbers("max_padded_size_ratio") or DEFAULT_PADDING
    if said.number("random_coef") < 1:
        return _read_zoom(said, max(most), report) | _fill(said)
    said.pass_over("min_object_covered", "min_aspect_ratio", "max_aspect_ratio", "min_area", "max_area")
    said.pass_over("overlap_thresh", "clip_boxes")
    smallest, largest = max(1.0, *least, 1.0), min(MOST_EXPAND, max(most))
    if len(set(least)) > 1 or len(set(most)) > 1 or largest < max(most):
        report.changed(said, "max_padded_size_ratio", f"canvases are up to {largest:g} times as large here")
    return _canvas(min(smallest, largest), largest) | _fill(said)


def _canvas(smallest: float, largest: float) -> dict[tuple[str, ...], Any]:
    canvas = {"probability": 1.0, "smallest": smallest, "largest": largest, "keep_aspect": False}
    return {("expand", key): value for key, value in canvas.items()}


def _read_zoom(said: Block, largest: float, report: Report) -> dict[tuple[str, ...], Any]:
    low, high = said.number("min_aspect_ratio"), said.number("max_aspect_ratio")
    said.pass_over("min_object_covered", "overlap_thresh", "max_area")
    zoom = {
        "smallest": rounded(math.sqrt(max(0.01, said.number("min_area")))),
        "largest": min(MOST_ZOOM, max(1.0, largest)),
        "stretch": rounded(min(MOST_STRETCH, max(1.0, 1 / low if low > 0 else 1.0, high))),
    }
    values = ", ".join(f"{key}: {value:g}" for key, value in zoom.items())
    report.changed(said, "min_area", f"becomes train.augment.zoom {{{values}}}, which draws crops somewhat otherwise")
    return {("zoom", key): value for key, value in zoom.items()}


def _fill(said: Block) -> dict[tuple[str, ...], Any]:
    """That API fills with the image's average unless it is given three numbers."""
    levels = said.numbers("pad_color")
    return {("fill",): [min(255.0, max(0.0, level)) for level in levels] if len(levels) == 3 else []}


READERS = {"random_pad_image": _read_pad, "random_crop_pad_image": _read_crop_and_pad}
