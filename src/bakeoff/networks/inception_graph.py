"""The Keras graph of `InceptionV3`: the backbone of keras.applications, two heads.

Keras numbers the layers of this backbone (`conv2d_17`) by how many there are in the process already; here they are
counted from the network's first, so that a weight has the same name wherever and whenever the network is built.
"""

import re
from typing import TYPE_CHECKING, Any

import keras

from bakeoff.networks.blocks import Tensor, to_unit_range

if TYPE_CHECKING:
    from bakeoff.networks.inception import InceptionV3

NUMBERED = re.compile(r"(conv2d|batch_normalization|activation|max_pooling2d|average_pooling2d|concatenate)(?:_(\d+))?")
BRANCHES_AT = "mixed7"  # the last of 17x17 features; Mixed_6e elsewhere


def build(settings: "InceptionV3", num_classes: int) -> keras.Model:
    image = keras.Input((settings.input_size, settings.input_size, 3), name="image")
    backbone = keras.applications.InceptionV3(input_tensor=to_unit_range(image), include_top=False, weights=None)
    outputs = num_classes + settings.background
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(backbone.output)
    x = keras.layers.Dropout(settings.dropout, name="dropout")(x)
    heads = {"classes": keras.layers.Dense(outputs, dtype="float32", name="logits")(x)}
    if settings.auxiliary_weight:
        heads["auxiliary"] = _auxiliary(backbone.get_layer(BRANCHES_AT).output, outputs)
    return _as_set(keras.Model(image, heads, name="inception_v3"), settings.batch_norm_momentum)


def of_imagenet(settings: "InceptionV3") -> keras.Model:
    """The backbone with ImageNet's weights, its layers named as in `build`."""
    image = keras.Input((settings.input_size, settings.input_size, 3), name="image")
    trained = keras.applications.InceptionV3(input_tensor=image, include_top=False, weights="imagenet")
    renamed = _as_set(trained, settings.batch_norm_momentum)
    renamed.set_weights(trained.get_weights())
    return renamed


def _auxiliary(x: Tensor, outputs: int) -> Tensor:
    """A shallow classifier halfway up; windows shrink where a small image leaves fewer features than they span."""
    x = keras.layers.AveragePooling2D(min(5, x.shape[1]), strides=3, name="auxiliary.average_pool")(x)
    x = _normed(x, 128, 1, "auxiliary.narrow")
    x = _normed(x, 768, min(5, x.shape[1]), "auxiliary.wide")
    x = keras.layers.GlobalAveragePooling2D(name="auxiliary.features")(x)
    near_zero = keras.initializers.TruncatedNormal(stddev=0.001)
    return keras.layers.Dense(outputs, kernel_initializer=near_zero, dtype="float32", name="auxiliary.logits")(x)


def _normed(x: Tensor, filters: int, kernel: int, name: str) -> Tensor:
    x = keras.layers.Conv2D(filters, kernel, use_bias=False, name=name)(x)
    x = keras.layers.BatchNormalization(scale=False, name=f"{name}.norm")(x)
    return keras.layers.ReLU(name=f"{name}.relu")(x)


def _as_set(network: keras.Model, momentum: float) -> keras.Model:
    """The same with the numbered layers counted from 0, in the order in which they were made, and this momentum."""
    numbers: dict[str, list[int]] = {}
    for layer in network.layers:
        if match := NUMBERED.fullmatch(layer.name):
            numbers.setdefault(match[1], []).append(int(match[2] or 0))

    def made_again(layer: keras.Layer) -> keras.Layer:
        config: dict[str, Any] = layer.get_config()
        if match := NUMBERED.fullmatch(layer.name):
            number = int(match[2] or 0) - min(numbers[match[1]])
            config["name"] = f"{match[1]}_{number}" if number else match[1]
        if isinstance(layer, keras.layers.BatchNormalization):
            config["momentum"] = momentum
        return type(layer).from_config(config)

    return keras.models.clone_model(network, clone_function=made_again)
