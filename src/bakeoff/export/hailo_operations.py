"""Which operations of a model.onnx Hailo's compiler has layers for, as far as it is published; the compiler decides.

The full list is in chapter 5.5 of the Dataflow Compiler's User Guide, which stands behind Hailo's login. Public are the
layers' names (chapter 3 of its Product Brief, release 3.7.0, 7 April 2021), what the ONNX files of Hailo's Model Zoo
2.x hold, and trials of single operations with release 3.32.0. docs/hailo.md has the addresses.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import DataError, one_line

if TYPE_CHECKING:
    import onnx

CHANNELS = 1  # the axis that they stand on
MODES = ("nearest", "linear")
Limit = Callable[[Mapping[str, Any], list[int]], str]  # of attributes and the first input's shape: what is not taken


def _two_sides(attributes: Mapping[str, Any], shape: list[int]) -> str:
    sides = len(attributes.get("kernel_shape", (0, 0)))
    return "" if sides == 2 else f"a kernel of {sides} sides, only 2 are taken"


def _channels(attributes: Mapping[str, Any], shape: list[int]) -> str:
    axis = attributes.get("axis", CHANNELS) % max(len(shape), 1)
    return "" if axis == CHANNELS else f"axis {axis}, only that of channels ({CHANNELS}) is taken"


def _mode(attributes: Mapping[str, Any], shape: list[int]) -> str:
    mode = attributes.get("mode", b"nearest").decode()
    return "" if mode in MODES else f"mode {mode}, only {' and '.join(MODES)} are taken"


def _any(attributes: Mapping[str, Any], shape: list[int]) -> str:
    return ""


LAYERS: Mapping[str, Limit] = {
    "Conv": _two_sides, "ConvTranspose": _two_sides, "MaxPool": _two_sides, "AveragePool": _two_sides,
    "GlobalAveragePool": _any, "BatchNormalization": _any, "Concat": _channels, "Split": _channels, "Resize": _mode,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _any),
    **dict.fromkeys(("Relu", "LeakyRelu", "PRelu", "Clip", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "HardSwish"), _any),
}  # fmt: skip


def check_hailo(path: Path) -> str:
    """Say how many operations a file has, if all are taken. Raises DataError with the first that is not."""
    import onnx

    try:
        model = onnx.shape_inference.infer_shapes(onnx.load(path))
    except Exception as error:  # whatever it raises
        raise DataError(f"{path}: cannot be read as ONNX ({one_line(error)})") from None
    if obstacles := find_obstacles(model):
        more = f", and {len(obstacles) - 1} more" if len(obstacles) > 1 else ""
        raise DataError(f"{path}: Hailo's compiler takes no {obstacles[0]}{more}; choose another network")
    counted = Counter(node.op_type for node in model.graph.node)
    kinds = ", ".join(f"{count} {name}" for name, count in counted.most_common())
    return f"Hailo's published layers have all {counted.total()} operations: {kinds}"


def find_obstacles(model: "onnx.ModelProto") -> list[str]:
    """Return what Hailo's compiler does not take, as `Operation name (why)`."""
    import onnx

    graph = model.graph
    values = (*graph.input, *graph.value_info, *graph.output)
    shapes = {value.name: [side.dim_value for side in value.type.tensor_type.shape.dim] for value in values}
    found = [
        f"input {value.name} of {' x '.join(map(str, shapes[value.name]))} (must be 1 x 3 x height x width)"
        for value in graph.input
        if shapes[value.name][:2] != [1, 3] or len(shapes[value.name]) != 4 or 0 in shapes[value.name]
    ]
    for node in graph.node:
        limit = LAYERS.get(node.op_type)
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        why = limit(attributes, shapes.get(node.input[0], [])) if limit else "its layers have none"
        if why:
            found.append(f"{node.op_type} {node.name} ({why})")
    return found
