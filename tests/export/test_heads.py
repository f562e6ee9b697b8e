"""A file that ends at the heads' convolutions, and our decoder, answer as the whole network does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from bakeoff.export.head_maps import Heads
from bakeoff.export.onnx_build import onnx_bytes
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.foundation.errors import DataError
from bakeoff.learning.input.view import View
from support import point_files
from support.drawn import draw
from support.lite_files import CLASSES, examples, opinionated
from support.tiny_detectors import LITE, MULTIBOX, YOLOX

pytestmark = pytest.mark.long

NEAR = 2e-4  # of scores, and of boxes in shares of the image, between TensorFlow and ONNX Runtime


CASES = {
    "points": lambda: (*point_files.drawn_network(), point_files.images(3)),
    "ssd": lambda: (*opinionated("detection"), examples("detection", 3)),
    "multibox": lambda: (
        *draw(MULTIBOX),
        np.random.default_rng(2).uniform(0, 255, (2, MULTIBOX.input_size, MULTIBOX.input_size, 3)),
    ),
    "yolox": lambda: (*draw(YOLOX), point_files.images(3)),
    "fpn": lambda: (*draw(LITE), np.random.default_rng(2).uniform(0, 255, (2, 64, 64, 3))),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any, Path]:
    network, task, images = CASES[request.param]()
    path = tmp_path_factory.mktemp("heads") / "model.onnx"
    path.write_bytes(onnx_bytes(network, task, View.of(task.model), ModelMetadata("t"), CLASSES, "heads"))
    return network, task, images, path


def test_every_output_is_a_convolution_of_its_name(case: tuple[Any, Any, Any, Path]) -> None:
    graph = onnx.load(case[-1]).graph
    onnx.checker.check_model(onnx.load(case[-1]), full_check=True)
    ends = {output.name for output in graph.output}
    assert {node.name for node in graph.node if node.op_type == "Conv"} >= ends
    assert {name for node in graph.node if node.op_type == "Conv" for name in node.output} >= ends
    assert not {"Transpose", "Exp", "Softmax", "Sigmoid"} & {node.op_type for node in graph.node}
    sides = {output.name: [one.dim_value for one in output.type.tensor_type.shape.dim] for output in graph.output}
    assert all(shape[0] == 1 and shape[2] == shape[3] for shape in sides.values())


def test_candidates_are_those_of_the_network(case: tuple[Any, Any, Any, Path]) -> None:
    network, task, images, path = case
    model = OnnxModel(path)
    heads = Heads.of(json.loads(model._session.get_modelmeta().custom_metadata_map["heads"]))
    outputs = network(images.astype(np.float32), training=False)
    wanted = [answer.numpy() for answer in (task.head.boxes(outputs), task.head.scores(outputs))]
    for number, image in enumerate(images):
        model.put(image)
        maps = [value[0] for value in model.call()]
        boxes, scores = heads.candidates(dict(zip(heads.names, maps, strict=True)))
        np.testing.assert_allclose(boxes, wanted[0][number], atol=NEAR, rtol=NEAR)
        np.testing.assert_allclose(scores, wanted[1][number], atol=NEAR)
    assert wanted[1].std() > 0.001


def test_detections_are_those_of_the_network(case: tuple[Any, Any, Any, Path]) -> None:
    network, task, images, path = case
    predictions = task.predict(network(images.astype(np.float32), training=False))
    for number, image in enumerate(images):
        answer, count = OnnxModel(path).answer(image), int(predictions["count"][number])
        assert len(answer["scores"]) == count
        np.testing.assert_allclose(answer["scores"], predictions["scores"][number][:count], atol=NEAR)


def test_the_same_weights_give_the_same_bytes() -> None:
    network, task = point_files.drawn_network()
    files = [onnx_bytes(network, task, View.of(task.model), ModelMetadata("t"), CLASSES, "heads") for _ in range(2)]
    assert files[0] == files[1]


@pytest.mark.parametrize("text", ["{}", "[", '{"levels": [], "scores": "sigmoid"}', '{"levels": [1], "scores": "x"}'])
def test_heads_that_are_not_told_are_refused(text: str, tmp_path: Path) -> None:
    network, task = point_files.drawn_network()
    model = onnx.load_from_string(onnx_bytes(network, task, View.of(task.model), ModelMetadata("t"), CLASSES, "heads"))
    [entry] = [entry for entry in model.metadata_props if entry.key == "heads"]
    entry.value = text
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(DataError, match=r"model\.onnx: .*heads"):
        OnnxModel(tmp_path / "model.onnx")
