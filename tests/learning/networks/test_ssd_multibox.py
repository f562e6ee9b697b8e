import itertools
from collections.abc import Iterator
from functools import cache

import keras
import numpy as np
import pytest

from bakeoff.learning.networks.ssd_multibox import SsdMultibox
from support.tiny_detectors import MULTIBOX, MULTIBOX_BY_SOFTMAX
from support.unfilled import unfilled


@pytest.fixture(scope="module", autouse=True)
def forget_networks() -> Iterator[None]:
    yield
    built.cache_clear()


@cache
def built(settings: SsdMultibox, num_classes: int = 3) -> keras.Model:
    """Once for all tests; none changes its weights, but for the statistics of batch norm."""
    keras.utils.set_random_seed(0)
    return settings.build(num_classes)


@pytest.mark.parametrize(
    ("size", "maps"),
    [
        # As the Object Detection API's own tests state them, and the published 300 and 320.
        (128, [(8, 576), (4, 1280), (2, 512), (1, 256), (1, 256), (1, 128)]),
        (299, [(19, 576), (10, 1280), (5, 512), (3, 256), (2, 256), (1, 128)]),
        (320, [(20, 576), (10, 1280), (5, 512), (3, 256), (2, 256), (1, 128)]),
    ],
)
def test_maps_are_those_of_the_published_network(size: int, maps: list[tuple[int, int]]) -> None:
    network = unfilled(lambda: SsdMultibox(input_size=size).build(90))
    read = [network.get_layer(f"head.classes.map{number}.answer").input for number in range(6)]
    assert [(x.shape[1], x.shape[2], x.shape[3]) for x in read] == [(side, side, depth) for side, depth in maps]
    assert read[0] is network.get_layer("block_13_expand_relu").output
    assert read[1] is network.get_layer("out_relu").output


def test_parameters_are_those_counted_by_hand() -> None:
    depths, boxes = [576, 1280, 512, 256, 256, 128], [3, 6, 6, 6, 6, 6]
    backbone = 2_257_984
    added = 0  # 1x1 to half the depth, 3x3 to the depth; four numbers of a norm for each channel
    for before, depth in itertools.pairwise(depths[1:]):
        half = depth // 2
        added += before * half + 4 * half + 9 * half * depth + 4 * depth
    heads = sum((depth + 1) * count * (4 + 90) for depth, count in zip(depths, boxes, strict=True))
    network = unfilled(lambda: SsdMultibox(input_size=320).build(90))
    assert network.count_params() == backbone + added + heads


@pytest.mark.parametrize("settings", [MULTIBOX, MULTIBOX_BY_SOFTMAX], ids=["plain", "depthwise"])
def test_prior_is_on_the_class_heads_and_nowhere_else(settings: SsdMultibox) -> None:
    network = built(settings)
    heads = {weight.path: weight.numpy() for weight in network.weights if weight.path.endswith("answer/bias")}
    assert len(heads) == 2 * 3
    for path, bias in heads.items():
        np.testing.assert_array_equal(bias, np.float32(-4.6) if ".classes." in path else 0.0, err_msg=path)
