"""Random changes of examples (`Augment`) -> `data_augmentation_options`.

Flips, quarter turns, crops and colours mean the same in both. That API does its steps as they are listed and cuts
off colours beyond the range after each; here they are always done in one order (canvas, crop, zoom, resize, turns,
colours) and colours are cut off once. The tables serve the importer, too.
"""

import math

from bakeoff.config.api_export.messages import Noted, Tree, fill, keys, round_off
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Step
from bakeoff.learning.input.augment.crop import SSD_WAYS, Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.zoom import MIN_SEEN, Zoom

METHODS = ("bilinear", "nearest", "bicubic", "area")  # that `random_resize_method` draws from
STEPS: dict[str, Tree] = {  # that hold settings as they are
    "random_horizontal_flip": keys("turn", probability="mirror"),
    "random_vertical_flip": keys("turn", probability="upside_down"),
    "random_rotation90": keys("turn", probability="quarter"),
    "random_adjust_brightness": keys("colour", max_delta="brightness"),
    "random_adjust_hue": keys("colour", max_delta="hue"),
    "random_rgb_to_gray": keys("colour", probability="grey"),
}
SAME_OF_CROPS = ("min_object_covered", "min_aspect_ratio", "max_aspect_ratio", "min_area", "max_area")
# Drawn by the same operation in both.
CROP = keys("", *SAME_OF_CROPS, overlap_thresh="min_seen", random_coef="untouched")
# What `random_distort_color` does: Inception's amounts, in one of Inception's two orders.
DISTORTED = {"brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 0.2}
ORDERS: tuple[tuple[Step, ...], ...] = (
    ("brightness", "saturation", "hue", "contrast"),
    ("brightness", "contrast", "saturation", "hue"),
)
TOLERANCE = 1e-9
PADDED = (1.0, 2.0)  # how much larger a canvas is that `random_pad_image` makes by default
ZOOMED = (
    "The nearest to the variant's zoom and stretch: that API draws an area and the crop's aspect ratio, bakeoff a side "
    "and a change of the image's aspect ratio."
)


def describe_augmentation(augment: Augment, size: int) -> list[Tree]:
    """Describe the steps for a network whose inputs are `size` pixels a side."""
    draws_all = sorted(augment.resize) == sorted(METHODS)
    return [
        # Flips come first, as in that API's own files; a crop is drawn on either side alike.
        *_describe_step(augment, "random_horizontal_flip"),
        *_describe_step(augment, "random_vertical_flip"),
        *([_describe_expand(augment.expand, augment.fill)] if augment.expand else []),
        *([_describe_zoom(augment.zoom, augment.fill)] if augment.zoom.is_on else []),
        *([_describe_crop(augment.crop)] if augment.crop else []),
        *([{"random_resize_method": {"target_height": size, "target_width": size}}] if draws_all else []),
        *_describe_step(augment, "random_rotation90"),
        *_describe_colours(augment),
    ]


def explain_augmentation(augment: Augment) -> list[str]:
    """Return comments about augmentation for which that API has no step."""
    notes = [f"That API has no step like {name} ({type(change).__name__})." for name, change in augment.added.items()]
    if augment.mixes:
        names, end = ", ".join(augment.mixes), f"bakeoff does it in the first {augment.until:.0%} of the steps"
        notes.append(f"That API mixes no examples: there is no step like {names}; {end}.")
    if augment.resize != ("smooth",) and set(augment.resize) != set(METHODS):
        notes.append(f"That API cannot resize by drawing from {', '.join(augment.resize)}.")
    return notes


def _describe_step(augment: Augment, name: str) -> list[Tree]:
    fields = fill(STEPS[name], augment)
    return [{name: fields}] if any(fields.values()) else []


def _describe_expand(expand: Expand, fill: tuple[float, ...]) -> Tree:
    """Describe a crop that never crops: that API enlarges each side by itself, and always."""
    missing = [
        *([f"with a probability of {expand.probability:g}; there always"] if expand.probability < 1 else []),
        *(["both sides by one factor; there each by its own"] if expand.keep_aspect else []),
    ]
    note = f"Expanded by bakeoff {'; '.join(missing)}." if missing else ""
    if (expand.smallest, expand.largest) == PADDED:
        return {"random_pad_image": Noted(note, {"pad_color": fill})}
    canvas = _describe_canvas(expand.smallest, expand.largest, fill)
    return {"random_crop_pad_image": Noted(note, {"random_coef": 1.0} | canvas)}


def _describe_canvas(smallest: float, largest: float, fill: tuple[float, ...]) -> Tree:
    return {"min_padded_size_ratio": [smallest] * 2, "max_padded_size_ratio": [largest] * 2, "pad_color": fill}


def _describe_zoom(zoom: Zoom, fill: tuple[float, ...]) -> Tree:
    crop: Tree = {
        "min_object_covered": 0.0,
        "min_aspect_ratio": round_off(1 / zoom.stretch),
        "max_aspect_ratio": zoom.stretch,
        "min_area": round_off(zoom.smallest**2),
        "max_area": 1.0,
        "overlap_thresh": MIN_SEEN,
    }
    if zoom.largest > 1:
        least = round_off(zoom.smallest / math.sqrt(zoom.stretch))
        return {"random_crop_pad_image": Noted(ZOOMED, crop | _describe_canvas(least, zoom.largest, fill))}
    return {"random_crop_image": Noted(ZOOMED, crop)}


def _describe_crop(crop: Crop | SsdCrop) -> Tree:
    if crop.ways == SSD_WAYS:
        return {"ssd_random_crop": {}}
    undone = any(way.when_empty == "undo" for way in crop.ways)
    note = "A crop that would leave no box is not made by bakeoff; that API makes it." if undone else ""
    if isinstance(crop, Crop):
        return {"random_crop_image": Noted(note, fill(CROP, crop))}
    return {"ssd_random_crop": Noted(note, {"operations": [fill(CROP, way) for way in crop.ways]})}


def _describe_colours(augment: Augment) -> list[Tree]:
    colour = augment.colour
    order = colour.orders[0] if colour.orders else ("brightness", "contrast", "saturation", "hue")
    distorted = all(math.isclose(getattr(colour, key), share, abs_tol=TOLERANCE) for key, share in DISTORTED.items())
    if colour.orders and distorted and order in ORDERS:
        steps: list[Tree] = [{"random_distort_color": {"color_ordering": ORDERS.index(order)}}]
    else:
        steps = [fields for step in order for fields in _describe_colour(augment, step)]
    if steps and len(colour.orders) > 1:
        [(name, inner)] = steps[0].items()
        note = "bakeoff draws one of several orders of these steps for each example; this is the first."
        steps[0] = {name: Noted(note, inner)}
    return [*steps, *([{"rgb_to_gray": {}}] if colour.grey == 1 else _describe_step(augment, "random_rgb_to_gray"))]


def _describe_colour(augment: Augment, step: Step) -> list[Tree]:
    name, share = f"random_adjust_{step}", getattr(augment.colour, step)
    if name in STEPS:
        return _describe_step(augment, name)
    return [{name: {"min_delta": round_off(1 - share), "max_delta": round_off(1 + share)}}] if share else []
