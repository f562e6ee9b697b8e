"""Allocations that no machine grants, and what is said of them; run as a process by test_shortage.py.

There TensorFlow allocates without oneDNN, whose allocator waits ten seconds for memory that others may give back.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.experiments.runs.memory_use import OutOfMemory, Shortage

PETABYTES = 10**15


def steep(examples: int) -> int:
    """An estimate: 2 GB, and 100 MB an example."""
    return 2 * 10**9 + examples * 10**8


def shortage(left: float, devices: int = 1, estimate: Callable[[int], int] = steep) -> Shortage:
    return Shortage(estimate, lambda: int(left), devices)


def in_a_step() -> Any:
    step = tf.function(lambda side: tf.reduce_sum(tf.random.normal([side, 10**7])))
    return step(tf.constant(10**7))


def in_the_input() -> Any:
    wide = tf.data.Dataset.range(1).map(lambda n: tf.numpy_function(lambda n: np.zeros(PETABYTES), [n], tf.float64))
    return list(wide)


def while_batches_are_made() -> Any:
    return list(tf.data.Dataset.range(1).map(lambda n: tf.zeros([n + 10**7, 10**7])))


ALLOCATIONS: dict[str, Callable[[], Any]] = {
    "at once": lambda: tf.zeros([PETABYTES]),
    "in a step": in_a_step,
    "while batches are made": while_batches_are_made,
    "in the input": in_the_input,
    "by NumPy": lambda: np.zeros(PETABYTES),
}


def main() -> None:
    printed = {}
    for name, allocate in ALLOCATIONS.items():
        try:
            allocate()
        except Exception as error:
            try:
                shortage(6.05e9).explain(error, "train.batch_size", 64)
            except OutOfMemory as explained:
                printed[name] = {"message": str(explained), "has_cause": explained.__cause__ is not None}
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
