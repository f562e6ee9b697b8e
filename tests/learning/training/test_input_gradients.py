"""Convolutions with a gradient of their own, against Keras': outputs, gradients, and which layers take part."""

from contextlib import nullcontext
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.training.input_gradients import fast_gradients
from bakeoff.learning.training.step import Step

IMAGES, CLIPS = (2, 7, 6, 5), (2, 4, 5, 6, 3)


def gradients(network: keras.Model, batch: np.ndarray, *, fast: bool) -> list[np.ndarray]:
    """Return the outputs, and the gradients of the inputs and of each weight."""

    def step(inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = network(inputs, training=True)
            loss = tf.reduce_sum(tf.sin(outputs))
        return [outputs, *tape.gradient(loss, [inputs, *network.trainable_variables])]

    compiled = tf.function(step, autograph=False)
    with fast_gradients(network) if fast else nullcontext():
        return [tensor.numpy() for tensor in compiled(tf.constant(batch))]


def one_layer(layer: keras.layers.Layer, shape: tuple[int, ...]) -> keras.Model:
    inputs = keras.Input(shape[1:])
    return keras.Model(inputs, layer(inputs))


def kinds(network: keras.Model) -> list[str]:
    return [f"{type(layer).__module__.split('.')[0]}.{type(layer).__name__}" for layer in network.layers[1:]]


@pytest.mark.parametrize("kernel", [1, 3, 5, (1, 7), (3, 1)])
@pytest.mark.parametrize("options", [{}, {"use_bias": False}, {"activation": "relu"}])
def test_images_have_the_outputs_and_the_gradients_of_keras(kernel: Any, options: dict[str, Any]) -> None:
    network = one_layer(keras.layers.Conv2D(4, kernel, padding="same", **options), IMAGES)
    require_equal_gradients(network, IMAGES, "bakeoff._Conv2D")


@pytest.mark.parametrize("kernel", [1, 3, (1, 3, 3), (3, 1, 1)])
def test_clips_have_the_outputs_and_the_gradients_of_keras(kernel: Any) -> None:
    network = one_layer(keras.layers.Conv3D(4, kernel, padding="same"), CLIPS)
    require_equal_gradients(network, CLIPS, "bakeoff._Conv3D")


def require_equal_gradients(network: keras.Model, shape: tuple[int, ...], kind: str) -> None:
    batch = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected, actual, again = (gradients(network, batch, fast=fast) for fast in (False, True, True))
    np.testing.assert_array_equal(actual[0], expected[0])
    for own, of_keras, second in zip(actual, expected, again, strict=True):
        np.testing.assert_allclose(own, of_keras, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(second, own)
    with fast_gradients(network):
        assert kinds(network) == [kind]


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.Conv2D(4, 3, strides=2, padding="same"),
        keras.layers.Conv2D(4, 1, strides=2),
        keras.layers.Conv2D(4, 3, padding="valid"),
        keras.layers.Conv2D(4, 2, padding="same"),
        keras.layers.Conv2D(4, (3, 4), padding="same"),
        keras.layers.Conv2D(4, 3, padding="same", dilation_rate=2),
        keras.layers.Conv2D(5, 3, padding="same", groups=5),
        keras.layers.DepthwiseConv2D(3, padding="same"),
        keras.layers.SeparableConv2D(4, 3, padding="same"),
    ],
    ids=lambda layer: f"{type(layer).__name__} {layer.kernel_size} {layer.strides} {layer.padding}",
)
def test_other_convolutions_stay_as_they_are(layer: keras.layers.Layer) -> None:
    network = one_layer(layer, IMAGES)
    before = kinds(network)
    with fast_gradients(network):
        assert kinds(network) == before == [f"keras.{type(layer).__name__}"]


def test_layers_are_those_of_keras_again_whatever_happens_in_the_block() -> None:
    network = one_layer(keras.layers.Conv2D(4, 3, padding="same"), IMAGES)
    with pytest.raises(RuntimeError, match="in the block"), fast_gradients(network):
        raise RuntimeError("in the block")
    assert kinds(network) == ["keras.Conv2D"]


def test_a_step_on_a_cpu_has_tensorflows_gradient_for_strided_convolutions_only() -> None:
    model = Ssd(input_size=64, width=0.5, pyramid_channels=8)
    network, task = model.build(2), Detection(model, ("a", "b"))
    step = Step(network, Adam().build(network), task)
    targets = task.encode({"boxes": tf.constant([[0.1, 0.1, 0.5, 0.5]]), "classes": tf.constant([1], tf.int64)})
    batch = {"image": tf.zeros([1, 64, 64, 3])} | {name: target[None] for name, target in targets.items()}
    graph = step._update.get_concrete_function(batch, tf.constant(0.1)).graph
    strided = [node.get_attr("strides") for node in graph.get_operations() if node.type == "Conv2DBackpropInput"]
    assert strided == [[1, 2, 2, 1]] * 3 + [[1, 4, 4, 1]]  # the last is that of the images, which nobody asks for
    assert {kind for kind in kinds(network) if "Conv2D" in kind} == {"keras.Conv2D"}
