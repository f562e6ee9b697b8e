from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.learning.networks.detector_settings import (
    PYRAMID_LAYERS,
    Backbone,
)
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from support.tiny_detectors import FULL, LITE, ON_RESNET
from support.unfilled import unfilled

LITE_320 = SsdFpn(
    input_size=320,
    pyramid=Pyramid(depth=128, depthwise=True),
    predictor=SharedBoxPredictor(depth=128, depthwise=True, share_tower=True),
)
every_kind = pytest.mark.parametrize("settings", [LITE, FULL, ON_RESNET], ids=["lite", "full", "resnet"])


@pytest.fixture(scope="module", autouse=True)
def forget_networks() -> Iterator[None]:
    yield
    built.cache_clear()
    shaped.cache_clear()


@cache
def built(settings: SsdFpn, num_classes: int = 3) -> keras.Model:
    """Once for all tests; none changes its weights, but for the statistics of batch norm."""
    keras.utils.set_random_seed(0)
    return settings.build(num_classes)


@cache
def shaped(settings: SsdFpn, num_classes: int) -> keras.Model:
    """Without values."""
    return unfilled(lambda: settings.build(num_classes))


@pytest.mark.parametrize(
    ("settings", "depth", "sides"),
    [
        (LITE_320, 128, [40, 20, 10, 5, 3]),
        (SsdFpn(input_size=640, predictor=SharedBoxPredictor(layers_before=0)), 256, [80, 40, 20, 10, 5]),
    ],
    ids=["lite 320", "640"],
)
def test_levels_are_those_of_the_published_network(settings: SsdFpn, depth: int, sides: list[int]) -> None:
    network = shaped(settings, 90)
    smoothed = [network.get_layer(f"neck.level{level}.smooth.relu").output for level in (3, 4)]
    rest = [network.get_layer(f"neck.level{name}").output for name in ("5.lateral", "6.down.relu", "7.down.relu")]
    assert [x.shape[1:] for x in [*smoothed, *rest]] == [(side, side, depth) for side in sides]


@pytest.mark.parametrize("name", sorted(PYRAMID_LAYERS))
def test_pyramid_looks_at_the_published_layers(name: Any) -> None:
    settings = replace(ON_RESNET, backbone=Backbone(name=name, depth_multiplier=0.25), pyramid=Pyramid(min_level=2))
    network = shaped(settings, 2)
    layers = {
        "mobilenet_v1": ["conv_pw_3_relu", "conv_pw_5_relu", "conv_pw_11_relu", "conv_pw_13_relu"],
        "mobilenet_v2": ["block_2_project_BN", "block_5_project_BN", "block_12_add", "out_relu"],
        "resnet50": ["conv2_block3_out", "conv3_block4_out", "conv4_block6_out", "conv5_block3_out"],
        "resnet101": ["conv2_block3_out", "conv3_block4_out", "conv4_block23_out", "conv5_block3_out"],
        "resnet152": ["conv2_block3_out", "conv3_block8_out", "conv4_block36_out", "conv5_block3_out"],
    }[name]
    for level, layer in zip((2, 3, 4, 5), layers, strict=True):
        assert network.get_layer(f"neck.level{level}.lateral").input is network.get_layer(layer).output


def test_parameters_of_the_lite_network_are_those_counted_by_hand() -> None:
    def separable(channels: int, filters: int, *, norms: int) -> int:
        return 9 * channels + channels * filters + 4 * filters * norms

    laterals = sum((channels + 1) * 128 for channels in (32, 96, 1280))
    neck = laterals + 4 * separable(128, 128, norms=1)  # two smoothed levels, two levels on top
    tower = 4 * separable(128, 128, norms=5)  # a norm for each level
    heads = sum(9 * 128 + 129 * 6 * numbers for numbers in (4, 90))
    assert shaped(LITE_320, 90).count_params() == 2_257_984 + neck + tower + heads


@pytest.mark.parametrize(
    ("name", "backbone", "channels"),
    [("mobilenet_v1", 3_228_864, (256, 512, 1024)), ("resnet50", 23_561_152, (512, 1024, 2048))],
)
def test_parameters_of_the_full_networks_are_those_counted_by_hand(
    name: Any, backbone: int, channels: tuple[int, ...]
) -> None:
    laterals = sum((depth + 1) * 256 for depth in channels)
    neck = laterals + 4 * (9 * 256 * 256 + 4 * 256)
    towers = 2 * 4 * (9 * 256 * 256 + 5 * 4 * 256)
    heads = sum((9 * 256 + 1) * 6 * numbers for numbers in (4, 90))
    assert shaped(SsdFpn(backbone=Backbone(name=name)), 90).count_params() == backbone + neck + towers + heads


@every_kind
def test_prior_is_on_the_class_head_and_nowhere_else(settings: SsdFpn) -> None:
    network = built(settings)
    np.testing.assert_array_equal(network.get_layer("head.classes").bias, np.full(6, -4.6, np.float32))
    np.testing.assert_array_equal(network.get_layer("head.boxes").bias, np.zeros(8, np.float32))


def test_levels_share_convolutions_but_not_norms() -> None:
    paths = {weight.path for weight in built(FULL).weights if weight.path.startswith("head.")}
    norms = {
        f"head.{kind}.conv0.level{level}.norm/{part}"
        for kind in ("boxes", "classes")
        for level in (3, 4, 5)
        for part in ("gamma", "beta", "moving_mean", "moving_variance")
    }
    kernels = {
        f"head.{kind}{layer}" for kind in ("boxes", "classes") for layer in (".conv0/kernel", "/kernel", "/bias")
    }
    assert paths == norms | kernels
