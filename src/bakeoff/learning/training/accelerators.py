"""What training computes on, and in which numbers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import keras
import tensorflow as tf

from bakeoff.foundation import machine
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.training.workers import WorkerAddress

Devices = int | Literal["all", "gpu", "cpu"]


def use_devices(devices: Devices, gpu_memory: str | int) -> None:
    """Tell TensorFlow, before it computes anything, which GPUs are used and how much of their memory.

    `gpu_memory` is the number of bytes, `growth` or `all`. GPUs that are not used are left to other programs.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if devices == "gpu" and not gpus:
        raise ConfigError(
            "train.devices: must be cpu, all or a number, got 'gpu', for TensorFlow sees no GPU; `bakeoff doctor` says "
            "why"
        )
    if not gpus:
        return
    used = gpus if devices in ("all", "gpu") else [] if devices == "cpu" else gpus[:devices]
    tf.config.set_visible_devices(used, "GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, gpu_memory == "growth")
    if isinstance(gpu_memory, int):
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=gpu_memory // 2**20)
        for gpu in used:
            tf.config.set_logical_device_configuration(gpu, [limit])


def use_threads(wanted: int | None) -> int:
    """Tell TensorFlow, before it computes anything, how many threads work on one operation; None: as many as it takes.

    Return how many do: those of before, if it has computed already. A sum that more threads add up differs in its last
    bits.
    """
    with suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(wanted or machine.threads())
    return threads_in_use()


def threads_in_use() -> int:
    return tf.config.threading.get_intra_op_parallelism_threads() or machine.threads()


def strategy_of(
    devices: Devices, batch_sizes: Iterable[int], place: WorkerAddress | None = None
) -> tf.distribute.Strategy:
    """GPUs if there are any, else CPUs; each takes its share of every batch. In a `place`, a device of each worker."""
    if place is not None:
        return _strategy_of_workers(place)
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


def _strategy_of_workers(place: WorkerAddress) -> tf.distribute.Strategy:
    """Wait for all workers. It must come before TensorFlow computes anything."""
    cluster = tf.train.ClusterSpec({"worker": list(place.addresses)})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster, task_type="worker", task_id=place.rank, rpc_layer="grpc"
    )
    return tf.distribute.MultiWorkerMirroredStrategy(resolver)


def own_devices(strategy: tf.distribute.Strategy) -> int:
    """Return over how many devices this process splits its part of a batch."""
    is_of_workers = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return len(strategy.extended.worker_devices) if is_of_workers else strategy.num_replicas_in_sync


def device_count(devices: Devices) -> int:
    if devices == "cpu":
        return 1
    return devices if isinstance(devices, int) else len(_there())


def has_gpus() -> bool:
    """Say whether this process computes on GPUs."""
    return bool(tf.config.get_visible_devices("GPU"))


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
