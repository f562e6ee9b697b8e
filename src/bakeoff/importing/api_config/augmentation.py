"""`data_augmentation_options` -> settings of `train.augment`.

`random_crop_pad_image` that never crops is `expand`, each side by itself and always. Otherwise it stands for `zoom`,
which draws a side and a change of the aspect ratio where that API draws an area and the crop's own aspect ratio.
"""

import math
from collections.abc import Callable

from bakeoff.config.api_export.augmentation import CROP, DISTORTED, METHODS, ORDERS, PADDED, STEPS, TOLERANCE
from bakeoff.config.api_export.messages import round_off
from bakeoff.importing.api_config.fields import Block, ConversionReport, Settings, nest

MOST_STRETCH, MOST_ZOOM, MOST_EXPAND = 4.0, 8.0, 16.0  # what `Zoom` and `Expand` take
MOST_FACTOR = 0.99  # that `Colour` takes
SMALLEST, FLATTEST = 0.01, 100.0  # area, and aspect ratio either way, that a crop may have here
CROP_LIMITS = dict.fromkeys(CROP, (0.0, 1.0)) | {
    "min_aspect_ratio": (1 / FLATTEST, FLATTEST),
    "max_aspect_ratio": (1 / FLATTEST, FLATTEST),
    "min_area": (SMALLEST, 1.0),
    "max_area": (SMALLEST, 1.0),
}
DEFAULT_PADDING = [PADDED[1]] * 2  # of that API


def read_augmentation(train: Block, report: ConversionReport) -> Settings:
    """Return settings of `train.augment`; what has no counterpart is left to the report."""
    settings: Settings = {}
    names: list[str] = []
    for option in train.inners("data_augmentation_options"):
        chosen = option.chosen()
        if chosen is None or chosen not in READERS:
            continue
        step = READERS[chosen](option.inner(chosen), chosen, report)
        if settings.keys() & step.keys() - {"fill"}:
            report.change(option, chosen, "is there twice, and here it can be only once; the last one counts")
        settings |= step
        names.append(chosen)
    if names != (ordered := sorted(names, key=[*READERS].index)):
        report.change(train, "data_augmentation_options", f"are done in this order here: {', '.join(ordered)}")
    return nest(settings)


def _read_step(block: Block, name: str, report: ConversionReport) -> Settings:
    return block.take(STEPS[name])


def _read_resize(block: Block, name: str, report: ConversionReport) -> Settings:
    block.pass_over("target_height", "target_width")
    report.change(block, "", "images are brought to the network's own input size here")
    return {"resize": list(METHODS)}


def _read_crop(block: Block, name: str, report: ConversionReport) -> Settings:
    return {"crop": {"kind": "single"} | _read_way(block, report)}


def _read_crops(block: Block, name: str, report: ConversionReport) -> Settings:
    ways = [_read_way(operation, report) for operation in block.inners("operations")]
    return {"crop": {"kind": "ssd"} | ({"ways": ways} if ways else {})}


def _read_way(block: Block, report: ConversionReport) -> Settings:
    way = block.take(CROP)
    for name, (low, high) in CROP_LIMITS.items():
        key, number = CROP[name].setting, way[CROP[name].setting]
        way[key] = min(high, max(low, number))
        if way[key] != number:
            report.change(block, name, f"{way[key]:g} here, for {number:g}")
    return way | {"when_empty": "keep"}


def _read_pad(block: Block, name: str, report: ConversionReport) -> Settings:
    sizes = [f"{most}_image_{side}" for most in ("min", "max") for side in ("height", "width")]
    if any(block.has(size) for size in sizes):
        report.change(block, next(filter(block.has, sizes)), "canvases are as large as twice the image here")
    block.pass_over(*sizes)
    return _make_canvas(*PADDED) | _read_fill(block)


def _read_crop_and_pad(block: Block, name: str, report: ConversionReport) -> Settings:
    least, most = block.get("min_padded_size_ratio"), block.get("max_padded_size_ratio") or DEFAULT_PADDING
    if block.get("random_coef") < 1:
        return _read_zoom(block, max(most), report) | _read_fill(block)
    block.pass_over("min_object_covered", "min_aspect_ratio", "max_aspect_ratio", "min_area", "max_area")
    block.pass_over("overlap_thresh", "clip_boxes")
    smallest, largest = max(1.0, *least, 1.0), min(MOST_EXPAND, max(most))
    if len(set(least)) > 1 or len(set(most)) > 1 or largest < max(most):
        report.change(block, "max_padded_size_ratio", f"canvases are up to {largest:g} times as large here")
    return _make_canvas(min(smallest, largest), largest) | _read_fill(block)


def _make_canvas(smallest: float, largest: float) -> Settings:
    canvas = {"probability": 1.0, "smallest": smallest, "largest": largest, "keep_aspect": False}
    return {f"expand.{key}": value for key, value in canvas.items()}


def _read_zoom(block: Block, largest: float, report: ConversionReport) -> Settings:
    low, high = block.get("min_aspect_ratio"), block.get("max_aspect_ratio")
    block.pass_over("min_object_covered", "overlap_thresh", "max_area")
    zoom = {
        "smallest": round_off(math.sqrt(max(0.01, block.get("min_area")))),
        "largest": min(MOST_ZOOM, max(1.0, largest)),
        "stretch": round_off(min(MOST_STRETCH, max(1.0, 1 / low if low > 0 else 1.0, high))),
    }
    values = ", ".join(f"{key}: {value:g}" for key, value in zoom.items())
    report.change(block, "", f"becomes train.augment.zoom {{{values}}}, which draws crops somewhat otherwise")
    return {f"zoom.{key}": value for key, value in zoom.items()}


def _read_fill(block: Block) -> Settings:
    """That API fills with the image's average unless it is given three numbers."""
    levels = block.get("pad_color")
    return {"fill": [min(255.0, max(0.0, level)) for level in levels] if len(levels) == 3 else []}


def _read_factors(block: Block, name: str, report: ConversionReport) -> Settings:
    low, high = 1 - block.get("min_delta"), block.get("max_delta") - 1
    share = round_off(min(MOST_FACTOR, max(low, high)))
    if not math.isclose(low, high, abs_tol=TOLERANCE) or share < high:
        report.change(block, "", f"factors are from {round_off(1 - share)} to {round_off(1 + share)} here")
    return {name.replace("random_adjust_", "colour."): share}


def _read_distortion(block: Block, name: str, report: ConversionReport) -> Settings:
    number = block.get("color_ordering")
    if number not in range(len(ORDERS)):
        report.change(block, "color_ordering", f"0 here, for {number}; that API refuses it")
        number = 0
    colour = DISTORTED | {"orders": [list(ORDERS[number])]}
    return {f"colour.{key}": value for key, value in colour.items()}


def _read_grey(block: Block, name: str, report: ConversionReport) -> Settings:
    return {"colour.grey": 1.0}


READERS: dict[str, Callable[[Block, str, ConversionReport], Settings]] = {  # in the order of the steps here
    "random_horizontal_flip": _read_step,
    "random_vertical_flip": _read_step,
    "random_pad_image": _read_pad,
    "random_crop_pad_image": _read_crop_and_pad,
    "random_crop_image": _read_crop,
    "ssd_random_crop": _read_crops,
    "random_resize_method": _read_resize,
    "random_rotation90": _read_step,
    "random_distort_color": _read_distortion,
    "random_adjust_brightness": _read_step,
    "random_adjust_contrast": _read_factors,
    "random_adjust_saturation": _read_factors,
    "random_adjust_hue": _read_step,
    "random_rgb_to_gray": _read_step,
    "rgb_to_gray": _read_grey,
}
