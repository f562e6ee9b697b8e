"""`data_augmentation_options` <-> settings of `Augment`.

Flips, quarter turns, crops and colours mean the same in both. There the steps are done as they are listed; here
always in one order: canvas, crop, zoom, resize, turns, colours.
"""

from collections.abc import Callable
from typing import Any

from bakeoff.input.augment import Augment
from bakeoff.input.augment.turn import Turn
from bakeoff.object_detection_api import canvas_steps, colour_steps, crop_steps
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field

OPTIONS = "data_augmentation_options"
METHODS = ("bilinear", "nearest", "bicubic", "area")  # that `random_resize_method` draws from
TURNS = {"mirror": "random_horizontal_flip", "upside_down": "random_vertical_flip", "quarter": "random_rotation90"}
Found = dict[tuple[str, ...], Any]  # by key within `train.augment`


def written(augment: Augment, size: int) -> Lines:
    """Of a network whose inputs are `size` pixels a side."""
    steps = [
        *canvas_steps.written(augment),
        *crop_steps.written(augment),
        *_resize(augment, size),
        *_turns(augment.turn),
        *colour_steps.written(augment.colour),
    ]
    return [line for step in steps for line in block(OPTIONS, step)]


def _turns(turn: Turn) -> list[Lines]:
    drawn = {name: getattr(turn, key) for key, name in TURNS.items()}
    return [block(name, field("probability", probability)) for name, probability in drawn.items() if probability]


def _resize(augment: Augment, size: int) -> list[Lines]:
    if set(augment.resize) == set(METHODS) and len(augment.resize) == len(METHODS):
        return [block("random_resize_method", field("target_height", size), field("target_width", size))]
    return []


def unsaid(augment: Augment) -> Lines:
    """What there is no step for."""
    if augment.resize == ("smooth",) or set(augment.resize) == set(METHODS):
        return []
    return comment(f"That API cannot resize by drawing from {', '.join(augment.resize)}.")


def read(train: Block, report: Report) -> dict[str, Any]:
    """Settings of `train.augment`; what has no counterpart is left to the report."""
    readers: dict[str, Callable[[Block, str, Report], Found]] = {
        **dict.fromkeys(TURNS.values(), _read_turn),
        "random_resize_method": _read_resize,
        **crop_steps.READERS,
        **canvas_steps.READERS,
        **colour_steps.READERS,
    }
    all_found: Found = {}
    for option in train.inners(OPTIONS):
        chosen = option.chosen("preprocessing_step")
        if chosen in readers:
            assert chosen
            found = readers[chosen](option.inner(chosen), chosen, report)
            if any(all_found.get(key, value) != value for key, value in found.items()):
                report.changed(option, chosen, "is there twice, and here it can be only once; the last one counts")
            if ("expand", "largest") in found and ("crop",) in all_found:
                report.changed(option, chosen, "comes before the crop here")
            all_found |= found
    return _nested(all_found)


def _read_turn(said: Block, name: str, report: Report) -> Found:
    [key] = [key for key, step in TURNS.items() if step == name]
    return {("turn", key): said.number("probability")}


def _read_resize(said: Block, name: str, report: Report) -> Found:
    said.pass_over("target_height", "target_width")
    report.changed(said, "target_height", "images are brought to the network's own input size here")
    return {("resize",): list(METHODS)}


def _nested(found: Found) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for (*path, last), value in found.items():
        inner = tree
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return tree
