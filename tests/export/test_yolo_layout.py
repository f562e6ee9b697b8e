"""Files in the layout of YOLOv8 and YOLO11, read by a decoder that is written from the documented layout alone."""

from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from bakeoff.export.accuracy_report import open_file
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.saved_model import SavedModel
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata, read_metadata
from bakeoff.export.tflite_run import LiteModel
from bakeoff.export.write_formats import write_files
from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.point_detector import PointDetector, PointSuppression
from bakeoff.learning.tasks.detection import Detection

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("converts_here")]

CLASSES = ("ant", "bee", "cow")
SIZE = 64
MODEL = PointDetector(input_size=SIZE, width=0.0625, suppression=PointSuppression(min_score=0.25))
POINTS = 64 + 16 + 4


@pytest.fixture(scope="module")
def network() -> keras.Model:
    """Its answers differ from image to image, class to class and point to point."""
    keras.utils.set_random_seed(4)
    network, draw = MODEL.build(len(CLASSES)), np.random.default_rng(0)
    for weight in network.weights:
        layer, _, name = weight.path.rpartition("/")
        if layer == "head.classes":
            weight.assign(draw.normal(-0.1, 0.5, weight.shape))
        elif layer == "head.boxes" and name == "kernel":
            weight.assign(draw.normal(0, 0.3, weight.shape))
        elif name in ("bias", "beta") and layer != "head.boxes":
            weight.assign(draw.normal(0, 0.3, weight.shape))
    return network


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    coarse = np.random.default_rng(1).integers(0, 256, (8, 8, 8, 3)).astype(np.float32)
    return coarse.repeat(8, axis=1).repeat(8, axis=2)


def write(network: keras.Model, images: np.ndarray, folder: Path, settings: Export) -> Path:
    task = Detection(MODEL, CLASSES)

    def representative() -> Iterator[list[np.ndarray]]:
        yield from ([image[None] / 127.5 - 1] for image in images)

    for _ in write_files(
        network,
        MODEL,
        task,
        CLASSES,
        settings,
        about=ModelMetadata("test"),
        representative=representative,
        folder=folder,
    ):
        pass
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, network: keras.Model, images: np.ndarray) -> Path:
    return write(
        network, images, tmp_path_factory.mktemp("yolov8"), Export(formats=("onnx", "float32", "int8"), layout="yolov8")
    )


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory, network: keras.Model, images: np.ndarray) -> Path:
    return write(network, images, tmp_path_factory.mktemp("levels"), Export(formats=("onnx",), layout="yolov8_levels"))


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory, network: keras.Model, images: np.ndarray) -> Path:
    return write(
        network, images, tmp_path_factory.mktemp("corners"), Export(formats=("int8",), layout="yolov8_corners")
    )


def decode(output: np.ndarray) -> list[tuple[int, float, list[float]]]:
    """(1, 4 + k, n) -> (class, score, x y x y) best first: transpose, threshold, suppression in each class."""
    confidence, most_overlap = 0.25, 0.6  # as `MODEL` has them
    rows = output[0].T
    detections = []
    for label in range(rows.shape[1] - 4):
        kept: list[np.ndarray] = []
        for row in sorted(rows[rows[:, 4 + label] > confidence], key=lambda row: -row[4 + label]):
            box = np.array([row[0] - row[2] / 2, row[1] - row[3] / 2, row[0] + row[2] / 2, row[1] + row[3] / 2])
            if all(overlap(box, other) <= most_overlap for other in kept):
                kept.append(box)
                detections.append((label, float(row[4 + label]), box.tolist()))
    return sorted(detections, key=lambda one: -one[1])


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    both = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    return both / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - both)


def answered(network: keras.Model, image: np.ndarray) -> dict[str, np.ndarray]:
    predictions = Detection(MODEL, CLASSES).predict(network(image[None], training=False))
    count = int(predictions["count"][0])
    return {name: predictions[name].numpy()[0][:count] for name in ("boxes", "scores", "classes")}


def assert_same_boxes(given: list[tuple[int, float, list[float]]], expected: dict[str, np.ndarray]) -> None:
    """`given` in shares of the image."""
    assert len(given) == len(expected["scores"]) > 5
    np.testing.assert_allclose([score for _, score, _ in given], expected["scores"], atol=1e-4)
    assert [label + 1 for label, _, _ in given] == expected["classes"].tolist()
    boxes = np.array([box for _, _, box in given])[:, [1, 0, 3, 2]]
    np.testing.assert_allclose(np.clip(boxes, 0, 1), expected["boxes"], atol=1e-4)


def test_an_onnx_file_is_decoded_to_what_the_network_finds(
    folder: Path, network: keras.Model, images: np.ndarray
) -> None:
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    [given], [output] = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape) == ("images", [1, 3, SIZE, SIZE])
    assert (output.name, output.shape) == ("output0", [1, 4 + len(CLASSES), POINTS])
    labels: set[int] = set()
    for image in images[:4]:
        [rows] = session.run(None, {"images": (image / 255).transpose(2, 0, 1)[None]})
        detections = decode(rows)
        labels |= {label for label, _, _ in detections}
        assert_same_boxes([(label, score, [side / SIZE for side in box]) for label, score, box in detections],
                     answered(network, image))  # fmt: skip
    assert len(labels) == len(CLASSES)


def test_points_come_stride_by_stride_and_row_by_row(folder: Path, images: np.ndarray) -> None:
    """Each box is around its own point, and reaches at most 15 strides."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    [rows] = session.run(None, {"images": (images[0] / 255).transpose(2, 0, 1)[None]})
    x, y, width, height = rows[0, :4]
    place = 0
    for stride in (8, 16, 32):
        for row in range(SIZE // stride):
            for column in range(SIZE // stride):
                across, down = (column + 0.5) * stride, (row + 0.5) * stride
                assert x[place] - width[place] / 2 <= across <= x[place] + width[place] / 2
                assert y[place] - height[place] / 2 <= down <= y[place] + height[place] / 2
                place += 1
    assert place == POINTS


def test_a_tflite_has_the_same_rows_in_shares_of_the_input(
    folder: Path, network: keras.Model, images: np.ndarray
) -> None:
    from tensorflow.lite.python.interpreter import Interpreter

    with pytest.warns(UserWarning, match=r"tf.lite.Interpreter is deprecated"):
        net = Interpreter(model_path=str(folder / "model.tflite"))
    net.allocate_tensors()
    [given], [output] = net.get_input_details(), net.get_output_details()
    assert (given["shape"].tolist(), output["shape"].tolist()) == ([1, SIZE, SIZE, 3], [1, 4 + len(CLASSES), POINTS])
    net.set_tensor(given["index"], images[:1] / np.float32(255))
    net.invoke()
    assert_same_boxes(decode(net.get_tensor(output["index"])), answered(network, images[0]))


FILES = {
    "onnx": "model.onnx",
    "float32": "model.tflite",
    "int8": "model_int8.tflite",
    "dynamic": "model_dynamic.tflite",
}


def assert_answers_alike(form: str, path: Path, network: keras.Model, images: np.ndarray, most: int) -> None:
    model = open_file(form, path, 1)  # type: ignore[arg-type]
    assert model.task == "detection" and model.labels == CLASSES
    for image in images:
        expected, answer = answered(network, image), model.answer(image)
        assert abs(float(answer["scores"][0]) - expected["scores"][0]) < (1e-4 if form in ("onnx", "float32") else 0.1)
        if form in ("onnx", "float32"):
            assert len(answer["scores"]) == min(len(expected["scores"]), most)
            np.testing.assert_allclose(answer["scores"], expected["scores"][:most], atol=1e-4)
            np.testing.assert_array_equal(answer["classes"], expected["classes"][:most])
            np.testing.assert_allclose(answer["boxes"], expected["boxes"][:most], atol=1e-4)
        else:
            best = np.abs(expected["boxes"] - answer["boxes"][0]).max(axis=1)
            assert best.min() < 0.1


@pytest.mark.parametrize("form", ["onnx", "float32", "int8"])
def test_a_file_finds_in_this_layout_what_the_network_finds(
    form: str, folder: Path, network: keras.Model, images: np.ndarray
) -> None:
    assert_answers_alike(form, folder / FILES[form], network, images[:3], most=50)


def test_levels_are_the_maps_that_rockchips_model_zoo_reads(
    levels: Path, network: keras.Model, images: np.ndarray
) -> None:
    """Of each stride logits of left, up, right, down, then scores, then their sum; all channels first."""
    session = onnxruntime.InferenceSession(str(levels / "model.onnx"), providers=["CPUExecutionProvider"])
    shapes = [tuple(output.shape) for output in session.get_outputs()]
    assert shapes == [(1, depth, side, side) for side in (8, 4, 2) for depth in (64, len(CLASSES), 1)]
    maps = [values[0] for values in session.run(None, {"images": (images[0] / 255).transpose(2, 0, 1)[None]})]
    rows = []
    for logits, scores, several in zip(maps[::3], maps[1::3], maps[2::3], strict=True):
        np.testing.assert_allclose(several[0], np.minimum(scores.sum(axis=0), 1), atol=1e-5)
        side = scores.shape[1]
        for y, x in np.ndindex(side, side):
            sides = [np.exp(logits[16 * place : 16 * place + 16, y, x]) for place in range(4)]
            left, up, right, down = (float(bins @ np.arange(16) / bins.sum()) for bins in sides)
            box = [x + 0.5 - left, y + 0.5 - up, x + 0.5 + right, y + 0.5 + down]
            centre = [(box[0] + box[2]) / 2 / side, (box[1] + box[3]) / 2 / side]
            rows.append([*centre, (box[2] - box[0]) / side, (box[3] - box[1]) / side, *scores[:, y, x]])
    assert_same_boxes(decode(np.array(rows).T[None]), answered(network, images[0]))
    assert_answers_alike("onnx", levels / "model.onnx", network, images[:2], most=50)


def test_corners_are_whole_numbers_of_8_bits_in_pixels(corners: Path, network: keras.Model, images: np.ndarray) -> None:
    from tensorflow.lite.python.interpreter import Interpreter

    with pytest.warns(UserWarning, match=r"tf.lite.Interpreter is deprecated"):
        net = Interpreter(model_path=str(corners / "model.tflite"))
    net.allocate_tensors()
    [given], outputs = net.get_input_details(), net.get_output_details()
    assert [tuple(output["shape"]) for output in outputs] == [(1, POINTS, 4), (1, POINTS), (1, POINTS)]
    assert [output["dtype"] for output in (given, *outputs)] == [np.uint8] * 4
    net.set_tensor(given["index"], images[:1].astype(np.uint8))
    net.invoke()
    boxes, scores, classes = (net.get_tensor(output["index"])[0] for output in outputs)
    scale, zero = outputs[0]["quantization"]
    raw_outputs = {name: value.numpy()[0] for name, value in network(images[:1], training=False).items()}
    head = MODEL.head()
    exact = head.boxes({"boxes": tf.constant(raw_outputs["boxes"][None])}).numpy()[0][:, [1, 0, 3, 2]] * SIZE
    assert np.abs((boxes.astype(float) - zero) * scale - exact).mean() < 2
    scale, zero = outputs[1]["quantization"]
    best = 1 / (1 + np.exp(-raw_outputs["classes"].max(axis=1)))
    assert np.abs((scores.astype(float) - zero) * scale - best).mean() < 0.05
    assert (classes == raw_outputs["classes"].argmax(axis=1)).mean() > 0.8
    assert_answers_alike("int8", corners / "model.tflite", network, images[:2], most=50)


@pytest.mark.slow
def test_every_format_finds_in_our_own_layout_what_the_network_finds(
    tmp_path: Path, network: keras.Model, images: np.ndarray
) -> None:
    write(network, images, tmp_path, Export(formats=("float32", "onnx", "dynamic", "int8", "saved_model")))
    for form, file in FILES.items():
        assert_answers_alike(form, tmp_path / file, network, images[:3], most=50 if form == "onnx" else 10)
    answer = SavedModel(tmp_path / "saved_model").answer(images[0].astype(np.uint8))
    np.testing.assert_allclose(answer["scores"], answered(network, images[0])["scores"], atol=1e-4)
    assert read_metadata(tmp_path / "model.tflite").rule == {}


def test_an_int8_file_takes_pixels_as_they_are(folder: Path) -> None:
    model = LiteModel(folder / "model_int8.tflite")
    details = model._interpreter.get_input_details()[0]
    scale, zero = details["quantization"]
    assert details["dtype"] == np.uint8 and scale == pytest.approx(1 / 255, rel=0.01) and zero == 0


def test_metadata_says_how_pixels_become_inputs_and_rows_become_detections(folder: Path) -> None:
    metadata = read_metadata(folder / "model.tflite")
    assert (metadata.mean, metadata.deviation, metadata.outputs) == ((0.0,), (255.0,), ("output0",))
    assert metadata.rule["min_score"] == 0.25 and metadata.labels == CLASSES
    assert OnnxModel(folder / "model.onnx").shape == (SIZE, SIZE, 3)


def test_a_layout_without_a_file_that_has_it_is_refused() -> None:
    message = r"^layout: .*detections\b.*SavedModel\b.*onnx\b.*\.tflite\b.*formats.*'yolov8'$"
    with pytest.raises(OutOfRange, match=message):
        Export(formats=("saved_model",), layout="yolov8")
