"""Files of a network that learnt in eight bits: the same numbers as its graph, and no ranges of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf
from onnx import numpy_helper

from bakeoff.export.edge_tpu import check_edge_tpu
from bakeoff.export.settings import Export
from bakeoff.export.tflite_build import of_unit_range, zero_of
from bakeoff.export.tflite_metadata import ModelMetadata, read_metadata
from bakeoff.export.tflite_operations import read_lite_file
from bakeoff.export.tflite_run import LiteModel
from bakeoff.export.upsample import enlarge_by_one_operation
from bakeoff.export.write_formats import convert, write_files
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.quantized.quantizable import eight_bits_of, network_in_floats
from bakeoff.learning.networks.quantized.ranges import FakeQuantize
from bakeoff.learning.tasks.task import make_task
from support.eight_bits import FAMILIES, active, families, pictures

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("converts_here")]

CLASSES = ("ant", "bee", "cat")
DEEP = ("ssd_multibox", "yolox", "mobilenet_v2", "mobilenet_v3")
DEEPEST = {
    "efficientnet_v2_b0": "block2a_expand_bn.rounded",
    "resnet": "conv2_block1_3_bn.rounded",
}  # as far as they agree

SETTINGS = Export(formats=("int8", "float32", "onnx", "saved_model"))


def no_pictures() -> Iterator[list[np.ndarray]]:
    raise AssertionError("a network with ranges is shown no pictures")


def interpreter_of(content: bytes) -> Any:
    from tensorflow.lite.python.interpreter import Interpreter

    with pytest.warns(UserWarning, match=r"tf.lite.Interpreter is deprecated"):
        return Interpreter(model_content=content)


def answers_of(content: bytes, images: np.ndarray) -> list[dict[str, np.ndarray]]:
    run = interpreter_of(content).get_signature_runner()
    return [run(image=image[None].astype(np.uint8)) for image in images]


# With random weights, ssd_fpn makes up to seven levels of boxes of one sum that falls to the other side.
@pytest.mark.parametrize("name", families(but="ssd_fpn"))
def test_the_interpreter_answers_what_the_graph_answers_within_one_level(name: str) -> None:
    """A sum halfway between two levels may fall to either. In a deep network more follows from it, here and there, and
    with random weights behind fifty layers everywhere."""
    network = active(name)
    eight = eight_bits_of(network)
    assert eight is not None
    if name in DEEPEST:
        last = eight.get_layer(DEEPEST[name])
        eight = keras.Model(eight.input, {"classes": last.output})
    inner, shape = of_unit_range(eight, zero_of(eight)), [1, *network.input_shape[1:]]
    module = tf.Module()
    with enlarge_by_one_operation(eight):
        module.answer = compile_graph(inner, input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
        file = convert(module, ["int8"], None)["int8"]
    seen = pictures(shape[1])
    steps = {key: (last.fixed[1] - last.fixed[0]) / 255 for key, last in last_rounding(eight).items()}
    for image, answer in zip(seen, answers_of(file, seen), strict=True):
        expected = eight(image[None]) if name in DEEPEST else network(image[None])
        for key, value in expected.items():
            apart = np.abs(answer[key] - value) / steps[key]
            assert np.mean(apart > 1.01) < (0.02 if name in DEEP else 1e-9), (key, apart.max())


def last_rounding(eight: Any) -> dict[str, FakeQuantize]:
    """The layers that round each output last."""
    return {key: tensor._keras_history.operation for key, tensor in eight.output.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of a detector and of a classifier."""
    folder = tmp_path_factory.mktemp("exported")
    for name in ("ssd", "cnn"):
        (folder / name).mkdir()
        list(write_files(
            active(name), FAMILIES[name], make_task(FAMILIES[name], CLASSES), CLASSES, SETTINGS,
            about=ModelMetadata("test"), representative=no_pictures, folder=folder / name,
        ))  # fmt: skip
    return folder


@pytest.mark.parametrize("name", ["ssd", "cnn"])
def test_onnx_runtime_answers_what_the_graph_answers_within_a_level_or_two(name: str, folder: Path) -> None:
    network, task = active(name), make_task(FAMILIES[name], CLASSES)
    session = onnxruntime.InferenceSession(str(folder / name / "model.onnx"), providers=["CPUExecutionProvider"])
    for image in pictures(network.input_shape[1]):
        given = ((image - 127.5) / 127.5).transpose(2, 0, 1)[None]
        outputs = network(image[None])
        head = getattr(task, "head", None)
        expected = [head.boxes(outputs), head.scores(outputs)] if head else [task.predict(outputs)["probabilities"]]
        for one, other in zip(session.run(None, {"image": given}), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=0.02)


def test_both_files_have_weights_of_one_byte_and_the_same_scales(folder: Path) -> None:
    model = onnx.load(folder / "ssd/model.onnx")
    onnx.checker.check_model(model, full_check=True)
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    made = {name: node for node in model.graph.node for name in node.output}
    weights = [made[node.input[1]] for node in model.graph.node if node.op_type == "Conv"]
    assert weights and all(constants[one.input[0]].dtype == np.int8 for one in weights)
    of_onnx = {tuple(constants[one.input[1]].round(7)) for one in weights}
    interpreter = interpreter_of((folder / "ssd/model.tflite").read_bytes())
    details = {one["index"]: one["quantization_parameters"] for one in interpreter.get_tensor_details()}
    convolutions = [one for one in interpreter._get_ops_details() if one["op_name"] == "CONV_2D"]
    assert {tuple(details[one["inputs"][1]]["scales"].round(7)) for one in convolutions} == of_onnx
    maps = {float(constants[node.input[1]]) for node in model.graph.node if node.op_type == "QuantizeLinear"}
    of_lite = {float(details[one["outputs"][0]]["scales"][0]) for one in convolutions}
    assert all(np.isclose(one, [*maps], rtol=1e-5).any() for one in of_lite)


def test_int8_is_whole_takes_pixels_as_they_are_and_the_chip_takes_all_of_it(folder: Path) -> None:
    on_cpu = {"DEQUANTIZE": 2, "TFLite_Detection_PostProcess": 1, "CAST": 2, "GATHER": 1}  # as without a phase
    for name, expected in (("ssd", on_cpu), ("cnn", {"DEQUANTIZE": 1})):
        path = folder / name / "model.tflite"
        [given] = interpreter_of(path.read_bytes()).get_input_details()
        assert given["dtype"] == np.uint8 and given["quantization"] == (pytest.approx(1 / 127.5), 128)
        assert check_edge_tpu(read_lite_file(path)).as_json()["on_cpu"] == expected
        metadata = read_metadata(path)
        assert (metadata.mean, metadata.deviation) == ((128.0,), (127.5,))


def test_forms_in_floats_have_the_learnt_weights_without_rounding(folder: Path) -> None:
    network = active("cnn")
    for image in pictures(24):
        expected = tf.nn.softmax(network.in_floats()(image[None])["classes"])[0]
        given = LiteModel(folder / "cnn/model_float32.tflite").answer(image)["probabilities"]
        np.testing.assert_allclose(given, expected, atol=1e-5)
        loaded = tf.saved_model.load(str(folder / "cnn/saved_model")).signatures["serving_default"]
        in_eight = loaded(images=tf.constant(image[None].astype(np.uint8)))["probabilities"]
        np.testing.assert_allclose(in_eight, tf.nn.softmax(network(image[None])["classes"]), atol=1e-6)


def test_one_odd_picture_decides_little_where_ranges_are_means(tmp_path: Path) -> None:
    """Its values reach fifty times as far: of eight batches one does, so the ranges reach about seven times as far."""
    network, model = network_in_floats(active("cnn")), FAMILIES["cnn"]
    task, seen, apart = make_task(model, CLASSES), pictures(24, 64), {}

    def shown() -> Iterator[list[np.ndarray]]:
        yield from ([(image[None] - 127.5) / 127.5 * (50 if number == 9 else 1)] for number, image in enumerate(seen))

    for ranges in ("extremes", "means"):
        (tmp_path / ranges).mkdir()
        list(write_files(
            network, model, task, CLASSES, Export(formats=("int8", "onnx"), ranges=ranges),
            about=ModelMetadata("test"), representative=shown, folder=tmp_path / ranges,
        ))  # fmt: skip
        file = LiteModel(tmp_path / ranges / "model.tflite")
        given = np.array([file.answer(image)["probabilities"] for image in seen[:8]])
        apart[ranges] = np.abs(given - tf.nn.softmax(network(seen[:8])["classes"])).mean()
    assert apart["means"] < apart["extremes"] / 2
    assert {node.op_type for node in onnx.load(tmp_path / "means/model.onnx").graph.node} & {"QuantizeLinear"} == set()


@pytest.mark.parametrize("name", ["point_detector", pytest.param("yolox", marks=pytest.mark.slow)])
def test_points_in_the_layout_of_a_chip_are_whole_and_near_the_networks_own(name: str, tmp_path: Path) -> None:
    network, model = active(name), FAMILIES[name]
    task = make_task(model, CLASSES)
    settings = Export(formats=("int8",), layout="yolov8_corners")
    list(write_files(
        network, model, task, CLASSES, settings,
        about=ModelMetadata("test"), representative=no_pictures, folder=tmp_path,
    ))  # fmt: skip
    interpreter = interpreter_of((tmp_path / "model.tflite").read_bytes())
    assert np.float32 not in {one["dtype"] for one in interpreter.get_tensor_details()}
    run = interpreter.get_signature_runner()
    [given] = run.get_input_details()
    for image in pictures(64):
        answer = run(**{given: image[None].astype(np.uint8)})
        outputs = network(image[None])
        boxes = np.clip(task.head.boxes(outputs), 0, 1)[..., [1, 0, 3, 2]] * 64
        apart = np.abs(answer["boxes"] * np.float32(64 / 255) - boxes)
        assert apart.mean() < 0.5 and apart.max() < 3  # pixels
        scores = np.max(task.head.scores(outputs), axis=-1)
        np.testing.assert_allclose(answer["scores"] / 256, scores, atol=1.1 / 256)
