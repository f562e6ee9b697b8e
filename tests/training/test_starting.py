"""First weights: what is loaded by layer name, what is skipped, what is refused."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.errors import ConfigError, DataError
from bakeoff.networks import Network
from bakeoff.training import checkpoint, starting
from bakeoff.training.origin import Origin, origin_of
from bakeoff.training.settings import Init
from bakeoff.training.starting import in_words, load_first_weights


@dataclass(frozen=True)
class Small:
    """Two layers and a head of so many classes."""

    task: ClassVar[str] = "classification"
    input_size: int = 8
    frames: int = 1

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        return {"backbone": ("Conv1", "bn_Conv1"), "head": ("logits",)}

    def build(self, num_classes: int) -> keras.Model:
        image = keras.Input((8, 8, 3))
        x = keras.layers.Conv2D(4, 3, use_bias=False, name="Conv1")(image)
        x = keras.layers.BatchNormalization(name="bn_Conv1")(x)
        x = keras.layers.GlobalAveragePooling2D()(x)
        return keras.Model(image, keras.layers.Dense(num_classes, name="logits")(x))


@dataclass(frozen=True)
class Famous(Small):
    """With weights to download."""

    failure: str = ""

    def imagenet(self) -> keras.Model:
        if self.failure:
            raise Exception(self.failure)
        return numbered(self.build(7))


BACKBONE = ["Conv1/kernel", *(f"bn_Conv1/{name}" for name in ("gamma", "beta", "moving_mean", "moving_variance"))]
HEAD = ["logits/kernel", "logits/bias"]


def numbered(network: keras.Model) -> keras.Model:
    """Every weight filled with a number of its own, from 1 on."""
    for number, weight in enumerate(network.weights, start=1):
        weight.assign(np.full(weight.shape, number))
    return network


def start(
    path: Path | str, num_classes: int = 3, model: Network | None = None, names: Path | None = None, **init: tuple
) -> tuple[keras.Model, dict]:
    settings = Init(str(path), names=names and str(names), **init)
    model = model or Small()
    network = model.build(num_classes)
    origin = origin_of(settings, lambda run_id: Path(run_id))
    return network, load_first_weights(network, model, settings, origin)


def firsts(network: keras.Model) -> dict[str, float]:
    return {weight.path: float(weight.numpy().ravel()[0]) for weight in network.weights}


def whole_model(path: Path, network: keras.Model) -> None:
    """As an older Keras saved it: variables by name, and the network's configuration beside."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Lambda", "config": {"function": "import os"}})
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [b"outer", b"logits"]
        outer, head = group.create_group("outer"), group.create_group("logits")
        for place, weights in ((outer, network.weights[:5]), (head, network.weights[5:])):
            place.attrs["weight_names"] = [f"{weight.path}:0".encode() for weight in weights]
            for weight in weights:
                place[f"{weight.path}:0"] = weight.numpy()


def own_checkpoint(path: Path, network: keras.Model) -> None:
    arrays = {f"{number:05d}": weight.numpy() for number, weight in enumerate(network.weights)}
    checkpoint.write(path, {"paths": [weight.path for weight in network.weights]}, arrays)


SAVED: dict[str, Callable[[Path, keras.Model], object]] = {
    "one.weights.h5": lambda path, network: network.save_weights(path),
    "one.keras": lambda path, network: network.save(path),
    "one.h5": whole_model,
    "best-00000100": own_checkpoint,
}


@pytest.mark.parametrize("name", SAVED)
def test_weights_load_by_layer_name(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(3)))
    network, report = start(tmp_path / name)
    assert firsts(network) == {path: number for number, path in enumerate(BACKBONE + HEAD, start=1)}
    assert sorted(report["loaded"]) == sorted(BACKBONE + HEAD)
    assert (report["skipped"], report["left_random"], report["unused"]) == ([], [], 0)


@pytest.mark.parametrize("name", SAVED)
def test_a_head_of_other_classes_is_skipped_and_said_with_both_shapes(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(5)))
    network, report = start(tmp_path / name)
    assert firsts(network)["Conv1/kernel"] == 1.0 and firsts(network)["logits/kernel"] != 6.0
    assert report["skipped"] == [
        {"name": "logits/kernel", "here": [4, 3], "there": [4, 5]},
        {"name": "logits/bias", "here": [3], "there": [5]},
    ]
    assert in_words(report) == [
        f"first weights from {(tmp_path / name).as_posix()}: 5 variables loaded",
        "  2 skipped, another shape: logits/kernel [4, 3], there [4, 5]; logits/bias [3], there [5]",
    ]


def test_only_what_is_named_is_loaded_and_statistics_come_along(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    network, report = start(tmp_path / "one.weights.h5", warm_start=("bn_Conv1/gamma",))
    assert sorted(report["loaded"]) == ["bn_Conv1/gamma", "bn_Conv1/moving_mean", "bn_Conv1/moving_variance"]
    assert firsts(network)["bn_Conv1/moving_variance"] == 5.0 and firsts(network)["Conv1/kernel"] != 1.0
    assert "Conv1/kernel" in report["left_random"] and report["unused"] == 4
    assert in_words(report)[1] == "  4 left random: Conv1/kernel; bn_Conv1/beta; logits/kernel, and 1 more"


def test_what_is_named_must_fit(tmp_path: Path) -> None:
    numbered(Small().build(5)).save_weights(tmp_path / "one.weights.h5")
    message = r"/one\.weights\.h5: logits/kernel has shape \[4, 5\], this network's has \[4, 3\]; leave it out of"
    with pytest.raises(DataError, match=message):
        start(tmp_path / "one.weights.h5", warm_start=("head",))


def test_a_name_of_nothing_is_refused_with_the_nearest(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    message = r"^train\.init\.warm_start: no variable of the network matches 'bakbone'; did you mean 'backbone' or"
    with pytest.raises(ConfigError, match=message):
        start(tmp_path / "one.weights.h5", warm_start=("bakbone",))


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    given = keras.Input((2,))
    keras.Model(given, keras.layers.Dense(2, name="other")(given)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"holds nothing that fits this network: weights of another architecture"):
        start(tmp_path / "one.weights.h5")


@pytest.mark.parametrize("name", ["one.weights.h5", "one.keras", "one.h5"])
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(3)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(DataError, match=r": cannot be read as weights \(.+\); it is truncated or no file of Keras"):
        start(tmp_path / name)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.h5").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(DataError, match=r"cannot be read as weights \(neither HDF5 nor an archive\)"):
        start(tmp_path / "one.h5")


@pytest.mark.parametrize("kind", ["external link", "soft link", "external storage", "text"])
def test_a_file_that_points_elsewhere_is_refused(kind: str, tmp_path: Path) -> None:
    """HDF5 may name other files of the machine, which would then be read as weights."""
    path, secret = tmp_path / "one.h5", tmp_path / "secret"
    secret.write_bytes(bytes(4 * 4 * 3))
    whole_model(path, numbered(Small().build(3)))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["kernel"] = np.ones((4, 3), np.float32)
    with h5py.File(path, "a") as file:
        head = file["model_weights/logits/logits"]
        del head["kernel:0"]
        if kind == "external link":
            head["kernel:0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "kernel")
        elif kind == "soft link":
            head["kernel:0"] = h5py.SoftLink("/model_weights/outer/Conv1/kernel:0")
        elif kind == "text":
            head["kernel:0"] = np.array([b"import os"], object)
        else:
            head.create_dataset("kernel:0", (4, 3), np.float32, external=[(str(secret), 0, 48)])
    with pytest.raises(DataError, match=r"kernel:0 (is a link or missing|holds no plain numbers)"):
        start(path)


def test_a_size_that_only_the_file_believes_in_is_skipped_without_memory(tmp_path: Path) -> None:
    whole_model(tmp_path / "one.h5", numbered(Small().build(3)))
    with h5py.File(tmp_path / "one.h5", "a") as file:
        head = file["model_weights/logits/logits"]
        del head["kernel:0"]
        head.create_dataset("kernel:0", (2**22, 2**22), np.float32, chunks=(1024, 1024))  # 70 TB
    _, report = start(tmp_path / "one.h5")
    assert [one["name"] for one in report["skipped"]] == ["logits/kernel"]


def test_the_folder_of_a_run_means_its_best_weights(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "best.weights.h5")
    Small().build(3).save_weights(tmp_path / "final.weights.h5")
    network, report = start(tmp_path)
    assert firsts(network)["Conv1/kernel"] == 1.0 and report["source"].endswith("/best.weights.h5")


def test_work_in_flight_means_the_best_weights_of_its_last_leg(tmp_path: Path) -> None:
    for leg, step in (("1-head", 300), ("2-whole", 500)):
        (tmp_path / leg).mkdir()
        own_checkpoint(tmp_path / leg / f"best-{step:08d}", Small().build(3))
    assert start(tmp_path)[1]["source"].endswith("/2-whole/best-00000500")


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no best\.weights\.h5, final\.weights\.h5 or work in flight"):
        start(tmp_path)


def test_the_id_of_an_mlflow_run_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "best.weights.h5")
    asked: list[str] = []

    def fetch(run_id: str) -> Path:
        asked.append(run_id)
        return tmp_path / "best.weights.h5"

    origin = origin_of(Init("0f" * 16), fetch)
    assert asked == ["0f" * 16] and origin.path == tmp_path / "best.weights.h5"


def test_a_path_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^train\.init\.weights: must be none, imagenet, .* got 'modls/train'"):
        start("modls/train")


def test_other_content_is_another_origin(tmp_path: Path) -> None:
    digests = set()
    for content in (b"one", b"two"):
        (tmp_path / "w.h5").write_bytes(content)
        digests.add(origin_of(Init(str(tmp_path / "w.h5")), Path).digest)
    assert len(digests | {origin_of(Init("none"), Path).digest, origin_of(Init("imagenet"), Path).digest}) == 4


def test_random_weights_are_all_left_random_and_nothing_is_said() -> None:
    _, report = start("none")
    assert report["left_random"] == BACKBONE + HEAD and in_words(report) == []


# ImageNet.


def test_imagenet_weights_load_by_layer_name() -> None:
    network, report = start("imagenet", model=Famous())
    assert sorted(report["loaded"]) == sorted(BACKBONE) and firsts(network)["bn_Conv1/moving_mean"] == 4.0


def test_without_a_network_connection_imagenet_says_so() -> None:
    message = r"^train\.init\.weights: ImageNet's weights could not be downloaded \(URL fetch failure\); connect to the"
    with pytest.raises(DataError, match=message):
        start("imagenet", model=Famous(failure="URL fetch failure"))


def test_a_network_that_keras_has_no_weights_of_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must not be imagenet, for Keras has no trained weights of Small$"):
        start("imagenet")


# TensorFlow checkpoints.


@pytest.fixture
def tf_checkpoint(tmp_path: Path) -> Path:
    """As TensorFlow 1 wrote them: names with slashes, one of a shape that this network has."""
    names = {
        "Extractor/Conv/weights": np.full((3, 3, 3, 4), 7.0, np.float32),
        "Extractor/Conv/BatchNorm/moving_mean": np.full(4, 8.0, np.float32),
        "Logits/weights": np.full((4, 90), 9.0, np.float32),
    }
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "model.ckpt-500"),
        tensor_names=list(names),
        shape_and_slices=[""] * len(names),
        tensors=list(names.values()),
    )
    return tmp_path / "model.ckpt-500"


def table(folder: Path, *lines: str) -> Path:
    (folder / "names.tsv").write_text("# ours\ttheirs\n\n" + "".join(f"{line}\n" for line in lines))
    return folder / "names.tsv"


ROWS = (
    "Conv1/kernel\tExtractor/Conv/weights",
    "bn_Conv1/moving_mean\tExtractor/Conv/BatchNorm/moving_mean",
    "logits/kernel\tLogits/weights",
)


def test_a_tensorflow_checkpoint_loads_by_its_table_of_names(tf_checkpoint: Path, tmp_path: Path) -> None:
    network, report = start(tf_checkpoint, names=table(tmp_path, *ROWS))
    assert firsts(network)["Conv1/kernel"] == 7.0 and firsts(network)["bn_Conv1/moving_mean"] == 8.0
    assert report["skipped"] == [{"name": "logits/kernel", "here": [4, 3], "there": [4, 90]}]
    assert report["source"].endswith("/model.ckpt-500")


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ("Conv1/kernel Extractor", ConfigError, r"/names\.tsv:3: must be `variable<TAB>name there`, got 'Conv1/ker"),
        ("Conv1/kernl\tLogits/weights", ConfigError,
         r"/names\.tsv:3: the network has no variable 'Conv1/kernl'; did you mean 'Conv1/kernel'\?"),
        ("logits/bias\tLogits/biases", DataError,
         r"/model\.ckpt-500: has no 'Logits/biases', which train\.init\.names gives for 'logits/bias'; did you mean"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_the_table_is_named(
    row: str, kind: type[Exception], message: str, tf_checkpoint: Path, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        start(tf_checkpoint, names=table(tmp_path, row))


def test_a_tensorflow_checkpoint_needs_a_table_and_others_need_none(tf_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^train\.init\.names: must be a table of names, for .*model\.ckpt-500 is a"):
        start(tf_checkpoint)
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(ConfigError, match=r"^train\.init\.names: must be null, for .* is no TF checkpoint, got '"):
        start(tmp_path / "one.weights.h5", names=table(tmp_path, *ROWS))


def test_a_truncated_tensorflow_checkpoint_is_refused(tf_checkpoint: Path, tmp_path: Path) -> None:
    index = tf_checkpoint.with_name("model.ckpt-500.index")
    index.write_bytes(index.read_bytes()[:40])
    with pytest.raises(DataError, match=r"/model\.ckpt-500: cannot be read as a TensorFlow checkpoint \("):
        start(tf_checkpoint, names=table(tmp_path, *ROWS))


def test_a_report_is_kept(tmp_path: Path) -> None:
    starting.write_report({"source": "none", "loaded": []}, tmp_path)
    assert json.loads((tmp_path / "init.json").read_text()) == {"source": "none", "loaded": []}
    assert Origin(None, "none").is_tf_checkpoint is False
