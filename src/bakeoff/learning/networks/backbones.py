"""Backbones of keras.applications inside a detector's graph, with the detector's settings.

The Object Detection API builds its own from the same networks and changes some layers on the way; so does this.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import keras

from bakeoff.learning.networks.detector_settings import RESNETS, Backbone, Convolutions
from bakeoff.learning.networks.layers import ACTIVATIONS, Tensor, channels, initializer, regularizer, to_unit_range
from bakeoff.learning.networks.norms import BatchNorm

IMAGENET_MEANS = (123.68, 116.779, 103.939)  # red, green, blue
LITE_DEPTHS = {"mobilenet_v1": {"conv_pw_12": 512, "conv_pw_13": 256}}  # of a backbone under a depthwise pyramid
LAST_DEPTH = 1280  # of MobileNet v2
# What the API's backbones have where they do not follow `convolutions`.
OWN_OF_MOBILENETS = Convolutions(
    initializer="truncated_normal", initial_deviation=0.09, batch_norm_momentum=0.9997, l2_weight=4e-5
)
OWN_OF_RESNET = Convolutions(activation="relu", batch_norm_epsilon=1e-5, l2_weight=2e-4)


@dataclass(frozen=True)
class Adaptation:
    """How the layers of a backbone are changed."""

    backbone: Backbone
    rule: Convolutions
    lite: bool

    @property
    def is_api(self) -> bool:
        return self.backbone.like == "api"

    @property
    def is_resnet(self) -> bool:
        return self.backbone.name in RESNETS

    def change(self, layer: keras.Operation) -> keras.Operation:
        """Copy the layer with other numbers; names stay, so that weights load by name."""
        if not isinstance(layer, keras.layers.Layer):
            return layer
        config = layer.get_config()
        if isinstance(layer, keras.layers.BatchNormalization):
            return BatchNorm.from_config(config | self._norm(config))
        if isinstance(layer, keras.layers.DepthwiseConv2D):
            kernel = self._kernel(config["depthwise_initializer"])
            config |= {f"depthwise_{key}": value for key, value in kernel.items()} | self._padding()
        elif isinstance(layer, keras.layers.Conv2D):
            kernel = self._kernel(config["kernel_initializer"])
            config |= {f"kernel_{key}": value for key, value in kernel.items()}
            config["filters"] = self._depth(layer.name, config["filters"])
            if self.is_api and self.is_resnet:
                config["use_bias"] = False
        elif self.is_api and isinstance(layer, keras.layers.MaxPooling2D):
            config["padding"] = "same"
        elif self.is_api and isinstance(layer, keras.layers.ReLU | keras.layers.Activation):
            return keras.layers.ReLU(ACTIVATIONS[self._own_rule().activation], name=layer.name)
        return type(layer).from_config(config)

    def is_left_out(self, layer: keras.Operation) -> bool:
        """Tell whether a layer lets through what comes in: paddings that the API does within the next layer."""
        return self.is_api and isinstance(layer, keras.layers.ZeroPadding2D) and layer.name != "conv1_pad"

    def _own_rule(self) -> Convolutions:
        if self.backbone.override_hyperparameters:
            return self.rule
        return OWN_OF_RESNET if self.is_resnet else OWN_OF_MOBILENETS

    def _norm(self, config: dict[str, Any]) -> dict[str, float]:
        rule = self._own_rule() if self.is_api else self.rule
        own = self.is_api or self.backbone.override_hyperparameters
        epsilon = rule.batch_norm_epsilon if own else config["epsilon"]
        return {"momentum": rule.batch_norm_momentum, "epsilon": epsilon}

    def _kernel(self, own_initializer: Any) -> dict[str, Any]:
        rule = self._own_rule() if self.is_api else self.rule
        start: Any = initializer(rule)
        if not self.backbone.override_hyperparameters:
            if not self.is_api:
                start = own_initializer
            elif self.is_resnet:
                start = keras.initializers.VarianceScaling()
        return {"initializer": start, "regularizer": regularizer(rule)}

    def _padding(self) -> dict[str, str]:
        return {"padding": "same"} if self.is_api else {}

    def _depth(self, name: str, filters: int) -> int:
        """Return a convolution's channels: with the multiplier where keras.applications lacks it, and the minimum."""
        backbone = self.backbone
        multiplier = backbone.depth_multiplier
        if self.is_resnet:
            return backbone.depth(filters)
        if self.lite and name in LITE_DEPTHS.get(backbone.name, {}):
            return backbone.depth(LITE_DEPTHS[backbone.name][name])
        if backbone.name == "mobilenet_v2" and name.endswith("expand"):
            return max(filters, 6 * backbone.min_depth)  # six times what comes in
        if backbone.name == "mobilenet_v1" and self.is_api:
            filters = int(filters * multiplier)  # once more: keras.applications did it before
        if name == "Conv_1" and multiplier < 1:
            filters = channels(LAST_DEPTH, multiplier)
        elif name == "Conv_1" and self.is_api:
            filters = LAST_DEPTH
        return max(filters, backbone.min_depth)


def feature_maps(
    image: Tensor, backbone: Backbone, rule: Convolutions, layers: Iterable[str], *, lite: bool = False
) -> list[Tensor]:
    """Return what the named layers give for images 0..255, shown to the backbone as its weights expect them."""
    seen: dict[str, Tensor] = {}
    adaptation = Adaptation(backbone, rule, lite)
    whole = keras_backbone(backbone, image.shape[1:])
    depths = {layer.name: layer.filters for layer in whole.layers if isinstance(layer, keras.layers.Conv2D)}

    def call(layer: keras.Operation, *args: Any, **kwargs: object) -> Tensor:
        if adaptation.is_left_out(layer):
            seen[layer.name] = args[0]
        elif adaptation.is_api and _has_no_shortcut(layer, args, depths):
            seen[layer.name] = args[0][1]
        else:
            seen[layer.name] = layer(*args, **kwargs)
        return seen[layer.name]

    keras.models.clone_model(whole, input_tensors=[image], clone_function=adaptation.change, call_function=call)
    return [seen[name] for name in layers]


def _has_no_shortcut(layer: keras.Operation, args: Any, depths: dict[str, int]) -> bool:
    """Tell whether MobileNet v2 adds nothing: its depth before `min_depth` is not that of what comes in."""
    projected = depths.get(f"{layer.name.removesuffix('_add')}_project")
    return isinstance(layer, keras.layers.Add) and projected is not None and args[0][0].shape[-1] != projected


def keras_backbone(backbone: Backbone, shape: tuple[int, ...], *, weights: str | None = None) -> keras.Model:
    """Return it as keras.applications has it; layers whose channels the settings changed will not fit ImageNet's."""
    image = keras.Input(shape)
    options = {"include_top": False, "weights": weights}
    if backbone.name not in RESNETS:
        kinds = {"mobilenet_v1": keras.applications.MobileNet, "mobilenet_v2": keras.applications.MobileNetV2}
        return kinds[backbone.name](alpha=backbone.depth_multiplier, input_tensor=to_unit_range(image), **options)
    kind = getattr(keras.applications, backbone.name.replace("resnet", "ResNet"))
    means, colours = list(IMAGENET_MEANS), image
    if backbone.like == "keras":  # blue comes first
        means, colours = means[::-1], keras.ops.flip(image, axis=-1)
    around_mean = keras.layers.Rescaling(1.0, offset=[-mean for mean in means], name="around_mean")
    return kind(input_tensor=around_mean(colours), **options)
