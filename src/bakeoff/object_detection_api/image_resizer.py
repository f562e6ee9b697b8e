"""`image_resizer` <-> the side of the square that a network sees."""

from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, field

STEPS = {"ssd": 32, "ssd_fpn": 32}  # the input side is a multiple of this, by kind of network
MAPS_STEPS = {"mobilenet_v1": 32}  # of ssd_multibox, by backbone


def written(size: int) -> Lines:
    return block("image_resizer", block("fixed_shape_resizer", field("height", size), field("width", size)))


def read(ssd: Block, kind: str, backbone: str, report: Report) -> int:
    resizer = ssd.inner("image_resizer")
    chosen = resizer.chosen("image_resizer_oneof")
    step = STEPS.get(kind) or MAPS_STEPS.get(backbone, 1)
    if chosen == "fixed_shape_resizer":
        said = resizer.inner(chosen)
        height, width = said.whole("height"), said.whole("width")
        size = max(height, width)
        if height != width:
            report.changed(resizer, chosen, f"inputs are square here: {size} x {size} for {height} x {width}")
    elif chosen == "keep_aspect_ratio_resizer":
        said = resizer.inner(chosen)
        size = said.whole("max_dimension")
        said.pass_over("min_dimension", "pad_to_max_dimension", "per_channel_pad_value")
        report.changed(resizer, chosen, f"images are brought to {size} x {size} here, whatever their aspect ratio")
    else:
        size = 300
        report.changed(ssd, "image_resizer", f"images are brought to a square here; {size} x {size} for want of one")
        resizer.pass_over(*([chosen] if chosen else []))
    fitting = max(step, (size + step // 2) // step * step)
    if fitting != size:
        report.changed(ssd, "image_resizer", f"{backbone} here wants a multiple of {step}: {fitting} for {size}")
    return fitting
