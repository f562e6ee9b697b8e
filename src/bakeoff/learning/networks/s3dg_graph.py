"""The Keras graph of `S3dG`: stem -> nine Inception blocks -> logits averaged over time.

Names follow the published checkpoints: InceptionV1/Mixed_3b/Branch_1/Conv2d_0b_3x3 is mixed_3b.branch_1.conv2d_0b here,
its BatchNorm, temporal and self_gating/transformer_W are .norm, .temporal and .gate. Shapes are the published ones too:
1xkxk stays a 3-D convolution, because a 2-D one over all frames is no faster (benchmarks/clip_convolutions.py).
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import keras

from bakeoff.learning.networks.layers import Tensor, to_unit_range
from bakeoff.learning.networks.norms import BatchNormalization

if TYPE_CHECKING:
    from bakeoff.learning.networks.s3dg import S3dG

NEAR_ZERO = keras.initializers.TruncatedNormal(stddev=0.01)


class Mixed(NamedTuple):
    """Channels of a block's four branches: 1x1; 1x1 then 3x3; the same, thinner; pooled then 1x1."""

    point: int
    before_wide: int
    wide: int
    before_thin: int
    thin: int
    pooled: int


MIXED = {
    "mixed_3b": Mixed(64, 96, 128, 16, 32, 32),
    "mixed_3c": Mixed(128, 128, 192, 32, 96, 64),
    "mixed_4b": Mixed(192, 96, 208, 16, 48, 64),
    "mixed_4c": Mixed(160, 112, 224, 24, 64, 64),
    "mixed_4d": Mixed(128, 128, 256, 24, 64, 64),
    "mixed_4e": Mixed(112, 144, 288, 32, 64, 64),
    "mixed_4f": Mixed(256, 160, 320, 32, 128, 128),
    "mixed_5b": Mixed(256, 160, 320, 32, 128, 128),
    "mixed_5c": Mixed(384, 192, 384, 48, 128, 128),
}
Triple: TypeAlias = tuple[int, int, int]  # time, height, width
POOLED_BEFORE: dict[str, tuple[Triple, Triple]] = {
    "mixed_3b": ((1, 3, 3), (1, 2, 2)),
    "mixed_4b": ((3, 3, 3), (2, 2, 2)),
    "mixed_5b": ((2, 2, 2), (2, 2, 2)),
}


def build(settings: "S3dG", num_classes: int) -> keras.Model:
    clip = keras.Input((settings.frames, settings.input_size, settings.input_size, 3), name="clip")
    first = (settings.first_temporal_kernel, 7, 7)
    x = _normed(to_unit_range(clip), 64, settings, "conv2d_1a", kernel=first, strides=2)
    x = _max_pool(x, (1, 3, 3), (1, 2, 2), "max_pool_2a")
    x = _normed(x, 64, settings, "conv2d_2b")
    x = _gated(_separable(x, 192, settings, "conv2d_2c"), settings, "conv2d_2c")
    for name, channels in MIXED.items():
        if name in POOLED_BEFORE:
            window, strides = POOLED_BEFORE[name]
            x = _max_pool(x, window, strides, f"max_pool_{name[-2]}a")
        x = _mixed(x, channels, settings, name)
    return keras.Model(clip, {"classes": _logits(x, settings, num_classes)}, name="s3dg")


def _mixed(x: Tensor, channels: Mixed, settings: "S3dG", name: str) -> Tensor:
    at = [f"{name}.branch_{number}" for number in range(4)]
    wide = _normed(x, channels.before_wide, settings, f"{at[1]}.conv2d_0a")
    thin = _normed(x, channels.before_thin, settings, f"{at[2]}.conv2d_0a")
    pooled = _max_pool(x, (3, 3, 3), (1, 1, 1), f"{at[3]}.max_pool_0a")
    branches = {
        f"{at[0]}.conv2d_0a": _normed(x, channels.point, settings, f"{at[0]}.conv2d_0a"),
        f"{at[1]}.conv2d_0b": _separable(wide, channels.wide, settings, f"{at[1]}.conv2d_0b"),
        f"{at[2]}.conv2d_0b": _separable(thin, channels.thin, settings, f"{at[2]}.conv2d_0b"),
        f"{at[3]}.conv2d_0b": _normed(pooled, channels.pooled, settings, f"{at[3]}.conv2d_0b"),
    }
    gated = [_gated(branch, settings, last) for last, branch in branches.items()]
    return keras.layers.Concatenate(name=name)(gated)


def _separable(x: Tensor, filters: int, settings: "S3dG", name: str) -> Tensor:
    """In space, then in time; time begins as the identity, so that a network of images keeps its features."""
    x = _normed(x, filters, settings, name, kernel=(1, 3, 3))
    temporal = keras.layers.Conv3D(
        x.shape[-1], (3, 1, 1), padding="same", activation="relu", kernel_initializer=_centred, name=f"{name}.temporal"
    )
    return temporal(x)


def _normed(
    x: Tensor, filters: int, settings: "S3dG", name: str, *, kernel: Triple = (1, 1, 1), strides: int = 1
) -> Tensor:
    """Convolution, batch norm without a factor, ReLU."""
    x = keras.layers.Conv3D(
        max(int(filters * settings.depth_multiplier), settings.min_depth),
        kernel,
        strides,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name=name,
    )(x)
    momentum, epsilon = settings.batch_norm_momentum, settings.batch_norm_epsilon
    x = BatchNormalization(momentum=momentum, epsilon=epsilon, scale=False, name=f"{name}.norm")(x)
    return keras.layers.ReLU(name=f"{name}.relu")(x)


def _gated(x: Tensor, settings: "S3dG", name: str) -> Tensor:
    """Every channel times a share, 0..1, that follows from all channels' means over the whole clip."""
    if not settings.gating:
        return x
    means = keras.layers.GlobalAveragePooling3D(keepdims=True, name=f"{name}.means")(x)
    shares = keras.layers.Conv3D(
        x.shape[-1], 1, use_bias=False, activation="sigmoid", kernel_initializer=NEAR_ZERO.clone(), name=f"{name}.gate"
    )(means)
    return keras.layers.Multiply(name=f"{name}.gated")([x, shares])


def _max_pool(x: Tensor, window: Triple, strides: Triple, name: str) -> Tensor:
    return keras.layers.MaxPooling3D(window, strides, padding="same", name=name)(x)


def _logits(x: Tensor, settings: "S3dG", num_classes: int) -> Tensor:
    """From every two neighbouring frames of features, then their mean."""
    _, frames, height, width, _ = x.shape
    x = keras.layers.AveragePooling3D((min(2, frames), height, width), strides=1, name="average_pool")(x)
    x = keras.layers.Dropout(settings.dropout, name="dropout")(x)
    x = keras.layers.Conv3D(num_classes, 1, kernel_initializer=NEAR_ZERO.clone(), dtype="float32", name="logits")(x)
    return keras.layers.GlobalAveragePooling3D(dtype="float32", name="classes")(x)


def _centred(shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
    """The kernel of a temporal convolution that gives back what it gets: (time, 1, 1, n, n)."""
    centre = keras.ops.one_hot(shape[0] // 2, shape[0], dtype=dtype)
    return centre[:, None, None, None, None] * keras.ops.eye(shape[-1], dtype=dtype)
