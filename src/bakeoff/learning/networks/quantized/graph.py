"""The graph of a network -> the same graph in eight bits, on the same variables.

Behind each convolution with its norm and ReLU, each sum and each join, the map is rounded. What only moves or chooses
values (pooling by maximum, padding, reshaping, enlarging) is not rounded again.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from bakeoff.learning.networks.layers import FIRST_LAYER, HALF_RANGE, PIXELS_LAYER, Tensor
from bakeoff.learning.networks.quantized.folded import Folded, Kernel
from bakeoff.learning.networks.quantized.ranges import FakeQuantize
from bakeoff.learning.networks.quantized.scales import LEVELS

ZERO = 128  # the pixel that is 0.0, for one of them has to be; without eight bits it is between two
SIGMOID = (0.0, 255 / 256)  # the range of its values in every file
WEIGHTED = (
    keras.layers.Conv2D, keras.layers.DepthwiseConv2D, keras.layers.SeparableConv2D, keras.layers.Dense,
)  # fmt: skip
MOVING = (
    keras.layers.MaxPooling2D, keras.layers.Reshape, keras.layers.UpSampling2D, keras.layers.Flatten,
    keras.layers.Dropout, keras.layers.ZeroPadding2D, keras.layers.Cropping2D,
)  # fmt: skip
MIXING = (
    keras.layers.Add, keras.layers.Concatenate, keras.layers.Multiply, keras.layers.GlobalAveragePooling2D,
)  # fmt: skip


class Unknown(Exception):
    """A layer that has no form in eight bits here."""


def rebuild(network: keras.Model, *, constant: bool = False) -> tuple[keras.Model, list[list[FakeQuantize]]]:
    """Return the graph in eight bits, and its layers that learn a range, those together that share one.

    They have to `take` it.

    `constant`: weights are in it as numbers, for a file.
    """
    graph = _Graph(network, constant=constant)
    return graph.model, graph.learnt


def find_obstacle(network: keras.Model) -> str | None:
    """Name the first layer that has no form in eight bits here."""
    try:
        rebuild(network)
    except Unknown as unknown:
        return str(unknown)
    return None


class _Graph:
    def __init__(self, network: keras.Model, *, constant: bool) -> None:
        self.learnt: list[list[FakeQuantize]] = []  # in the order of the graph
        self._constant = constant
        self._made: dict[int, Tensor] = {}  # by the id of the network's own tensor
        self._rounded: dict[int, FakeQuantize] = {}  # what rounded a tensor last, by its id
        self._before_norm: dict[int, keras.Layer] = {}  # layers whose norm comes next, by the id of what they give
        self._named: Counter[str] = Counter()
        if not isinstance(getattr(network, "output", None), dict) or len(network.inputs) != 1:
            raise Unknown(f"{network.name} (of other inputs or outputs than networks here)")
        self._users = _users(network)
        [image] = network.inputs
        start = self._made[id(image)] = keras.Input(image.shape[1:], name=image.name)
        if not any(layer.name == FIRST_LAYER for layer in network.layers):
            self._made[id(image)] = self._to_pixels(self._to_unit_range(start))
        for node in _nodes(network):
            self._add(node)
        outputs = {name: self._made[id(tensor)] for name, tensor in network.output.items()}
        self.model = keras.Model(start, outputs, name=network.name)

    def _add(self, node: Any) -> None:
        args, kwargs = node.arguments.fill_in(self._made)
        layer, [first, *_] = node.operation, node.input_tensors
        x = self._made[id(first)]
        if isinstance(layer, keras.layers.Rescaling) and layer.name == FIRST_LAYER:
            made = self._to_unit_range(x)
        elif isinstance(layer, keras.layers.Rescaling) and layer.name == PIXELS_LAYER:
            made = self._to_pixels(x)
        elif isinstance(layer, keras.layers.Rescaling | keras.layers.Normalization):
            made = self._shift(x, layer)
        elif isinstance(layer, keras.layers.BatchNormalization) and id(first) in self._before_norm:
            made = self._finish(node, self._weigh(x, self._before_norm[id(first)], layer))
        elif isinstance(layer, WEIGHTED) and _is_plain(layer) and (gate := GATES.get(layer.activation.__name__)):
            inner = self._round(self._weigh(x, layer, None), f"{layer.name}.inner")
            made = gate(self, inner, layer.name)
        elif isinstance(layer, WEIGHTED) and _is_plain(layer) and layer.activation is keras.activations.linear:
            if isinstance(self._only_user(node), keras.layers.BatchNormalization):
                self._before_norm[id(node.output_tensors[0])], made = layer, x
            else:
                made = self._finish(node, self._weigh(x, layer, None))
        elif isinstance(layer, keras.layers.AveragePooling2D):
            made = self._round_as(layer(*args, **kwargs), self._range_of(x, layer))
        elif isinstance(layer, MOVING) or _moves(layer) or self._joins(layer, node):
            made = self._move(layer(*args, **kwargs), self._range_of(x, layer))
        elif _is_fused(layer) or isinstance(layer, MIXING) or _is_arithmetic(layer):
            made = self._finish(node, layer(*args, **kwargs))
        elif gate := GATES.get(_activation_of(layer)):
            made = gate(self, x, layer.name)
        else:
            raise Unknown(f"{layer.name} ({type(layer).__name__})")
        for tensor, output in zip(node.output_tensors, keras.tree.flatten(made), strict=True):
            self._made[id(tensor)] = output

    def _to_unit_range(self, pixels: Tensor) -> Tensor:
        shown = keras.layers.Rescaling(1 / HALF_RANGE, offset=-ZERO / HALF_RANGE, name=FIRST_LAYER)(pixels)
        return self._round(shown, FIRST_LAYER, fixed=(-ZERO / HALF_RANGE, (255 - ZERO) / HALF_RANGE))

    def _to_pixels(self, x: Tensor) -> Tensor:
        """Return the pixels as they were: in steps of 1 nothing is rounded."""
        around_0 = self._round(x * HALF_RANGE, f"{PIXELS_LAYER}.around_0", fixed=(-ZERO, 255 - ZERO))
        return self._round(around_0 + float(ZERO), PIXELS_LAYER, fixed=(0.0, 255.0))

    def _shift(self, x: Tensor, layer: keras.layers.Rescaling | keras.layers.Normalization) -> Tensor:
        scale, offset = map(_representable, _line_of(layer))
        if np.any(scale != 1):
            ends = self._range_of(x, layer).fixed if scale.ndim == 0 else None
            fixed = (ends[0] * float(scale), ends[1] * float(scale)) if ends else None  # the same steps
            x = self._round(x * scale, f"{layer.name}.scaled", fixed=fixed)
        return self._round(x + offset, layer.name) if np.any(offset) else x

    def _weigh(self, x: Tensor, layer: keras.Layer, norm: keras.Layer | None) -> Tensor:
        name = (norm or layer).name

        def fold(part: str, norm: keras.layers.BatchNormalization | None, kernel: Kernel) -> Tensor:
            own, before = self._name(f"{name}.{part}"), self._range_of(x, layer)
            return Folded(own, layer, norm, before, kernel=kernel, constant=self._constant)(x)

        if not isinstance(layer, keras.layers.SeparableConv2D):
            return fold("folded", norm, "kernel")
        x = self._round(fold("depthwise", None, "depthwise_kernel"), f"{name}.depthwise")
        return fold("folded", norm, "pointwise_kernel")

    def _name(self, name: str) -> str:
        """Return a name that no layer has yet: a layer may be called on several maps."""
        self._named[name] += 1
        return name if self._named[name] == 1 else f"{name}.{self._named[name]}"

    def _joins(self, layer: keras.Operation, node: Any) -> bool:
        """Let maps that are joined share a range: runtimes would else round them again, and some do that coarsely."""
        if not isinstance(layer, keras.layers.Concatenate):
            return False
        layers = [self._range_of(self._made[id(tensor)], layer) for tensor in node.input_tensors]
        groups = [group for group in self.learnt if any(one in layers for one in group)]
        if any(one.fixed for one in layers):
            return False
        rest = [group for group in self.learnt if group not in groups]
        self.learnt = [*rest, [one for group in groups for one in group]]
        return True

    def _finish(self, node: Any, x: Tensor) -> Tensor:
        """Round, unless a ReLU comes next, which runtimes compute within the same operation."""
        return x if _is_fused(self._only_user(node)) else self._round(x, node.operation.name)

    def _move(self, made: Any, rounded: FakeQuantize) -> Any:
        """In a file round to the same values again, which changes none: a converter would choose others in between."""
        moved = keras.tree.flatten(made)
        if self._constant:
            moved = [self._round_as(x, rounded) for x in moved]
        self._rounded |= {id(x): rounded for x in moved}
        return keras.tree.pack_sequence_as(made, moved)

    def _round(self, x: Tensor, name: str, *, fixed: tuple[float, float] | None = None) -> Tensor:
        layer = FakeQuantize(self._name(f"{name}.rounded"), fixed=fixed)
        self.learnt += [] if fixed else [[layer]]
        return self._round_as(x, layer)

    def _round_as(self, x: Tensor, layer: FakeQuantize) -> Tensor:
        rounded = layer(x)
        self._rounded[id(rounded)] = layer
        return rounded

    def _range_of(self, x: Tensor, layer: keras.Operation) -> FakeQuantize:
        if id(x) not in self._rounded:
            raise Unknown(f"{layer.name} ({type(layer).__name__} of values that are not rounded)")
        return self._rounded[id(x)]

    def _only_user(self, node: Any) -> keras.Operation | None:
        users = self._users.get(id(node.output_tensors[0]), [])
        return users[0] if len(users) == 1 else None

    def sigmoid(self, x: Tensor, name: str) -> Tensor:
        return self._round(keras.layers.Activation("sigmoid")(x), f"{name}.sigmoid", fixed=SIGMOID)

    def silu(self, x: Tensor, name: str) -> Tensor:
        return self._round(keras.layers.Multiply()([x, self.sigmoid(x, name)]), name)

    def hard_silu(self, x: Tensor, name: str) -> Tensor:
        shifted = self._round(keras.ops.relu6(x + 3.0), f"{name}.shifted", fixed=(0.0, 6.0))
        gate = self._round(shifted * (1 / 6), f"{name}.gate", fixed=(0.0, 1.0))
        return self._round(keras.layers.Multiply()([x, gate]), name)


# Activations that runtimes compute in an operation of their own, or in several.
GATES: dict[str | None, Callable[[_Graph, Tensor, str], Tensor]] = {
    "sigmoid": _Graph.sigmoid,
    "silu": _Graph.silu,
    "hard_silu": _Graph.hard_silu,
}


def _line_of(layer: keras.layers.Rescaling | keras.layers.Normalization) -> tuple[np.ndarray, np.ndarray]:
    """Return by what it multiplies, and what it adds then."""
    if isinstance(layer, keras.layers.Rescaling):
        return np.array(layer.scale, np.float32), np.array(layer.offset, np.float32)
    settings = layer.get_config()
    mean, variance = (np.array(settings[key], np.float32) for key in ("mean", "variance"))
    scale = 1 / np.maximum(np.sqrt(variance), keras.backend.epsilon())
    return scale, -mean * scale


def _representable(numbers: np.ndarray) -> np.ndarray:
    """Round constants as files do: to 256 values from 0 to the farthest."""
    farthest = numbers.flat[np.argmax(np.abs(numbers))]
    step = farthest / LEVELS if farthest else 1.0
    return (np.rint(numbers / step) * step).astype(np.float32)


def _nodes(network: keras.Model) -> list[Any]:
    depths = network._nodes_by_depth
    return [node for depth in sorted(depths, reverse=True) for node in depths[depth] if not node.is_input]


def _users(network: keras.Model) -> dict[int, list[keras.Operation]]:
    users: dict[int, list[keras.Operation]] = {}
    for node in _nodes(network):
        for tensor in node.input_tensors:
            users.setdefault(id(tensor), []).append(node.operation)
    return users


def _activation_of(layer: keras.Operation) -> str | None:
    return layer.activation.__name__ if isinstance(layer, keras.layers.Activation) else None


def _is_plain(layer: keras.Layer) -> bool:
    return getattr(layer, "groups", 1) == 1 and getattr(layer, "data_format", "channels_last") == "channels_last"


def _is_fused(layer: keras.Operation | None) -> bool:
    if isinstance(layer, keras.layers.ReLU):
        return layer.max_value in (None, 6) and not layer.negative_slope and not layer.threshold
    return layer is not None and _activation_of(layer) in ("relu", "relu6")


def _is_arithmetic(layer: keras.Operation) -> bool:
    """Tell whether it is a sum or a product that a graph has without a layer."""
    return not isinstance(layer, keras.Layer) and type(layer).__name__ in ("Add", "Multiply")


def _moves(layer: keras.Operation) -> bool:
    return _activation_of(layer) == "linear" or type(layer).__name__ == "Split"  # of keras.ops
