import re
from collections.abc import Callable
from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.s3dg import S3dG
from bakeoff.learning.networks.weights import digest
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.pretrained.tf_checkpoint import read_table
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.training.step import Step
from support.classifier_trials import noise
from support.imports import ROOT
from support.unfilled import unfilled

SMALL = S3dG(
    input_size=32, frames=4, depth_multiplier=0.125, min_depth=4, batch_norm_momentum=0.83, batch_norm_epsilon=0.07
)

MOST_STEPS = 80  # to learn four clips, whose loss is low after about 15

# Table 1 of the GoogLeNet paper: 1x1; before 3x3, 3x3; before 5x5, 5x5; after pooling. What is 5x5 there is 3x3x3 here.
GOOGLENET = {
    "mixed_3b": (64, 96, 128, 16, 32, 32),
    "mixed_3c": (128, 128, 192, 32, 96, 64),
    "mixed_4b": (192, 96, 208, 16, 48, 64),
    "mixed_4c": (160, 112, 224, 24, 64, 64),
    "mixed_4d": (128, 128, 256, 24, 64, 64),
    "mixed_4e": (112, 144, 288, 32, 64, 64),
    "mixed_4f": (256, 160, 320, 32, 128, 128),
    "mixed_5b": (256, 160, 320, 32, 128, 128),
    "mixed_5c": (384, 192, 384, 48, 128, 128),
}


@pytest.fixture(scope="module")
def full() -> keras.Model:
    return unfilled(lambda: S3dG().build(400))


@pytest.fixture(scope="module")
def small() -> keras.Model:
    keras.utils.set_random_seed(0)
    return SMALL.build(3)


def trainable(network: keras.Model, prefix: str = "") -> int:
    return sum(int(np.prod(weight.shape)) for weight in network.trainable_weights if weight.path.startswith(prefix))


def point(given: int, made: int) -> int:
    """1x1x1 without a bias, and its norm's offset."""
    return given * made + made


def separable(given: int, made: int) -> int:
    """1x3x3 and its norm's offset; 3x1x1 with a bias."""
    return 9 * given * made + made + 3 * made * made + made


def test_every_block_has_the_parameters_that_follow_from_its_channels(full: keras.Model) -> None:
    assert trainable(full, "conv2d_1a") == 3 * 7 * 7 * 3 * 64 + 64 == 28_288
    assert trainable(full, "conv2d_2b") == point(64, 64) == 4_160
    assert trainable(full, "conv2d_2c") == separable(64, 192) + 192**2 == 258_432
    given = 192
    for name, (a, b, c, d, e, f) in GOOGLENET.items():
        gates = a**2 + c**2 + e**2 + f**2
        branches = point(given, a) + point(given, b) + separable(b, c) + point(given, d) + separable(d, e)
        assert trainable(full, name) == branches + point(given, f) + gates, name
        given = a + c + e + f
    assert given == 1024
    assert trainable(full, "logits") == 1024 * 400 + 400
    assert trainable(full) == 9_518_848


def test_number_of_variables_is_that_of_the_published_checkpoint(full: keras.Model) -> None:
    """57 convolutions of kernel, offset, mean and variance; 19 temporal ones of kernel and bias; 37 gates; logits."""
    assert len(full.weights) == 57 * 4 + 19 * 2 + 37 + 2


def test_table_of_names_has_every_variable_once_by_its_name_in_a_checkpoint(full: keras.Model) -> None:
    paths = [weight.path for weight in full.weights]
    table = read_table(ROOT / "data/weights/s3dg.tsv", paths)
    assert sorted(table) == sorted(paths) and len(set(table.values())) == len(paths)
    # Scopes as nets/s3dg.py and nets/i3d_utils.py of TF-Slim nest them.
    inside = "mixed_4c.branch_2.conv2d_0b", "InceptionV1/Mixed_4c/Branch_2/Conv2d_0b_3x3"
    assert [(here, there) for here, there in table.items() if here.startswith(inside[0])] == [
        (f"{inside[0]}/kernel", f"{inside[1]}/weights"),
        (f"{inside[0]}.norm/beta", f"{inside[1]}/BatchNorm/beta"),
        (f"{inside[0]}.norm/moving_mean", f"{inside[1]}/BatchNorm/moving_mean"),
        (f"{inside[0]}.norm/moving_variance", f"{inside[1]}/BatchNorm/moving_variance"),
        (f"{inside[0]}.temporal/kernel", f"{inside[1]}/temporal/weights"),
        (f"{inside[0]}.temporal/bias", f"{inside[1]}/temporal/biases"),
        (f"{inside[0]}.gate/kernel", f"{inside[1]}/self_gating/transformer_W/weights"),
    ]
    # Every scope says its kernel's size: of the spatial kernel here, for the first convolution of both.
    for weight in full.weights:
        size = re.search(r"_(\d)x\1/weights$", table[weight.path])
        assert size is None or weight.shape[1:3] == (int(size[1]), int(size[1])), weight.path


def test_without_gates_it_is_s3d_whose_parameters_torchvision_publishes() -> None:
    """That one splits the first convolution too; all norms, also the temporal ones in place of a bias, have factors."""
    network = unfilled(lambda: S3dG(gating=False, first_temporal_kernel=7).build(400))
    added = sum(
        int(np.prod(weight.shape)) for weight in network.weights if weight.path.endswith(("/beta", ".temporal/bias"))
    )
    first = 7 * 7 * 7 * 3 * 64
    split = 7 * 7 * 3 * 64 + 7 * 64 * 64 + 2 * 64
    assert trainable(network) + added - first + split == 8_320_048


def test_time_and_space_shrink_where_the_paper_has_it(full: keras.Model) -> None:
    shapes = {
        "conv2d_1a": (32, 112, 112, 64),
        "max_pool_2a": (32, 56, 56, 64),
        "conv2d_2c.gated": (32, 56, 56, 192),
        "max_pool_3a": (32, 28, 28, 192),
        "mixed_3c": (32, 28, 28, 480),
        "max_pool_4a": (16, 14, 14, 480),
        "mixed_4f": (16, 14, 14, 832),
        "max_pool_5a": (8, 7, 7, 832),
        "mixed_5c": (8, 7, 7, 1024),
        "average_pool": (7, 1, 1, 1024),
        "logits": (7, 1, 1, 400),
        "classes": (400,),
    }
    assert {name: full.get_layer(name).output.shape[1:] for name in shapes} == shapes
    assert full.input_shape == (None, 64, 224, 224, 3)


def test_multiplier_scales_channels_down_to_the_least() -> None:
    settings = S3dG(input_size=32, frames=2, depth_multiplier=0.3, min_depth=16)
    network = unfilled(lambda: settings.build(2))
    kernels = {weight.path: weight.shape for weight in network.weights if weight.path.endswith("kernel")}
    assert kernels["conv2d_1a/kernel"] == (3, 7, 7, 3, 19)  # 19.2
    assert kernels["conv2d_2c/kernel"] == (1, 3, 3, 19, 57)  # 57.6
    assert kernels["mixed_3b.branch_2.conv2d_0a/kernel"] == (1, 1, 1, 57, 16)  # not 4
    assert kernels["mixed_3b.branch_1.conv2d_0b/kernel"] == (1, 3, 3, 28, 38)  # 28.8 and 38.4
    assert kernels["mixed_3b.branch_1.conv2d_0b.temporal/kernel"] == (3, 1, 1, 38, 38)


def outputs_of(network: keras.Model, *names: str) -> Callable[[np.ndarray], list[np.ndarray]]:
    inner = keras.Model(network.input, [network.get_layer(name).output for name in names])
    return lambda clips: [output.numpy() for output in inner(clips, training=False)]


def test_gate_multiplies_every_channel_by_a_share_that_all_channels_decide(small: keras.Model) -> None:
    name = "mixed_3b.branch_1.conv2d_0b"
    gate = small.get_layer(f"{name}.gate")
    kept = gate.get_weights()
    gate.set_weights([np.random.default_rng(1).normal(size=kept[0].shape)])
    before, after = outputs_of(small, f"{name}.temporal", f"{name}.gated")(noise(SMALL, 2))
    logits = before.mean(axis=(1, 2, 3)) @ gate.get_weights()[0][0, 0, 0]
    shares = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(after, before * shares[:, None, None, None, :], rtol=1e-4, atol=1e-5)
    assert np.ptp(shares) > 0.01 and before.max() > 0.1
    gate.set_weights(kept)


def test_gates_begin_half_open(small: keras.Model) -> None:
    before, after = outputs_of(small, "conv2d_2c.temporal", "conv2d_2c.gated")(noise(SMALL, 2))
    np.testing.assert_allclose(after, before / 2, rtol=0.15, atol=1e-3)


def test_temporal_convolutions_begin_as_the_identity(small: keras.Model) -> None:
    before, after = outputs_of(small, "conv2d_2c.relu", "conv2d_2c.temporal")(noise(SMALL, 2))
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)
    assert before.max() > 0.1


def test_logits_are_those_of_pairs_of_frames_averaged_over_time() -> None:
    network = S3dG(input_size=64, frames=24, depth_multiplier=0.125, min_depth=4).build(3)
    clips = noise(S3dG(input_size=64, frames=24), 2)
    features, given = outputs_of(network, "mixed_5c", "classes")(clips)
    assert features.shape[1:4] == (3, 2, 2)
    frames = features.mean(axis=(2, 3))
    pairs = (frames[:, :-1] + frames[:, 1:]) / 2
    kernel, bias = network.get_layer("logits").get_weights()
    np.testing.assert_allclose(given, (pairs @ kernel[0, 0, 0] + bias).mean(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("frames", [1, 3])
def test_short_clips_pass(frames: int, small: keras.Model) -> None:
    """And the names of weights depend neither on them nor on what was built before."""
    settings = replace(SMALL, frames=frames)
    network = settings.build(3)
    outputs = network(noise(settings, 2), training=False)
    assert outputs["classes"].shape == (2, 3) and np.isfinite(outputs["classes"]).all()
    names = [weight.path for weight in small.weights]
    assert [weight.path for weight in network.weights] == names and len(set(names)) == len(names)


def test_epsilon_and_momentum_reach_every_batch_norm(small: keras.Model) -> None:
    norms = [layer for layer in small.layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert len(norms) == 57 and {(layer.momentum, layer.epsilon, layer.scale) for layer in norms} == {
        (0.83, 0.07, False)
    }


@pytest.mark.long
@pytest.mark.usefixtures("deterministic_operations")
def test_network_tells_a_clip_from_its_reverse_and_comes_to_the_same_weights_again_to_the_bit() -> None:
    """Both clips show the same frames, so only their order can tell the classes apart."""
    settings = S3dG(input_size=32, frames=4, depth_multiplier=0.125, min_depth=8, dropout=0.1, batch_norm_momentum=0.5)
    keras.utils.set_random_seed(1)
    network, task = settings.build(2), Classification(settings, "ab")
    optimizer = Momentum().build(network)
    everything = [*network.variables, *optimizer.variables]  # also the state of the dropout
    start = [variable.numpy() for variable in everything]
    step = Step(network, optimizer, task)
    forward, labels = noise(settings, 2), [1, 1, 2, 2]
    clips = np.concatenate([forward, forward[:, ::-1]])
    batch = {"image": tf.constant(clips), "label": tf.constant(labels, tf.int64)}

    def take(steps: int) -> list[float]:
        return [float(step([batch], tf.constant(0.06))["train/loss"]) for _ in range(steps)]

    take(3)
    after_three = digest(network)
    for variable, value in zip(everything, start, strict=True):
        variable.assign(value)
    losses = take(3)
    assert digest(network) == after_three
    given: list[int] = []
    while given != labels:  # what batch norm keeps for prediction follows a few steps later than the loss
        assert len(losses) < MOST_STEPS, (given, losses)
        losses += take(5)
        if max(losses[-3:]) < 0.05 * losses[0]:
            given = task.predict(network(clips, training=False))["classes"].numpy().tolist()
