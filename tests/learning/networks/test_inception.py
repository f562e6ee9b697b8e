from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.applications import InceptionV3
from support.classifier_trials import noise
from support.unfilled import answer, draw_values, unfilled

pytestmark = pytest.mark.long

SMALL = InceptionV3(input_size=75, background=True, batch_norm_momentum=0.83)


@pytest.fixture(scope="module")
def network() -> keras.Model:
    return unfilled(lambda: InceptionV3().build(1000))


@pytest.fixture(scope="module")
def small() -> keras.Model:
    """For five classes; built once for all tests, which change no weights but the statistics of batch norm."""
    keras.utils.set_random_seed(0)
    keras.layers.Conv2D(1, 1)  # takes a number of Keras' count
    return SMALL.build(5)


def trainable(network: keras.Model, prefix: str = "") -> int:
    return sum(int(np.prod(weight.shape)) for weight in network.trainable_weights if weight.path.startswith(prefix))


def test_backbone_and_head_have_the_parameters_of_keras_applications(network: keras.Model) -> None:
    """As keras.io lists them; that they are Keras' layers, one by one, is shown below."""
    auxiliary = sum(int(np.prod(weight.shape)) for weight in network.weights if weight.path.startswith("auxiliary."))
    assert network.count_params() - auxiliary == 23_851_784


def test_auxiliary_head_has_the_published_parameters(network: keras.Model) -> None:
    """768 -> 128 by 1x1, 128 -> 768 by 5x5, then logits; two norms with an offset each."""
    assert trainable(network, "auxiliary.") == 768 * 128 + 128 + 25 * 128 * 768 + 768 + 768 * 1000 + 1000


def test_all_together_is_the_count_that_torchvision_publishes(network: keras.Model) -> None:
    """That one's norms have a factor for every channel beside the offset; these have none."""
    factors = sum(int(np.prod(weight.shape)) for weight in network.weights if weight.path.endswith("/beta"))
    assert trainable(network) + factors == 27_161_264


def test_auxiliary_head_sits_on_the_last_17_by_17_features(network: keras.Model) -> None:
    pooled = network.get_layer("auxiliary.average_pool")
    assert pooled.input.shape == (None, 17, 17, 768) and pooled.output.shape == (None, 5, 5, 768)
    assert pooled.input is network.get_layer("mixed7").output
    assert network.get_layer("auxiliary.narrow").output.shape == (None, 5, 5, 128)
    assert network.get_layer("auxiliary.wide").output.shape == (None, 1, 1, 768)
    assert network.get_layer("mixed10").output.shape == (None, 8, 8, 2048)


def test_the_penalty_is_half_the_weight_times_the_squares_of_every_kernel() -> None:
    """As TensorFlow 1's slim has it: the weight times l2_loss, which is half the sum of squares; no bias, no norm."""
    network = replace(SMALL, l2_weight=0.00004).build(5)
    kernels = [weight for weight in network.trainable_weights if weight.path.endswith("/kernel")]
    assert len(kernels) == 94 + 1 + 2 + 1  # of the backbone, the logits, and the auxiliary head with its logits
    expected = 0.00002 * sum(float(np.square(weight.numpy(), dtype=np.float64).sum()) for weight in kernels)
    assert sum(float(loss) for loss in network.losses) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(OutOfRange, match=r"l2_weight"):
        InceptionV3(l2_weight=-0.1)


def test_background_is_one_more_output_of_both_heads(network: keras.Model, small: keras.Model) -> None:
    for made, outputs in ((network, 1000), (small, 6)):
        shapes = {name: output.shape for name, output in made.output.items()}
        assert shapes == {"classes": (None, outputs), "auxiliary": (None, outputs)}


def test_without_its_weight_the_auxiliary_head_is_left_out() -> None:
    network = unfilled(lambda: InceptionV3(input_size=75, auxiliary_weight=0.0).build(6))
    assert list(network.output) == ["classes"]
    assert not [layer.name for layer in network.layers if "auxiliary" in layer.name]


def test_weights_are_named_as_in_a_fresh_keras_applications_whatever_was_built_before(small: keras.Model) -> None:
    paths = {weight.path for weight in small.weights}
    numbers = range(94)  # convolutions of Inception v3
    convolutions = {f"conv2d{f'_{number}' if number else ''}/kernel" for number in numbers}
    assert {path for path in paths if path.startswith("conv2d")} == convolutions
    offsets = {f"batch_normalization{f'_{number}' if number else ''}/beta" for number in numbers}
    assert {path for path in paths if path.startswith("batch_") and path.endswith("beta")} == offsets


def test_network_with_the_weights_of_keras_applications_answers_as_that_does(small: keras.Model) -> None:
    """Numbers stand for the order in which layers were made, on both sides."""
    options = {"weights": None, "classes": 6, "classifier_activation": None, "input_shape": (75, 75, 3)}
    other = unfilled(lambda: keras.applications.InceptionV3(**options))
    values = draw_values({weight.path: tuple(weight.shape) for weight in other.weights})

    def made(path: str) -> int:
        return int(path.split("/")[0].removeprefix(kind).removeprefix("_") or 0)

    own = keras.Model(small.input, {"classes": small.output["classes"]})
    given = {f"logits/{name}": values[f"predictions/{name}"] for name in ("kernel", "bias")}
    for kind in ("conv2d", "batch_normalization"):
        sources, targets = (
            sorted((weight.path for weight in network.weights if weight.path.startswith(kind)), key=made)
            for network in (other, own)
        )
        given |= {target: values[source] for source, target in zip(sources, targets, strict=True)}
    images = noise(SMALL, 2)
    logits = answer(own, given, images)["classes"]
    expected = answer(other, values, keras.applications.inception_v3.preprocess_input(images.copy()))
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)
    assert np.isfinite(expected).all() and np.ptp(expected) > 0.01


def test_weights_of_imagenet_go_under_the_same_names(small: keras.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a download: what Keras would fill is filled here with numbers that tell the layers apart."""
    make = keras.applications.InceptionV3

    def filled(*, weights: str, **options: Any) -> keras.Model:
        assert weights == "imagenet"
        made = make(weights=None, **options)
        for number, weight in enumerate(made.weights):
            weight.assign(keras.ops.full(weight.shape, number))
        return made

    monkeypatch.setattr(keras.applications, "InceptionV3", filled)
    trained = {weight.path: weight for weight in SMALL.imagenet().weights}
    monkeypatch.undo()
    own = {weight.path: tuple(weight.shape) for weight in small.weights}
    assert {path: tuple(weight.shape) for path, weight in trained.items()}.items() <= own.items()
    assert len(trained) == 94 * 4
    assert len({float(np.mean(weight)) for weight in trained.values()}) == len(trained)
    assert float(np.mean(trained["conv2d/kernel"])) == 0  # the first that is made
