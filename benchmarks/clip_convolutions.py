"""Is a 3-D convolution over clips slower than a 2-D one over all frames? Forward and backward, in milliseconds.

python benchmarks/clip_convolutions.py
"""

import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

REPEATS = 4
SIZES = [(8, 16, 16, 48), (8, 8, 48, 64), (16, 14, 96, 208), (32, 56, 64, 192)]  # frames, side, channels in and out
Operation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def in_three(clip: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.conv3d(clip, kernel, [1] * 5, "SAME")


def frame_by_frame(clip: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """1xkxk: frames are images."""
    _, frames, side, _, channels = clip.shape
    made = tf.nn.conv2d(tf.reshape(clip, [-1, side, side, channels]), kernel[0], 1, "SAME")
    return tf.reshape(made, [-1, frames, side, side, kernel.shape[-1]])


def place_by_place(clip: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """kx1x1: (time, place) are images."""
    _, frames, side, _, channels = clip.shape
    made = tf.nn.conv2d(tf.reshape(clip, [-1, frames, side * side, channels]), kernel[:, :, 0], 1, "SAME")
    return tf.reshape(made, [-1, frames, side, side, kernel.shape[-1]])


def milliseconds(operation: Operation, clip: tf.Tensor, kernel: tf.Tensor) -> float:
    @tf.function
    def step() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([clip, kernel])
            loss = tf.reduce_sum(operation(clip, kernel) ** 2)
        return tape.gradient(loss, [clip, kernel])

    step()
    started = time.perf_counter()
    for _ in range(REPEATS):
        step()[0].numpy()
    return (time.perf_counter() - started) / REPEATS * 1000


def main() -> None:
    tf.config.experimental.enable_op_determinism()
    draw = np.random.default_rng(0)
    print("frames side   in  out  kernel   3-D ms   2-D ms")
    for frames, side, given, made in SIZES:
        clip = tf.constant(draw.normal(size=(2, frames, side, side, given)), tf.float32)
        for size, other in (((1, 3, 3), frame_by_frame), ((3, 1, 1), place_by_place)):
            kernel = tf.constant(draw.normal(size=(*size, given, made)), tf.float32)
            three, two = milliseconds(in_three, clip, kernel), milliseconds(other, clip, kernel)
            print(f"{frames:6} {side:4} {given:4} {made:4}  {'x'.join(map(str, size))} {three:8.1f} {two:8.1f}")


if __name__ == "__main__":
    main()
