import keras
import numpy as np
import pytest
import tensorflow as tf

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
def test_batch_norm_momentum_is_the_share_of_the_old_mean_that_is_kept(settings: Cnn | ClipCnn) -> None:
    def first_mean(momentum: float) -> np.ndarray:
        keras.utils.set_random_seed(0)
        network = type(settings)(**(vars(settings) | {"batch_norm_momentum": momentum})).build(2)
        network(noise(settings, 2), training=True)
        return next(weight.numpy() for weight in network.weights if weight.path.endswith("moving_mean"))

    # From a mean of zero, one batch adds (1 - momentum) of its own.
    np.testing.assert_allclose(first_mean(0.5), 5 * first_mean(0.9), rtol=1e-3)
    assert np.abs(first_mean(0.5)).max() > 1e-4


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
