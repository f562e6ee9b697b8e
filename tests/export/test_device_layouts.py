"""The layouts of YOLOv8 that PhotonVision's coprocessors read, which are not the one of its ONNX file."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.export.files import write_files
from bakeoff.export.grid_layout import every_grid, grid_names, read_grids
from bakeoff.export.lite_metadata import Told
from bakeoff.export.lite_model import LiteModel
from bakeoff.export.lite_operations import read_lite_file
from bakeoff.export.onnx_file import bare_onnx
from bakeoff.graphs import compile_graph
from bakeoff.run.options import Export
from point_files import CLASSES, MODEL, drawn_network, images


def decode_as_photonvision(sides: np.ndarray, stride: int) -> np.ndarray:
    """Return x1 y1 x2 y2 in pixels (h, w, 4) by the loops of its postprocess_v8_11.cc."""
    channels, height, width = sides.shape
    bins = channels // 4
    corners = np.zeros((height, width, 4))
    for i in range(height):
        for j in range(width):
            away = []
            for side in range(4):
                weights = np.exp(sides[side * bins : (side + 1) * bins, i, j].astype(float))
                away.append(sum(weights[bin] / weights.sum() * bin for bin in range(bins)))
            corners[i, j] = (
                (-away[0] + j + 0.5) * stride, (-away[1] + i + 0.5) * stride,
                (away[2] + j + 0.5) * stride, (away[3] + i + 0.5) * stride,
            )  # fmt: skip
    return corners


def test_grids_read_by_the_rules_of_photonvision_are_the_networks_boxes() -> None:
    network, task = drawn_network()
    shown = images(1)
    outputs = network(shown)
    boxes, scores = task.head.boxes(outputs)[0].numpy(), task.head.scores(outputs)[0].numpy()
    grids = [tensor[0].numpy() for tensor in every_grid(network, MODEL)(shown / 127.5 - 1)]
    assert [grid.shape for grid in grids[:2]] == [(32, 8, 8), (3, 8, 8)] and len(grids) == len(grid_names(MODEL)) == 6
    own_boxes, own_scores = read_grids(grids, 64)
    np.testing.assert_allclose(own_boxes, boxes, atol=1e-5)
    np.testing.assert_allclose(own_scores, scores, atol=1e-5)
    first = decode_as_photonvision(grids[0], 8).reshape(-1, 4) / 64
    np.testing.assert_allclose(first[:, [1, 0, 3, 2]], boxes[: len(first)], atol=1e-5)


def test_grids_are_the_outputs_of_a_file_that_converters_read() -> None:
    import onnxruntime

    network, _ = drawn_network()
    given = tf.TensorSpec([1, 64, 64, 3], tf.float32, name="image")
    answer = every_grid(network, MODEL)
    session = onnxruntime.InferenceSession(
        bare_onnx(compile_graph(answer, input_signature=[given]), grid_names(MODEL)), providers=["CPUExecutionProvider"]
    )
    shown = images(1) / 127.5 - 1
    found = session.run(grid_names(MODEL), {"image": shown.transpose(0, 3, 1, 2)})
    for own, other in zip(found, answer(shown), strict=True):
        np.testing.assert_allclose(own, other.numpy(), atol=1e-4)


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corners")
    network, task = drawn_network()

    def pixels() -> Iterator[list[np.ndarray]]:
        yield from ([image[None] / 127.5 - 1] for image in images(8))

    settings = Export(formats=("int8", "float32"), device="photonvision_rubik", layout="yolov8")
    list(write_files(network, MODEL, task, CLASSES, settings, about=Told("t"), representative=pixels, folder=folder))
    return folder


def test_a_rubik_pi_gets_three_outputs_of_bytes(corners: Path) -> None:
    file = read_lite_file(corners / "model.tflite")
    assert [(one.type, one.shape) for one in file.inputs] == [("uint8", (1, 64, 64, 3))]
    assert [(one.name, one.type, one.shape) for one in file.outputs] == [
        ("boxes", "uint8", (1, 84, 4)), ("scores", "uint8", (1, 84)), ("classes", "uint8", (1, 84)),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "near"), [("model_float32.tflite", 1e-4), ("model.tflite", 0.05)])
def test_each_point_has_its_box_and_likeliest_class(corners: Path, name: str, near: float) -> None:
    network, task = drawn_network()
    shown = images(8)[:1]
    outputs = network(shown)
    scores = task.head.scores(outputs)[0].numpy()
    boxes = np.clip(task.head.boxes(outputs)[0].numpy(), 0, 1)
    found = LiteModel(corners / name).answer(shown[0])
    assert len(found["scores"]) > 10 and set(found["classes"]) <= {1, 2, 3}
    best = int(np.argmax(scores.max(axis=1)))
    assert found["scores"][0] == pytest.approx(scores[best].max(), abs=near)
    apart = np.abs(boxes[:, None] - found["boxes"][None]).max(axis=2) + np.abs(
        scores.max(axis=1)[:, None] - found["scores"][None]
    )
    assert apart.min(axis=0).max() < 2 * near  # each answer is one of the network's points
