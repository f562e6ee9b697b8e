"""What every network keeps, each kind in a small form: weights learn, settings reach their layers, names stay."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.applications import EfficientNetV2B0, InceptionV3, MobileNetV2, MobileNetV3
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.detector_settings import (
    Convolutions,
    DetectionLoss,
)
from bakeoff.learning.networks.norms import BatchNormalization
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.s3dg import S3dG
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.ssd_fpn import SharedBoxPredictor
from bakeoff.learning.networks.yolox import SimOta, Yolox
from bakeoff.learning.tasks.detection import Detection
from support.classifier_trials import borrowed, learned, noise, try_a_step
from support.detection_scenes import CLASSES, MOST_STEPS, draw_scenes, find_missed, learn_by_heart, untouched_weights
from support.small_sets import SMALL, SMALLEST
from support.tiny_detectors import FULL, LITE, MULTIBOX, MULTIBOX_BY_SOFTMAX, ON_RESNET, SURE
from support.unfilled import unfilled

CHANGED: dict[str, Any] = {"dropout": 0.75, "batch_norm_momentum": 0.83}
CLASSIFIERS: dict[str, Any] = {
    "cnn": Cnn(input_size=16, width=0.25, **CHANGED),
    "clip_cnn": ClipCnn(input_size=16, frames=4, width=0.25, **CHANGED),
    "mobilenet_v2": MobileNetV2(input_size=32, width=0.35, **CHANGED),
    "mobilenet_v3_small": MobileNetV3(input_size=32, width=0.5, **CHANGED),
    "mobilenet_v3_large": MobileNetV3(size="large", input_size=32, width=0.35, **CHANGED),
    "efficientnet_v2_b0": EfficientNetV2B0(input_size=32, **CHANGED),
    "inception_v3": InceptionV3(input_size=75, background=True, **CHANGED),
    "s3dg": S3dG(input_size=32, frames=4, depth_multiplier=0.125, min_depth=4, **CHANGED),
    "s3d": S3dG(input_size=32, frames=4, depth_multiplier=0.125, min_depth=4, gating=False, **CHANGED),
}
LEARNS_SOON: dict[str, Any] = {"dropout": 0.0, "batch_norm_momentum": 0.5, "label_smoothing": 0.0}
DETECTORS: dict[str, Any] = {
    "ssd": Ssd(
        input_size=64,
        width=0.25,
        pyramid_channels=16,
        anchors=Anchors(scale=2.0, octave_steps=2, aspect_ratios=(1.0,)),
        suppression=SURE,
    ),
    "ssd without convolutions in its head": Ssd(input_size=96, width=0.1, pyramid_channels=8, head_convolutions=0),
    "fpn lite": LITE,
    "fpn lite by softmax": replace(LITE, loss=DetectionLoss(classes="softmax")),
    "fpn": FULL,
    "fpn on resnet": ON_RESNET,
    "multibox": MULTIBOX,
    "multibox by softmax": MULTIBOX_BY_SOFTMAX,
    "points": PointDetector(input_size=64, width=0.0625, bins=8, suppression=SURE),
    # So near to the middle of a cell is a point of its level alone.
    "yolox": Yolox(input_size=64, width=0.0625, depth=0.1, assignment=SimOta(radius=0.5), suppression=SURE),
    "sets": SMALL,
    "the smallest sets": SMALLEST,
}
NUMBER = 3  # of classes
# A batch norm takes away the scale before it, and a softmax what all keys share: rounding is left of these gradients.
ONLY_ROUNDING = ("lab/scale", "lab/bias", "k_proj/bias")
FIRST = ("cnn", "clip_cnn", "mobilenet_v2", "ssd", "fpn", "points", "the smallest sets")  # the others take long


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.long) for name in names]
    )


every_classifier, every_detector = each(CLASSIFIERS), each(DETECTORS)


@pytest.fixture(scope="module", autouse=True)
def forget_networks() -> Iterator[None]:
    yield
    built.cache_clear()


@cache
def built(name: str) -> keras.Model:
    """Once for all tests, which change no weights but the statistics of batch norm."""
    keras.utils.set_random_seed(0)
    return (CLASSIFIERS | DETECTORS)[name].build(NUMBER)


def pictures(name: str, count: int) -> np.ndarray:
    size = DETECTORS[name].input_size
    return np.random.default_rng(0).uniform(0, 255, (count, size, size, 3)).astype(np.float32)


def test_every_kind_is_here() -> None:
    assert {type(settings) for settings in (CLASSIFIERS | DETECTORS).values()} == set(NETWORKS.values())


@every_classifier
def test_every_weight_gets_a_gradient_and_a_step_against_it_brings_the_loss_down(name: str) -> None:
    with borrowed(built(name)) as network:
        untouched, promised, gained = try_a_step(CLASSIFIERS[name], network, NUMBER)
    assert untouched == []
    if not name.startswith("s3d"):  # whose loss is as steep only nearby
        assert 0.5 * promised < gained < 1.5 * promised


@every_detector
def test_every_weight_of_a_detector_gets_a_gradient(name: str) -> None:
    with borrowed(built(name)) as network:
        for weight in network.trainable_weights:  # before a kernel of zeros nothing has a gradient
            if weight.name == "kernel" and not weight.numpy().any():
                weight.assign(np.random.default_rng(1).normal(0, 0.05, weight.shape))
        untouched = untouched_weights(network, Detection(DETECTORS[name], "abc"), pictures(name, 4))
    assert [path for path in untouched if not path.endswith(ONLY_ROUNDING)] == []


@every_classifier
def test_there_is_a_logit_for_every_class(name: str) -> None:
    settings = CLASSIFIERS[name]
    heads = ("classes", "auxiliary") if settings.auxiliary_weight else ("classes",)
    shapes = {head: output.shape for head, output in built(name).output.items()}
    assert shapes == dict.fromkeys(heads, (None, NUMBER + settings.background))


@every_detector
def test_outputs_have_a_row_for_every_candidate(name: str) -> None:
    settings = DETECTORS[name]
    candidates, sides = len(settings.head().anchors), 4 * getattr(settings, "bins", 1)
    numbers = NUMBER + getattr(settings.loss, "has_background", getattr(settings, "has_object", False))
    shapes = {head: tuple(output.shape) for head, output in built(name).output.items()}
    assert shapes == {"boxes": (None, candidates, sides), "classes": (None, candidates, numbers)}


@every_detector
def test_an_image_costs_in_its_batch_what_it_costs_alone_without_padding(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, outputs = Detection(DETECTORS[name], "abc"), built(name)(pictures(name, 3), training=False)
    boxes = [[[0.1, 0.1, 0.6, 0.5], [0.3, 0.2, 0.9, 0.9]], [[0.0, 0.0, 0.0, 0.0]] * 2, [[0.2, 0.3, 0.5, 0.8]] * 2]
    batch = {"boxes": tf.constant(boxes), "classes": tf.constant([[1, 3], [0, 0], [2, 0]], tf.int64)}
    at_once = compile_graph(task.example_losses)(outputs, batch)["losses"]
    monkeypatch.setattr("bakeoff.learning.tasks.detection.AT_ONCE", 0)
    one_by_one = compile_graph(task.example_losses)(outputs, batch)["losses"]
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-5)
    for row, count in enumerate((2, 0, 1)):
        targets = task.encode({name: value[row, :count] for name, value in batch.items()})
        alone = {key: value[row : row + 1] for key, value in outputs.items()}
        losses = task.losses(alone, {key: value[None] for key, value in targets.items()})
        np.testing.assert_allclose(at_once[row, :2], [losses["classes"], losses["boxes"]], rtol=1e-5)


@every_classifier
def test_dropout_acts_on_the_features_in_training_only(name: str) -> None:
    [dropout, *_] = [layer for layer in built(name).layers if getattr(layer, "rate", None) == 0.75]
    features = np.ones((1, 4000), np.float32)
    np.testing.assert_array_equal(dropout(features, training=False), features)
    assert 0.7 < np.mean(np.asarray(dropout(features, training=True)) == 0) < 0.8


@every_classifier
def test_momentum_reaches_every_batch_norm(name: str) -> None:
    norms = [layer for layer in built(name).layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert {layer.momentum for layer in norms} == {0.83}
    assert {isinstance(layer, BatchNormalization) for layer in norms} == {True} and len(norms) > 5


@each([*CLASSIFIERS, *DETECTORS])
def test_names_of_weights_are_unique_and_do_not_depend_on_what_was_built_before(name: str) -> None:
    again = unfilled(lambda: (CLASSIFIERS | DETECTORS)[name].build(NUMBER))
    first, second = ([weight.path for weight in network.weights] for network in (built(name), again))
    assert first == second and len(set(first)) == len(first)


@pytest.mark.parametrize(
    ("name", "training", "share", "low", "high"),
    [
        ("ssd", False, 50, 0.005, 0.02),
        ("ssd", False, 99, 0.005, 0.1),
        ("fpn", True, 50, 0.008, 0.012),
        ("multibox", True, 50, 0.008, 0.012),
        ("points", False, 0, 0.008, 0.0125),
        ("points", False, 100, 0.008, 0.0125),
    ],
)
def test_every_class_starts_from_a_score_near_one_in_a_hundred(
    name: str, training: bool, share: int, low: float, high: float
) -> None:
    network = built(name)
    if name == "fpn":
        keras.utils.set_random_seed(0)
        network = replace(FULL, predictor_convolutions=Convolutions()).build(NUMBER)
    scores = tf.sigmoid(network(pictures(name, 4), training=training)["classes"]).numpy()
    assert low < np.percentile(scores, share) < high


@pytest.mark.parametrize(
    ("settings", "steps", "rate", "share"),
    [
        pytest.param(replace(CLASSIFIERS["cnn"], **(LEARNS_SOON | {"batch_norm_momentum": 0.9})), 60, 0.03, 0.1),
        *(
            pytest.param(replace(CLASSIFIERS[name], **LEARNS_SOON), 20, 0.03, 0.1, marks=pytest.mark.slow)
            for name in ("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_v2_b0")
        ),
        pytest.param(InceptionV3(input_size=75, **LEARNS_SOON), 25, 0.01, 0.2, marks=pytest.mark.slow),
    ],
)
def test_a_classifier_learns_eight_images_by_heart(settings: Any, steps: int, rate: float, share: float) -> None:
    labels = [1, 2, 3, 4, 4, 3, 2, 1]
    losses, given = learned(settings, noise(settings, 8), labels, steps=steps, rate=rate)
    assert min(losses[-5:]) < share * losses[0] and given == labels


@pytest.mark.parametrize(
    ("settings", "near", "share"),
    [
        (DETECTORS["ssd"], 4 / 64, 0.1),
        pytest.param(
            replace(FULL, predictor=SharedBoxPredictor(depth=24, layers_before=1)), 6 / 64, 0.1, marks=pytest.mark.long
        ),
        pytest.param(LITE, 6 / 64, 0.1, marks=pytest.mark.slow),
        pytest.param(replace(MULTIBOX, backbone=FULL.backbone), 8 / 96, 0.1, marks=pytest.mark.long),
        # A side between two bins costs something even where it is answered best.
        (PointDetector(input_size=64, width=0.125, batch_norm_momentum=0.9, suppression=SURE), 4 / 64, 0.2),
        pytest.param(  # which takes longer than others do
            Yolox(input_size=64, width=0.125, depth=0.1, depthwise=False, batch_norm_momentum=0.9, suppression=SURE),
            4 / 64,
            0.2,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["ssd", "fpn", "fpn lite", "multibox", "points", "yolox"],
)
def test_a_detector_learns_eight_scenes_by_heart(settings: Any, near: float, share: float) -> None:
    keras.utils.set_random_seed(1)
    size = settings.input_size
    images, truth = draw_scenes(size, (22, 44) if size == 96 else (14, 28))
    most = 5 * MOST_STEPS if isinstance(settings, Yolox) else MOST_STEPS
    network, task = settings.build(2), Detection(settings, CLASSES)
    learn_by_heart(network, task, images, truth, near=near, share=share, most=most)
    assert find_missed(network, task, images, truth, near) is None
