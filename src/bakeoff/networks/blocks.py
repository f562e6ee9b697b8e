"""Pieces that several networks are built from, as functions on Keras tensors; for detectors also whole backbones."""

from collections.abc import Iterable
from typing import TypeAlias

import keras

from bakeoff.networks.detector import Backbone, Convolutions

Tensor: TypeAlias = keras.KerasTensor
Sides: TypeAlias = int | tuple[int, int, int]  # one for both sides of an image, or time, height and width
ACTIVATIONS = {"relu6": 6.0, "relu": None}  # where ReLU ends
CAFFE_MEANS = (103.939, 116.779, 123.68)  # of ImageNet: blue, green, red
LITE_DEPTHS = {"mobilenet_v1": {"conv_pw_12": 512, "conv_pw_13": 256}}  # of a backbone under a depthwise pyramid


def channels(number: int, width: float) -> int:
    """Return `number` channels times a width multiplier, as a multiple of 8, at least 8."""
    return max(8, int(number * width / 8 + 0.5) * 8)


def to_unit_range(x: Tensor) -> Tensor:
    """Scale 0..255 to -1..1 inside the network, so that nobody who runs it has to know."""
    return keras.layers.Rescaling(1 / 127.5, offset=-1.0, name="to_unit_range")(x)


def convolve(x: Tensor, filters: int, *, name: str, momentum: float, kernel: Sides = 3, strides: Sides = 1) -> Tensor:
    """Add a convolution, batch norm and ReLU; works on images and, with a triple `kernel`, on clips."""
    layer = keras.layers.Conv3D if isinstance(kernel, tuple) else keras.layers.Conv2D
    options = {"padding": "same", "use_bias": False, "kernel_initializer": "he_normal"}
    x = layer(filters, kernel, strides, name=f"{name}.conv", **options)(x)
    x = keras.layers.BatchNormalization(momentum=momentum, name=f"{name}.norm")(x)
    return keras.layers.ReLU(name=f"{name}.relu")(x)


def rows(maps: list[Tensor], numbers: int, *, name: str) -> Tensor:
    """Return one row for each anchor, in full precision, from maps with `numbers` channels for each of a cell."""
    parts = [keras.layers.Reshape((-1, numbers))(x) for x in maps]
    return keras.layers.Concatenate(axis=1, dtype="float32", name=name)(parts)


def initializer(rule: Convolutions) -> keras.initializers.Initializer:
    """Return a new one for every kernel: one object draws the same numbers each time."""
    kinds = {"random_normal": keras.initializers.RandomNormal, "truncated_normal": keras.initializers.TruncatedNormal}
    return kinds[rule.initializer](stddev=rule.initial_deviation)


def regularizer(rule: Convolutions) -> keras.regularizers.Regularizer | None:
    return keras.regularizers.L2(rule.l2_weight / 2) if rule.l2_weight else None


def convolution_layer(
    filters: int, rule: Convolutions, *, name: str, kernel: int = 1, strides: int = 1, depthwise: bool = False
) -> keras.layers.Layer:
    """Return a layer without bias, for a norm to follow; it may be called on several maps."""
    shape = {"kernel_size": kernel, "strides": strides, "padding": "same", "use_bias": False, "name": name}
    if depthwise:
        return keras.layers.SeparableConv2D(
            filters,
            depthwise_initializer=initializer(rule),
            depthwise_regularizer=regularizer(rule),
            pointwise_regularizer=regularizer(rule),
            **shape,
        )
    return keras.layers.Conv2D(
        filters, kernel_initializer=initializer(rule), kernel_regularizer=regularizer(rule), **shape
    )


def answer_layer(filters: int, rule: Convolutions, *, name: str, kernel: int, bias: float) -> keras.layers.Layer:
    """Return the last layer of a head, whose answers begin at `bias`."""
    return keras.layers.Conv2D(
        filters,
        kernel,
        padding="same",
        kernel_initializer=initializer(rule),
        kernel_regularizer=regularizer(rule),
        bias_initializer=keras.initializers.Constant(bias),
        name=name,
    )


def normalise(x: Tensor, rule: Convolutions, *, name: str) -> Tensor:
    """Add batch norm and activation."""
    momentum, epsilon = rule.batch_norm_momentum, rule.batch_norm_epsilon
    x = keras.layers.BatchNormalization(momentum=momentum, epsilon=epsilon, name=f"{name}.norm")(x)
    return keras.layers.ReLU(ACTIVATIONS[rule.activation], name=f"{name}.relu")(x)


def convolve_by_rule(
    x: Tensor,
    filters: int,
    rule: Convolutions,
    *,
    name: str,
    kernel: int = 1,
    strides: int = 1,
    depthwise: bool = False,
) -> Tensor:
    """Add a convolution, batch norm and activation."""
    layer = convolution_layer(filters, rule, name=f"{name}.conv", kernel=kernel, strides=strides, depthwise=depthwise)
    return normalise(layer(x), rule, name=name)


def convolve_depthwise(x: Tensor, rule: Convolutions, *, name: str, kernel: int = 3, strides: int = 1) -> Tensor:
    """Add a depthwise convolution, batch norm and activation."""
    layer = keras.layers.DepthwiseConv2D(
        kernel,
        strides,
        padding="same",
        use_bias=False,
        depthwise_initializer=initializer(rule),
        depthwise_regularizer=regularizer(rule),
        name=f"{name}.conv",
    )
    return normalise(layer(x), rule, name=name)


def feature_maps(
    image: Tensor, backbone: Backbone, rule: Convolutions, layers: Iterable[str], *, lite: bool = False
) -> list[Tensor]:
    """Return what the named layers give for images 0..255, shown to the backbone as its ImageNet weights expect them.

    The backbone is one of keras.applications with the detector's own settings.
    """
    seen: dict[str, Tensor] = {}

    def call(layer: keras.Operation, *args: Tensor, **kwargs: object) -> Tensor:
        seen[layer.name] = layer(*args, **kwargs)
        return seen[layer.name]

    def adapt(layer: keras.Operation) -> keras.Operation:
        return _adapt_layer(layer, backbone, rule, lite)

    whole = keras_backbone(backbone, image.shape[1:])
    keras.models.clone_model(whole, input_tensors=[image], clone_function=adapt, call_function=call)
    return [seen[name] for name in layers]


def keras_backbone(backbone: Backbone, shape: tuple[int, ...], *, weights: str | None = None) -> keras.Model:
    """Return it as keras.applications has it; layers whose channels the settings changed will not fit ImageNet's."""
    image = keras.Input(shape)
    options = {"include_top": False, "weights": weights}
    if backbone.name != "resnet50":
        kinds = {"mobilenet_v1": keras.applications.MobileNet, "mobilenet_v2": keras.applications.MobileNetV2}
        return kinds[backbone.name](alpha=backbone.depth_multiplier, input_tensor=to_unit_range(image), **options)
    around_mean = keras.layers.Rescaling(1.0, offset=[-mean for mean in CAFFE_MEANS], name="around_mean")
    return keras.applications.ResNet50(input_tensor=around_mean(keras.ops.flip(image, axis=-1)), **options)


def _adapt_layer(layer: keras.Operation, backbone: Backbone, rule: Convolutions, lite: bool) -> keras.Operation:
    """Copy the layer with other numbers; names stay, so that weights load by name."""
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
    """Return a convolution's channels: with the multiplier where keras.applications leaves it out, and the minimum."""
    if backbone.name == "resnet50":
        return backbone.depth(filters)
    if lite and name in LITE_DEPTHS.get(backbone.name, {}):
        return backbone.depth(LITE_DEPTHS[backbone.name][name])
    if backbone.name == "mobilenet_v2" and name.endswith("expand"):
        return max(filters, 6 * backbone.min_depth)  # six times what comes in
    if name == "Conv_1" and backbone.depth_multiplier < 1:
        filters = channels(filters, backbone.depth_multiplier)
    return max(filters, backbone.min_depth)
