from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.layers import channels
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.training.step import Step

IMAGES = Cnn(input_size=16, width=0.25)
CLIPS = ClipCnn(input_size=16, frames=4, width=0.25)
both = pytest.mark.parametrize("settings", [IMAGES, CLIPS], ids=["images", "clips"])


def noise(settings: Cnn | ClipCnn, count: int, seed: int = 0) -> np.ndarray:
    frames = (settings.frames,) if settings.frames > 1 else ()
    shape = (count, *frames, settings.input_size, settings.input_size, 3)
    return np.random.default_rng(seed).uniform(0, 255, shape).astype(np.float32)


@both
def test_there_is_one_logit_for_every_class(settings: Cnn | ClipCnn) -> None:
    outputs = settings.build(7)(noise(settings, 2))
    assert {name: value.shape for name, value in outputs.items()} == {"classes": (2, 7)}


@both
def test_every_weight_gets_a_gradient(settings: Cnn | ClipCnn) -> None:
    keras.utils.set_random_seed(0)
    network, task = settings.build(3), Classification(settings, "abc")
    with tf.GradientTape() as tape:
        outputs = network(noise(settings, 4), training=True)
        [loss] = task.losses(outputs, {"label": tf.constant([1, 2, 3, 1], tf.int64)}).values()
    gradients = tape.gradient(loss, network.trainable_variables)
    without = [
        weight.path
        for weight, gradient in zip(network.trainable_variables, gradients, strict=True)
        if gradient is None or not 1e-12 < float(tf.reduce_max(tf.abs(gradient))) < 1e6
    ]
    assert without == [] and len(gradients) > 15


@both
def test_dropout_acts_in_training_only(settings: Cnn | ClipCnn) -> None:
    network, batch = type(settings)(**(vars(settings) | {"dropout": 0.5})).build(3), noise(settings, 4)
    calm = [network(batch, training=False)["classes"].numpy() for _ in range(2)]
    wild = [network(batch, training=True)["classes"].numpy() for _ in range(2)]
    np.testing.assert_array_equal(*calm)
    assert np.abs(wild[0] - wild[1]).max() > 1e-3


@both
def test_batch_norm_momentum_is_the_share_of_the_old_mean_that_is_kept(settings: Cnn | ClipCnn) -> None:
    def first_mean(momentum: float) -> np.ndarray:
        keras.utils.set_random_seed(0)
        network = type(settings)(**(vars(settings) | {"batch_norm_momentum": momentum})).build(2)
        network(noise(settings, 2), training=True)
        return next(weight.numpy() for weight in network.weights if weight.path.endswith("moving_mean"))

    # From a mean of zero, one batch adds (1 - momentum) of its own.
    np.testing.assert_allclose(first_mean(0.5), 5 * first_mean(0.9), rtol=1e-3)
    assert np.abs(first_mean(0.5)).max() > 1e-4


@both
def test_names_of_weights_are_unique(settings: Cnn | ClipCnn) -> None:
    paths = [weight.path for weight in settings.build(2).weights]
    assert len(paths) == len(set(paths))


def trained(
    settings: Cnn | ClipCnn, images: np.ndarray, labels: list[int], steps: int
) -> tuple[list[float], list[int]]:
    """The losses on the way and the labels given in the end."""
    keras.utils.set_random_seed(3)
    network, task = settings.build(max(labels)), Classification(settings, "abcdefgh"[: max(labels)])
    step = Step(network, Momentum().build(network), task)  # which is compiled twice as fast as Adam
    targets = {"label": tf.constant(labels, tf.int64)}
    batch = {"image": tf.constant(images)} | targets
    losses = [float(step([batch], tf.constant(0.03))["train/loss"]) for _ in range(steps)]
    return losses, task.predict(network(images, training=False))["classes"].numpy().tolist()


def test_network_learns_eight_images_by_heart() -> None:
    labels = [1, 2, 3, 4, 4, 3, 2, 1]
    losses, given = trained(Cnn(input_size=16, width=0.25, dropout=0.0), noise(IMAGES, 8), labels, steps=60)
    assert losses[-1] < 0.1 * losses[0] and given == labels


def test_clip_network_tells_a_clip_from_its_reverse() -> None:
    """Both show the same frames, so only their order can tell the classes apart."""
    forward = noise(CLIPS, 4)
    clips = np.concatenate([forward, forward[:, ::-1]])
    labels = [1, 1, 1, 1, 2, 2, 2, 2]
    losses, given = trained(ClipCnn(input_size=16, frames=4, width=0.25, dropout=0.0), clips, labels, steps=80)
    assert losses[-1] < 0.1 * losses[0] and given == labels


@pytest.mark.parametrize(
    ("number", "width", "expected"),
    [(64, 1.0, 64), (64, 0.5, 32), (24, 0.5, 16), (20, 0.5, 8), (16, 0.1, 8), (32, 3.0, 96)],
)
def test_channels_are_the_nearest_multiple_of_eight(number: int, width: float, expected: int) -> None:
    assert channels(number, width) == expected


@pytest.mark.parametrize("kind", [Cnn, ClipCnn])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input_size": 15}, r"^input_size:\D+16\D+15$"),
        ({"width": 0.0}, r"^width:\D+0\D+4\D+0\.0$"),
        ({"width": 4.1}, r"^width:\D+0\D+4\D+4\.1$"),
        ({"dropout": 1.0}, r"^dropout:\D+0\D+1\D+1\.0$"),
        ({"dropout": -0.1}, r"^dropout:\D+0\D+1\D+-0\.1$"),
        ({"batch_norm_momentum": 0.0}, r"^batch_norm_momentum:\D+0\D+1\D+0\.0$"),
        ({"label_smoothing": 1.0}, r"^label_smoothing:\D+0\D+1\D+1\.0$"),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


@pytest.mark.parametrize("frames", [1, 513])
def test_senseless_number_of_frames_is_refused(frames: int) -> None:
    with pytest.raises(OutOfRange, match=rf"^frames:\D+2\D+512\D+{frames}$"):
        ClipCnn(frames=frames)
