"""README.md beside exported files: what each is, how it is fed, where the labels are, and what to do on the device.

It is an output of a stage, so it holds what the variant decides, and neither numbers nor dates.
"""

from collections.abc import Iterator, Sequence

from bakeoff.export.device_guides import GUIDES
from bakeoff.export.devices import DETECTION, DEVICES, OWN_LAYOUT, VIDEO, Layout
from bakeoff.export.head_maps import HEADS
from bakeoff.export.settings import ONNX, RKNN, SAVED_MODEL, Export, Format
from bakeoff.export.tflite_metadata import DEVIATION, LABELS, MEAN
from bakeoff.foundation.formatting import format_count
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import GREY, LETTERBOX

README = "README.md"
BYTES, VALUES = "uint8, pixels as they are", f"float32, (pixel - {MEAN:g}) / {DEVIATION:g}"
SHARES = "float32, pixel / 255"  # in the layout of YOLOv8
KINDS: dict[Format, tuple[str, str]] = {  # what it is, what it takes
    "saved_model": ("TensorFlow's SavedModel", "pixels of any size, or files; nothing need be done to them"),
    "float32": ("TensorFlow Lite, weights as trained", VALUES),
    "float16": ("TensorFlow Lite, weights in half the bytes", VALUES),
    "dynamic": ("TensorFlow Lite, weights in a quarter of the bytes", VALUES),
    "int8": ("TensorFlow Lite, weights and sums in 8 bits", BYTES),
    "onnx": ("ONNX", VALUES),
    "rknn": ("Rockchip's RKNN for RK3588, weights and sums in 8 bits", BYTES),
}
POINTS = "1 x (4 + classes) x points: centre x, centre y, width and height in {}, then scores"
CORNERS = "of each point the box (x1 y1 x2 y2 in pixels), the score of its likeliest class, and that class from 0"
LEVELS = "of each stride logits of the distances left, up, right and down, scores of each class, and their sum"
MAPS = "of each level what the last convolutions answer, for boxes and for classes; its metadata says what it means"
GIVEN: dict[Layout, tuple[str, str]] = {  # what a detector's .tflite gives, and what its other files do
    "detections": (
        "boxes (ymin xmin ymax xmax, shares of the image), classes from 0, scores, and their number",
        "boxes (ymin xmin ymax xmax, shares of the image) and scores of every candidate",
    ),
    "yolov8": (POINTS.format("shares of the side"), POINTS.format("pixels")),
    "yolov8_corners": (CORNERS, CORNERS),
    "yolov8_levels": (LEVELS, LEVELS),
    "heads": (MAPS, MAPS),
}
EIGHT_BITS = (
    "The network learnt in eight bits. `int8` and `onnx` compute so, in the ranges that it learnt; the SavedModel "
    "rounds as they do. Other `.tflite`, `.rknn` and heads for a compiler have its weights in floats, without ranges."
)
RESIZED = {
    "smooth": "bilinear, and so that every pixel counts where the image shrinks (antialiasing)",
    "legacy_bilinear": "bilinear between neighbours, without antialiasing, as TensorFlow 1 did",
}


def write_readme(
    name: str, task: str, classes: Sequence[str], view: View, settings: Export, *, in_eight_bits: bool = False
) -> str:
    """Return the text; `name` is the variant's. `in_eight_bits`: the network learnt so."""
    parts = (
        _describe(name, task, classes, settings),
        ("", EIGHT_BITS) if in_eight_bits else (),
        _feed(task, view),
        _give(task, settings),
        _describe_labels(),
        _go(view, settings),
    )
    return "\n".join(line for part in parts for line in part)


def _describe(name: str, task: str, classes: Sequence[str], settings: Export) -> Iterator[str]:
    count = format_count(len(classes), "class")
    yield from (f"# Exported files of {name}", "")
    yield from (f"The network is for {task}, with {count}; these are its {settings.weights} weights.", "")
    yield from ("`export.json` says what each file is worth.", "", "| file | is | takes |", "|---|---|---|")
    for form, file in settings.files.items():
        kind, given = KINDS[form]
        given = SHARES if given == VALUES and settings.layout not in (OWN_LAYOUT, HEADS) else given
        yield f"| `{file}{'/' if form == SAVED_MODEL else ''}` | {kind} | {given} |"


def _give(task: str, settings: Export) -> Iterator[str]:
    yield from ("", "## What a file gives", "")
    if task != DETECTION:
        yield "- A number for each label, in the order of the labels."
        return
    of_lite, of_others = GIVEN[settings.layout]
    if settings.lite_formats:
        yield f"- `.tflite`: {of_lite}."
    for form in (ONNX, RKNN):
        if form in settings.formats:
            yield f"- `{settings.files[form]}`: {of_others}. Overlapping boxes are still in it."
    if SAVED_MODEL in settings.formats:
        yield f"- `{SAVED_MODEL}/`: named answers with the labels' texts."


def _feed(task: str, view: View) -> Iterator[str]:
    yield from ("", "## How a file is fed", "")
    if task == VIDEO:
        yield f"- A clip is {view.frames} frames; which of a film's, `view.json` inside the file says."
    if view.fit == LETTERBOX:
        yield from _describe_letterbox(task, view.size)
    else:
        crop = "" if view.central_crop == 1 else f"the middle {view.central_crop:g} of each side of "
        yield f"- Size: {crop}the image is resized to {view.size} x {view.size} pixels. It is not padded."
    yield f"- Resizing: {RESIZED[view.resizing]}."
    yield "- Colours: red, green, blue."
    order = "frames, height, width, 3" if task == VIDEO else "height, width, 3; of `.onnx` 3, height, width"
    yield f"- Order of the axes: images, {order}."


def _describe_letterbox(task: str, size: int) -> Iterator[str]:
    yield f"- Size: the image is letterboxed to {size} x {size} pixels: its longer side gets {size}. Its shorter side"
    yield "  gets as many as keep the proportions, rounded, at least 1."
    yield f"- Padding: the image stands in the middle, and grey ({GREY:g} {GREY:g} {GREY:g}) fills the rest. Of an odd"
    yield "  rest, the last row or column has one pixel more. A SavedModel does this itself, if training did it."
    if task == DETECTION:
        yield "- Boxes of files for one size are shares or pixels of the whole square. In pixels of it, take away the"
        yield "  grey above and on the left, then divide by the rows and columns that the image has there."


def _describe_labels() -> Iterator[str]:
    yield from ("", "## Labels", "")
    yield f"`{LABELS}` has a label a line, in the order of the classes; `label_map.pbtxt` has them with ids from 1."
    yield "They are inside `.tflite` and `.onnx`, too."


def _go(view: View, settings: Export) -> Iterator[str]:
    if settings.device:
        guide, takes = GUIDES[settings.device], DEVICES[settings.device].formats
        file = next(name for form, name in settings.files.items() if form in takes)
        yield from ("", f"## {guide.title}", "", f"- It expects of a detector: {guide.outputs}.")
        yield f"- It has the labels from: {guide.labels}."
        yield from (f"- {step.replace('SIZE', str(view.size)).replace('FILE', file)}" for step in guide.steps)
        yield from ("", f"By {', '.join(guide.sources)}. No such device was at hand: none of this was run on one.")
    form = next((form for form in settings.formats if form not in (SAVED_MODEL, RKNN)), None)
    if form:
        yield from ("", "## Try it", "", "```console")
        yield f"$ bakeoff predict photo.jpg --model {settings.files[form]} --out found"
        yield "```"
    yield ""
