"""Networks whose weights have paths and shapes but no values: they are built in a third of the time."""

from collections.abc import Callable, Mapping

import keras
import numpy as np
from keras.src.backend.common import global_state


def unfilled(build: Callable[[], keras.Model]) -> keras.Model:
    """Build a network that is looked at only, or is given its values by `answer`."""
    with keras.StatelessScope(initialize_variables=False):
        network = build()
    global_state.set_global_attribute("uninitialized_variables", [])  # or Keras draws their values later
    return network


def draw_values(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Values as if trained: no mean is 0 and no factor 1."""
    draw, values = np.random.default_rng(0), {}
    for path, shape in shapes.items():
        if path.endswith("kernel"):
            deviation = np.sqrt(2 / np.prod(shape[:2] if "depthwise" in path else shape[:-1]))
            values[path] = (deviation * draw.standard_normal(shape, np.float32)).astype(np.float32)
        else:
            first = 1 if path.endswith(("gamma", "variance")) else 0
            values[path] = first + 0.02 * draw.random(shape, np.float32)
    return values


def answer(network: keras.Model, values: Mapping[str, np.ndarray], images: np.ndarray) -> dict[str, np.ndarray]:
    """What the network answers with these values for its weights, by path; the state of a dropout is not asked for."""
    weights = {weight.path for weight in network.weights}
    assert weights == set(values)

    def in_order(variables: list[keras.Variable]) -> list[np.ndarray]:
        return [values[one.path] if one.path in weights else np.zeros(one.shape, one.dtype) for one in variables]

    trainable, fixed = in_order(network.trainable_variables), in_order(network.non_trainable_variables)
    outputs, _ = network.stateless_call(trainable, fixed, images, training=False)
    return outputs
