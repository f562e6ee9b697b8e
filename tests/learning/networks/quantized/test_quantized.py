"""A network in eight bits: what it computes, what learns in it, and that it is the plain one until then."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks import weights
from bakeoff.learning.networks.cnn import ClipCnn
from bakeoff.learning.networks.layers import to_unit_range
from bakeoff.learning.networks.norms import BatchNormalization
from bakeoff.learning.networks.quantized.graph import find_obstacle
from bakeoff.learning.networks.quantized.quantizable import Quantizable
from bakeoff.learning.networks.quantized.ranges import round_straight, round_to_range, scale_of_weights
from support.eight_bits import FAMILIES, active, families, pictures

pytestmark = pytest.mark.long

SSD = FAMILIES["ssd"]


def one_convolution() -> keras.Model:
    """A 1x1 convolution of two channels without bias, its norm, and ReLU, on a single pixel."""
    image = keras.Input((1, 1, 3), name="image")
    x = keras.layers.Conv2D(2, 1, use_bias=False, name="conv")(to_unit_range(image))
    x = keras.layers.ReLU(name="relu")(BatchNormalization(epsilon=0.0, name="norm")(x))
    return keras.Model(image, {"classes": keras.layers.Flatten()(x)})


def test_a_convolution_is_what_numpy_makes_of_it() -> None:
    network = Quantizable(one_convolution())
    kernel = np.array([[0.5, -0.3], [0.2, 0.1], [-1.0, 0.04]], np.float32)
    gamma, beta, mean, variance = (np.array(row, np.float32) for row in ([2, 1], [0.1, -0.2], [0.3, 0.1], [4, 0.25]))
    network.get_layer("conv").set_weights([kernel[None, None]])
    network.get_layer("norm").set_weights([gamma, beta, mean, variance])
    network.ranges.ends.assign([[0.0, 1.2]])
    network.ranges.active.assign(1.0)
    pixel = np.array([200.0, 30.0, 77.0], np.float32)
    folded = kernel * gamma / np.sqrt(variance)
    scales = np.abs(folded).max(axis=0) / 127
    whole = np.rint(folded / scales)
    assert (np.abs(whole).max(axis=0) == 127).all()
    bias = np.rint((beta - mean * gamma / np.sqrt(variance)) / (scales / 127.5))
    sums = ((pixel - 128) @ whole + bias) * scales / 127.5
    step = 1.2 / 255
    expected = np.rint(sums.clip(0, 1.2) / step) * step
    assert (expected > 0).any()
    np.testing.assert_allclose(network(pixel[None, None, None])["classes"][0], expected, atol=1e-6)


def test_until_its_ranges_are_active_a_network_is_the_plain_one_to_the_bit() -> None:
    keras.utils.set_random_seed(1)
    plain = SSD.build(3)
    network = Quantizable(plain)
    own = ["ranges/ends", "ranges/active"]
    assert [one.path for one in network.weights] == [*(one.path for one in plain.weights), *own]
    seen = pictures(64)
    for training in (False, True):
        for name, value in network(seen, training=training).items():
            assert np.array_equal(value, plain(seen, training=training)[name])
    assert not network.is_active
    network.activate([seen])
    assert network.is_active and not np.array_equal(network(seen)["boxes"], plain(seen)["boxes"])


# In MobileNetV3 a map times 1/6 needs no rounding where its range is a sixth of that of the map, as at the start.
@pytest.mark.parametrize("name", families(but="mobilenet_v3"))
def test_a_gradient_reaches_every_range_and_every_weight(name: str) -> None:
    network, seen = active(name), pictures(FAMILIES[name].input_size)
    weights.train_only(network, (), FAMILIES[name].parts, "train.trainable", ranges_learn=True)

    @compile_graph
    def find_gradients() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(value**2) for value in network(seen, training=True).values()])
        return tape.gradient(loss, network.trainable_variables)

    gradients = find_gradients()
    by_path = {one.path: gradient for one, gradient in zip(network.trainable_variables, gradients, strict=True)}
    assert [path for path, gradient in by_path.items() if gradient is None or not np.any(gradient)] == []
    of_ranges = by_path["ranges/ends"].numpy()
    assert np.isfinite(of_ranges).all() and np.any(of_ranges, axis=1).all()


def test_ranges_get_the_gradient_of_what_is_cut_off_and_of_what_is_rounded() -> None:
    ends = tf.Variable([0.0, 255.0])  # steps of 1
    values = tf.constant([[-3.0, 10.25, 20.0, 300.0]])
    above = np.array([1.0, 8.0, 2.0, 16.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        outputs = round_to_range(values, ends.value())
        loss = tf.reduce_sum(outputs * above)
    of_values, of_ends = tape.gradient(loss, [values, ends])
    np.testing.assert_allclose(outputs, [[0, 10, 20, 255]])
    np.testing.assert_allclose(of_values, [[0, 8, 2, 0]])
    rounded = 8 * (10 - 10.25) / 255
    np.testing.assert_allclose(of_ends, np.array([1 - rounded, 16 + rounded]) / np.sqrt(4 * 255), rtol=1e-5)


def test_rounded_weights_are_whole_numbers_of_each_channel_and_a_channel_of_zeros_stays_one() -> None:
    kernel = np.random.default_rng(0).normal(size=(3, 3, 4, 5)).astype(np.float32) * [1, 10, 0.1, 0, 3]
    given = tf.constant(kernel, tf.float32)
    rounded = round_straight(given, scale_of_weights(given)).numpy()
    scales = np.abs(kernel).max(axis=(0, 1, 2)) / 127
    assert not rounded[..., 3].any()
    for channel in (0, 1, 2, 4):
        whole = rounded[..., channel] / scales[channel]
        np.testing.assert_allclose(whole, np.rint(whole), atol=1e-4)
        assert np.abs(rounded[..., channel] - kernel[..., channel]).max() <= 0.501 * scales[channel]


def test_only_in_its_phase_ranges_learn_whatever_else_does() -> None:
    network = weights.build(SSD, 3, quantizes=True)
    for patterns, learn in (((), False), ((), True), (("head",), True), (("head",), False)):
        weights.train_only(network, patterns, SSD.parts, "train.trainable", ranges_learn=learn)
        paths = [one.path for one in network.trainable_variables]
        assert ("ranges/ends" in paths) == learn and "ranges/active" not in paths
        assert any(path.startswith("backbone") for path in paths) == (not patterns)


def test_a_file_of_weights_says_whether_its_network_has_ranges(tmp_path: Path) -> None:
    network = active("ssd")
    weights.save(network, tmp_path / "eight.weights.h5")
    weights.save(SSD.build(3), tmp_path / "plain.weights.h5")
    again = weights.restore(SSD, 3, tmp_path / "eight.weights.h5")
    assert isinstance(again, Quantizable) and weights.digest(again) == weights.digest(network)
    for name, value in again(pictures(64)).items():
        assert np.array_equal(value, network(pictures(64))[name])
    assert not isinstance(weights.restore(SSD, 3, tmp_path / "plain.weights.h5"), Quantizable)


def test_a_layer_without_a_form_in_eight_bits_is_named() -> None:
    clip = find_obstacle(ClipCnn(input_size=16, frames=3, width=0.25).build(3))
    assert clip == "backbone.stage1.space.conv (Conv3D)"


def test_networks_of_another_form_have_none_in_eight_bits_and_are_named() -> None:
    image = keras.Input((4, 4, 3), name="image")
    raw = keras.Model(image, {"classes": keras.layers.Conv2D(2, 1, name="first")(image)})
    assert find_obstacle(raw) is None
    grouped = keras.Model(image, {"classes": keras.layers.Conv2D(3, 1, groups=3, name="first")(image)})
    assert find_obstacle(grouped) == "first (Conv2D)"
    other = keras.Model(image, to_unit_range(image), name="other")
    assert find_obstacle(other) == "other (of other inputs or outputs than networks here)"
