"""`random_crop_image` and `ssd_random_crop` <-> `crop` of `Augment`: drawn by the same operation in both."""

from typing import Any

from bakeoff.input.augment import Augment
from bakeoff.input.augment.crop import SSD_WAYS, Crop
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field

FIELDS = {
    "min_object_covered": "min_object_covered",
    "min_aspect_ratio": "min_aspect_ratio",
    "max_aspect_ratio": "max_aspect_ratio",
    "min_area": "min_area",
    "max_area": "max_area",
    "overlap_thresh": "min_seen",
    "random_coef": "untouched",
}  # there -> here
SMALLEST, FLATTEST = 0.01, 100.0  # area, and aspect ratio either way, that a crop may have here
TAKEN = {
    "min_aspect_ratio": (1 / FLATTEST, FLATTEST),
    "max_aspect_ratio": (1 / FLATTEST, FLATTEST),
    "min_area": (SMALLEST, 1.0),
    "max_area": (SMALLEST, 1.0),
}  # from, to


def written(augment: Augment) -> list[Lines]:
    crop = augment.crop
    if crop is None:
        return []
    unsaid = comment("A crop that would leave no box is not made by bakeoff; that API makes it.")
    said = unsaid if any(way.when_empty == "undo" for way in crop.ways) else []
    if isinstance(crop, Crop):
        return [said + block("random_crop_image", *_fields(crop))]
    if crop.ways == SSD_WAYS:
        return [block("ssd_random_crop")]
    return [said + block("ssd_random_crop", *(block("operations", *_fields(way)) for way in crop.ways))]


def _fields(way: Crop) -> list[Lines]:
    return [field(there, getattr(way, here)) for there, here in FIELDS.items()]


def _read_one(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    return {("crop",): {"kind": "single"} | _way(said, report)}


def _read_several(said: Block, name: str, report: Report) -> dict[tuple[str, ...], Any]:
    ways = [_way(operation, report) for operation in said.inners("operations")]
    return {("crop",): {"kind": "ssd"} | ({"ways": ways} if ways else {})}


def _way(said: Block, report: Report) -> dict[str, Any]:
    way: dict[str, Any] = {"when_empty": "keep"}
    for there, here in FIELDS.items():
        low, high = TAKEN.get(there, (0.0, 1.0))
        number = said.number(there)
        way[here] = min(high, max(low, number))
        if way[here] != number:
            report.changed(said, there, f"{way[here]:g} here, for {number:g}")
    return way


READERS = {"random_crop_image": _read_one, "ssd_random_crop": _read_several}
