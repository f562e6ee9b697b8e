"""What Hailo's compiler needs beside model.onnx, in the folder `hailo`: pictures, a plan, and a script that runs it.

calibration.npy    training images as the network is fed, uint8 (n, height, width, 3), RGB: the compiler learns from
                   them the range of every value. The script lets the chip make of pixels what model.onnx takes
plan.json          the chip, the input, the convolutions where model.onnx ends, Hailo's own suppression where it fits
postprocess.json   how boxes become of the outputs, for our decoder: see head_maps.py
compile.py         Hailo's compiler, called: see hailo_compile.py
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.dataset.records.manifest import Split
from bakeoff.export import hailo_compile
from bakeoff.export.devices import DeviceName
from bakeoff.export.hailo_operations import check_hailo
from bakeoff.export.head_maps import HEADS, Heads
from bakeoff.export.settings import ONNX_FILE
from bakeoff.export.tflite_metadata import DEVIATION, MEAN
from bakeoff.export.tflite_worker import Representative
from bakeoff.foundation.errors import DataError

FOLDER, POSTPROCESS, SCRIPT = "hailo", "postprocess.json", "compile.py"
LEAST = 64  # images; a bound of our own, for fewer say little of the range of a value
ADVISED = 1024  # images, by docs/OPTIMIZATION.rst of Hailo's Model Zoo
REMEDY = "add pictures, or choose another export.device"
META_ARCHS = {False: "yolov8", True: "yolox"}  # HailoRT's decoders of sides as distributions, and of YOLOX


def find_obstacle(split: Split, classes: Sequence[str]) -> str:
    """Return why training examples are too poor to calibrate with; empty: they are not."""
    if split.examples < LEAST:
        return f"needs at least {LEAST} training images to calibrate with, the records have {split.examples}"
    [*seen] = [name for name in classes if split.counts.get(name)]
    if len(seen) < 2 <= len(classes):
        kind = f"class {seen[0]}" if seen else "no class at all"
        return f"needs training images of more than one kind to calibrate with, the records have {kind} alone"
    return ""


def write_hailo(chip: DeviceName, export: Path, labels: tuple[str, ...], representative: Representative) -> int:
    """Write the folder beside model.onnx, and return how many images are in it.

    Raises DataError where the chip cannot take the file, or where the images are too few, or all the same.
    """
    path, folder = export / ONNX_FILE, export / FOLDER
    check_hailo(path)
    folder.mkdir()
    number = _write_images(folder / hailo_compile.CALIBRATION, representative)
    metadata, shapes = _read(path)
    heads, rule = Heads.of(json.loads(metadata[HEADS])), json.loads(metadata["suppression"])
    [given] = set(shapes) - set(heads.names)
    shape = shapes[given]
    suppression = _suppress(heads, rule, labels, shapes, shape[-1])
    plan = {
        "chip": chip, "onnx": path.name, "input": {"name": given, "shape": shape}, "mean": MEAN,
        "deviation": DEVIATION, "end_nodes": heads.names, "nms": suppression,
        "meta_arch": META_ARCHS[heads.x_first] if suppression else None,
    }  # fmt: skip
    known = {"labels": list(labels), "suppression": rule, "view": json.loads(metadata["view"])} | heads.as_tree()
    for name, tree in ((hailo_compile.PLAN, plan), (POSTPROCESS, known)):
        (folder / name).write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    script = Path(hailo_compile.__file__).read_text(encoding="utf-8")
    (folder / SCRIPT).write_text(script, encoding="utf-8")
    return number


def _write_images(path: Path, representative: Representative) -> int:
    """Write one image after another, for all of them may be more than the memory holds."""
    partial = path.with_name("partial")
    number, first, differs = 0, np.empty(0), False
    with partial.open("wb") as file:
        for number, [values] in enumerate(representative(), start=1):
            pixels = np.rint(values[0] * DEVIATION + MEAN).clip(0, 255).astype(np.uint8)
            first = first if number > 1 else pixels
            differs = differs or not np.array_equal(pixels, first)
            file.write(pixels.tobytes())
    if number < LEAST or not differs:
        what = f"{number}, and {LEAST} are needed" if number < LEAST else f"{number} times the same picture"
        raise DataError(f"export.device: the training images to calibrate with are {what}; {REMEDY}")
    images = np.memmap(partial, np.uint8, "r", shape=(number, *first.shape))
    np.save(path, images)
    del images
    partial.unlink()
    return number


def _read(path: Path) -> tuple[Mapping[str, str], Mapping[str, list[int]]]:
    """Return a file's metadata, and the shapes of its input and outputs."""
    import onnx

    model = onnx.load(path)
    values = (*model.graph.input, *model.graph.output)
    shapes = {value.name: [side.dim_value for side in value.type.tensor_type.shape.dim] for value in values}
    return {entry.key: entry.value for entry in model.metadata_props}, shapes


def _suppress(
    heads: Heads, rule: Mapping[str, Any], labels: tuple[str, ...], shapes: Mapping[str, list[int]], side: int
) -> dict[str, Any] | None:
    """Return the settings of HailoRT's own decoder and suppression; None for anchors, which it decodes otherwise."""
    is_yolox = heads.x_first
    if not is_yolox and any(level.sizes for level in heads.levels):
        return None
    decoders = [
        {"name": f"decoder_{number}", "stride": int(level.stride), "reg_layer": level.boxes, "cls_layer": level.classes}
        | ({"objectness_layer": level.objects} if is_yolox else {})
        for number, level in enumerate(heads.levels)
    ]
    lengths = {} if is_yolox else {"regression_length": shapes[heads.levels[0].boxes][1] // 4}
    return lengths | {
        "nms_scores_th": rule["min_score"], "nms_iou_th": rule["max_overlap"], "image_dims": [side, side],
        "max_proposals_per_class": rule["max_detections_per_class"] or rule["max_detections"],
        "classes": len(labels), "background_removal": False, "bbox_decoders": decoders,
    }  # fmt: skip
