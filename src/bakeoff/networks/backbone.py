"""The networks of keras.applications that detectors see through, and which of their layers they look at.

Layers keep the names that keras.applications gives them, so that its ImageNet weights load by layer name.
"""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require

PYRAMID_LAYERS: dict[str, dict[int, str]] = {  # level, of stride 2 ** level -> layer
    "mobilenet_v1": {2: "conv_pw_3_relu", 3: "conv_pw_5_relu", 4: "conv_pw_11_relu", 5: "conv_pw_13_relu"},
    "mobilenet_v2": {2: "block_2_add", 3: "block_5_add", 4: "block_12_add", 5: "out_relu"},
    "resnet50": {2: "conv2_block3_out", 3: "conv3_block4_out", 4: "conv4_block6_out", 5: "conv5_block3_out"},
}
DEEPEST_LEVEL = 5
MULTIBOX_LAYERS = {  # the two maps of strides 16 and 32 that the plain SSD looks at
    "mobilenet_v1": ("conv_pw_11_relu", "conv_pw_13_relu"),
    "mobilenet_v2": ("block_13_expand_relu", "out_relu"),
}
SMALLEST_INPUT = {"mobilenet_v1": 33, "mobilenet_v2": 33, "resnet50": 129}
VARIABLES = {  # patterns over `variable.path`
    "mobilenet_v1": ("conv1/*", "conv1_bn/*", "conv_dw_*", "conv_pw_*"),
    "mobilenet_v2": ("Conv1/*", "bn_Conv1/*", "expanded_conv_*", "block_*", "Conv_1*"),
    "resnet50": ("conv1_*", "conv[2-5]_block*"),
}


@dataclass(frozen=True)
class Backbone:
    name: Literal["mobilenet_v1", "mobilenet_v2", "resnet50"] = "mobilenet_v2"
    depth_multiplier: float = 1.0  # of the channels, also of those that the detector adds
    min_depth: int = 16  # channels
    override_hyperparameters: bool = True  # initialiser and epsilon of the detector, not of keras.applications

    def __post_init__(self) -> None:
        require(0 < self.depth_multiplier <= 4, "depth_multiplier", self.depth_multiplier, "above 0, at most 4")
        require(1 <= self.min_depth <= 64, "min_depth", self.min_depth, "between 1 and 64")

    def depth(self, channels: float) -> int:
        """So many channels of an added layer, after the multiplier."""
        return max(int(channels * self.depth_multiplier), self.min_depth)
