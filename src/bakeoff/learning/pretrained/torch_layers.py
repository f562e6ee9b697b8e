"""Tensors by torch's names -> layers and variables by the names that Keras would give them, in its order of axes."""

from collections.abc import Callable, Mapping

import numpy as np

from bakeoff.learning.pretrained.set_names import published_names
from bakeoff.learning.pretrained.stored import Layers, Stored

Tensors = Mapping[str, tuple[tuple[int, ...], Callable[[], np.ndarray]]]  # shape and reader
OF_NORMS = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
OF_OTHERS = {"weight": "kernel", "bias": "bias", "scale": "scale"}
FOCUS, COLOURS = "stem.conv.conv", 3  # the first convolution of YOLOX
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the pixels that its inputs see, in their order
TABLES = ("class_embed",)  # a row for each class, in both
TOGETHER, PARTS = "in_proj_", ("q_proj", "k_proj", "v_proj")  # torch has the three of an attention in one


def layers_of_tensors(tensors: Tensors) -> Layers:
    named, layers = published_names(tensors), dict[str, dict[str, Stored]]()
    tensors = {named[name]: tensor for name, tensor in tensors.items()}
    for name, (shape, read) in tensors.items():
        layer, _, variable = name.rpartition(".")
        is_norm = f"{layer}.running_mean" in tensors or (
            variable in OF_NORMS and _is_vector(tensors, f"{layer}.weight")
        )
        stored = Stored(shape, read)
        if variable.startswith(TOGETHER):
            kind = OF_OTHERS.get(variable.removeprefix(TOGETHER), variable)
            for number, part in enumerate(PARTS):
                inside = layers.setdefault(f"{layer}.{part}", {})
                inside[kind] = _turned(layer, _third(stored, number))
        elif key := (OF_NORMS if is_norm else OF_OTHERS).get(variable):
            layers.setdefault(layer, {})[key] = _turned(layer, stored)
    return layers


def _is_vector(tensors: Tensors, name: str) -> bool:
    return name in tensors and len(tensors[name][0]) == 1


def _third(stored: Stored, number: int) -> Stored:
    size = stored.shape[0] // len(PARTS)
    return Stored((size, *stored.shape[1:]), lambda: stored.read()[number * size : (number + 1) * size])


def _turned(layer: str, stored: Stored) -> Stored:
    """Kernels of torch have outputs, inputs, rows, columns."""
    if len(stored.shape) == 2 and not layer.endswith(TABLES):
        return Stored(stored.shape[::-1], lambda: stored.read().T)
    if len(stored.shape) != 4:
        return stored
    outputs, inputs, rows, columns = stored.shape
    if layer.endswith(FOCUS) and inputs == len(PLACES) * COLOURS:
        return Stored((2 * rows, 2 * columns, COLOURS, outputs), lambda: _unfolded(stored.read()))
    axes = (2, 3, 0, 1) if inputs == 1 else (2, 3, 1, 0)  # of a kernel that sees one channel each, or all of them
    return Stored(tuple(stored.shape[axis] for axis in axes), lambda: stored.read().transpose(axes))


def _unfolded(kernel: np.ndarray) -> np.ndarray:
    """Return the first kernel of YOLOX, which sees every second pixel of blue, green and red, as one of all pixels of
    red, green and blue.
    """
    outputs, _, rows, columns = kernel.shape
    whole = np.zeros((2 * rows, 2 * columns, COLOURS, outputs), kernel.dtype)
    for number, (y, x) in enumerate(PLACES):
        seen = kernel[:, number * COLOURS : (number + 1) * COLOURS].transpose(2, 3, 1, 0)
        whole[y::2, x::2] = seen[:, :, ::-1]
    return whole
