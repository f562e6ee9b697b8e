import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.detector_settings import Suppression
from bakeoff.learning.networks.ssd import Ssd

TINY = Ssd(
    input_size=64,
    width=0.25,
    pyramid_channels=16,
    anchors=Anchors(scale=2.0, octave_steps=2, aspect_ratios=(1.0,)),
    suppression=Suppression(min_score=0.3),
)


@pytest.fixture(scope="module")
def network() -> keras.Model:
    keras.utils.set_random_seed(0)
    return TINY.build(3)


def noise(count: int, size: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 255, (count, size, size, 3)).astype(np.float32)


def test_boxes_start_near_their_anchors(network: keras.Model) -> None:
    codes = network(noise(4, 64), training=False)["boxes"].numpy()
    assert 0 < np.abs(codes).mean() < 2.5  # a quarter of an anchor's side


@pytest.mark.parametrize("output", ["classes", "boxes"])
def test_rows_lie_where_their_anchors_do(output: str, network: keras.Model) -> None:
    """Where a spot is put on the picture, there the anchors of the finest level are whose outputs change."""
    anchors = TINY.anchors.boxes(64, (8,))
    centres = (anchors[:, :2] + anchors[:, 2:]) / 2
    spots = [(y, x) for y in (8, 24, 40, 56) for x in (8, 24, 40, 56)]
    images = np.full((1 + len(spots), 64, 64, 3), 127.5, np.float32)
    for image, (y, x) in zip(images[1:], spots, strict=True):
        image[y - 4 : y + 4, x - 4 : x + 4] = 255
    outputs = network(images, training=False)[output].numpy()
    change = (np.abs(outputs[1:] - outputs[0]).sum(axis=-1) ** 2)[:, : len(anchors)]
    seen = change @ centres / change.sum(axis=1, keepdims=True)
    together = np.corrcoef(seen.T, np.array(spots).T)[:2, 2:]
    assert together[0, 0] > 0.85 and together[1, 1] > 0.85, together
    assert np.abs([together[0, 1], together[1, 0]]).max() < 0.4, together


def test_grey_in_the_middle_of_the_range_is_zero_to_the_network(network: keras.Model) -> None:
    scaled = keras.Model(network.input, network.get_layer("to_unit_range").output)
    values = np.array([0.0, 127.5, 255.0], np.float32)
    given = np.broadcast_to(values[:, None, None, None], (3, 64, 64, 3))
    np.testing.assert_allclose(scaled(given)[:, 5, 5, 1], [-1, 0, 1], atol=1e-6)


def test_width_scales_channels_and_the_levels_share_their_heads() -> None:
    def kernel_shapes(width: float) -> dict[str, list[int]]:
        network = Ssd(input_size=32, width=width, pyramid_channels=24, head_convolutions=2).build(4)
        return {weight.path: list(weight.shape) for weight in network.weights if weight.path.endswith("kernel")}

    half, double = kernel_shapes(0.5), kernel_shapes(2.0)
    assert half["backbone.stem.conv/kernel"] == [4, 4, 3, 16]  # 12, to the nearest multiple of 8
    assert double["backbone.stem.conv/kernel"] == [4, 4, 3, 48]
    assert half["backbone.stride16.down.conv/kernel"] == [3, 3, 32, 64]
    heads = {path: shape for path, shape in half.items() if path.startswith("head.")}
    assert heads == {
        "head.conv0/kernel": [3, 3, 24, 24],
        "head.conv1/kernel": [3, 3, 24, 24],
        "head.boxes/kernel": [3, 3, 24, 2 * 4],
        "head.classes/kernel": [3, 3, 24, 2 * 4],
    }


@pytest.mark.parametrize("stride", [8, 16, 32])
def test_levels_see_the_refined_maps(stride: int) -> None:
    """Where the refining convolution of a stride says nothing, its level and the coarser ones have nothing to see."""
    keras.utils.set_random_seed(2)
    network = TINY.build(3)
    norm = network.get_layer(f"backbone.stride{stride}.refine.norm")
    norm.gamma.assign(tf.zeros_like(norm.gamma))
    images, cells = noise(2, 64), {8: 64, 16: 16, 32: 4}
    first, second = network(images, training=False)["classes"].numpy()
    differs = np.abs(first - second).max(axis=-1) > 1e-6
    blind = sum(count for finer, count in cells.items() if finer < stride) * TINY.anchors.per_cell
    assert not differs[blind:].any()
    assert differs[:blind].all() and blind == {8: 0, 16: 128, 32: 160}[stride]
