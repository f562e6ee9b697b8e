"""A model.onnx answers as its network does, for one image or several, and says what a reader must know."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from bakeoff.export.nms_numpy import Rule
from bakeoff.export.onnx_build import onnx_bytes
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.write_formats import write_files
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.inference.predict.light_runtime import small_model, view_of
from bakeoff.inference.predict.model_interface import opened
from bakeoff.learning.input.augment_and_resize import fit
from bakeoff.learning.input.view import View
from support.lite_files import CLASSES, MODELS, examples, opinionated

pytestmark = pytest.mark.long

ABOUT = ModelMetadata("demo · ssd_small", "weights of others", "MIT")
ONLY = Export(formats=("onnx",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of each kind of network, in a folder of its name."""
    folder = tmp_path_factory.mktemp("exported")
    for kind, model in MODELS.items():
        (folder / kind).mkdir()
        network, task = opinionated(kind)
        files = write_files(
            network, model, task, CLASSES, ONLY, about=ABOUT, representative=lambda: iter(()), folder=folder / kind
        )
        assert list(files) == ["onnx"]
    return folder


def session(file: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


def test_a_file_stands_beside_its_labels_and_is_sound(folder: Path) -> None:
    for kind in MODELS:
        assert {path.name for path in (folder / kind).iterdir()} == {"model.onnx", "labels.txt", "label_map.pbtxt"}
        model = onnx.load(folder / kind / "model.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert [(one.domain, one.version) for one in model.opset_import if not one.domain] == [("", 17)]


def test_a_detector_finds_in_a_file_what_the_network_finds(folder: Path) -> None:
    network, task = opinionated("detection")
    model = OnnxModel(folder / "detection/model.onnx")
    assert model.task == "detection" and model.labels == CLASSES and model.shape == (64, 64, 3)
    for image in examples("detection", 4):
        answer = model.answer(image)
        expected = {key: value.numpy()[0] for key, value in task.predict(network(image[None], training=False)).items()}
        count = int(expected["count"])
        assert count > 10 and len(set(expected["classes"][:count])) > 1
        np.testing.assert_array_equal(answer["classes"], expected["classes"][:count])
        np.testing.assert_allclose(answer["scores"], expected["scores"][:count], atol=1e-5)
        np.testing.assert_allclose(answer["boxes"], expected["boxes"][:count], atol=1e-5)


def test_several_images_at_once_have_the_answers_that_each_has_alone(folder: Path) -> None:
    file, images = session(folder / "detection/model.onnx"), examples("detection", 3)
    given = ((images - 127.5) / 127.5).astype(np.float32).transpose(0, 3, 1, 2)
    assert [value.name for value in file.get_inputs()] == ["image"]
    assert [value.name for value in file.get_outputs()] == ["boxes", "scores"]
    together = file.run(None, {"image": given})
    assert together[0].shape == (3, len(MODELS["detection"].anchor_boxes()), 4)  # type: ignore[attr-defined]
    for number in range(3):
        alone = file.run(None, {"image": given[number : number + 1]})
        for one, several in zip(alone, together, strict=True):
            np.testing.assert_allclose(several[number], one[0], atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "name"), [("classification", "probabilities"), ("several labels", "scores"), ("video", "probabilities")]
)
def test_a_classifier_gives_a_number_for_each_label(folder: Path, kind: str, name: str) -> None:
    network, task = opinionated(kind)
    model = OnnxModel(folder / kind / "model.onnx")
    assert model.task == MODELS[kind].task and model.shape == network.input_shape[1:]
    for example in examples(kind, 3):
        expected = task.predict(network(example[None], training=False))
        answer = model.answer(example)
        assert set(answer) == {name}
        np.testing.assert_allclose(answer[name], expected[name].numpy()[0], atol=1e-5)


def test_a_file_says_how_its_images_are_made_and_where_it_is_from(folder: Path) -> None:
    properties = session(folder / "detection/model.onnx").get_modelmeta().custom_metadata_map
    rule = MODELS["detection"].suppression  # type: ignore[attr-defined]
    assert json.loads(properties["labels"]) == list(CLASSES)
    assert properties["input"] == "n 3 h w, (pixel - 127.5) / 127.5, RGB"
    assert (properties["trained_from"], properties["licences"]) == ("weights of others", "MIT")
    assert json.loads(properties["suppression"]) == {
        "min_score": rule.min_score, "max_overlap": rule.max_overlap, "max_detections": rule.max_detections,
        "max_detections_per_class": rule.max_detections_per_class,
    }  # fmt: skip
    assert view_of(small_model(folder / "detection/model.onnx")) == View.of(MODELS["detection"])


def test_predict_opens_a_file_and_shows_it_images_of_any_size(folder: Path) -> None:
    file = folder / "detection/model.onnx"
    photo = examples("detection", 1)[0].repeat(2, axis=0).repeat(3, axis=1).astype(np.uint8)
    fitted = fit({"image": tf.constant(photo)}, View.of(MODELS["detection"]))["image"].numpy()
    answer, expected = opened(file).answer(photo), OnnxModel(file).answer(fitted)
    assert len(expected["scores"]) > 1
    for name, values in expected.items():
        np.testing.assert_allclose(answer[name], values, atol=1e-6)


def test_the_same_weights_are_the_same_bytes(folder: Path) -> None:
    """Also in another process, where sets have another order and the converter has counted nothing yet."""
    model = onnx.load(folder / "detection/model.onnx")
    values = [*model.graph.input, *model.graph.output]
    unknown = {size.dim_param for value in values for size in value.type.tensor_type.shape.dim} - {""}
    assert unknown == {"n"}  # the converter calls them unk__316
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from support.lite_files import CLASSES, MODELS, opinionated\n"
        "from bakeoff.export.tflite_metadata import ModelMetadata\n"
        "from bakeoff.export.onnx_build import onnx_bytes\n"
        "from bakeoff.learning.input.view import View\n"
        "network, task = opinionated('detection')\n"
        "about = ModelMetadata('demo · ssd_small', 'weights of others', 'MIT')\n"
        "open(sys.argv[2], 'wb').write(onnx_bytes(network, task, View.of(MODELS['detection']), about, CLASSES))\n"
    )
    again = folder / "again.onnx"
    subprocess.run([sys.executable, "-c", code, str(Path(__file__).parents[1]), str(again)], check=True)
    assert again.read_bytes() == (folder / "detection/model.onnx").read_bytes()


def test_candidates_become_detections_as_tensorflow_chooses_them() -> None:
    """Many boxes that overlap, of five classes, with limits that bind."""
    draw = np.random.default_rng(5)
    low = draw.uniform(-0.1, 0.8, (300, 2))
    boxes = np.concatenate([low, low + draw.uniform(0.05, 0.5, (300, 2))], axis=1).astype(np.float32)
    scores = draw.uniform(0, 1, (300, 5)).astype(np.float32)
    for rule in (Rule(0.3, 0.5, 40), Rule(0.6, 0.3, 100, 7), Rule(0.0, 0.9, 1000)):
        expected = tf.image.combined_non_max_suppression(
            boxes[None, :, None], scores[None], rule.max_detections_per_class or rule.max_detections,
            rule.max_detections, rule.max_overlap, rule.min_score, clip_boxes=True,
        )  # fmt: skip
        count, detections = int(expected.valid_detections[0]), rule.detections(boxes, scores)
        assert count == len(detections["scores"]) > 5
        np.testing.assert_array_equal(detections["scores"], expected.nmsed_scores[0, :count])
        np.testing.assert_array_equal(detections["classes"], expected.nmsed_classes[0, :count].numpy() + 1)
        np.testing.assert_array_equal(detections["boxes"], expected.nmsed_boxes[0, :count])


def test_nothing_above_the_least_score_is_no_detection() -> None:
    detections = Rule(0.5, 0.5, 10).detections(np.zeros((4, 4), np.float32), np.full((4, 2), 0.5, np.float32))
    assert {name: values.shape for name, values in detections.items()} == {
        "boxes": (0, 4),
        "scores": (0,),
        "classes": (0,),
    }


def test_files_that_are_none_of_ours_are_refused(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes((folder / "detection/model.onnx").read_bytes()[:5000])
    with pytest.raises(DataError, match=r"broken\.onnx: onnxruntime .*\(.+\)$"):
        OnnxModel(broken)
    model = onnx.load(folder / "classification/model.onnx")
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "other.onnx")
    rule = r"other\.onnx: .*metadata .*task, labels and view"
    with pytest.raises(DataError, match=rule):
        OnnxModel(tmp_path / "other.onnx")
    model = onnx.load(folder / "classification/model.onnx")
    for node in model.graph.node:
        node.output[:] = ["logits" if name == "probabilities" else name for name in node.output]
    model.graph.output[0].name = "logits"
    onnx.save(model, tmp_path / "logits.onnx")
    with pytest.raises(DataError, match=r"logits\.onnx: .*gives logits$"):
        OnnxModel(tmp_path / "logits.onnx")


def test_a_network_with_an_operation_that_onnx_lacks_is_refused_by_its_name() -> None:
    class Odd:
        input_shape = (None, 8, 8, 3)
        layers = ()

        def __call__(self, image: tf.Tensor, training: bool) -> dict[str, tf.Tensor]:
            return {"classes": tf.math.bessel_i0e(tf.reduce_mean(image, axis=[1, 2]))}

    _, task = opinionated("classification")
    rule = r"^export\.formats: onnx .*\(ONNX has no BesselI0e\)"
    with pytest.raises(ConfigError, match=rule):
        onnx_bytes(Odd(), task, View(8), ABOUT, CLASSES)  # type: ignore[arg-type]
