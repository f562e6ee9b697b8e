"""Files of weights that are broken, or that want more than to be read."""

import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest

from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.applications import InceptionV3, MobileNetV2
from bakeoff.learning.networks.detector_settings import Backbone
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.pretrained import weight_files
from support.first_weights import SAVED, Small, firsts, numbered, start, whole_model


@pytest.mark.parametrize("name", ["one.weights.h5", "one.keras", "one.h5"])
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(3)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(DataError, match=rf"/{re.escape(name)}: cannot be read .*\(.+\).*truncated"):
        start(tmp_path / name)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.h5").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(DataError, match=r"/one\.h5: cannot be read .*neither HDF5"):
        start(tmp_path / "one.h5")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_named_before_the_first_step(bad: float, tmp_path: Path) -> None:
    network = numbered(Small().build(3))
    network.get_layer("bn_Conv1").moving_variance.assign([1.0, bad, 1.0, 1.0])
    network.save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"^train\.init\.weights: holds bn_Conv1/moving_variance .*not finite"):
        start(tmp_path / "one.weights.h5")


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
    with pytest.raises(DataError, match=r"kernel:0 .*(a link|no plain numbers)"):
        start(path)


def test_a_size_that_only_the_file_believes_in_is_skipped_without_memory(tmp_path: Path) -> None:
    whole_model(tmp_path / "one.h5", numbered(Small().build(3)))
    with h5py.File(tmp_path / "one.h5", "a") as file:
        head = file["model_weights/logits/logits"]
        del head["kernel:0"]
        head.create_dataset("kernel:0", (2**22, 2**22), np.float32, chunks=(1024, 1024))  # 70 TB
    _, report = start(tmp_path / "one.h5")
    assert [one["name"] for one in report["skipped"]] == ["logits/kernel"]


def test_a_group_that_holds_itself_is_refused(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    with h5py.File(tmp_path / "one.weights.h5", "a") as file:
        file["layers"]["again"] = file["layers"]
    with pytest.raises(DataError, match=r"cannot be read .*\(.*recursion"):
        start(tmp_path / "one.weights.h5")


def test_nothing_that_a_model_file_says_of_code_or_places_is_followed(tmp_path: Path) -> None:
    """An archive with a pickle, a Lambda layer and members that would land elsewhere: only arrays are read."""
    path = tmp_path / "one.keras"
    numbered(Small().build(3)).save(path)
    evil = pickle.dumps(Touches(tmp_path / "touched"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../outside.txt", "here")
        archive.writestr("/tmp/../outside.pkl", evil)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a name twice
            archive.writestr("config.json", json.dumps({"class_name": "Lambda", "config": {"function": evil.hex()}}))
    _, report = start(path)
    assert len(report["loaded"]) == 7
    assert {file.name for file in tmp_path.iterdir()} == {"one.keras"}
    assert not (tmp_path.parent / "outside.txt").exists()


def test_a_packed_archive_that_is_damaged_inside_is_refused(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "inside.weights.h5")
    path = tmp_path / "one.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "inside.weights.h5", "model.weights.h5")
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"one\.keras: cannot be read .*\(Error -3 while decompressing"):
        start(path)


def test_an_archive_that_unfolds_to_more_than_fits_is_not_unfolded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered(Small().build(3)).save(tmp_path / "one.keras")
    monkeypatch.setattr(weight_files, "LARGEST_MEMBER", 1000)
    with pytest.raises(DataError, match=r"\(model\.weights\.h5 .*\b0\.0 GB\b"):
        start(tmp_path / "one.keras")


class Touches:
    """Unpickled, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


# Files of Keras 2.


def write_keras_2(path: Path, network: keras.Model, rename: Callable[[str], str] = str) -> None:
    """As `save_weights` of TensorFlow 2.15 writes it: variables by name, a depthwise kernel under a name of its own."""
    with h5py.File(path, "w") as file:
        layers = [layer for layer in network.layers if layer.weights]
        file.attrs["layer_names"] = [rename(layer.name).encode() for layer in layers]
        for layer in layers:
            group = file.create_group(rename(layer.name))
            depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
            names = [name.replace("kernel", "depthwise_kernel") if depthwise else name for name in variables_of(layer)]
            group.attrs["weight_names"] = [f"{rename(layer.name)}/{name}:0".encode() for name in names]
            for name, weight in zip(names, layer.weights, strict=True):
                group[f"{rename(layer.name)}/{name}:0"] = weight.numpy()


def variables_of(layer: keras.layers.Layer) -> list[str]:
    return [weight.path.rpartition("/")[2] for weight in layer.weights]


def test_depthwise_kernels_of_keras_2_are_loaded(tmp_path: Path) -> None:
    model = MobileNetV2(input_size=32, width=0.35)
    write_keras_2(tmp_path / "one.h5", numbered(model.build(3)))
    network, report = start(tmp_path / "one.h5", model=model)
    depthwise = [path for path in firsts(network) if "depthwise/" in path]
    assert len(depthwise) == 17 and set(depthwise) <= set(report["loaded"])
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    assert firsts(network) == {path: float(n) for n, path in enumerate(firsts(network), start=1)}


@pytest.mark.long
def test_layers_that_keras_numbered_late_in_a_process_are_counted_from_0(tmp_path: Path) -> None:
    model = InceptionV3(input_size=75, auxiliary_weight=0.0)

    def late(name: str) -> str:
        kind, _, number = name.rpartition("_")
        if name in ("conv2d", "batch_normalization"):
            return f"{name}_1"
        return f"{kind}_{int(number) + 1}" if kind in ("conv2d", "batch_normalization") else name

    write_keras_2(tmp_path / "one.h5", numbered(model.build(3)), late)
    network, report = start(tmp_path / "one.h5", model=model)
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    assert firsts(network) == {path: float(n) for n, path in enumerate(firsts(network), start=1)}


RESNET = Backbone(name="resnet50", depth_multiplier=0.125, min_depth=8)


def normalised(x: np.ndarray, weights: dict[str, np.ndarray], norm: str) -> np.ndarray:
    gamma, beta, mean, variance = (
        weights[f"{norm}/{name}"] for name in ("gamma", "beta", "moving_mean", "moving_variance")
    )
    return gamma * (x - mean) / np.sqrt(variance + 1e-3) + beta


@pytest.fixture(scope="module")
def keras_own() -> keras.Model:
    """A detector on the ResNet of Keras, with values as if trained; it takes seconds to build."""
    network = SsdFpn(input_size=160, backbone=replace(RESNET, like="keras")).build(2)
    draw = np.random.default_rng(0)
    for weight in network.weights:
        weight.assign(draw.uniform(0.5, 1.5, weight.shape))
    return network


@pytest.mark.long
@pytest.mark.parametrize("name", ["one.weights.h5", "one.h5"])
def test_the_resnet_of_keras_answers_the_same_without_its_biases_and_in_another_order_of_colours(
    name: str, keras_own: keras.Model, tmp_path: Path
) -> None:
    draw = np.random.default_rng(1)
    (write_keras_2 if name == "one.h5" else SAVED[name])(tmp_path / name, keras_own)
    network, report = start(tmp_path / name, model=SsdFpn(input_size=160, backbone=RESNET), num_classes=2)
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    theirs, ours = ({one.path: one.numpy().astype(float) for one in model.weights} for model in (keras_own, network))
    convolutions = [path.partition("/")[0] for path in ours if path.endswith("_conv/kernel")]
    assert len(convolutions) == 53
    for layer in convolutions:
        there, here = theirs[f"{layer}/kernel"], ours[f"{layer}/kernel"]
        patch = draw.normal(size=there.shape[:3])
        seen = patch[..., ::-1] if layer == "conv1_conv" else patch  # blue comes first there
        norm = f"{layer.removesuffix('_conv')}_bn"
        expected = normalised(np.einsum("hwi,hwio->o", seen, there) + theirs[f"{layer}/bias"], theirs, norm)
        np.testing.assert_allclose(
            normalised(np.einsum("hwi,hwio->o", patch, here), ours, norm), expected, rtol=1e-4, atol=1e-4
        )
