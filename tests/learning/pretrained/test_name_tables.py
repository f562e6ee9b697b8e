"""Checkpoints whose names are known: made of the tables' own keys, in the shapes of a small network."""

from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.learning.networks.applications import InceptionV3, MobileNetV2
from bakeoff.learning.networks.detector_settings import Backbone, DetectionLoss
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import BoxPredictor, SsdMultibox
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import in_words
from bakeoff.learning.pretrained.name_tables import KINDS, find_differences, find_names
from bakeoff.learning.pretrained.tf_checkpoint import layers_of
from support.first_weights import start_in
from support.messages import missing_in
from support.tf_checkpoints import keys_of, write_checkpoint
from support.unfilled import unfilled

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
SMALL = Backbone(depth_multiplier=0.35, min_depth=8)
MAPS = SsdMultibox(input_size=64, backbone=SMALL, loss=DetectionLoss(background_logit=True))
PLAIN = SsdMultibox(input_size=64, backbone=SMALL)
LITE = SsdFpn(
    input_size=64,
    backbone=SMALL,
    pyramid=Pyramid(depth=16, depthwise=True),
    predictor=SharedBoxPredictor(depth=16, layers_before=2, depthwise=True, share_tower=True),
)
BEFORE = SsdMultibox(
    input_size=64,
    backbone=SMALL,
    depthwise_maps=True,
    predictor=BoxPredictor(kernel=3, depthwise=True, layers_before=1, max_depth=16, dropout=0.1),
)
V1 = SsdFpn(input_size=64, backbone=Backbone(name="mobilenet_v1", depth_multiplier=0.25, min_depth=8))
RESNET = SsdFpn(input_size=160, backbone=Backbone(name="resnet50", depth_multiplier=0.125, min_depth=8))
DEEP = SsdFpn(input_size=160, backbone=Backbone(name="resnet101", depth_multiplier=0.125, min_depth=8))
NETWORKS: dict[str, Network] = {
    "maps": MAPS, "lite pyramid": LITE, "layers before": BEFORE, "pyramid of v1": V1, "pyramid of resnet": RESNET,
    "pyramid of resnet101": DEEP,
    "mobilenet_v2": MobileNetV2(input_size=32, width=0.35), "inception_v3": InceptionV3(input_size=75),
}  # fmt: skip
PYRAMIDS = ("pyramid of v1", "pyramid of resnet", "pyramid of resnet101")
TF2, TF1 = KINDS


@cache
def built(name: str, num_classes: int = 3) -> keras.Model:
    return unfilled(lambda: NETWORKS[name].build(num_classes))


@pytest.mark.long
@pytest.mark.parametrize("root", TF2.roots)
@pytest.mark.parametrize("name", ["maps", "lite pyramid", "layers before", *PYRAMIDS])
def test_every_variable_of_a_detector_is_found_under_each_root(name: str, root: str) -> None:
    network = built(name)
    keys = keys_of(network, TF2, root)
    assert set(keys) == {weight.path for weight in network.weights}
    assert find_names(layers_of(network), [*keys.values(), "save_counter"]) == keys


@pytest.mark.parametrize("name", ["maps", *PYRAMIDS, "mobilenet_v2", "inception_v3"])
def test_names_of_tensorflow_1_are_found(name: str) -> None:
    network = built(name)
    keys = keys_of(network, TF1, "FeatureExtractor/")
    assert set(keys) == {weight.path for weight in network.weights}
    assert len(set(keys.values())) == len(keys)
    assert find_names(layers_of(network), list(keys.values())) == keys


@pytest.mark.parametrize(
    ("network", "path", "key"),
    [
        # As the API's own checkpoints have them.
        ("maps", "block_16_project_BN/moving_mean", f"layer_with_weights-101/moving_mean{VALUE}"),
        ("maps", "block_13_depthwise/kernel", f"layer_with_weights-80/depthwise_kernel{VALUE}"),
        ("pyramid of v1", "conv_pw_13_bn/gamma", f"layer_with_weights-53/gamma{VALUE}"),
        ("pyramid of resnet", "conv5_block3_3_conv/kernel", f"layer_with_weights-104/kernel{VALUE}"),
        ("pyramid of resnet101", "conv5_block3_3_conv/kernel", f"layer_with_weights-206/kernel{VALUE}"),
    ],
)
def test_a_place_in_a_backbone_follows_from_its_number(network: str, path: str, key: str) -> None:
    assert keys_of(built(network), TF2, "")[path] == key


def arrays_of(name: str, num_classes: int = 3) -> dict[str, np.ndarray]:
    network = built(name, num_classes)
    keys, random = keys_of(network, TF2, TF2.roots[0]), np.random.default_rng(0)
    return {keys[one.path]: random.normal(size=one.shape).astype(np.float32) for one in network.weights} | {
        f"save_counter{VALUE}": np.array(1, np.int64),
        f"model/x/.OPTIMIZER_SLOT/optimizer/momentum{VALUE}": np.ones(2, np.float32),
    }


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As an archive of the model zoo unpacks."""
    folder = tmp_path_factory.mktemp("ssd") / "checkpoint"
    folder.mkdir()
    write_checkpoint(folder / "ckpt-0", arrays_of("maps"))
    return folder.parent


@cache
def filled(model: Network, num_classes: int) -> keras.Model:
    return model.build(num_classes)


def load(path: Path, model: Network = MAPS, num_classes: int = 3, **init: Any) -> tuple[keras.Model, dict[str, Any]]:
    """Load into a network that other tests may have loaded into."""
    network = filled(model, num_classes)
    return network, start_in(network, path, model, **init)


def test_a_whole_detector_loads_without_a_table_of_ones_own(zoo: Path) -> None:
    network = MAPS.build(3)
    report = start_in(network, zoo, MAPS)
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    kernel = next(weight for weight in network.weights if weight.path == "block_13_depthwise/kernel")
    place = TF2.roots[0] + f"layer_with_weights-80/depthwise_kernel{VALUE}"
    np.testing.assert_array_equal(kernel.numpy(), arrays_of("maps")[place])


def test_heads_of_other_classes_are_left_random_and_said(zoo: Path) -> None:
    _, report = load(zoo, num_classes=5)
    assert {one["name"].rpartition(".")[0] for one in report["skipped"]} == {f"head.classes.map{n}" for n in range(6)}
    assert report["left_random"] == []


def test_the_backgrounds_number_is_left_out_where_a_network_has_none(zoo: Path) -> None:
    network, report = load(zoo, PLAIN)
    assert report["skipped"] == []
    bias = next(weight for weight in network.weights if weight.path == "head.classes.map0.answer/bias").numpy()
    there = next(value for key, value in arrays_of("maps").items() if "class_predictions_with_background/0" in key
                 and "bias" in key)  # fmt: skip
    np.testing.assert_array_equal(bias, there.reshape(3, 4)[:, 1:].ravel())


def test_parts_are_limited_as_the_types_of_that_api_limit_them(zoo: Path) -> None:
    for parts, left in ((("backbone",), ("head", "neck")), (("backbone", "neck"), ("head",))):
        _, report = load(zoo, num_classes=5, warm_start=parts)
        assert {path.partition(".")[0] for path in report["left_random"]} == set(left)
    with pytest.raises(DataError, match=r"head\.classes\.map0\.answer/kernel .*\[1, 1, \d+, 12\]"):
        load(zoo, num_classes=5, warm_start=("backbone", "neck", "head"))


def test_a_folder_means_its_newest_checkpoint(tmp_path: Path) -> None:
    for number in (2, 10):
        write_checkpoint(tmp_path / f"ckpt-{number}", arrays_of("maps"))
    assert load(tmp_path)[1]["source"].endswith("/ckpt-10")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/ckpt-2"\n')
    assert load(tmp_path)[1]["source"].endswith("/ckpt-2")


def test_a_checkpoint_of_one_file_as_the_first_tensorflow_wrote_it_is_one(tmp_path: Path) -> None:
    """TF-Slim's archives of 2016 hold such a file, and nothing else."""
    arrays = arrays_of("maps")
    tf.raw_ops.Save(filename=str(tmp_path / "net.ckpt"), tensor_names=list(arrays), data=list(arrays.values()))
    assert [path.name for path in tmp_path.iterdir()] == ["net.ckpt"]
    network, report = load(tmp_path)
    assert report["source"].endswith("/net.ckpt") and len(report["loaded"]) == len(network.weights)
    data = (tmp_path / "net.ckpt").read_bytes()
    (tmp_path / "net.ckpt").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"net\.ckpt: cannot be read.*truncated"):
        load(tmp_path)


def test_zoo_names_a_folder_of_the_workspace(zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data/weights/zoo").mkdir(parents=True)
    (tmp_path / "data/weights/zoo/ssd").symlink_to(zoo)
    monkeypatch.chdir(tmp_path)
    assert load(Path("zoo/ssd"))[1]["source"] == "data/weights/zoo/ssd/checkpoint/ckpt-0"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("maps", []),
        ("pyramid of v1", ["under TensorFlow 1 a pyramid passes"]),
        ("pyramid of resnet", ["under TensorFlow 1 a pyramid passes", "TF-Slim's ResNets stride"]),
    ],
)
def test_what_loads_from_tensorflow_1_and_computes_something_else_is_said(name: str, expected: list[str]) -> None:
    network = built(name)
    keys = keys_of(network, TF1, "FeatureExtractor/")
    if name == "pyramid of resnet":  # the scope that the API gives to it
        assert all("resnet_v1_64/" in key for path, key in keys.items() if path.startswith("conv"))
    assert [
        words[: len(start)] for words, start in zip(find_differences(keys.values()), expected, strict=True)
    ] == expected
    assert find_differences(keys_of(network, TF2, TF2.roots[0]).values()) == []


def test_a_start_from_tensorflow_1_says_on_the_screen_what_differs(tmp_path: Path) -> None:
    keys, random = keys_of(built("pyramid of v1"), TF1, "FeatureExtractor/"), np.random.default_rng(0)
    arrays = {keys[one.path]: random.normal(size=one.shape) for one in built("pyramid of v1").weights}
    path = write_checkpoint(tmp_path / "model.ckpt", {key: array.astype(np.float32) for key, array in arrays.items()})
    _, report = load(path, V1)
    assert report["left_random"] == [] and len(report["differs"]) == 1
    assert missing_in(in_words(report, Init("model.ckpt"))[-1], "TensorFlow 1", "pyramid") == []
    _, report = load(path, V1, warm_start=("backbone",))  # no pyramid is taken
    assert report["differs"] == []


# What bad input gets.


def test_a_checkpoint_of_another_network_is_refused(zoo: Path) -> None:
    with pytest.raises(DataError, match=r"/ckpt-0: (.*no names|fits \d+ of the \d+ )"):
        load(zoo, V1)


def test_a_checkpoint_of_another_size_is_refused(zoo: Path) -> None:
    wide = SsdMultibox(input_size=64, loss=DetectionLoss(background_logit=True))
    with pytest.raises(DataError, match=r"/ckpt-0: fits \d+ of the 260 variables\b.*backbone"):
        load(zoo, wide)


def test_a_truncated_checkpoint_is_refused(tmp_path: Path) -> None:
    data = write_checkpoint(tmp_path / "ckpt-0", arrays_of("maps")).with_name("ckpt-0.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"/ckpt-0: cannot be read .*TensorFlow checkpoint \("):
        load(tmp_path / "ckpt-0")
    data.unlink()
    with pytest.raises(ConfigError, match=r"/ckpt-0\.index .*no ckpt-0\.data-…"):
        load(tmp_path / "ckpt-0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "frozen_inference_graph.pb",
            r"must not be a frozen graph .*\.pb\b.*checkpoint",
        ),
        ("ssd.tar.gz", r"packed.*/ssd\.tar\.gz\b.*unpack"),
        ("ssd.zip", r"packed.*/ssd\.zip\b.*unpack"),
        (
            "saved_model/saved_model.pb",
            r"holds a SavedModel.*checkpoint",
        ),
        ("ckpt-0.data-00000-of-00001", r"without the number.*/ckpt-0, .*/ckpt-0\.data-00000-of-00001"),
    ],
)
def test_what_lies_beside_a_checkpoint_is_refused_with_what_fits(name: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"PK\x03\x04")
    with pytest.raises(ConfigError, match=rf"^train\.init\.weights: .*{message}"):
        load(file.parent if file.name == "saved_model.pb" else file)
