"""Checkpoints that TF-Slim and the Object Detection API for TensorFlow 1 write, loaded here: the same answers."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.config.api_export.messages import format_text
from bakeoff.config.api_export.model import describe_model
from bakeoff.learning.networks.applications import InceptionV3, MobileNetV2
from bakeoff.learning.networks.backbones import feature_maps
from bakeoff.learning.networks.detector_settings import Backbone, Convolutions, DetectionLoss
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from proofs.official.environment import run_there

OUTPUTS, SIDE = 7, 96
CLASSES = 3
LOSS = DetectionLoss(background_logit=True)
V1, V2 = Backbone(name="mobilenet_v1"), Backbone()
DETECTORS = {
    "maps of v2": SsdMultibox(input_size=300, backbone=V2, loss=LOSS),
    "maps of v1": SsdMultibox(input_size=300, backbone=V1, loss=LOSS),
    "pyramid of v1": SsdFpn(input_size=320, backbone=V1, loss=LOSS),
}


def load(network: keras.Model, model: Any, path: Path, *warm_start: str) -> dict[str, Any]:
    init = Init(str(path), warm_start=warm_start)
    return load_first_weights(network, model, init, origin_of(init, Path))


def share_apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2"])
def test_a_classification_checkpoint_gives_its_features_to_a_detectors_backbone(name: str, tmp_path: Path) -> None:
    run_there("slim_there.py", tmp_path, name)
    image = keras.Input((SIDE, SIDE, 3))
    last = {"mobilenet_v1": "conv_pw_13_relu", "mobilenet_v2": "out_relu"}[name]
    rule = Convolutions(batch_norm_epsilon=0.001)
    [features] = feature_maps(image, Backbone(name=name), rule, [last])
    model = SsdMultibox(backbone=Backbone(name=name))
    network = keras.Model(image, {"classes": features})
    load(network, model, tmp_path / "model.ckpt", "backbone")
    there = np.load(tmp_path / "numbers.npz")
    assert share_apart(network(there["pixels"], training=False)["classes"].numpy(), there["features"]) < 1e-4


@pytest.mark.slow
def test_every_variable_of_resnet_50_is_found(tmp_path: Path) -> None:
    """Its strides are elsewhere in TF-Slim, so features differ; kernels and norms have their places all the same."""
    run_there("slim_there.py", tmp_path, "resnet50")
    model = SsdFpn(input_size=160, backbone=Backbone(name="resnet50"))
    report = load(model.build(2), model, tmp_path / "model.ckpt", "backbone")
    assert len(report["loaded"]) == 53 + 4 * 53


@pytest.mark.slow
def test_inception_v3_and_mobilenet_v2_as_classifiers(tmp_path: Path) -> None:
    run_there("slim_there.py", tmp_path, "inception_v3")
    inception = InceptionV3()
    network = inception.build(OUTPUTS)
    report = load(network, inception, tmp_path / "model.ckpt")
    assert not (report["left_random"] or report["skipped"] or report["unused"])
    there = np.load(tmp_path / "numbers.npz")
    answers = network(there["pixels"], training=False)
    for head in ("classes", "auxiliary"):
        assert share_apart(answers[head].numpy(), there[head]) < 1e-4
    run_there("slim_there.py", tmp_path, "mobilenet_v2")
    mobilenet = MobileNetV2(input_size=SIDE)
    report = load(mobilenet.build(OUTPUTS), mobilenet, tmp_path / "model.ckpt")
    assert not (report["left_random"] or report["skipped"])


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_of_tensorflow_1_answers_the_same(name: str, tmp_path: Path) -> None:
    model = DETECTORS[name]
    text = format_text({"model": describe_model(model, CLASSES, count_background=False)}).replace("_keras", "")
    (tmp_path / "pipeline.config").write_text(text, encoding="utf-8")
    run_there("slim_there.py", tmp_path, tmp_path / "pipeline.config")
    network = model.build(CLASSES)
    report = load(network, model, tmp_path / "model.ckpt")
    assert not (report["left_random"] or report["skipped"] or report["unused"]), report
    there = np.load(tmp_path / "numbers.npz")
    assert [words[:31] for words in report["differs"]] == ["under TensorFlow 1 a pyramid pa"] * isinstance(
        model, SsdFpn
    )
    answers = network(there["pixels"], training=False)
    codes = there["codes"].reshape(answers["boxes"].shape)
    if isinstance(model, SsdFpn):
        finest = model.anchors.per_cell * (model.input_size // 8) ** 2
        assert share_apart(answers["boxes"].numpy()[:, finest:], codes[:, finest:]) < 5e-4
        assert share_apart(answers["boxes"].numpy()[:, :finest], codes[:, :finest]) > 0.1
        answers = pass_sums_on(network)(there["pixels"], training=False)
    assert share_apart(answers["boxes"].numpy(), codes) < 5e-4
    assert share_apart(answers["classes"].numpy(), there["logits"]) < 5e-4


def pass_sums_on(network: keras.Model) -> keras.Model:
    """With the same layers; a level gets the sum of the one above, as `fpn_top_down_feature_maps` has it."""
    seen: dict[str, Any] = {}

    def call(layer: keras.Layer, *args: Any, **kwargs: Any) -> Any:
        above = seen["neck.level4.add"] if layer.name == "neck.level3.up" else None
        seen[layer.name] = layer(*args, **kwargs) if above is None else layer(above)
        return seen[layer.name]

    return keras.models.clone_model(network, clone_function=lambda layer: layer, call_function=call)
