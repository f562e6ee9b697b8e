"""The Keras graphs of the networks in `applications`: image -> backbone of keras.applications -> logits."""

from typing import TYPE_CHECKING

import keras

from bakeoff.networks.blocks import Tensor, to_unit_range

if TYPE_CHECKING:
    from bakeoff.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3

WIDE_CHANNELS = {"small": 1024, "large": 1280}  # of MobileNetV3's layer after pooling


def mobilenet_v2(settings: "MobileNetV2", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    backbone = keras.applications.MobileNetV2(
        input_tensor=to_unit_range(image), alpha=settings.width, include_top=False, weights=None
    )
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(backbone.output)
    return _classifier(image, x, settings, num_classes, name="mobilenet_v2")


def mobilenet_v3(settings: "MobileNetV3", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    kind = {"small": keras.applications.MobileNetV3Small, "large": keras.applications.MobileNetV3Large}[settings.size]
    backbone = kind(
        input_tensor=to_unit_range(image),
        alpha=settings.width,
        include_top=False,
        weights=None,
        include_preprocessing=False,
    )
    x = keras.layers.GlobalAveragePooling2D(keepdims=True, name="average_pool")(backbone.output)
    wide = WIDE_CHANNELS[settings.size]
    if settings.width > 1:
        wide = int(wide * settings.width / 8 + 0.5) * 8
    x = keras.layers.Conv2D(wide, 1, name="conv_2")(x)
    x = keras.layers.Activation("hard_swish", name="conv_2.hard_swish")(x)
    return _classifier(image, keras.layers.Flatten(name="flat")(x), settings, num_classes, name="mobilenet_v3")


def efficientnet_v2_b0(settings: "EfficientNetV2B0", num_classes: int) -> keras.Model:
    image = _image(settings.input_size)
    # Its own scaling of 0..255 stays in: it is not -1..1 but by ImageNet's mean and deviation.
    backbone = keras.applications.EfficientNetV2B0(input_tensor=image, include_top=False, weights=None)
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(backbone.output)
    return _classifier(image, x, settings, num_classes, name="efficientnet_v2_b0")


def _image(size: int) -> Tensor:
    return keras.Input((size, size, 3), name="image")


def _classifier(
    image: Tensor, x: Tensor, settings: "MobileNetV2 | MobileNetV3 | EfficientNetV2B0", num_classes: int, *, name: str
) -> keras.Model:
    x = keras.layers.Dropout(settings.dropout, name="dropout")(x)
    logits = keras.layers.Dense(num_classes, dtype="float32", name="logits")(x)
    network = keras.Model(image, {"classes": logits}, name=name)
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = settings.batch_norm_momentum
    return network
