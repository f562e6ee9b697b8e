"""The Keras graph of `SsdFpn`: input -> backbone -> pyramid -> heads that every level shares."""

from typing import TYPE_CHECKING

import keras

from bakeoff.learning.networks.backbones import feature_maps
from bakeoff.learning.networks.detector_settings import DEEPEST_LEVEL
from bakeoff.learning.networks.layers import (
    Tensor,
    answer_layer,
    convolution_layer,
    convolve_by_rule,
    initializer,
    normalise,
    regularizer,
    rows,
)

if TYPE_CHECKING:
    from bakeoff.learning.networks.ssd_fpn import SsdFpn

Levels = dict[int, Tensor]  # from fine to coarse


def build(ssd: "SsdFpn", num_classes: int) -> keras.Model:
    image = keras.Input((ssd.input_size, ssd.input_size, 3), name="image")
    lite = ssd.pyramid.depthwise
    maps = feature_maps(image, ssd.backbone, ssd.convolutions, ssd.layers.values(), lite=lite)
    levels = _pyramid(dict(zip(ssd.layers, maps, strict=True)), ssd)
    boxes, classes = _heads(levels, ssd, num_classes)
    return keras.Model(image, {"boxes": boxes, "classes": classes}, name="ssd_fpn")


def _pyramid(maps: Levels, ssd: "SsdFpn") -> Levels:
    """Each level gets the smoothed sum of its map and of the level above; above the maps, convolutions go on."""
    rule, depth = ssd.convolutions, ssd.backbone.depth(ssd.pyramid.depth)
    levels: Levels = {}
    for level in sorted(maps, reverse=True):
        name = f"neck.level{level}"
        start = {"kernel_initializer": initializer(rule), "kernel_regularizer": regularizer(rule)}
        x = keras.layers.Conv2D(depth, 1, name=f"{name}.lateral", **start)(maps[level])
        if level + 1 in levels:
            above = keras.layers.UpSampling2D(name=f"{name}.up")(levels[level + 1])
            x = keras.layers.Add(name=f"{name}.add")([x, above])
            x = convolve_by_rule(x, depth, rule, kernel=3, depthwise=ssd.pyramid.depthwise, name=f"{name}.smooth")
        levels[level] = x
    for level in range(DEEPEST_LEVEL + 1, ssd.pyramid.max_level + 1):
        x, name = levels[level - 1], f"neck.level{level}"
        depthwise = ssd.pyramid.depthwise
        levels[level] = convolve_by_rule(x, depth, rule, kernel=3, strides=2, depthwise=depthwise, name=f"{name}.down")
    return dict(sorted(levels.items()))


def _heads(levels: Levels, ssd: "SsdFpn", num_classes: int) -> tuple[Tensor, Tensor]:
    predictor, per_cell, answers = ssd.predictor, ssd.anchors.per_cell, ssd.loss.outputs(num_classes)
    if predictor.share_tower:
        for_boxes = for_classes = _tower(levels, ssd, name="head.tower")
    else:
        for_boxes, for_classes = (_tower(levels, ssd, name=f"head.{kind}") for kind in ("boxes", "classes"))
    if predictor.dropout:
        dropout = keras.layers.Dropout(predictor.dropout, name="head.classes.dropout")
        for_classes = [dropout(x) for x in for_classes]
    to_boxes = _answer_layer(per_cell * 4, ssd, name="head.boxes", bias=0.0)
    to_classes = _answer_layer(per_cell * answers, ssd, name="head.classes", bias=predictor.class_bias)
    boxes = rows([to_boxes(x) for x in for_boxes], 4, name="boxes")
    return boxes, rows([to_classes(x) for x in for_classes], answers, name="classes")


def _tower(levels: Levels, ssd: "SsdFpn", *, name: str) -> list[Tensor]:
    """Every level through the same convolutions and norms of its own."""
    head, rule = ssd.predictor, ssd.predictor_convolutions
    maps = list(levels.values())
    for number in range(head.layers_before):
        own = f"{name}.conv{number}"
        layer = convolution_layer(head.depth, rule, name=own, kernel=head.kernel, depthwise=head.depthwise)
        norms = [f"{own}.level{level}" for level in levels]
        maps = [normalise(layer(x), rule, name=norm) for x, norm in zip(maps, norms, strict=True)]
    return maps


def _answer_layer(filters: int, ssd: "SsdFpn", *, name: str, bias: float) -> keras.layers.Layer:
    predictor, rule = ssd.predictor, ssd.predictor_convolutions
    if not predictor.depthwise:
        return answer_layer(filters, rule, name=name, kernel=predictor.kernel, bias=bias)
    return keras.layers.SeparableConv2D(
        filters,
        predictor.kernel,
        padding="same",
        bias_initializer=keras.initializers.Constant(bias),
        name=name,
    )
