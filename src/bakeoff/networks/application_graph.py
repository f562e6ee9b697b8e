"""The Keras graphs of the networks in `applications`: image -> backbone of keras.applications -> logits."""

from typing import TYPE_CHECKING

import keras

from bakeoff.networks.blocks import Tensor, channels, to_unit_range

if TYPE_CHECKING:
    from bakeoff.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3

WIDE_CHANNELS = {"small": 1024, "large": 1280}  # of MobileNetV3's layer after pooling


def mobilenet_v2(settings: "MobileNetV2", num_classes: int) -> keras.Model:
    image = _image(settings)
    features = _mobilenet_v2(settings, to_unit_range(image), weights=None).output
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(features)
    return _classifier(image, x, settings, num_classes, name="mobilenet_v2")


def mobilenet_v2_of_imagenet(settings: "MobileNetV2") -> keras.Model:
    return _mobilenet_v2(settings, _image(settings), weights="imagenet")


def _mobilenet_v2(settings: "MobileNetV2", x: Tensor, *, weights: str | None) -> keras.Model:
    return keras.applications.MobileNetV2(input_tensor=x, alpha=settings.width, include_top=False, weights=weights)


def mobilenet_v3(settings: "MobileNetV3", num_classes: int) -> keras.Model:
    image = _image(settings)
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
    return _mobilenet_v3(settings, _image(settings), weights="imagenet", include_top=True)


def _mobilenet_v3(settings: "MobileNetV3", x: Tensor, *, weights: str | None, include_top: bool) -> keras.Model:
    kind = {"small": keras.applications.MobileNetV3Small, "large": keras.applications.MobileNetV3Large}[settings.size]
    return kind(
        input_tensor=x,
        alpha=settings.width,
        include_top=include_top,
        weights=weights,
        include_preprocessing=False,
    )


def efficientnet_v2_b0(settings: "EfficientNetV2B0", num_classes: int) -> keras.Model:
    image = _image(settings)
    # Its own scaling of 0..255 stays in: it is not to -1..1 but by ImageNet's means and deviations.
    features = keras.applications.EfficientNetV2B0(input_tensor=image, include_top=False, weights=None).output
    x = keras.layers.GlobalAveragePooling2D(name="average_pool")(features)
    return _classifier(image, x, settings, num_classes, name="efficientnet_v2_b0")


def efficientnet_v2_b0_of_imagenet(settings: "EfficientNetV2B0") -> keras.Model:
    return keras.applications.EfficientNetV2B0(input_tensor=_image(settings), include_top=False, weights="imagenet")


def _image(settings: "MobileNetV2 | MobileNetV3 | EfficientNetV2B0") -> Tensor:
    return keras.Input((settings.input_size, settings.input_size, 3), name="image")


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
