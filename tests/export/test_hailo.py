"""What Hailo's compiler needs: pictures, a plan whose decoder is HailoRT's, and a check against published layers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from bakeoff.dataset.records.manifest import Split
from bakeoff.export import hailo
from bakeoff.export.hailo_compile import find_layer, write_script
from bakeoff.export.hailo_operations import check_hailo, find_obstacles
from bakeoff.export.head_maps import Heads
from bakeoff.export.onnx_build import onnx_bytes
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.foundation.errors import DataError, OutOfRange
from bakeoff.inference.device.device_check import check_file
from bakeoff.learning.input.view import View
from support import point_files, tiny_detectors
from support.doc_blocks import blocks_of
from support.drawn import draw
from support.lite_files import CLASSES, MODELS, examples, opinionated
from support.messages import missing_in

pytestmark = pytest.mark.long

POINTS, YOLOX = "points", "yolox"


def write_model(folder: Path, kind: str = POINTS) -> tuple[Any, Any]:
    makers = {POINTS: point_files.drawn_network, YOLOX: lambda: draw(tiny_detectors.YOLOX)}
    network, task = makers[kind]() if kind in makers else opinionated("detection")
    data = onnx_bytes(network, task, View.of(task.model), ModelMetadata("t"), CLASSES, "heads")
    (folder / "model.onnx").write_bytes(data)
    return network, task


def pictures(count: int, kind: str = POINTS) -> np.ndarray:
    return point_files.images(count) if kind == POINTS else examples("detection", count)


def write(folder: Path, images: np.ndarray, kind: str = POINTS) -> Path:
    def representative() -> Iterator[list[np.ndarray]]:
        yield from ([((image - 127.5) / 127.5).astype(np.float32)[None]] for image in images)

    hailo.write_hailo("hailo8l", folder, CLASSES, representative)
    return folder / "hailo"


def test_pictures_are_the_pixels_that_the_network_is_fed(tmp_path: Path) -> None:
    write_model(tmp_path)
    images = pictures(70)
    folder = write(tmp_path, images)
    written = np.load(folder / "calibration.npy", mmap_mode="r")
    assert (written.dtype, written.shape) == (np.uint8, (70, 64, 64, 3))
    np.testing.assert_array_equal(written, images.astype(np.uint8))
    assert {path.name for path in folder.iterdir()} == {
        "calibration.npy", "plan.json", "postprocess.json", "compile.py",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [POINTS, "anchors"])
def test_the_plan_names_nodes_that_the_file_has(tmp_path: Path, kind: str) -> None:
    write_model(tmp_path, kind)
    plan = json.loads((write(tmp_path, pictures(64, kind), kind) / "plan.json").read_text(encoding="utf-8"))
    graph = onnx.load(tmp_path / plan["onnx"]).graph
    assert {node.name for node in graph.node if node.op_type == "Conv"} >= {*plan["end_nodes"]}
    assert plan["end_nodes"] and plan["chip"] == "hailo8l" and (plan["nms"] is not None) == (kind == POINTS)
    [given] = graph.input
    assert (given.name, [side.dim_value for side in given.type.tensor_type.shape.dim]) == (
        plan["input"]["name"], plan["input"]["shape"],
    )  # fmt: skip


def decode_as_hailort(settings: dict[str, Any], maps: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Boxes and scores by the words of HailoRT's yolov8_post_process.cpp: place by place, side by side."""
    boxes, scores = [], []
    height, width = settings["image_dims"]
    for decoder in settings["bbox_decoders"]:
        answers, logits, stride = maps[decoder["reg_layer"]], maps[decoder["cls_layer"]], decoder["stride"]
        for row in range(logits.shape[1]):
            for column in range(logits.shape[2]):
                sides = []
                for side in answers[:, row, column].reshape(4, settings["regression_length"]):
                    powers = np.exp(side - side.max())
                    sides.append(sum(place * share for place, share in enumerate(powers / powers.sum())))
                x, y = (column + 0.5) * stride / width, (row + 0.5) * stride / height
                left, up, right, down = (value * stride for value in sides)
                boxes.append([y - up / height, x - left / width, y + down / height, x + right / width])
                scores.append(1 / (1 + np.exp(-logits[:, row, column])))
    return np.array(boxes), np.array(scores)


def test_hailorts_decoder_with_the_plans_numbers_finds_what_the_network_finds(tmp_path: Path) -> None:
    network, task = write_model(tmp_path)
    settings = json.loads((write(tmp_path, pictures(64)) / "plan.json").read_text(encoding="utf-8"))["nms"]
    assert settings["classes"] == len(CLASSES) and settings["regression_length"] == point_files.MODEL.bins
    rule = task.model.suppression
    assert (settings["nms_scores_th"], settings["nms_iou_th"]) == (rule.min_score, rule.max_overlap)
    image, model = pictures(1)[0], OnnxModel(tmp_path / "model.onnx")
    model.put(image)
    names = [output.name for output in model._session.get_outputs()]
    boxes, scores = decode_as_hailort(settings, dict(zip(names, (value[0] for value in model.call()), strict=True)))
    outputs = network(image[None], training=False)
    np.testing.assert_allclose(boxes, task.head.boxes(outputs)[0], atol=2e-4)
    np.testing.assert_allclose(scores, task.head.scores(outputs)[0], atol=2e-4)


def test_hailorts_other_decoder_finds_what_yolox_finds(tmp_path: Path) -> None:
    """By the words of its yolox_post_process.cpp: place by place."""
    network, task = write_model(tmp_path, YOLOX)
    plan = json.loads((write(tmp_path, pictures(64)) / "plan.json").read_text(encoding="utf-8"))
    settings, (image,), model = plan["nms"], pictures(1), OnnxModel(tmp_path / "model.onnx")
    assert plan["meta_arch"] == "yolox" and "regression_length" not in settings
    model.put(image)
    maps = dict(zip(model._names, (value[0] for value in model.call()), strict=True))
    boxes, scores = [], []
    for decoder in settings["bbox_decoders"]:
        answers, logits, there = (maps[decoder[f"{name}_layer"]] for name in ("reg", "cls", "objectness"))
        _, height, width = logits.shape
        assert (decoder["stride"], *there.shape) == (settings["image_dims"][0] / height, 1, height, width)
        for row in range(height):
            for column in range(width):
                right, down, wider, higher = answers[:, row, column]
                x, y, w, h = (
                    (right + column) / width,
                    (down + row) / height,
                    np.exp(wider) / width,
                    np.exp(higher) / height,
                )
                boxes.append([y - h / 2, x - w / 2, y + h / 2, x + w / 2])
                scores.append(1 / (1 + np.exp(-logits[:, row, column])) / (1 + np.exp(-there[0, row, column])))
    outputs = network(image[None], training=False)
    np.testing.assert_allclose(boxes, task.head.boxes(outputs)[0], atol=2e-4, rtol=2e-4)
    np.testing.assert_allclose(scores, task.head.scores(outputs)[0], atol=2e-4)


def test_postprocess_json_is_what_our_decoder_reads(tmp_path: Path) -> None:
    network, task = write_model(tmp_path, "anchors")
    tree = json.loads((write(tmp_path, pictures(64, "anchors"), "anchors") / "postprocess.json").read_text("utf-8"))
    assert tree["labels"] == list(CLASSES) and tree["view"]["size"] == MODELS["detection"].input_size
    heads, image, model = Heads.of(tree), pictures(1, "anchors")[0], OnnxModel(tmp_path / "model.onnx")
    model.put(image)
    boxes, scores = heads.candidates(dict(zip(heads.names, (value[0] for value in model.call()), strict=True)))
    outputs = network(image[None], training=False)
    np.testing.assert_allclose(boxes, task.head.boxes(outputs)[0], atol=2e-4)
    np.testing.assert_allclose(scores, task.head.scores(outputs)[0], atol=2e-4)


def test_the_program_of_the_page_decodes_what_the_chip_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, task = write_model(tmp_path, "anchors")
    write(tmp_path, pictures(64, "anchors"), "anchors")
    model, image = OnnxModel(tmp_path / "model.onnx"), pictures(1, "anchors")[0]
    model.put(image)
    names = [output.name for output in model._session.get_outputs()]
    found: dict[str, Any] = {"maps": dict(zip(names, (value[0] for value in model.call()), strict=True))}
    monkeypatch.chdir(tmp_path)
    [block] = [block for block in blocks_of("docs/hailo.md") if block.language == "py"]
    exec(compile(block.text, block.page, "exec"), found)
    np.testing.assert_allclose(found["scores"], task.head.scores(network(image[None], training=False))[0], atol=2e-4)


@pytest.mark.parametrize(
    ("images", "parts"),
    [
        (pictures(63), ("63", "64")),
        (np.repeat(pictures(1), 64, axis=0), ("64 times the same picture",)),
        (pictures(1)[:0], ("0", "64")),
    ],
)
def test_poor_pictures_are_one_line(tmp_path: Path, images: np.ndarray, parts: tuple[str, ...]) -> None:
    write_model(tmp_path)
    with pytest.raises(DataError) as refused:
        write(tmp_path, images)
    assert missing_in(str(refused.value), "export.device", *parts) == [] and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("counts", "number", "parts"),
    [
        ({"a": 9, "b": 1}, 64, ()),
        ({"a": 9, "b": 1}, 63, ("64", "63")),
        ({"a": 9, "b": 0}, 64, ("class a",)),
        ({}, 64, ("no class",)),
    ],
)
def test_records_that_are_too_poor_are_known_before_training(
    counts: dict[str, int], number: int, parts: tuple[str, ...]
) -> None:
    why = hailo.find_obstacle(Split(number, 1, 1, counts, ()), ("a", "b"))
    assert bool(why) == bool(parts) and missing_in(why, *parts) == []
    assert hailo.find_obstacle(Split(64, 1, 1, {"a": 2}, ()), ("a",)) == ""


def layer(kind: str, *names: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "original_names": list(names), **more}


LAYERS = {
    "network/conv7": layer("conv", "boxes_0"),
    "network/conv8": layer("conv", "classes_0"),
    "network/output_layer1": layer("output_layer", "boxes_1", input=["network/conv9"]),
    "network/conv10": layer("conv", "Conv_3", "classes_1"),
}


def test_the_script_names_layers_as_the_compiler_does(tmp_path: Path) -> None:
    decoders = [
        {"name": f"d{number}", "stride": 8, "reg_layer": f"boxes_{number}", "cls_layer": f"classes_{number}"}
        for number in range(2)
    ]
    plan = {"mean": 127.5, "deviation": 127.5, "meta_arch": "yolov8", "nms": {"classes": 3, "bbox_decoders": decoders}}
    lines = write_script(plan, LAYERS, 900, tmp_path / "nms.json").splitlines()
    assert lines == [
        "normalization1 = normalization([127.5, 127.5, 127.5], [127.5, 127.5, 127.5])",
        "change_output_activation(network/conv8, sigmoid)",
        "change_output_activation(network/conv10, sigmoid)",
        f'nms_postprocess("{tmp_path / "nms.json"}", meta_arch=yolov8, engine=cpu)',
        "model_optimization_config(calibration, batch_size=8, calibset_size=900)",
    ]
    written = json.loads((tmp_path / "nms.json").read_text(encoding="utf-8"))
    assert [row["reg_layer"] for row in written["bbox_decoders"]] == ["network/conv7", "network/conv9"]
    assert written["classes"] == 3
    assert len(write_script({**plan, "nms": None}, LAYERS, 900, tmp_path / "none.json").splitlines()) == 2
    assert not (tmp_path / "none.json").exists()
    with pytest.raises(SystemExit, match="boxes_7"):
        find_layer(LAYERS, "boxes_7")


def change(model: onnx.ModelProto, fault: str) -> str:
    """Put a fault into a file; return what the message must name."""
    convolution = next(node for node in model.graph.node if node.op_type == "Conv")
    joined = next(node for node in model.graph.node if node.op_type == "Concat")
    if fault == "operation":
        convolution.op_type = "Einsum"
        return "Einsum"
    if fault == "three sides":
        [kernel] = [one for one in convolution.attribute if one.name == "kernel_shape"]
        kernel.ints[:] = [3, 3, 3]
        return f"Conv {convolution.name}"
    if fault == "axis":
        [axis] = [one for one in joined.attribute if one.name == "axis"]
        axis.i = 3
        return f"Concat {joined.name}"
    sides = model.graph.input[0].type.tensor_type.shape.dim
    sides[0 if fault == "batch" else 1].dim_value = 8
    return "8 x 3" if fault == "batch" else "1 x 8"


@pytest.mark.parametrize("fault", ["operation", "three sides", "axis", "batch", "channels"])
def test_what_the_compiler_does_not_take_is_named(tmp_path: Path, fault: str) -> None:
    write_model(tmp_path)
    assert "published layers" in check_hailo(tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    part = change(model, fault)
    assert missing_in("; ".join(find_obstacles(model)), part) == []


def test_a_file_that_ends_elsewhere_is_refused_for_the_device(tmp_path: Path) -> None:
    network, task = point_files.drawn_network()
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_bytes(network, task, View.of(task.model), ModelMetadata("t"), CLASSES, "yolov8"))
    with pytest.raises(DataError, match=r"model\.onnx: .*heads.*yolov8"):
        list(check_file(path, "hailo8"))
    write_model(tmp_path)
    (tmp_path / "labels.txt").write_text("".join(f"{name}\n" for name in CLASSES), encoding="utf-8")
    lines = list(check_file(path, "hailo8"))
    assert missing_in(" ".join(lines), "64 x 64 x 3", "Conv") == []


def test_other_formats_do_not_end_at_heads() -> None:
    with pytest.raises(OutOfRange, match=r"formats: .*layout heads"):
        Export(formats=("onnx", "int8"), layout="heads")
