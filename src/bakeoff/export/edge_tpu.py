"""Which operations of a .tflite Coral's Edge TPU takes, by its published list; the processor computes the others.

Google's compiler maps one part of a network: from the input to the first operation that the Edge TPU lacks. All that
needs the result of such an operation runs on the processor, whether the Edge TPU knows it or not. This is a check
against the list of https://coral.ai/docs/edgetpu/models-intro/#supported-operations; the compiler decides.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from bakeoff.export.tflite_operations import LiteFile, Operation, Tensor

EIGHT_BITS = ("int8", "uint8")
MOST_OF_SOFTMAX = 16_000
MULTIPLE_OF_DEPTH = 4  # of the channels that a mean is taken over
INNERMOST = 3  # axes; those before them must be 1
NO_ACTIVATION = 0
Limit = Callable[[Operation], str]  # why an operation is not mapped; empty if it is


@dataclass(frozen=True)
class EdgeTpu:
    """How a file falls apart."""

    mapped: tuple[int, ...]  # places of operations that the Edge TPU takes
    on_cpu: tuple[int, ...]  # places of the others
    reasons: tuple[str, ...]  # why the first of the others are not taken; nothing: it takes all
    names: tuple[str, ...]  # of all operations

    def as_json(self) -> dict[str, Any]:
        counted = {"operations": len(self.names), "mapped": len(self.mapped), "on_cpu": self._count()}
        return counted | {"reasons": list(self.reasons), "in_words": str(self)}

    def _count(self) -> dict[str, int]:
        return dict(Counter(self.names[place] for place in self.on_cpu))

    def __str__(self) -> str:
        if not self.on_cpu:
            return f"the Edge TPU takes all {len(self.names)} operations"
        rest = ", ".join(f"{count} {name}" if count > 1 else name for name, count in self._count().items())
        taken = f"the Edge TPU takes {len(self.mapped)} of {len(self.names)} operations"
        return f"{taken}, for {'; '.join(self.reasons)}; the processor computes {rest}"


def check_edge_tpu(file: LiteFile) -> EdgeTpu:
    """Return what the Edge TPU takes: operations that it knows, and that need nothing which the processor computes."""
    mapped, on_cpu, reasons = [], [], dict[str, None]()
    computed: set[int] = set()  # tensors that the processor makes
    for place, operation in enumerate(file.operations):
        is_behind = any(id(tensor) in computed for tensor in operation.inputs)
        obstacle = "" if is_behind else find_obstacle(operation)
        if not is_behind and not obstacle:
            mapped.append(place)
            continue
        on_cpu.append(place)
        computed.update(id(tensor) for tensor in operation.outputs)
        if obstacle:
            reasons[f"{operation.name} {obstacle}"] = None
    names = tuple(operation.name for operation in file.operations)
    return EdgeTpu(tuple(mapped), tuple(on_cpu), tuple(reasons), names)


def find_obstacle(operation: Operation) -> str:
    """Return why the Edge TPU has no such operation, as far as the file tells; empty: it has."""
    if operation.custom:
        return "is a custom operation"
    if operation.name not in LIMITS:
        return "is not on the list"
    parameters = operation.inputs[1:] if operation.name in WITH_PARAMETERS else ()
    if not all(tensor.constant for tensor in parameters):
        return "its parameters are not constant"
    for tensor in (*operation.inputs, *operation.outputs):
        if obstacle := _find_in_tensor(tensor):
            return obstacle
    return LIMITS[operation.name](operation)


def _find_in_tensor(tensor: Tensor) -> str:
    if tensor.constant:
        return f"has {tensor.type} weights" if tensor.type in ("float32", "float16") else ""
    if tensor.type not in EIGHT_BITS:
        return f"computes with {tensor.type}"
    if tensor.dynamic:
        return "its size is known only as it runs"
    if any(side != 1 for side in tensor.shape[:-INNERMOST]):
        return f"has more than three dimensions: {' x '.join(map(str, tensor.shape))}"
    return ""


def _nothing(operation: Operation) -> str:
    return ""


def _no_activation(operation: Operation) -> str:
    """Refuse an activation that is computed along with the operation."""
    has_none = getattr(operation.options, "fusedActivationFunction", NO_ACTIVATION) == NO_ACTIVATION
    return "" if has_none else "has an activation in it"


def _same_dilation(operation: Operation) -> str:
    x, y = (getattr(operation.options, f"dilation{side}Factor", 1) for side in "WH")
    return "" if x == y else "its dilation differs in x and y"


def _concatenation(operation: Operation) -> str:
    constants = [tensor.constant for tensor in operation.inputs if tensor.constant]
    if constants and (len(operation.inputs) > 2 or any(any(constant) for constant in constants)):
        return "a constant in it must be zeros beside one other input"
    return _no_activation(operation)


def _fully_connected(operation: Operation) -> str:
    if getattr(operation.options, "weightsFormat", 0):
        return "its weights are not in the default format"
    [output] = operation.outputs
    return "" if prod(output.shape) == output.shape[-1] else "its output has more than one dimension"


def _axes(operation: Operation) -> set[int]:
    """Return the axes that it reduces, counted from the first."""
    rank = len(operation.inputs[0].shape)
    return {axis % rank for axis in operation.inputs[1].integers()}


def _not_of_batch(operation: Operation) -> str:
    return "works on the batch's axis" if 0 in _axes(operation) else ""


def _mean(operation: Operation) -> str:
    shape, axes = operation.inputs[0].shape, _axes(operation)
    if len(shape) - 1 in axes and shape[-1] % MULTIPLE_OF_DEPTH:
        return f"takes a mean over {shape[-1]} channels, which is no multiple of {MULTIPLE_OF_DEPTH}"
    return _not_of_batch(operation)


def _pack(operation: Operation) -> str:
    axis = getattr(operation.options, "axis", 0) % len(operation.outputs[0].shape)
    return "" if axis else "works on the batch's axis"


def _pad(operation: Operation) -> str:
    return "works on the batch's axis" if any(operation.inputs[1].integers()[:2]) else ""


def _prelu(operation: Operation) -> str:
    shape = operation.inputs[1].shape
    return "" if prod(shape) == shape[-1] else "its slopes have more than one dimension"


def _softmax(operation: Operation) -> str:
    shape = operation.inputs[0].shape
    if prod(shape) != shape[-1]:
        return f"must be of one dimension, is of {' x '.join(map(str, shape))}"
    return "" if shape[-1] <= MOST_OF_SOFTMAX else f"must be of at most {MOST_OF_SOFTMAX:,} numbers"


def _split(operation: Operation) -> str:
    axis, values = operation.inputs
    return "" if axis.integers()[0] % len(values.shape) else "works on the batch's axis"


def _strided_slice(operation: Operation) -> str:
    if any(stride != 1 for stride in operation.inputs[3].integers()):
        return "its strides are not all 1"
    masks = [getattr(operation.options, mask, 0) for mask in ("ellipsisMask", "newAxisMask")]
    return "has an ellipsis or a new axis" if any(masks) else ""


# The published list, as far as copies of it were read: docs/robot.md. What the page calls AveragePool2d is
# AVERAGE_POOL_2D in a file.
LIMITS: Mapping[str, Limit] = {
    "ADD": _nothing,
    "AVERAGE_POOL_2D": _no_activation,
    "CONCATENATION": _concatenation,
    "CONV_2D": _same_dilation,
    "DEPTHWISE_CONV_2D": _same_dilation,
    "EXPAND_DIMS": _nothing,
    "FULLY_CONNECTED": _fully_connected,
    "L2_NORMALIZATION": _nothing,
    "LOGISTIC": _nothing,
    "MAXIMUM": _nothing,
    "MAX_POOL_2D": _no_activation,
    "MEAN": _mean,
    "MINIMUM": _nothing,
    "MUL": _nothing,
    "PACK": _pack,
    "PAD": _pad,
    "PRELU": _prelu,
    "QUANTIZE": _nothing,
    "REDUCE_MAX": _not_of_batch,
    "REDUCE_MIN": _not_of_batch,
    "RELU": _nothing,
    "RELU6": _nothing,
    "RELU_N1_TO_1": _nothing,
    "RESHAPE": _nothing,
    "RESIZE_BILINEAR": _nothing,
    "RESIZE_NEAREST_NEIGHBOR": _nothing,
    "SLICE": _nothing,
    "SOFTMAX": _softmax,
    "SPACE_TO_DEPTH": _nothing,
    "SPLIT": _split,
    "SQUEEZE": _nothing,
    "STRIDED_SLICE": _strided_slice,
    "SUB": _nothing,
    "TANH": _nothing,
    "TRANSPOSE": _nothing,
    "TRANSPOSE_CONV": _nothing,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _nothing,
}
# Of these, all that follows the first input are parameters, which must be in the file.
WITH_PARAMETERS = {
    "CONV_2D", "DEPTHWISE_CONV_2D", "EXPAND_DIMS", "FULLY_CONNECTED", "MEAN", "PAD", "PRELU", "REDUCE_MAX",
    "REDUCE_MIN", "RESHAPE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SLICE", "STRIDED_SLICE", "TRANSPOSE",
}  # fmt: skip
