"""Steps that change colours <-> `colour` of `Augment`.

That API does its steps as they are listed, and cuts off what goes beyond the range after each; here the four single
ones are one change of colours, or TensorFlow's operations in a drawn order, cut off after the last.
"""

import math
from typing import Any

from bakeoff.input.augment.colour import Colour, Step
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field, rounded

MOST_FACTOR = 0.99  # that `Colour` takes
TOLERANCE = 1e-9
# What `random_distort_color` does: Inception's amounts, in one of Inception's two orders.
DISTORTED = {"brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 0.2}
ORDERS: tuple[tuple[Step, ...], ...] = (
    ("brightness", "saturation", "hue", "contrast"),
    ("brightness", "contrast", "saturation", "hue"),
)


def written(colour: Colour) -> list[Lines]:
    order = colour.orders[0] if colour.orders else ("brightness", "contrast", "saturation", "hue")
    unsaid = comment("bakeoff draws one of several orders of these steps for each example; this is the first.")
    head = unsaid if len(colour.orders) > 1 else []
    grey = [block("random_rgb_to_gray", field("probability", colour.grey))] if colour.grey else []
    if colour.orders and _is_distorted(colour) and order in ORDERS:
        return [head + block("random_distort_color", field("color_ordering", ORDERS.index(order))), *grey]
    steps = [_adjust(step, getattr(colour, step)) for step in order if getattr(colour, step)]
    return [head + steps[0], *steps[1:], *grey] if steps else grey


def _is_distorted(colour: Colour) -> bool:
    return all(math.isclose(getattr(colour, key), value, abs_tol=TOLERANCE) for key, value in DISTORTED.items())


def _adjust(step: Step, share: float) -> Lines:
    if step in ("brightness", "hue"):
        return block(f"random_adjust_{step}", field("max_delta", share))
    limits = [field("min_delta", rounded(1 - share)), field("max_delta", rounded(1 + share))]
    return block(f"random_adjust_{step}", *limits)


def _read_limit(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    return {("colour", name.removeprefix("random_adjust_")): said.number("max_delta")}


def _read_factors(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    low, high = 1 - said.number("min_delta"), said.number("max_delta") - 1
    share = rounded(min(MOST_FACTOR, max(low, high)))
    if not math.isclose(low, high, abs_tol=TOLERANCE) or share < high:
        report.changed(said, "max_delta", f"factors are from {rounded(1 - share)} to {rounded(1 + share)} here")
    return {("colour", name.removeprefix("random_adjust_")): share}


def _read_distortion(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    number = said.whole("color_ordering")
    if number not in range(len(ORDERS)):
        report.changed(said, "color_ordering", f"0 here, for {number}; that API refuses it")
        number = 0
    found: dict[tuple[str, ...], Any] = {("colour", key): value for key, value in DISTORTED.items()}
    return found | {("colour", "orders"): [list(ORDERS[number])]}


def _read_grey(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    return {("colour", "grey"): said.number("probability") if name == "random_rgb_to_gray" else 1.0}


READERS = {
    "random_adjust_brightness": _read_limit,
    "random_adjust_hue": _read_limit,
    "random_adjust_contrast": _read_factors,
    "random_adjust_saturation": _read_factors,
    "random_distort_color": _read_distortion,
    "random_rgb_to_gray": _read_grey,
    "rgb_to_gray": _read_grey,
}
