"""The Keras graphs of the networks in `applications`: image -> backbone of keras.applications -> logits."""

import re
from typing import TYPE_CHECKING, Any

import keras

from bakeoff.learning.networks.layers import Tensor, channels, to_unit_range
from bakeoff.learning.networks.network import Classifier
from bakeoff.learning.networks.norms import BatchNormalization, use_fast_norms

if TYPE_CHECKING:
    from bakeoff.learning.networks.applications import EfficientNetV2B0, InceptionV3, MobileNetV2, MobileNetV3

WIDE_CHANNELS = {"small": 1024, "large": 1280}  # of MobileNetV3's layer after pooling
NUMBERED = re.compile(r"(conv2d|batch_normalization|activation|max_pooling2d|average_pooling2d|concatenate)(?:_(\d+))?")
BRANCHES_AT = "mixed7"  # the last of Inception's 17x17 features; Mixed_6e elsewhere


def mobilenet_v2(settings: "MobileNetV2", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    features = _mobilenet_v2(settings, to_unit_range(image), weights=None).output
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(features)
    return _classifier(image, x, settings, num_classes, name="mobilenet_v2")


def mobilenet_v2_of_imagenet(settings: "MobileNetV2") -> keras.Model:
    return _mobilenet_v2(settings, _image(settings.input_size), weights="imagenet")


def _mobilenet_v2(settings: "MobileNetV2", x: Tensor, *, weights: str | None) -> keras.Model:
    return keras.applications.MobileNetV2(input_tensor=x, alpha=settings.width, include_top=False, weights=weights)


def mobilenet_v3(settings: "MobileNetV3", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    features = _mobilenet_v3(settings, to_unit_range(image), weights=None, include_top=False).output
    x = keras.layers.GlobalAveragePooling2D(keepdims=True, name="average_pool")(features)
    wide = WIDE_CHANNELS[settings.size]
    if settings.width > 1:
        wide = channels(wide, settings.width)
    x = keras.layers.Conv2D(wide, 1, name="conv_2")(x)
    x = keras.layers.Activation("hard_swish", name="conv_2.hard_swish")(x)
    return _classifier(image, keras.layers.Flatten(name="flat")(x), settings, num_classes, name="mobilenet_v3")


def mobilenet_v3_of_imagenet(settings: "MobileNetV3") -> keras.Model:
    """With its own head, of which `conv_2` is of use."""
    return _mobilenet_v3(settings, _image(settings.input_size), weights="imagenet", include_top=True)


def _mobilenet_v3(settings: "MobileNetV3", x: Tensor, *, weights: str | None, include_top: bool) -> keras.Model:
    kind = {"small": keras.applications.MobileNetV3Small, "large": keras.applications.MobileNetV3Large}[settings.size]
    options = {"include_top": include_top, "weights": weights, "include_preprocessing": False}
    return kind(input_tensor=x, alpha=settings.width, **options)


def efficientnet_v2_b0(settings: "EfficientNetV2B0", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(_efficientnet(image, weights=None).output)
    return _classifier(image, x, settings, num_classes, name="efficientnet_v2_b0")


def efficientnet_v2_b0_of_imagenet(settings: "EfficientNetV2B0") -> keras.Model:
    return _efficientnet(_image(settings.input_size), weights="imagenet")


def _efficientnet(image: Tensor, *, weights: str | None) -> keras.Model:
    """Its own scaling of 0..255 stays in: it is not to -1..1 but by ImageNet's means and deviations."""
    return keras.applications.EfficientNetV2B0(input_tensor=image, include_top=False, weights=weights)


def inception_v3(settings: "InceptionV3", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    backbone = keras.applications.InceptionV3(input_tensor=to_unit_range(image), include_top=False, weights=None)
    outputs = num_classes + settings.background
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(backbone.output)
    x = keras.layers.Dropout(settings.dropout, name="dropout")(x)
    heads = {"classes": keras.layers.Dense(outputs, dtype="float32", name="logits")(x)}
    if settings.auxiliary_weight:
        heads["auxiliary"] = _auxiliary_logits(backbone.get_layer(BRANCHES_AT).output, outputs)
    return _renumber(keras.Model(image, heads, name="inception_v3"), settings)


def inception_v3_of_imagenet(settings: "InceptionV3") -> keras.Model:
    """Its layers are named as in `inception_v3`."""
    image = _image(settings.input_size)
    trained = keras.applications.InceptionV3(input_tensor=image, include_top=False, weights="imagenet")
    renumbered = _renumber(trained, settings)
    renumbered.set_weights(trained.get_weights())
    return renumbered


def _image(size: int) -> Tensor:
    return keras.Input((size, size, 3), name="image")


def _classifier(image: Tensor, x: Tensor, settings: Classifier, num_classes: int, *, name: str) -> keras.Model:
    x = keras.layers.Dropout(settings.dropout, name="dropout")(x)
    logits = keras.layers.Dense(num_classes, dtype="float32", name="logits")(x)
    network = keras.Model(image, {"classes": logits}, name=name)
    use_fast_norms(network)
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = settings.batch_norm_momentum
    return network


def _auxiliary_logits(x: Tensor, outputs: int) -> Tensor:
    """Classify halfway up; windows shrink where a small image leaves fewer features than they span."""
    x = keras.layers.AveragePooling2D(min(5, x.shape[1]), strides=3, name="auxiliary.average_pool")(x)
    for filters, kernel, name in ((128, 1, "auxiliary.narrow"), (768, 5, "auxiliary.wide")):
        x = keras.layers.Conv2D(filters, min(kernel, x.shape[1]), use_bias=False, name=name)(x)
        x = BatchNormalization(scale=False, name=f"{name}.norm")(x)
        x = keras.layers.ReLU(name=f"{name}.relu")(x)
    x = keras.layers.GlobalAveragePooling2D(name="auxiliary.features")(x)
    near_zero = keras.initializers.TruncatedNormal(stddev=0.001)
    return keras.layers.Dense(outputs, kernel_initializer=near_zero, dtype="float32", name="auxiliary.logits")(x)


def _renumber(network: keras.Model, settings: "InceptionV3") -> keras.Model:
    """Return the same with its numbered layers counted from 0, in the order in which they were made.

    Norms and kernels get what the settings say of them.

    Keras numbers Inception's layers (`conv2d_17`) by how many there are in the process already; counted from the
    network's first, a weight has the same name wherever and whenever the network is built.
    """
    numbers: dict[str, list[int]] = {}
    for layer in network.layers:
        if match := NUMBERED.fullmatch(layer.name):
            numbers.setdefault(match[1], []).append(int(match[2] or 0))

    def make_again(layer: keras.Layer) -> keras.Layer:
        config: dict[str, Any] = layer.get_config()
        if match := NUMBERED.fullmatch(layer.name):
            number = int(match[2] or 0) - min(numbers[match[1]])
            config["name"] = f"{match[1]}_{number}" if number else match[1]
        if isinstance(layer, keras.layers.BatchNormalization):
            return BatchNormalization.from_config(config | {"momentum": settings.batch_norm_momentum})
        if settings.l2_weight and "kernel_regularizer" in config:
            config["kernel_regularizer"] = keras.regularizers.L2(settings.l2_weight / 2)
        return type(layer).from_config(config)

    return keras.models.clone_model(network, clone_function=make_again)
