"""A network of keras.applications inside the graph of a detector, with the detector's own settings."""

from collections.abc import Iterable

import keras

from bakeoff.networks.backbone import Backbone
from bakeoff.networks.blocks import Tensor, to_unit_range
from bakeoff.networks.convolutions import Convolutions
from bakeoff.networks.detector_blocks import initializer, regularizer

CAFFE_MEANS = (103.939, 116.779, 123.68)  # of ImageNet: blue, green, red
LITE_DEPTHS = {"mobilenet_v1": {"conv_pw_12": 512, "conv_pw_13": 256}}  # of a backbone under a depthwise pyramid


def feature_maps(
    image: Tensor, backbone: Backbone, rule: Convolutions, layers: Iterable[str], *, lite: bool = False
) -> list[Tensor]:
    """What the named layers give for images 0..255, shown to the network as its ImageNet weights expect them."""
    seen: dict[str, Tensor] = {}

    def call(layer: keras.Operation, *args: Tensor, **kwargs: object) -> Tensor:
        seen[layer.name] = layer(*args, **kwargs)
        return seen[layer.name]

    def adapt(layer: keras.Operation) -> keras.Operation:
        return _adapted(layer, backbone, rule, lite)

    keras.models.clone_model(
        _of_keras(backbone, image.shape[1:]), input_tensors=[image], clone_function=adapt, call_function=call
    )
    return [seen[name] for name in layers]


def of_imagenet(backbone: Backbone, input_size: int) -> keras.Model:
    """With ImageNet's weights, which Keras downloads; layers whose channels the settings changed will not fit."""
    return _of_keras(backbone, (input_size, input_size, 3), weights="imagenet")


def _of_keras(backbone: Backbone, shape: tuple[int, ...], *, weights: str | None = None) -> keras.Model:
    image = keras.Input(shape)
    options = {"include_top": False, "weights": weights}
    if backbone.name == "mobilenet_v1":
        x = to_unit_range(image)
        return keras.applications.MobileNet(alpha=backbone.depth_multiplier, input_tensor=x, **options)
    if backbone.name == "mobilenet_v2":
        x = to_unit_range(image)
        return keras.applications.MobileNetV2(alpha=backbone.depth_multiplier, input_tensor=x, **options)
    x = keras.layers.Rescaling(1.0, offset=[-mean for mean in CAFFE_MEANS], name="around_mean")(
        keras.ops.flip(image, axis=-1)
    )
    return keras.applications.ResNet50(input_tensor=x, **options)


def _adapted(layer: keras.Operation, backbone: Backbone, rule: Convolutions, lite: bool) -> keras.Operation:
    """A copy of the layer with other numbers; names stay, so that weights load by name."""
    if not isinstance(layer, keras.layers.Layer):
        return layer
    config = layer.get_config()
    own = backbone.override_hyperparameters
    if isinstance(layer, keras.layers.BatchNormalization):
        config["momentum"] = rule.batch_norm_momentum
        config["epsilon"] = rule.batch_norm_epsilon if own else config["epsilon"]
    elif isinstance(layer, keras.layers.DepthwiseConv2D):
        config["depthwise_regularizer"] = regularizer(rule)
        config["depthwise_initializer"] = initializer(rule) if own else config["depthwise_initializer"]
    elif isinstance(layer, keras.layers.Conv2D):
        config["filters"] = _depth(layer.name, config["filters"], backbone, lite)
        config["kernel_regularizer"] = regularizer(rule)
        config["kernel_initializer"] = initializer(rule) if own else config["kernel_initializer"]
    return type(layer).from_config(config)


def _depth(name: str, filters: int, backbone: Backbone, lite: bool) -> int:
    """Channels of a convolution: the multiplier where keras.applications leaves it out, and the minimum."""
    if backbone.name == "resnet50":
        return backbone.depth(filters)
    if lite and name in LITE_DEPTHS.get(backbone.name, {}):
        return backbone.depth(LITE_DEPTHS[backbone.name][name])
    if backbone.name == "mobilenet_v2" and name.endswith("expand"):
        return max(filters, 6 * backbone.min_depth)  # six times what comes in
    if name == "Conv_1" and backbone.depth_multiplier < 1:
        filters = max(8, int(filters * backbone.depth_multiplier / 8 + 0.5) * 8)
    return max(filters, backbone.min_depth)
