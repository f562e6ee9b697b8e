"""Layers of encoder and decoder: attention among rows, and attention to a few points of maps."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

EPSILON = 1e-5
FAR = -1e9  # added before softmax where nothing may be looked at


def dense(
    units: int, name: str, *, start: str | None = None, bias: float = 0.0, dtype: str | None = None
) -> keras.Layer:
    """`start`: an initializer of Keras for the kernel; without, that of torch."""
    kernel = start or keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")
    constant = keras.initializers.Constant(bias)
    return keras.layers.Dense(units, kernel_initializer=kernel, bias_initializer=constant, name=name, dtype=dtype)


def layer_norm(name: str, dtype: str | None = None) -> keras.Layer:
    return keras.layers.LayerNormalization(epsilon=EPSILON, name=name, dtype=dtype)


class Attention(keras.layers.Layer):
    """Rows look at each other, by what they are and where they are; they see what they are."""

    def __init__(
        self, channels: int, heads: int, places: np.ndarray | None = None, *, name: str, dtype: str | None = None
    ) -> None:
        """`places` is added to the rows before they look; None: it is given with each call."""
        super().__init__(name=name, dtype=dtype)
        self._channels, self._heads, self._places = channels, heads, places
        self._q, self._k, self._v = (
            keras.layers.Dense(channels, kernel_initializer=_third(), name=f"{name}.{key}_proj", dtype=dtype)
            for key in "qkv"
        )
        self._out = dense(channels, f"{name}.out_proj", dtype=dtype)

    @property
    def inner_numbers(self) -> int:
        """About how many numbers of one example wait for gradients, if it is known how many rows there are."""
        rows = 0 if self._places is None else len(self._places)
        return 3 * self._heads * rows**2 + 5 * rows * self._channels

    def build(self, shape: tuple[int | None, ...]) -> None:
        for layer in (self._q, self._k, self._v, self._out):
            layer.build((None, None, self._channels))

    def call(self, x: tf.Tensor, places: tf.Tensor | None = None, hidden: tf.Tensor | None = None) -> tf.Tensor:
        """`hidden` (rows, rows) says which rows do not see which."""
        placed = x + (tf.cast(self._places, x.dtype) if places is None else places)
        query, key, value = self._split(self._q(placed)), self._split(self._k(placed)), self._split(self._v(x))
        size = self._channels // self._heads
        alike = tf.matmul(query * size**-0.5, key, transpose_b=True)
        if hidden is not None:
            alike += tf.where(hidden, FAR, 0.0)
        seen = tf.matmul(tf.nn.softmax(alike), value)  # (batch, heads, rows, size)
        return self._out(tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [tf.shape(x)[0], -1, self._channels]))

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return shape

    def _split(self, x: tf.Tensor) -> tf.Tensor:
        size = self._channels // self._heads
        return tf.transpose(tf.reshape(x, [tf.shape(x)[0], -1, self._heads, size]), [0, 2, 1, 3])


class PointAttention(keras.layers.Layer):
    """Queries look at a few points of all maps, around their own boxes (deformable attention)."""

    def __init__(
        self, channels: int, heads: int, sizes: Sequence[int], points: Sequence[int], *, name: str, dtype: str
    ) -> None:
        """`sizes`: sides of the maps; `points`: how many of each."""
        super().__init__(name=name, dtype=dtype)
        self._channels, self._heads, self._total = channels, heads, sum(points)
        self._offsets = keras.layers.Dense(
            heads * self._total * 2,
            kernel_initializer="zeros",
            bias_initializer=_directions(heads, points),
            name=f"{name}.sampling_offsets",
            dtype=dtype,
        )
        self._weights = dense(heads * self._total, f"{name}.attention_weights", start="zeros", dtype=dtype)
        starts = np.cumsum([0, *(side**2 for side in sizes[:-1])])
        self._sides = np.repeat(sizes, points).astype(np.float32)  # of the map of each point
        self._starts = np.repeat(starts, points).astype(np.int32)
        self._scale = np.repeat([1 / number for number in points], points).astype(np.float32)[:, None]

    def build(self, *shapes: object) -> None:
        for layer in (self._offsets, self._weights):
            layer.build((None, None, self._channels))

    def call(self, queries: tf.Tensor, boxes: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        """Boxes are x, y, width, height; `memory` has the cells of all maps: (batch, cells, channels)."""
        batch = tf.shape(queries)[0]
        shape = [batch, -1, self._heads, self._total]
        offsets = tf.reshape(self._offsets(queries), [*shape, 2]) * self._scale
        weights = tf.nn.softmax(tf.reshape(self._weights(queries), shape))
        around = boxes[:, :, None, None]
        at = (around[..., :2] + offsets * around[..., 2:] * 0.5) * self._sides[:, None] - 0.5  # in cells
        across, down = (self._cells_beside(place) for place in tf.unstack(at, axis=-1))
        row = tf.range(batch)[:, None, None, None] * memory.shape[1] + self._starts
        head = tf.range(self._heads)[:, None]
        values = tf.reshape(memory, [-1, self._channels // self._heads])  # a row for each head of a cell
        seen = 0.0
        for share_down, y in down:
            for share_across, x in across:
                share = share_across * share_down * weights
                place = row + tf.cast(y * self._sides + x, tf.int32)
                seen += tf.gather(values, place * self._heads + head) * share[..., None]
        return tf.reshape(tf.reduce_sum(seen, axis=3), [batch, -1, self._channels])

    def _cells_beside(self, at: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Return the two cells around places along one axis, each with its share, which is 0 outside of the map."""
        low = tf.floor(at)
        beyond = at - low
        cells = [(1 - beyond, low), (beyond, low + 1)]
        return [
            (tf.where((cell >= 0) & (cell < self._sides), share, 0.0), tf.clip_by_value(cell, 0.0, self._sides - 1))
            for share, cell in cells
        ]


def _third() -> keras.initializers.Initializer:
    """Return the start of one of three kernels that torch draws as one."""
    return keras.initializers.VarianceScaling(0.5, "fan_avg", "uniform")


def _directions(heads: int, points: Sequence[int]) -> "keras.initializers.Initializer":
    """Every head begins to look in a direction of its own, its points one behind the other."""
    angles = np.arange(heads, dtype=np.float32) * np.float32(2 * np.pi / heads)
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    ways /= np.abs(ways).max(axis=-1, keepdims=True)
    far = np.concatenate([np.arange(1, number + 1) for number in points]).astype(np.float32)
    return keras.initializers.Constant((ways[:, None] * far[:, None]).reshape(-1))
