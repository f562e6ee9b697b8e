"""The Keras graph of `SsdMultibox`: input -> backbone -> added maps -> heads of each map."""

from typing import TYPE_CHECKING

import keras

from bakeoff.learning.networks.backbones import feature_maps
from bakeoff.learning.networks.detector_settings import MULTIBOX_LAYERS
from bakeoff.learning.networks.layers import Tensor, answer_layer, convolve_by_rule, convolve_depthwise, rows
from bakeoff.learning.networks.ssd_multibox import ADDED_DEPTHS

if TYPE_CHECKING:
    from bakeoff.learning.networks.ssd_multibox import SsdMultibox


def build(ssd: "SsdMultibox", num_classes: int) -> keras.Model:
    image = keras.Input((ssd.input_size, ssd.input_size, 3), name="image")
    names = MULTIBOX_LAYERS[ssd.backbone.name]
    maps = _with_added_maps(feature_maps(image, ssd.backbone, ssd.convolutions, names), ssd)
    boxes, classes = _heads(maps, ssd, num_classes)
    return keras.Model(image, {"boxes": boxes, "classes": classes}, name="ssd_multibox")


def _with_added_maps(maps: list[Tensor], ssd: "SsdMultibox") -> list[Tensor]:
    """Each half as wide as the one before, behind a 1x1 convolution that keeps it cheap."""
    rule = ssd.convolutions
    for number, channels in enumerate(ADDED_DEPTHS[: ssd.num_maps - len(maps)], start=len(maps)):
        name, depth = f"neck.map{number}", ssd.backbone.depth(channels)
        x = convolve_by_rule(maps[-1], ssd.backbone.depth(channels / 2), rule, name=f"{name}.squeeze")
        if ssd.depthwise_maps:
            x = convolve_depthwise(x, rule, strides=2, name=f"{name}.down")
            x = convolve_by_rule(x, depth, rule, name=f"{name}.mix")
        else:
            x = convolve_by_rule(x, depth, rule, kernel=3, strides=2, name=f"{name}.down")
        maps = [*maps, x]
    return maps


def _heads(maps: list[Tensor], ssd: "SsdMultibox", num_classes: int) -> tuple[Tensor, Tensor]:
    predictor, answers = ssd.predictor, ssd.loss.outputs(num_classes)
    boxes, classes = [], []
    for number, (x, per_cell) in enumerate(zip(maps, ssd.anchors.per_cell(len(maps)), strict=True)):
        x = _before(x, ssd, name=f"head.before.map{number}")
        boxes.append(_answer(x, per_cell * 4, ssd, name=f"head.boxes.map{number}", bias=0.0))
        if predictor.dropout:
            x = keras.layers.Dropout(predictor.dropout, name=f"head.classes.map{number}.dropout")(x)
        bias = predictor.class_bias
        classes.append(_answer(x, per_cell * answers, ssd, name=f"head.classes.map{number}", bias=bias))
    return rows(boxes, 4, name="boxes"), rows(classes, answers, name="classes")


def _before(x: Tensor, ssd: "SsdMultibox", *, name: str) -> Tensor:
    predictor = ssd.predictor
    depth = max(min(x.shape[-1], predictor.max_depth), predictor.min_depth)
    for layer in range(predictor.layers_before):
        x = convolve_by_rule(x, depth, ssd.predictor_convolutions, name=f"{name}.layer{layer}")
    return x


def _answer(x: Tensor, filters: int, ssd: "SsdMultibox", *, name: str, bias: float) -> Tensor:
    kernel, rule = ssd.predictor.kernel, ssd.predictor_convolutions
    if ssd.predictor.depthwise:
        x = convolve_depthwise(x, rule, kernel=kernel, name=f"{name}.depthwise")
        kernel = 1
    return answer_layer(filters, rule, name=f"{name}.answer", kernel=kernel, bias=bias)(x)
