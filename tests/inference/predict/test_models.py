"""A network answers the same from its weights, its SavedModel and its .tflite; what is none of these is refused."""

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata, read_metadata
from bakeoff.export.write_formats import write_files
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.inference.predict.light_runtime import small_model, view_of
from bakeoff.inference.predict.model_interface import opened
from bakeoff.inference.predict.select_model import Trained, chosen
from bakeoff.learning.networks.detector_settings import Suppression
from bakeoff.learning.networks.tiles import Tiles
from bakeoff.learning.tasks.task import make_task
from support.lite_files import CLASSES, MODELS, opinionated
from support.messages import missing_in

pytestmark = pytest.mark.usefixtures("converts_here")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """models/ of a workspace that trained and exported a detector."""
    folder = tmp_path_factory.mktemp("workspace") / "models"
    network, task = opinionated("detection")
    for name in ("train", "export"):
        (folder / name).mkdir(parents=True)
    network.save_weights(folder / "train/best.weights.h5")
    files = write_files(
        network, MODELS["detection"], task, CLASSES,
        Export(formats=("saved_model", "float32"), per_class_suppression=True),
        about=ModelMetadata("test"), representative=lambda: iter(()), folder=folder / "export",
    )  # fmt: skip
    assert list(files) == ["saved_model", "float32"]
    return folder


@pytest.mark.long
def test_the_same_image_gets_the_same_answers_from_each(models: Path) -> None:
    coarse = np.random.default_rng(2).integers(0, 256, (5, 7, 3), np.uint8)
    image = coarse.repeat(19, axis=0).repeat(23, axis=1)  # neither square nor of the network's size
    nameless = shutil.copy(models / "train/best.weights.h5", models / "1f8dcc6a733f")  # as DVC's cache has files
    weights = Trained(MODELS["detection"], Path(nameless), CLASSES, multi_label=False)
    sources = {"weights": weights, "saved": models / "export/saved_model", "lite": models / "export/model.tflite"}
    predictions = {}
    for name, source in sources.items():
        model = opened(source)
        assert (model.task, model.labels) == ("detection", CLASSES)
        predictions[name] = model.answer(image)
    assert len(predictions["weights"]["scores"]) > 10 == len(predictions["lite"]["scores"])
    for name in ("saved", "lite"):
        for key in ("boxes", "scores", "classes"):
            np.testing.assert_allclose(predictions[name][key][:10], predictions["weights"][key][:10], atol=1e-4)
    for name, source in sources.items():
        corners = opened(source).answer(image[:1, :1])["boxes"]  # an image of one pixel
        assert len(corners) and np.isfinite(corners).all() and corners.min() >= 0 and corners.max() <= 1, name


@pytest.mark.parametrize("kind", ["classification", "several labels", "video"])
def test_an_image_of_one_pixel_and_a_clip_of_one_are_answered(kind: str, tmp_path: Path) -> None:
    network, _ = opinionated(kind)
    network.save_weights(tmp_path / "best.weights.h5")
    weights = Trained(MODELS[kind], tmp_path / "best.weights.h5", CLASSES, multi_label=kind == "several labels")
    pixel = np.full((1, 1, 1, 3) if kind == "video" else (1, 1, 3), 200, np.uint8)
    predictions = opened(weights).answer(pixel)
    scores = predictions["scores"] if kind == "several labels" else predictions["probabilities"]
    assert scores.shape == (3,) and 0 < scores.min() <= scores.max() < 1
    assert kind == "several labels" or scores.sum() == pytest.approx(1, abs=1e-5)


def test_a_models_folder_or_file_is_known_by_what_it_holds(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(models / "export", None)[0] == models / "export/saved_model"
    assert chosen(models / "export/saved_model", None)[0] == models / "export/saved_model"
    monkeypatch.chdir(models.parent)
    assert chosen(None, None) == (workspace.EXPORTED / "saved_model", "models/export/saved_model")


def test_weights_need_the_run_and_the_labels_that_they_were_trained_with(models: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"run.yaml: missing.*`dvc repro`"):
        chosen(models / "train", None)
    with pytest.raises(WorkspaceError, match=r"run.yaml: missing"):
        chosen(models / "train/best.weights.h5", None)


def test_without_a_model_one_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WorkspaceError, match=r"^predict: nothing .*`dvc repro`.*--model"):
        chosen(None, None)
    with pytest.raises(WorkspaceError, match=r"^predict: .*--model.*--run.*both"):
        chosen(tmp_path, "abc")
    with pytest.raises(DataError, match=r"no model.*SavedModel.*models/export"):
        chosen(tmp_path, None)
    with pytest.raises(DataError, match=r"nowhere.tflite: no such file or folder"):
        chosen(tmp_path / "nowhere.tflite", None)
    with pytest.raises(WorkspaceError, match=r": is no workspace.*models/config/run.yaml"):
        chosen(None, str(tmp_path))
    with pytest.raises(WorkspaceError, match=r"^nobody: no run .*; one of"):
        chosen(None, "nobody")


def test_a_saved_model_of_other_software_is_refused(tmp_path: Path) -> None:
    module = tf.Module()
    module.double = tf.function(lambda x: {"y": 2 * x}, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(module, str(tmp_path / "other"), signatures={"serving_default": module.double})
    message = r"other: .*signatures .*encoded, labels, serving_default.*got serving_default"
    with pytest.raises(DataError, match=message):
        opened(tmp_path / "other")


def test_a_saved_model_that_does_more_than_calculate_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    @tf.function(input_signature=[])
    def inner() -> tf.Tensor:
        tf.io.write_file("written", "x")
        return tf.constant(["ant"])

    module = tf.Module()
    module.labels = tf.function(lambda: {"labels": inner()}, input_signature=[])
    tf.saved_model.save(module, "own", signatures={"labels": module.labels})
    with pytest.raises(DataError) as refused:
        opened(Path("own"))
    assert missing_in(str(refused.value), "own", "WriteFile", "not loaded") == []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        writes = tf.io.write_file("written", "x")
        builder = tf.compat.v1.saved_model.Builder("older")
        builder.add_meta_graph_and_variables(session, ["serve"], main_op=writes)
        builder.save()
    with pytest.raises(DataError) as refused:
        opened(Path("older"))
    assert missing_in(str(refused.value), "older", "TensorFlow 2") == []
    assert not Path("written").exists()


def test_a_damaged_saved_model_is_refused(models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "export/saved_model", tmp_path / "cut")
    (tmp_path / "cut/saved_model.pb").write_bytes(b"not this")
    with pytest.raises(DataError, match=r"cut: cannot be loaded \("):
        opened(tmp_path / "cut")


def test_what_is_no_tflite_or_has_no_labels_is_refused(models: Path, tmp_path: Path) -> None:
    (tmp_path / "page.tflite").write_text("<html>", encoding="utf-8")
    with pytest.raises(DataError, match=r"page.tflite: .*b'<html>'"):
        read_metadata(tmp_path / "page.tflite")
    data = (models / "export/model.tflite").read_bytes()
    bare = data[: data.index(b"PK\x03\x04")]  # where the archive begins
    (tmp_path / "bare.tflite").write_bytes(bare)
    with pytest.raises(DataError, match=r"bare.tflite: .*no labels"):
        read_metadata(tmp_path / "bare.tflite")
    (tmp_path / "cut.tflite").write_bytes(data[:2000])
    with pytest.raises(DataError, match=r"cut.tflite: .*cut off.*\(error: "):
        read_metadata(tmp_path / "cut.tflite")
    (tmp_path / "deep.tflite").write_bytes(data)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "deep.tflite", "a") as archive:
        archive.writestr("view.json", "[" * 100_000)
    with pytest.raises(DataError, match=r"deep.tflite: .*RecursionError"):
        read_metadata(tmp_path / "deep.tflite")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r".*b''"),
        (b"\x1c\0\0\0TFL3", r".*cut off"),
        (b"\x1c\0\0\0TFL3" + bytes(500), r".*no labels"),
        (b"\x1c\0\0\0TFL3" + b"\xff" * 500, r".*cut off"),
    ],
)
def test_a_tflite_with_nothing_in_it_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(content)
    with pytest.raises(DataError, match=rf"model.tflite: {message}"):
        opened(tmp_path / "model.tflite")


def test_labels_of_a_file_of_other_software_are_found_under_their_own_name(models: Path, tmp_path: Path) -> None:
    """ftc-ml calls them label_map.txt; there the metadata names the file, which here it does not."""
    shutil.copy(models / "export/model.tflite", tmp_path / "model.tflite")
    data = (tmp_path / "model.tflite").read_bytes()
    (tmp_path / "other.tflite").write_bytes(data[: data.index(b"PK\x03\x04")].replace(b"labels.txt", b"things.txt"))
    with zipfile.ZipFile(tmp_path / "other.tflite", "a") as archive:
        archive.writestr("things.txt", "pole\nball\n")
    metadata = read_metadata(tmp_path / "other.tflite")
    assert (metadata.labels, metadata.view) == (("pole", "ball"), {})


@pytest.mark.long
def test_a_photograph_in_tiles_gets_the_same_answers_from_weights_and_every_file(tmp_path: Path) -> None:
    network, _ = opinionated("detection")
    tiles = Tiles(size=90)
    model = replace(MODELS["detection"], tiles=tiles, suppression=Suppression(min_score=0.5, max_detections=8))
    network.save_weights(tmp_path / "best.weights.h5")
    task, settings = make_task(model, CLASSES), Export(formats=("saved_model", "float32", "onnx"), max_detections=8)
    noted = {"about": ModelMetadata("test"), "representative": lambda: iter(()), "folder": tmp_path}
    assert len(list(write_files(network, model, task, CLASSES, settings, **noted))) == 3
    coarse = np.random.default_rng(2).integers(0, 256, (10, 14, 3), np.uint8)
    photograph = coarse.repeat(19, axis=0).repeat(13, axis=1)  # 190 x 182: nine tiles and the whole
    weights = opened(Trained(model, tmp_path / "best.weights.h5", CLASSES, multi_label=False)).answer(photograph)
    assert len(weights["scores"]) > 20 and weights["boxes"].max() > 0.9
    assert (weights["boxes"][:, 2:] - weights["boxes"][:, :2]).min() < 0.1  # small in the photograph
    for file in ("saved_model", "model.tflite", "model.onnx"):
        predictions = opened(tmp_path / file).answer(photograph)
        assert len(predictions["scores"]) == len(weights["scores"]), file
        for key in ("boxes", "scores", "classes"):
            np.testing.assert_allclose(predictions[key], weights[key], atol=2e-3, err_msg=f"{file} {key}")
    assert view_of(small_model(tmp_path / "model.onnx")).tiles == tiles


def test_a_file_without_tiles_tells_of_none(models: Path) -> None:
    assert "tiles" not in read_metadata(models / "export/model.tflite").view
    assert "tiles" not in tf.saved_model.load(str(models / "export/saved_model")).signatures
