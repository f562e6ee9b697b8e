"""What the run may use, `conf/memory/`; and from that budget to buffers: what a training will hold, part by part.

The sum must stay under the budget. Of what the fixed parts leave, a tenth is for batches that wait, 1 to 16 of them,
and a quarter for a buffer whose size is not said.
"""

import re
from dataclasses import dataclass, fields, replace
from typing import Literal

from bakeoff.dataset.records.manifest import Split
from bakeoff.foundation.errors import OutOfRange, require, require_at_most

AUTO = "auto"
GROWTH, ALL = "growth", "all"
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
SMALLEST_GPU_MEMORY = 100 * 10**6
FACTOR_EXAMPLES = 1024  # of Inception's input_queue_memory_factor
BATCHES_ABOVE_MINIMUM = 3  # of Inception's queue
OF_THE_BUFFER = (
    "shuffle_buffer_size",
    "min_after_dequeue",
    "queue_capacity",
    "input_queue_memory_factor",
    "num_preprocess_threads",
)

# As measured on CPUs (benchmarks/memory.py).
PROGRAM_BYTES = 700 * 10**6
TRACKING_BYTES = 190 * 10**6  # what the program takes for MLflow
GRAPH_BYTES = 600 * 10**3  # for each of the network's variables: layers, traced functions, their gradients
COPIES_OF_WEIGHTS = 3  # themselves, gradients, and those that are best so far, kept for writing
HELD_EXAMPLE_BYTES = 200  # of an encoded example, apart from its bytes
FLOAT_BYTES = 4
CHANNELS = 3

WAITING_SHARE = 0.1
MOST_WAITING_BATCHES = 16
BUFFER_SHARE = 0.25
LARGEST_BUFFER = 2048  # unless its size is said; the Object Detection API's own number
BUDGET_A_THREAD = 2 * 10**9
MOST_THREADS = 8


@dataclass(frozen=True)
class Memory:
    """What the run may use.

    Memory("4GB")                                              4,000,000,000 bytes for the whole process
    Memory("auto", share=0.8)                                  four fifths of what is free when the variant is rendered
    Memory("2GB", shuffle="buffer", shuffle_buffer_size=256)   a buffer of 256 encoded examples, no global shuffle
    """

    budget: str  # of the process, or `auto`
    share: float = 0.8  # of what is free, if the budget is auto
    device_budget: str | None = None  # of the accelerator's own memory, or `auto`; none: the network is in the budget
    gpu_memory: str = GROWTH  # that TensorFlow takes of a GPU: what it needs, `all` at once, or a size at most
    decode_threads: int | None = None  # none: by the budget
    on_bad_record: Literal["error", "skip"] = "error"
    shuffle: Literal["global", "buffer"] = "global"
    # Of `shuffle: buffer`, by the names and with the meaning that the Object Detection API and Inception give them.
    shuffle_buffer_size: int | None = None  # examples
    min_after_dequeue: int | None = None  # examples that a queue after the buffer never has fewer of
    queue_capacity: int | None = None  # examples that it has at most
    input_queue_memory_factor: int | None = None  # min_after_dequeue in units of 1,024
    num_preprocess_threads: int | None = None  # decode_threads

    def __post_init__(self) -> None:
        for key in ("budget", "device_budget"):
            size = getattr(self, key)
            known = size is None or size == AUTO or _parse_bytes(size) is not None
            require(known, key, size, "a size such as 2GB, 1500MB or 4GiB, or auto")
        limit = self.gpu_memory_limit
        known = limit in (GROWTH, ALL) or (isinstance(limit, int) and limit >= SMALLEST_GPU_MEMORY)
        require(known, "gpu_memory", self.gpu_memory, "growth, all, or a size such as 8GB, 100MB or more")
        require(0.05 <= self.share <= 1, "share", self.share, "between 0.05 and 1")
        for key in ("decode_threads", "num_preprocess_threads"):
            threads = getattr(self, key)
            require(threads is None or 1 <= threads <= 256, key, threads, "between 1 and 256")
        for key in OF_THE_BUFFER:
            value = getattr(self, key)
            require(value is None or self.shuffle == "buffer", key, value, "null while memory.shuffle is global")
            require(value is None or value >= 1, key, value, "1 or more, or null")
            require_at_most(self, **{key: 10**9})
        factor, least, most = self.input_queue_memory_factor, self.min_after_dequeue, self.queue_capacity
        for key, value in (("min_after_dequeue", least), ("queue_capacity", most)):
            require(factor is None or value is None, key, value, "null beside input_queue_memory_factor, which says it")
        fits = least is None or most is None or least <= most
        require(fits, "queue_capacity", most, f"at least min_after_dequeue={least}")
        twice = self.decode_threads is not None and self.num_preprocess_threads is not None
        require(not twice, "num_preprocess_threads", self.num_preprocess_threads, "null beside decode_threads")

    @property
    def budget_bytes(self) -> int | None:
        """None for `auto`."""
        return _parse_bytes(self.budget)

    @property
    def device_budget_bytes(self) -> int | None:
        """None for `auto`, and if the network is in the budget."""
        return _parse_bytes(self.device_budget) if self.device_budget else None

    @property
    def gpu_memory_limit(self) -> str | int:
        """The size in bytes, if it is one."""
        size = _parse_bytes(self.gpu_memory)
        return self.gpu_memory if size is None else size

    @property
    def threads(self) -> int | None:
        return self.decode_threads or self.num_preprocess_threads

    def queue(self, batch_size: int) -> int:
        """How many examples the queue after the buffer holds; 0 without one."""
        above = BATCHES_ABOVE_MINIMUM * batch_size
        if self.input_queue_memory_factor:
            return FACTOR_EXAMPLES * self.input_queue_memory_factor + above
        return self.queue_capacity or (self.min_after_dequeue + above if self.min_after_dequeue else 0)


def _parse_bytes(text: str) -> int | None:
    match = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([KMG]I?B)\s*", text, re.IGNORECASE)
    return int(float(match[1]) * UNITS[match[2].upper()]) if match else None


@dataclass(frozen=True)
class Load:
    """What a training is made of, apart from its batch size."""

    pixels: int  # of an example, at the network's size
    parameters: int
    variables: int
    activation_bytes: int  # of all layers' outputs for one example
    slots: int = 2  # numbers that the optimizer keeps of each parameter
    averaged: bool = False
    accumulates: bool = False
    images: int = 1  # that an example may be made of

    def weights(self) -> int:
        moving = 1 + self.slots + self.averaged  # what changes, and is copied for a checkpoint that is being written
        extra = self.slots + self.averaged + self.accumulates + moving
        return self.parameters * FLOAT_BYTES * (COPIES_OF_WEIGHTS + extra)


@dataclass(frozen=True)
class Limits:
    bytes: int
    device_bytes: int = 0  # of the accelerator that holds the network; 0: there is none
    cores: int | None = None  # None: not looked at


@dataclass(frozen=True)
class Parts:
    program: int  # the interpreter, TensorFlow, the tracking store, and the graphs that are made of the network
    weights: int  # themselves, gradients, the optimizer's numbers, their average, a checkpoint being written
    activations: int  # the outputs of all layers, which wait for the gradients, for every example of a batch
    batches: int = 0  # those that wait, one that is put together and one in use; and the same of the validation
    decoding: int = 0  # an image, or clip, and those mixed into it, as bytes and as numbers, for each thread
    shuffling: int = 0  # encoded examples in the buffer and the queue of `memory.shuffle: buffer`

    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    def on_device(self) -> int:
        return self.weights + self.activations

    def with_batches(self, times: float) -> "Parts":
        return replace(self, activations=int(self.activations * times), batches=int(self.batches * times))


@dataclass(frozen=True)
class Buffers:
    prefetch_batches: int
    decode_threads: int
    shuffle_windows: tuple[int, ...]  # examples in the buffer and in the queue; none: the shuffle is global
    parts: Parts
    bytes: int  # of the process, at its peak
    device_bytes: int  # of the accelerator


def estimate(load: Load, batch_size: int) -> int:
    """Of a training with the least that may wait, in bytes; data that are decoded or shuffled come on top."""
    return _measure_network(load, batch_size).total() + _measure_batches(load, batch_size, waiting=1)


def buffers(memory: Memory, load: Load, split: Split, batch_size: int, limits: Limits) -> Buffers:
    """For a training on examples of `split`. Raises OutOfRange if the budget is too small for it."""
    threads = memory.threads or max(1, min(MOST_THREADS, limits.cores or max(2, limits.bytes // BUDGET_A_THREAD)))
    examples = max(1, split.examples)
    example_bytes = sum(shard.bytes for shard in split.shards) // examples + HELD_EXAMPLE_BYTES
    stated = (memory.shuffle_buffer_size, memory.queue(batch_size))
    windows = [min(window, examples) for window in stated if window]
    least = replace(
        _measure_network(load, batch_size),
        batches=_measure_batches(load, batch_size, waiting=1),
        decoding=threads * load.images * split.decoded_bytes // examples * (1 + FLOAT_BYTES),
        shuffling=sum(windows) * example_bytes,
    )
    _require(_measure_held(least, limits), limits.bytes, "budget", memory.budget, batch_size)
    if limits.device_bytes:
        _require(least.on_device(), limits.device_bytes, "device_budget", memory.device_budget, batch_size)
    left = limits.bytes - _measure_held(least, limits)
    if memory.shuffle == "buffer" and not windows:
        windows = [max(1, min(LARGEST_BUFFER, examples, int(left * BUFFER_SHARE) // example_bytes))]
    more = int(left * WAITING_SHARE) // (_measure_batches(load, batch_size, waiting=2) - least.batches)
    waiting = min(MOST_WAITING_BATCHES, 1 + more)
    batches, shuffling = _measure_batches(load, batch_size, waiting=waiting), sum(windows) * example_bytes
    parts = replace(least, batches=batches, shuffling=shuffling)
    on_device = parts.on_device() if limits.device_bytes else 0
    return Buffers(waiting, threads, tuple(windows), parts, _measure_held(parts, limits), on_device)


def _measure_network(load: Load, batch_size: int) -> Parts:
    return Parts(
        program=PROGRAM_BYTES + TRACKING_BYTES + load.variables * GRAPH_BYTES,
        weights=load.weights(),
        activations=batch_size * load.activation_bytes,
    )


def _measure_batches(load: Load, batch_size: int, *, waiting: int) -> int:
    """Of training and of its validation passes: those that wait, one in the making, one in use."""
    return 2 * (waiting + 2) * batch_size * load.pixels * CHANNELS * FLOAT_BYTES


def _measure_held(parts: Parts, limits: Limits) -> int:
    """By the process; what an accelerator holds is not in it."""
    return parts.total() - (parts.on_device() if limits.device_bytes else 0)


def _require(least: int, limit: int, key: str, given: str | None, batch_size: int) -> None:
    if least > limit:
        smaller = " (or a smaller batch)" if batch_size > 1 else ""
        shown = given if given != "auto" else f"auto, {limit // 10**6}MB"
        raise OutOfRange(key, shown, f"at least {-(-least // 10**6)}MB for train.batch_size={batch_size}{smaller}")
