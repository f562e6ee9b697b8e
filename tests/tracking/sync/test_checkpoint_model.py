"""Checkpoints of real networks, opened by MLflow's own functions, and taken back to the bit."""

import io
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from PIL import Image

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.workspace import facts, in_flight
from bakeoff.inference.predict.model_interface import TrainedModel
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.networks import NETWORKS, weights
from bakeoff.learning.networks.cnn import ClipCnn
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.tracking.store.target import Target, place_in
from bakeoff.tracking.sync.make_network_files import describe_layout
from bakeoff.tracking.sync.network_files import NetworkFiles
from support.made_checkpoints import FINGERPRINT, RUN, trained
from support.messages import missing_in
from support.mlflow_store import Delivery, copy_store, deliver, find_work, open_store
from support.stored_networks import CLASSES, SMALL, NetworkTraining, make_files, recipe_of

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]  # of MLflow and its libraries
PICTURE = np.random.default_rng(5).integers(0, 256, (20, 30, 3), np.uint8)


@pytest.fixture
def target(store_of_small: Target) -> Target:
    return store_of_small


def stored(target: Target) -> dict[str, Any]:
    client, experiment = open_store(target)
    return {model.name: model for model in client.search_logged_models([experiment])}


def opened(target: Target, model: Any) -> tuple[keras.Model, Any]:
    import mlflow

    with warnings.catch_warnings(action="ignore"):
        mlflow.set_tracking_uri(target.address)
        uri = f"models:/{model.model_id}"
        try:
            return mlflow.keras.load_model(uri), mlflow.pyfunc.load_model(uri)
        finally:
            mlflow.set_tracking_uri(None)  # it would hold for all later tests of this process


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def predicted(training: NetworkTraining, folder: Path, pixels: np.ndarray) -> dict[str, np.ndarray]:
    """What `predict` answers with the weights as they are."""
    file = folder / weights.BEST
    weights.save(training.network, file)
    recipe = training.recipe
    return TrainedModel(Trained(training.model, file, recipe.classes, recipe.multi_label)).answer(pixels)


def test_keras_and_pyfunc_open_a_checkpoint_and_answer_as_predict_does(
    target: Target, small: NetworkTraining, tmp_path: Path
) -> None:
    deliver(small.take(target, (10, 20)), target)
    models = stored(target)
    assert sorted(models) == ["best-so-far-10", "best-so-far-20", "checkpoint-10", "checkpoint-20"]
    network, answers = opened(target, models["checkpoint-20"])
    assert {type(layer).__module__.split(".")[0] for layer in network.layers} == {"keras"}
    for one, other in zip(network.weights, small.network.weights, strict=True):
        assert (one.numpy() == other.numpy()).all()
    [row] = answers.predict([png(PICTURE)]).to_dict("records")
    expected = predicted(small, tmp_path, PICTURE)["probabilities"]
    assert row["probabilities"] == pytest.approx(expected.tolist(), abs=1e-6)
    assert row["text"] == CLASSES[int(np.argmax(expected))]
    _, of_best = opened(target, models["best-so-far-20"])
    assert of_best.predict([png(PICTURE)]).to_dict("records") == [row]
    _, earlier = opened(target, models["checkpoint-10"])
    assert earlier.predict([png(PICTURE)]).to_dict("records") != [row]


@pytest.mark.parametrize(
    ("model", "multi_label"), [(Ssd(input_size=64, width=0.25), False), (ClipCnn(frames=4), False), (SMALL, True)]
)
def test_the_answers_of_every_task_are_those_of_predict(
    model: Network, multi_label: bool, workspace: Path, new_store: Path, tmp_path: Path
) -> None:
    target = copy_store(new_store)
    training = NetworkTraining(model, recipe_of(model, CLASSES, multi_label=multi_label))
    make_files(training.recipe)
    deliver(training.take(target, (10,)), target)
    pixels = np.stack([PICTURE] * 5) if model.task == "video" else PICTURE
    given = [[png(frame) for frame in pixels] if model.task == "video" else png(pixels)]
    _, answers = opened(target, stored(target)["checkpoint-10"])
    import pandas as pd

    [row] = answers.predict(pd.DataFrame({"image": given})).to_dict("records")
    expected = predicted(training, tmp_path, pixels)
    if model.task == "detection":
        assert len(row["boxes"]) == len(expected["boxes"]) > 0
        assert np.asarray(row["boxes"]) == pytest.approx(expected["boxes"], abs=1e-5)
        assert row["classes"] == expected["classes"].tolist()
    name = "scores" if model.task == "detection" or multi_label else "probabilities"
    assert row[name] == pytest.approx(expected[name].tolist(), abs=1e-5)


def test_a_checkpoint_carries_the_params_of_its_run_and_the_metrics_of_its_step(
    target: Target, small: NetworkTraining
) -> None:
    deliver(small.take(target, (10, 20)), target)
    for step in (10, 20):
        model = stored(target)[f"checkpoint-{step}"]
        assert model.params == {"lr.peak": "0.1", "lr.use": "cosine", "step": str(step)}
        points = sorted((point.key, point.step, point.value) for point in model.metrics)
        assert points == [("train/loss", step, 1 / step), ("validation/accuracy", step, step / 100)]


def test_a_run_resumes_from_it_to_the_bit_and_no_weight_is_stored_twice(target: Target, small: NetworkTraining) -> None:
    deliver(small.take(target, (10,)), target)
    work, model = find_work(target, RUN), stored(target)["checkpoint-10"]
    best, file = work.fetch(work.copies[0], Path("fetched").absolute())
    for one in (best, file):
        here = in_flight(FINGERPRINT) / one.relative_to(Path("fetched").absolute())
        assert one.read_bytes() == here.read_bytes()
    folder = Path(model.artifact_location.removeprefix("file://"))
    rest, held = (folder / "exact/00000010").stat().st_size, file.stat().st_size
    assert rest + sum(one.numpy().nbytes for one in small.network.weights) == held


@pytest.mark.parametrize("name", ["data/model/model.keras", "exact/00000010", "exact/contents.json", "MLmodel"])
def test_a_sync_sends_again_what_the_store_lost(name: str, target: Target, small: NetworkTraining) -> None:
    journal = small.take(target, (10,), best=lambda step: False)
    deliver(journal, target)
    file = Path(stored(target)["checkpoint-10"].artifact_location.removeprefix("file://"), name)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 64]))
    client, experiment = open_store(target)
    assert [*Delivery(client, experiment, journal, target).mend()] == [("the checkpoint 1-all/00000010", True)]
    assert file.read_bytes() == whole and [*Delivery(client, experiment, journal, target).mend()] == []


class Cut:
    """A client whose connection is cut at one of the files that it sends, and that counts them."""

    def __init__(self, client: Any, sent: list[str], at: int = 0) -> None:
        self._client, self._sent, self._at = client, sent, at

    def log_model_artifact(self, model: str, path: str, folder: str | None = None) -> None:
        self._sent.append(Path(path).name)
        if len(self._sent) == self._at:
            raise ConnectionError("cut")
        self._client.log_model_artifact(model, path, folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_after_a_cut_only_what_is_missing_is_sent(target: Target, small: NetworkTraining) -> None:
    journal = small.take(target, (10,), best=lambda step: False)
    first: list[str] = []
    second: list[str] = []
    with pytest.raises(ConnectionError, match="^cut$"):
        deliver(journal, target, lambda client: Cut(client, first, at=6))
    assert str(stored(target)["checkpoint-10"].status) == "PENDING"
    deliver(journal, target, lambda client: Cut(client, second))
    assert second[0] == first[-1] and not {*first[:-1]} & {*second}
    assert second[-1] == "contents.json" and place_in(journal, target).refused == ()
    opened(target, stored(target)["checkpoint-10"])


def test_one_that_mlflow_cannot_open_is_sent_as_it_is_and_says_why(target: Target) -> None:
    deliver(trained(target, (10,)), target)  # its journal does not tell how the network is built
    model = stored(target)["checkpoint-10"]
    assert missing_in(model.tags["bakeoff.not_opened"], "journal", "earlier version") == []
    assert [one.path for one in open_store(target)[0].list_logged_model_artifacts(model.model_id)] == ["00000010"]


def test_layers_of_ones_own_are_named(workspace: Path) -> None:
    class Doubling(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return 2 * inputs

    image = keras.Input((8, 8, 3))
    with pytest.raises(DataError, match="Doubling"):
        describe_layout(keras.Model(image, {"classes": keras.layers.Dense(2)(Doubling()(image))}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(NETWORKS))
def test_every_network_has_layers_of_keras_alone_and_all_its_weights_have_a_place(kind: str) -> None:
    network = NETWORKS[kind]().build(3)
    paths = [weight.path for weight in network.weights]
    assert [weight.path for weight in describe_layout(network).weights] == paths


@pytest.fixture
def emptied(target: Target) -> Iterator[Target]:
    shutil.rmtree(facts())
    yield target


@pytest.mark.slow
def test_the_files_of_a_network_are_made_once_by_a_process(emptied: Target, small: NetworkTraining) -> None:
    journal = small.take(emptied, (10,))
    first = NetworkFiles(journal).find_or_make()
    assert first and sorted(path.name for path in first.iterdir()) == ["answers", "labels.txt", "layout.json"]
    made = (first / "layout.json").stat().st_mtime_ns
    assert NetworkFiles(journal).find_or_make() == first and (first / "layout.json").stat().st_mtime_ns == made
