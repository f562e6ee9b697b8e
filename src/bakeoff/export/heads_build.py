"""A detector -> its graph up to the last convolutions of its heads, for compilers that take no more of it.

The graph of ONNX has one number of channels behind another (1, c, h, w) from its input to its outputs. Where tf2onnx
turns axes for an operation in the middle, such as Split, or at the end, that is undone here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import keras
import numpy as np
import tensorflow as tf

from bakeoff.export.head_maps import HeadLevel, Heads
from bakeoff.export.tflite_build import of_unit_range
from bakeoff.export.yolo_layout import Answer, inputs_of, maps_of
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.tasks.detection import Detection

if TYPE_CHECKING:
    import onnx

LAST_TO_FIRST, FIRST_TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]  # what a Transpose does to the axis of channels
SHAPING = ("Reshape", "Transpose", "Identity", "Squeeze")  # operations that compute nothing
NEAR = 1e-5  # shares of the image


def heads_of(network: keras.Model, task: Detection) -> Heads:
    """Return what is behind the network's last convolutions."""
    head, model = task.head, task.model
    has_object = getattr(model, "has_object", False)
    is_distance = not has_object and not hasattr(model, "anchor_boxes")
    anchors, levels, start = head.anchors, [], 0
    for number, maps in enumerate(zip(*(maps_of(network.output[name]) for name in ("boxes", "classes")), strict=True)):
        _, height, width, channels = maps[0].shape
        per_place = channels // 4 if hasattr(model, "anchor_boxes") else 1
        own = anchors[start : start + height * width * per_place].reshape(height, width, per_place, 4)
        start += height * width * per_place
        middles = (own[..., :2] + own[..., 2:]) / 2
        rows, columns = middles[:, 0, 0, 0], middles[0, :, 0, 1]
        sizes = own[0, 0, :, 2:] - own[0, 0, :, :2]
        _require_grid(own, rows, columns, sizes)
        if has_object:  # boxes count from the corner of their cell
            rows, columns = rows - 0.5 / height, columns - 0.5 / width
        levels.append(
            HeadLevel(
                f"boxes_{number}", f"classes_{number}", network.input_shape[1] / height, tuple(map(float, rows)),
                tuple(map(float, columns)), () if is_distance else tuple((float(y), float(x)) for y, x in sizes),
                f"objects_{number}" if has_object else "",
            )
        )  # fmt: skip
    loss = getattr(model, "loss", None)
    scores: Literal["sigmoid", "softmax"] = "softmax" if getattr(loss, "scores", "") == "softmax" else "sigmoid"
    scales = () if is_distance else tuple(map(float, head.box_scales))
    has_background = bool(getattr(loss, "has_background", False))
    return Heads(scores, has_background, scales, tuple(levels), x_first=has_object)


def _require_grid(own: np.ndarray, rows: np.ndarray, columns: np.ndarray, sizes: np.ndarray) -> None:
    """A compiler's own decoder has the same anchors at every place, and so has ours."""
    middle = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1)[:, :, None]
    again = np.concatenate([middle - sizes / 2, middle + sizes / 2], axis=-1)
    if np.abs(again - own).max() > NEAR:
        raise ConfigError("export.layout: heads needs the same anchors at every place; choose other model.anchors")


def head_answer(network: keras.Model, heads: Heads) -> Answer:
    """Return what answers images (1, size, size, 3) of values -1..1 by the names of maps, each (1, c, h, w)."""
    maps = [maps_of(network.output[name]) for name in ("boxes", "classes")]
    ends = keras.Model(network.input, [
        part for level, boxes, classes in zip(heads.levels, *maps, strict=True)
        for part in (boxes, *(inputs_of(classes) if level.objects else [classes]))
    ])  # fmt: skip
    inner = of_unit_range(ends)

    def answer(images: tf.Tensor) -> dict[str, tf.Tensor]:
        answers = inner(images)
        return {name: tf.transpose(value, LAST_TO_FIRST) for name, value in zip(heads.names, answers, strict=True)}

    return answer


def end_at_convolutions(model: "onnx.ModelProto") -> None:
    """Let every output be what a convolution gives, named as the output; nothing turns axes in between."""
    _split_channels(model.graph)
    _drop_reshapes(model)
    _pad_within(model.graph)
    graph = model.graph
    made = {name: node for node in graph.node for name in node.output}
    renamed = {}
    for output in graph.output:
        node = made[output.name]
        while node.op_type in SHAPING:
            node = made[node.input[0]]
        if node.op_type != "Conv":
            raise ConfigError(f"export.layout: heads: {output.name} must come from a convolution, not {node.op_type}")
        renamed[node.output[0]], node.name = output.name, output.name
    later = {new for old, new in renamed.items() if old != new}  # the names that operations behind convolutions have
    for node in graph.node:
        node.output[:] = [f"{name}_turned" if name in later else name for name in node.output]
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    _drop_unused(graph)


def _split_channels(graph: "onnx.GraphProto") -> None:
    """Split the axis of channels where it is, not behind a Transpose that puts it last."""
    made = {name: node for node in graph.node for name in node.output}
    for node in [node for node in graph.node if node.op_type == "Split"]:
        before = made.get(node.input[0])
        behind = [user for user in graph.node if set(user.input) & set(node.output)]
        turns = [_turn_of(user) for user in behind]
        [axis] = [attribute for attribute in node.attribute if attribute.name == "axis"]
        if before is None or _turn_of(before) != FIRST_TO_LAST or turns != [LAST_TO_FIRST] * len(behind):
            continue
        node.input[0], axis.i = before.input[0], LAST_TO_FIRST.index(axis.i % 4)
        _bypass(graph, {user.output[0]: user.input[0] for user in behind})
    _drop_unused(graph)


def _drop_reshapes(model: "onnx.ModelProto") -> None:
    """Drop what gives a map the shape that it has: a Transpose of a single place was one before."""
    import onnx

    graph = model.graph
    values = (*onnx.shape_inference.infer_shapes(model).graph.value_info, *graph.output)
    shapes = {value.name: [side.dim_value for side in value.type.tensor_type.shape.dim] for value in values}
    _bypass(graph, {
        node.output[0]: node.input[0] for node in graph.node
        if node.op_type == "Reshape" and shapes.get(node.input[0]) == shapes.get(node.output[0]) is not None
    })  # fmt: skip
    _drop_unused(graph)


def _pad_within(graph: "onnx.GraphProto") -> None:
    """Let convolutions put the zeros around a map that a Pad before them puts there."""
    from onnx import helper, numpy_helper

    made = {name: node for node in graph.node for name in node.output}
    constants = {one.name: one for one in graph.initializer}
    for node in graph.node:
        pad = made.get(node.input[0]) if node.op_type == "Conv" else None
        own = {attribute.name for attribute in node.attribute} & {"pads", "auto_pad"}
        if pad is None or pad.op_type != "Pad" or pad.attribute or len(pad.input) != 2 or own:
            continue
        batch, channels, *low, last_batch, last_channels, bottom, right = numpy_helper.to_array(constants[pad.input[1]])
        if not any((batch, channels, last_batch, last_channels)):
            node.attribute.append(helper.make_attribute("pads", [*map(int, low), int(bottom), int(right)]))
            node.input[0] = pad.input[0]
    _drop_unused(graph)


def _bypass(graph: "onnx.GraphProto", sources: Mapping[str, str]) -> None:
    """Let operations read what is before others, by the names of the others' outputs."""
    for node in graph.node:
        node.input[:] = [sources.get(name, name) for name in node.input]


def _turn_of(node: "onnx.NodeProto") -> list[int]:
    orders = [list(attribute.ints) for attribute in node.attribute if attribute.name == "perm"]
    return orders[0] if node.op_type == "Transpose" and orders else []


def _drop_unused(graph: "onnx.GraphProto") -> None:
    wanted = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            wanted |= set(node.input)
            kept.append(node)
    constants = [constant for constant in graph.initializer if constant.name in wanted]
    nodes = kept[::-1]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
