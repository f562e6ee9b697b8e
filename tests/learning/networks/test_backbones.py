"""Backbones against keras.applications' own networks, and against what is published of them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.learning.networks.backbones import feature_maps
from bakeoff.learning.networks.detector_settings import MULTIBOX_LAYERS, PYRAMID_LAYERS, Backbone, Convolutions
from bakeoff.learning.networks.network import LEAST_WIDTH, select
from bakeoff.learning.networks.ssd_fpn import SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox
from support.unfilled import answer, draw_values, unfilled

OF_KERAS = {
    "mobilenet_v1": (keras.applications.MobileNet, keras.applications.mobilenet.preprocess_input),
    "mobilenet_v2": (keras.applications.MobileNetV2, keras.applications.mobilenet_v2.preprocess_input),
    "resnet50": (keras.applications.ResNet50, keras.applications.resnet.preprocess_input),
}
DEEPER = {"resnet101": keras.applications.ResNet101, "resnet152": keras.applications.ResNet152}
every_backbone = pytest.mark.parametrize("name", sorted(OF_KERAS))
SIZE = 64
RULE = Convolutions(batch_norm_momentum=0.9, batch_norm_epsilon=0.01, initial_deviation=0.02)
QUICK = Convolutions(batch_norm_momentum=0.5)
BARE = SharedBoxPredictor(layers_before=0)
PENALIZED = Convolutions(initializer="truncated_normal", initial_deviation=0.03, l2_weight=0.01)


@pytest.fixture(scope="module", autouse=True)
def forget_networks() -> Iterator[None]:
    yield
    built.cache_clear()
    shaped.cache_clear()
    of_keras.cache_clear()


def layers_of(name: str) -> list[str]:
    return list(dict.fromkeys([*PYRAMID_LAYERS[name].values(), *MULTIBOX_LAYERS.get(name, ())]))


@cache
def built(name: str, rule: Convolutions | None = None, *, lite: bool = False, **settings: Any) -> keras.Model:
    """Once for all tests; one that changes its weights must be the only one to look at them."""
    keras.utils.set_random_seed(0)
    return make(name, rule, lite=lite, **settings)


@cache
def shaped(name: str, rule: Convolutions | None = None, *, lite: bool = False, **settings: Any) -> keras.Model:
    """Without values."""
    return unfilled(lambda: make(name, rule, lite=lite, **settings))


def make(name: str, rule: Convolutions | None, *, lite: bool, **settings: Any) -> keras.Model:
    image = keras.Input((SIZE, SIZE, 3))
    backbone = Backbone(name=name, **settings)
    maps = feature_maps(image, backbone, rule or Convolutions(), layers_of(name), lite=lite)
    return keras.Model(image, dict(zip(layers_of(name), maps, strict=True)))


@cache
def of_keras(name: str) -> keras.Model:
    kind = DEEPER.get(name) or OF_KERAS[name][0]
    return unfilled(lambda: kind(include_top=False, weights=None, input_shape=(SIZE, SIZE, 3)))


def shapes(network: keras.Model) -> dict[str, tuple[int, ...]]:
    return {weight.path: tuple(weight.shape) for weight in network.weights}


@pytest.mark.parametrize(
    ("name", "parameters", "convolutions"),
    [
        ("mobilenet_v1", 3_228_864, 27),
        ("mobilenet_v2", 2_257_984, 52),
        ("resnet50", 23_587_712, 53),
        ("resnet101", 42_658_176, 104),
        ("resnet152", 58_370_944, 155),
    ],
)
def test_backbone_has_the_published_layers_and_parameters(name: str, parameters: int, convolutions: int) -> None:
    network = shaped(name, RULE, override_hyperparameters=False, like="keras")
    kernels = [weight for weight in network.weights if weight.path.endswith("kernel")]
    assert (network.count_params(), len(kernels)) == (parameters, convolutions)
    assert shapes(network) == shapes(of_keras(name))


@every_backbone
def test_weights_of_keras_applications_give_its_features_for_raw_pixels(name: str) -> None:
    """Loaded by layer name; the network itself brings 0..255 to what those weights expect."""
    theirs, ours = of_keras(name), shaped(name, RULE, override_hyperparameters=False, like="keras")
    values = draw_values(shapes(theirs))
    images = np.random.default_rng(4).uniform(0, 255, (2, SIZE, SIZE, 3)).astype(np.float32)
    features = keras.Model(theirs.input, {layer: theirs.get_layer(layer).output for layer in layers_of(name)})
    inside = {weight.path: values[weight.path] for weight in features.weights}
    expected = answer(features, inside, OF_KERAS[name][1](images.copy()))
    for layer, given in answer(ours, values, images).items():
        scale = np.abs(expected[layer]).max()
        assert scale > 0
        np.testing.assert_allclose(given / scale, expected[layer] / scale, atol=1e-4, err_msg=layer)


@pytest.mark.long
@every_backbone
def test_levels_halve_the_image_once_more_each(name: str) -> None:
    outputs = built(name, RULE, depth_multiplier=0.25).output
    for level, layer in PYRAMID_LAYERS[name].items():
        assert outputs[layer].shape[1:3] == (SIZE // 2**level, SIZE // 2**level)


@every_backbone
def test_batch_norm_follows_the_settings(name: str) -> None:
    changed = built(name, RULE, depth_multiplier=0.25).layers
    norms = [layer for layer in changed if isinstance(layer, keras.layers.BatchNormalization)]
    assert len(norms) in (27, 52, 53)
    assert {(norm.momentum, norm.epsilon) for norm in norms} == {(0.9, 0.01)}
    kept = shaped(name, RULE, override_hyperparameters=False, like="keras").layers
    own = {layer.epsilon for layer in of_keras(name).layers if isinstance(layer, keras.layers.BatchNormalization)}
    assert {
        (layer.momentum, layer.epsilon) for layer in kept if isinstance(layer, keras.layers.BatchNormalization)
    } == {(0.9, epsilon) for epsilon in own}


def test_statistics_fill_in_as_many_steps_as_the_momentum_says() -> None:
    network = built("mobilenet_v2", QUICK, depth_multiplier=0.35)
    images = np.random.default_rng(0).uniform(0, 255, (2, SIZE, SIZE, 3)).astype(np.float32)
    norm = network.get_layer("bn_Conv1")
    first_layers = keras.Model(network.input, norm.output)
    means = []
    for _ in range(3):
        first_layers(images, training=True)
        means.append(norm.moving_mean.numpy().copy())
    np.testing.assert_allclose(means[1], 1.5 * means[0], rtol=1e-4)  # 1/2, 3/4, 7/8 of the batch's mean
    np.testing.assert_allclose(means[2], 1.75 * means[0], rtol=1e-4)


@pytest.mark.long
@every_backbone
def test_kernels_start_as_the_settings_say_each_with_its_own_numbers(name: str) -> None:
    kernels = [
        weight.numpy()
        for weight in built(name, RULE, depth_multiplier=0.5).weights
        if weight.path.endswith("kernel") and np.prod(weight.shape) > 2000
    ]
    np.testing.assert_allclose([kernel.std() for kernel in kernels], 0.02, rtol=0.1)
    first = {kernel.ravel()[:4].tobytes() for kernel in kernels}
    assert len(first) == len(kernels) > 8


def test_truncated_start_has_no_number_beyond_two_deviations() -> None:
    kernel = built("mobilenet_v1", PENALIZED, depth_multiplier=0.25).get_layer("conv_pw_13").kernel.numpy()
    assert 0.055 < np.abs(kernel).max() <= 0.06


def test_l2_costs_half_the_weight_times_the_squares_of_every_kernel() -> None:
    network = built("mobilenet_v1", PENALIZED, depth_multiplier=0.25)
    squares = sum(
        float((weight.numpy().astype(np.float64) ** 2).sum())
        for weight in network.weights
        if weight.path.endswith("kernel")
    )
    assert float(sum(network.losses)) == pytest.approx(0.01 / 2 * squares, rel=1e-4)
    assert shaped("mobilenet_v1", Convolutions(l2_weight=0.0), depth_multiplier=0.25).losses == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # As the Object Detection API's own tests state it for a multiplier next to nothing and a minimum of 32.
        ({"depth_multiplier": LEAST_WIDTH, "min_depth": 32}, {"block_13_expand_relu": 192, "out_relu": 32}),
        # The API shrinks the last convolution too, keras.applications does not: 1280 x 0.35 = 448.
        ({"depth_multiplier": 0.35}, {"out_relu": 448}),
        ({"depth_multiplier": 1.4}, {"out_relu": 1280}),
        ({"depth_multiplier": 1.4, "like": "keras"}, {"out_relu": 1792}),
    ],
)
def test_channels_of_mobilenet_v2_follow_multiplier_and_minimum(
    settings: dict[str, Any], expected: dict[str, int]
) -> None:
    outputs = shaped("mobilenet_v2", QUICK, **settings).output
    assert {layer: outputs[layer].shape[-1] for layer in expected} == expected


def test_resnet_takes_a_multiplier_that_keras_applications_does_not_have() -> None:
    outputs = shaped("resnet50", depth_multiplier=0.25, min_depth=8).output
    assert [outputs[layer].shape[-1] for layer in layers_of("resnet50")] == [64, 128, 256, 512]


def test_mobilenet_v1_under_a_lite_pyramid_ends_in_fewer_channels() -> None:
    network = shaped("mobilenet_v1", lite=True)
    assert network.get_layer("conv_pw_12").filters == 512 and network.get_layer("conv_pw_13").filters == 256
    assert shaped("mobilenet_v2", lite=True).get_layer("Conv_1").filters == 1280


@pytest.mark.parametrize(
    ("detector", "name"),
    [
        (SsdMultibox(input_size=320), "MobileNetV2"),
        (SsdFpn(input_size=256, backbone=Backbone(name="mobilenet_v1"), predictor=BARE), "MobileNet"),
        (SsdFpn(input_size=256, backbone=Backbone(name="resnet50"), predictor=BARE), "ResNet50"),
    ],
)
def test_weights_of_imagenet_fit_every_layer_of_a_detectors_backbone(
    detector: SsdMultibox | SsdFpn, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a download: the network that Keras would fill is as it makes it for `weights=None`."""
    asked = []
    make = getattr(keras.applications, name)

    def make_unfilled(**options: Any) -> keras.Model:
        asked.append(options.pop("weights"))
        return make(weights=None, **options)

    network = unfilled(lambda: detector.build(2))
    monkeypatch.setattr(keras.applications, name, make_unfilled)
    trained = shapes(unfilled(detector.imagenet))
    assert asked == ["imagenet"]
    own = shapes(network)
    backbone = select(own, ("backbone",), detector.parts)
    assert len(backbone) > 100
    assert [path for path in backbone if trained.get(path) != own[path]] == []


# As the Object Detection API changes them; the numbers are from its code, which tests/proofs/official runs.


def test_mobilenet_v1_multiplies_twice() -> None:
    network = shaped("mobilenet_v1", depth_multiplier=0.75, min_depth=8)
    filters = [network.get_layer(name).filters for name in ("conv1", "conv_pw_1", "conv_pw_13")]
    assert filters == [int(int(32 * 0.75) * 0.75), int(int(64 * 0.75) * 0.75), int(int(1024 * 0.75) * 0.75)]
    kept = shaped("mobilenet_v1", depth_multiplier=0.75, min_depth=8, like="keras")
    assert kept.get_layer("conv_pw_13").filters == 768


def test_mobilenet_v2_adds_nothing_where_the_least_depth_binds() -> None:
    """At 0.35 block 2 ends in 8 channels; a minimum of 16 makes them 16, and the API no longer adds."""
    layers = {layer.name for layer in shaped("mobilenet_v2", depth_multiplier=0.35, min_depth=16).layers}
    assert "block_2_add" not in layers and {"block_4_add", "block_7_add"} <= layers
    free = {layer.name for layer in shaped("mobilenet_v2", depth_multiplier=0.35, min_depth=8).layers}
    assert {"block_2_add", "block_4_add", "block_7_add"} <= free


@pytest.mark.parametrize(("activation", "highest"), [("relu6", 6.0), ("relu", None)])
@every_backbone
def test_backbones_have_the_activation_of_the_settings(name: str, activation: str, highest: float | None) -> None:
    network = shaped(name, Convolutions(activation=activation))
    ends = {layer.max_value for layer in network.layers if isinstance(layer, keras.layers.ReLU)}
    assert ends == {highest}
    assert not any(isinstance(layer, keras.layers.Activation) for layer in network.layers)


def test_resnet_sees_red_first_has_no_biases_and_pools_as_tensorflow_pads() -> None:
    network = shaped("resnet50")
    assert not any(path.startswith("conv") and path.endswith("bias") for path in shapes(network))
    assert network.get_layer("pool1_pool").padding == "same"
    assert [-number for number in network.get_layer("around_mean").offset] == [123.68, 116.779, 103.939]


def test_odd_sizes_of_mobilenet_v1_halve_upwards() -> None:
    image = keras.Input((300, 300, 3))
    [last] = unfilled(lambda: feature_maps(image, Backbone(name="mobilenet_v1"), QUICK, ["conv_pw_13_relu"]))
    assert last.shape[1:3] == (10, 10)
