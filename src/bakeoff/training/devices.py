"""What training computes on, and in which numbers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import keras
import tensorflow as tf

from bakeoff.errors import ConfigError


def strategy_of(devices: int | Literal["all"], batch_sizes: Iterable[int]) -> tf.distribute.Strategy:
    """GPUs if there are any, else CPUs; each takes its share of every batch."""
    there = _there()
    count = device_count(devices)
    if count > len(there):
        raise ConfigError(f"train.devices: must be at most {len(there)}, the devices of this machine, got {count}")
    for size in batch_sizes:
        if size % count:
            raise ConfigError(
                f"train.batch_size: must divide by train.devices={count}, got {size}; "
                f"{size - size % count or count} or {size + count - size % count} would"
            )
    if count == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy([device.name for device in there[:count]])


def device_count(devices: int | Literal["all"]) -> int:
    return len(_there()) if devices == "all" else devices


def has_gpus() -> bool:
    return bool(tf.config.list_physical_devices("GPU"))


def _there() -> list[tf.config.LogicalDevice]:
    return tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")


def normalise_over_all_devices(network: keras.Model, strategy: tf.distribute.Strategy) -> None:
    """Batch norm by the statistics of the whole batch, as on one device."""
    for layer in network._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = strategy.num_replicas_in_sync > 1


@contextmanager
def precision(mixed: bool) -> Iterator[None]:
    """Layers built in the block compute in bfloat16 if `mixed`; weights stay in float32.

    It has the range of float32, so that no loss must be scaled.
    """
    before = keras.config.dtype_policy()
    if mixed:
        keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
