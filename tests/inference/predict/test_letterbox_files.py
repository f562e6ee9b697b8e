"""A network in a letterbox answers the same in evaluation, in `predict`, from each of its files and from MLflow."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.export.accuracy_report import FIT, compare_files, describe_fit
from bakeoff.export.devices import DEVICES
from bakeoff.export.readme import write_readme
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.write_formats import write_files
from bakeoff.inference.evaluate.model_evaluation import answer_of
from bakeoff.inference.predict.features import FeatureExtractor
from bakeoff.inference.predict.light_runtime import small_model, view_of
from bakeoff.inference.predict.model_interface import open_saved_model, opened
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape, View
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.letterbox import LETTERBOX, WINDOW
from bakeoff.learning.networks.tiles import Tiles
from bakeoff.learning.run_file.parse import settings_tree
from bakeoff.learning.tasks.task import compile_answer, make_task
from bakeoff.learning.tasks.tiled import rows_of
from bakeoff.tracking.journal.entries import NetworkEntry
from bakeoff.tracking.sync.make_network_files import make_network_files
from support.lite_files import CLASSES, MODELS, opinionated
from support.messages import missing_in

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("converts_here")]

MODEL = replace(MODELS["detection"], fit=LETTERBOX)  # type: ignore[type-var]
SHAPE = Shape("detection", 64, 1, 2, 2, 1, fit=LETTERBOX)
SIDES = [(40, 95), (131, 57), (64, 64)]
TRUTH = (Box(0.1, 0.2, 0.6, 0.5, CLASSES[0]), Box(0.3, 0.4, 0.9, 0.8, CLASSES[1]))


@pytest.fixture(scope="module")
def photos() -> list[np.ndarray]:
    draw = np.random.default_rng(3)
    coarse = [draw.integers(0, 256, (5, 7, 3), np.uint8).repeat(30, axis=0).repeat(30, axis=1) for _ in SIDES]
    return [one[: sides[0], : sides[1]] for one, sides in zip(coarse, SIDES, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("letterbox")
    network, task = opinionated("detection")
    network.save_weights(folder / "best.weights.h5")
    settings = Export(formats=("saved_model", "float32", "onnx"), max_detections=50)
    files = write_files(
        network, MODEL, task, CLASSES, settings,
        about=ModelMetadata("test"), representative=lambda: iter(()), folder=folder,
    )  # fmt: skip
    assert len(list(files)) == 3
    return folder


@pytest.fixture
def store(
    tmp_path: Path,
    photos: list[np.ndarray],
    png: Callable[[np.ndarray], bytes],
    write_train: Callable[[Sequence[Record], Sequence[str]], Split],
    open_store: Callable[[Path, Split], RecordReader],
) -> RecordReader:
    records = [
        Record(f"{number}", (png(photo),), *photo.shape[:2], TRUTH, format="png") for number, photo in enumerate(photos)
    ]
    return open_store(tmp_path, write_train(records, CLASSES))


def judged(store: RecordReader, answer: Callable, shape: Shape = SHAPE) -> list[dict[str, np.ndarray]]:
    return [one for batch in evaluation_batches(store, shape) for one in rows_of(answer(batch))]


def assert_same_boxes(one: dict[str, np.ndarray], other: dict[str, np.ndarray], least: int = 5) -> None:
    assert len(one["scores"]) == len(other["scores"]) >= least
    for name in ("boxes", "scores", "classes"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-4)


def trained(folder: Path, **changes: object) -> Trained:
    return Trained(replace(MODEL, **changes), folder / "best.weights.h5", CLASSES, multi_label=False)  # type: ignore[arg-type]


def test_evaluation_predict_and_every_file_find_the_same_boxes_in_the_image(
    folder: Path, photos: list[np.ndarray], store: RecordReader
) -> None:
    network, _ = opinionated("detection")
    expected = judged(store, compile_answer(network, make_task(MODEL, CLASSES)))
    names = ("saved_model", "model.tflite", "model.onnx")
    models = [opened(trained(folder)), FeatureExtractor(trained(folder)), *(opened(folder / name) for name in names)]
    for photo, there in zip(photos, expected, strict=True):
        assert (there["boxes"][:, 2:] > there["boxes"][:, :2]).all()
        for model in models:
            answer = model.answer(photo)
            assert_same_boxes(answer[0] if isinstance(answer, tuple) else answer, there)
    for name in names[1:]:
        file = small_model(folder / name)
        assert view_of(file) == View.of(MODEL)
        for one, there in zip(judged(store, answer_of(file, store, View.of(MODEL))), expected, strict=True):
            assert_same_boxes(one, there)
    whole = answer_of(open_saved_model(folder / "saved_model"), store, View.of(MODEL))
    for one, there in zip(judged(store, whole), expected, strict=True):
        assert_same_boxes(one, there)


def test_tiles_of_other_proportions_are_letterboxed_each(
    folder: Path, photos: list[np.ndarray], store: RecordReader
) -> None:
    tiles = Tiles(grid=(1, 2))
    network, _ = opinionated("detection")
    answer = compile_answer(network, make_task(replace(MODEL, tiles=tiles), CLASSES))  # type: ignore[call-arg]
    expected = judged(store, answer, replace(SHAPE, tiles=tiles))
    model = opened(trained(folder, tiles=tiles))
    for photo, there in zip(photos, expected, strict=True):
        assert_same_boxes(model.answer(photo), there)


def test_the_loss_of_evaluation_is_that_of_boxes_in_the_square(store: RecordReader) -> None:
    network, _ = opinionated("detection")
    answer = compile_answer(network, make_task(MODEL, CLASSES), with_losses=True)
    answer_plain = compile_answer(network, make_task(MODELS["detection"], CLASSES), with_losses=True)
    for batch in evaluation_batches(store, SHAPE):
        low, high = tf.split(batch[WINDOW][:, None], 2, axis=-1)
        placed = (batch["boxes"] - tf.tile(low, [1, 1, 2])) / tf.tile(high - low, [1, 1, 2])
        in_square = {name: value for name, value in batch.items() if name != WINDOW} | {"boxes": placed}
        np.testing.assert_allclose(answer(batch)["losses"], answer_plain(in_square)["losses"], rtol=1e-4)


def test_a_batch_is_the_same_wherever_a_resumed_run_begins(store: RecordReader) -> None:
    def batch(steps: range) -> list[dict]:
        return [
            {name: value.numpy() for name, value in one.items()}
            for one in training_batches(
                store, SHAPE, order=ExampleOrder(3, 5), steps=steps, augment=Augment(mosaic=Mosaic(probability=1.0)),
                encode=lambda example: {"sum": tf.reduce_sum(example["boxes"])},
            )
        ]  # fmt: skip

    for one, other in zip(batch(range(3))[1:], batch(range(1, 3)), strict=True):
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name])


def test_files_are_judged_as_their_device_feeds_them(
    store: RecordReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what a network loses that was trained on stretched images is in `drop`, and its remedy is named."""
    monkeypatch.setitem(DEVICES, "ftc_sdk", replace(DEVICES["ftc_sdk"], fit=LETTERBOX))  # type: ignore[arg-type]
    network, task = opinionated("detection")
    settings = Export(formats=("float32",), device="ftc_sdk", latency_calls=1)
    for _ in write_files(
        network, MODELS["detection"], task, CLASSES, settings,
        about=ModelMetadata("test"), representative=lambda: iter(()), folder=tmp_path,
    ):  # fmt: skip
        pass
    assert view_of(small_model(tmp_path / "model.tflite")).fit == LETTERBOX
    advanced: list[int] = []
    own = replace(SHAPE, fit="stretch")
    report, _ = compare_files(network, task, settings, store, own, tmp_path, advanced.append)
    assert report[FIT] == {"network": "stretch", "files": LETTERBOX} and sum(advanced) == len(SIDES)
    assert missing_in(describe_fit(report), "fit: letterbox", "fit: stretch", "model.fit: letterbox") == []
    report, _ = compare_files(network, task, Export(formats=("float32",), latency_calls=1), store, own, tmp_path, int)
    assert FIT not in report and describe_fit(report) == ""
    text = write_readme("net", "detection", CLASSES, View.of(MODEL), settings)
    assert missing_in(text, "letterboxed to 64 x 64 pixels", "128 128 128", "whole square") == []
    assert "not padded" not in text


def test_graphs_beside_a_checkpoint_in_mlflow_bring_boxes_back(
    folder: Path, photos: list[np.ndarray], tmp_path: Path
) -> None:
    recipe = NetworkEntry(settings_tree(MODEL, NETWORKS), CLASSES, multi_label=False)
    make_network_files(recipe, tmp_path / "files")
    graphs = tf.saved_model.load(str(tmp_path / "files/answers"))
    network, _ = opinionated("detection")
    model = opened(trained(folder))
    for photo in photos:
        images = tf.constant(photo[None])
        given = graphs.restore(graphs.answer(network(graphs.fit(images), training=False)), images)
        count = int(given["count"][0])
        answer = {name: given[name].numpy()[0][:count] for name in ("boxes", "scores", "classes")}
        assert_same_boxes(answer, model.answer(photo))
