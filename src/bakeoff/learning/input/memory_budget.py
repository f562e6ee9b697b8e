"""What the run may use, `conf/memory/`, and the parts of which an estimate of its memory is the sum."""

import re
from dataclasses import dataclass, fields, replace
from typing import Literal

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
            if value is not None and self.shuffle != "buffer":
                why = "set memory.shuffle: buffer beside it; memory: frc and memory: inception have it"
                raise OutOfRange(key, value, "null while memory.shuffle is global", why)
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
class Parts:
    program: int  # the interpreter, TensorFlow, and what it makes of the network: graphs, copies of its kernels
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
