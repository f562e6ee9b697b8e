"""TensorFlow checkpoints as other programs wrote them, with the keys by which our tables find a network's weights."""

from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.pretrained.name_tables import HERE, Kind, _scopes, read_table
from bakeoff.learning.pretrained.tf_checkpoint import layers_of


def write_checkpoint(prefix: Path, arrays: Mapping[str, np.ndarray]) -> Path:
    prefix.parent.mkdir(parents=True, exist_ok=True)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=list(arrays), shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )  # fmt: skip
    return prefix


def keys_of(network: keras.Model, kind: Kind, root: str) -> dict[str, str]:
    """Return every key that a table may give, a star and a number made up; the first line of each layer counts."""
    every = [
        (ours, (root if file.parent.name == "backbones" else "") + theirs)
        for file in sorted((HERE / kind.name).rglob("*.tsv"))
        if not (file.parent.name == "backbones" and file.stem not in backbone_of(network))
        for ours, theirs in read_table(file)
    ]
    keys = {}
    for layer in layers_of(network):
        scope = next(_scopes(layer.name, every), None)
        if scope is not None:
            scope = scope.replace("/*_", "/layer_").replace("*", "Some").replace("#", "64")
            keys |= {path: kind.key(scope, variable) for path, variable in layer.variables}
    return keys


def backbone_of(network: keras.Model) -> str:
    names = {layer.name for layer in network.layers}
    backbones = {"Conv1": "mobilenet_v2", "conv1": "mobilenet_v1", "conv1_conv": "resnet50", "conv2d": "inception_v3"}
    if "conv4_block23_out" in names:
        return "resnet101"
    return next(backbone for layer, backbone in backbones.items() if layer in names)
