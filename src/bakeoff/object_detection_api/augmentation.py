"""`data_augmentation_options` <-> settings of `Augment`.

Mirroring and colour mean the same in both. Crops are drawn otherwise: here a side and a change of the aspect ratio,
there an area and the crop's own aspect ratio.
"""

import math
from typing import Any

from bakeoff.input.augment import Augment
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field, fields

OPTIONS = "data_augmentation_options"
GREY = 127.5  # what lies beside the image when it is zoomed out
SEEN = 0.5  # share of a box that a crop must show, or the box is left out
DIGITS = 9
MOST_STRETCH, MOST_ZOOM_OUT, MOST_CONTRAST = 4.0, 8.0, 0.99  # what `Augment` takes


def written(augment: Augment) -> Lines:
    steps: list[Lines] = []
    if augment.mirror:
        steps.append(block("random_horizontal_flip", field("probability", augment.mirror)))
    if augment.zoom_in < 1 or augment.zoom_out > 1 or augment.stretch > 1:
        steps.append(_crop(augment))
    if augment.brightness:
        steps.append(block("random_adjust_brightness", field("max_delta", augment.brightness)))
    for name in ("contrast", "saturation"):
        if share := getattr(augment, name):
            limits = [field("min_delta", _rounded(1 - share)), field("max_delta", _rounded(1 + share))]
            steps.append(block(f"random_adjust_{name}", *limits))
    if augment.hue:
        steps.append(block("random_adjust_hue", field("max_delta", augment.hue)))
    return [line for step in steps for line in block(OPTIONS, step)]


def _crop(augment: Augment) -> Lines:
    pads = augment.zoom_out > 1
    ratio = augment.zoom_out
    return [
        *comment(
            "The nearest to the variant's zoom and stretch: that API draws an area and the crop's aspect ratio, "
            "bakeoff a side and a change of the image's aspect ratio."
        ),
        *block(
            "random_crop_pad_image" if pads else "random_crop_image",
            field("min_object_covered", 0.0),
            field("min_aspect_ratio", _rounded(1 / augment.stretch)),
            field("max_aspect_ratio", augment.stretch),
            field("min_area", _rounded(augment.zoom_in**2)),
            field("max_area", 1.0),
            field("overlap_thresh", SEEN),
            [*fields("min_padded_size_ratio", [1.0, 1.0]), *fields("max_padded_size_ratio", [ratio, ratio])]
            if pads
            else [],
            fields("pad_color", [GREY] * 3) if pads else [],
        ),
    ]


def read(train: Block, report: Report) -> dict[str, Any]:
    """Settings of `train.augment`; what has no counterpart is left to the report."""
    augment: dict[str, Any] = {}
    readers = {
        "random_horizontal_flip": _read_flip,
        "random_crop_image": _read_crop,
        "random_crop_pad_image": _read_crop,
        "random_adjust_brightness": _read_limit,
        "random_adjust_hue": _read_limit,
        "random_adjust_contrast": _read_factors,
        "random_adjust_saturation": _read_factors,
    }
    for option in train.inners(OPTIONS):
        chosen = option.chosen("preprocessing_step")
        if chosen in readers:
            assert chosen
            found = readers[chosen](option.inner(chosen), chosen, report)
            if found.keys() & augment.keys():
                report.changed(option, chosen, "is there twice, and here it can be only once; the last one counts")
            augment |= found
    return augment


def _read_flip(said: Block, name: str, report: Report) -> dict[str, Any]:
    return {"mirror": said.number("probability")}


def _read_limit(said: Block, name: str, report: Report) -> dict[str, Any]:
    return {name.removeprefix("random_adjust_"): said.number("max_delta")}


def _read_factors(said: Block, name: str, report: Report) -> dict[str, Any]:
    low, high = 1 - said.number("min_delta"), said.number("max_delta") - 1
    share = _rounded(min(MOST_CONTRAST, max(low, high)))
    if not math.isclose(low, high, abs_tol=10**-DIGITS) or share < high:
        report.changed(said, "max_delta", f"factors are from {_rounded(1 - share)} to {_rounded(1 + share)} here")
    return {name.removeprefix("random_adjust_"): share}


def _read_crop(said: Block, name: str, report: Report) -> dict[str, Any]:
    low, high = said.number("min_aspect_ratio"), said.number("max_aspect_ratio")
    sides = said.numbers("max_padded_size_ratio") if name == "random_crop_pad_image" else []
    said.pass_over("min_object_covered", "overlap_thresh", "max_area")
    if sides:
        said.pass_over("min_padded_size_ratio", "pad_color")
    elif name == "random_crop_pad_image":
        sides = [2.0]  # the default there: up to twice the image's sides
    crop = {
        "zoom_in": _rounded(math.sqrt(max(0.01, said.number("min_area")))),
        "stretch": _rounded(min(MOST_STRETCH, max(1.0, 1 / low if low > 0 else 1.0, high))),
    }
    crop |= {"zoom_out": min(MOST_ZOOM_OUT, max(1.0, *sides))} if sides else {}
    values = ", ".join(f"{key}: {value:g}" for key, value in crop.items())
    report.changed(said, "min_area", f"becomes train.augment {{{values}}}, which draws crops somewhat otherwise")
    return crop


def _rounded(number: float) -> float:
    return round(number, DIGITS)
