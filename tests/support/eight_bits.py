"""Small networks of each family that compute in eight bits, as they are at the beginning of their phase."""

from functools import cache
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks import weights
from bakeoff.learning.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.quantized.quantizable import Quantizable
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.yolox import Yolox
from support.tiny_detectors import LITE, MULTIBOX, ON_RESNET

FAMILIES: dict[str, Any] = {
    "ssd": Ssd(input_size=64, width=0.25, pyramid_channels=8),
    "ssd_fpn": LITE,
    "ssd_multibox": MULTIBOX,
    "point_detector": PointDetector(input_size=64, width=0.125),
    "yolox": Yolox(input_size=64, width=0.125, depth=0.1),
    "cnn": Cnn(input_size=24, width=0.25),
    "mobilenet_v2": MobileNetV2(input_size=64, width=0.35),
    "mobilenet_v3": MobileNetV3(input_size=64, width=0.35),
    "efficientnet_v2_b0": EfficientNetV2B0(input_size=64),
    "resnet": ON_RESNET,
}


QUICK = ("ssd", "point_detector", "cnn")  # the others take ten seconds or more each


def families(but: str) -> list[Any]:
    """The names of all families but one, for a test that is slow for the large ones."""
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in FAMILIES if name != but]


def pictures(size: int, count: int = 4) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, size, size, 3)).astype(np.float32)


@cache
def active(name: str) -> Quantizable:
    """With statistics of its norms that suit the pictures."""
    model = FAMILIES[name]
    keras.utils.set_random_seed(1)
    network = weights.build(model, 3, quantizes=True)
    seen = pictures(model.input_size)
    settle = compile_graph(lambda: network(seen, training=True))
    for _ in range(40):
        settle()
    network.activate([seen])
    return network
