"""From a budget to buffers: what a training will hold, part by part, and how much may wait besides.

    program       the interpreter, TensorFlow, the tracking store, and the graphs that are made of the network
    weights       themselves, their gradients, the optimizer's numbers, their average, and a checkpoint being written
    activations   the outputs of all layers, which wait for the gradients, for every example of a batch
    batches       those that wait, one that is put together and one in use; and the same of the validation
    decoding      an image, or clip, as bytes and as numbers, for each thread
    shuffling     encoded examples in the buffer and the queue of `memory.shuffle: buffer`

The sum must stay under the budget. Of what the fixed parts leave, a tenth is for batches that wait, 1 to 16 of them,
and a quarter for a buffer whose size is not said.
"""

from dataclasses import dataclass, fields, replace

from bakeoff.errors import OutOfRange
from bakeoff.input.memory import Memory
from bakeoff.records.manifest import Split

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
class Load:
    """What a training is made of, apart from its batch size."""

    pixels: int  # of an example, at the network's size
    parameters: int
    variables: int
    activation_bytes: int  # of all layers' outputs for one example
    slots: int = 2  # numbers that the optimizer keeps of each parameter
    averaged: bool = False
    accumulates: bool = False

    def weights(self) -> int:
        moving = 1 + self.slots + self.averaged  # what changes, and is copied for a checkpoint that is being written
        extra = self.slots + self.averaged + self.accumulates + moving
        return self.parameters * FLOAT_BYTES * (COPIES_OF_WEIGHTS + extra)


@dataclass(frozen=True)
class Limits:
    """What there is."""

    bytes: int
    device_bytes: int = 0  # of the accelerator that holds the network; 0: there is none
    cores: int | None = None  # None: not looked at


@dataclass(frozen=True)
class Parts:
    program: int
    weights: int
    activations: int
    batches: int = 0
    decoding: int = 0
    shuffling: int = 0

    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    def on_device(self) -> int:
        return self.weights + self.activations

    def with_batches(self, times: float) -> "Parts":
        """Of so many times the batch size."""
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
    return _of_network(load, batch_size).total() + _batches(load, batch_size, waiting=1)


def buffers(memory: Memory, load: Load, split: Split, batch_size: int, limits: Limits) -> Buffers:
    """For a training on examples of `split`. Raises OutOfRange if the budget is too small for it."""
    threads = memory.threads or max(1, min(MOST_THREADS, limits.cores or max(2, limits.bytes // BUDGET_A_THREAD)))
    examples = max(1, split.examples)
    example_bytes = sum(shard.bytes for shard in split.shards) // examples + HELD_EXAMPLE_BYTES
    windows = [min(window, examples) for window in _stated_windows(memory, batch_size)]
    least = replace(
        _of_network(load, batch_size),
        batches=_batches(load, batch_size, waiting=1),
        decoding=threads * split.decoded_bytes // examples * (1 + FLOAT_BYTES),
        shuffling=sum(windows) * example_bytes,
    )
    _require(_held(least, limits), limits.bytes, "budget", memory.budget, batch_size)
    if limits.device_bytes:
        _require(least.on_device(), limits.device_bytes, "device_budget", memory.device_budget, batch_size)
    left = limits.bytes - _held(least, limits)
    if memory.shuffle == "buffer" and not windows:
        windows = [max(1, min(LARGEST_BUFFER, examples, int(left * BUFFER_SHARE) // example_bytes))]
    more = int(left * WAITING_SHARE) // (_batches(load, batch_size, waiting=2) - least.batches)
    waiting = min(MOST_WAITING_BATCHES, 1 + more)
    parts = replace(least, batches=_batches(load, batch_size, waiting=waiting), shuffling=sum(windows) * example_bytes)
    on_device = parts.on_device() if limits.device_bytes else 0
    return Buffers(waiting, threads, tuple(windows), parts, _held(parts, limits), on_device)


def _of_network(load: Load, batch_size: int) -> Parts:
    return Parts(
        program=PROGRAM_BYTES + TRACKING_BYTES + load.variables * GRAPH_BYTES,
        weights=load.weights(),
        activations=batch_size * load.activation_bytes,
    )


def _batches(load: Load, batch_size: int, *, waiting: int) -> int:
    """Of training and of its looks at validation: those that wait, one in the making, one in use."""
    return 2 * (waiting + 2) * batch_size * load.pixels * CHANNELS * FLOAT_BYTES


def _stated_windows(memory: Memory, batch_size: int) -> list[int]:
    return [window for window in (memory.shuffle_buffer_size or 0, memory.queue(batch_size)) if window]


def _held(parts: Parts, limits: Limits) -> int:
    """By the process; what an accelerator holds is not in it."""
    return parts.total() - (parts.on_device() if limits.device_bytes else 0)


def _require(least: int, limit: int, key: str, said: str | None, batch_size: int) -> None:
    if least > limit:
        smaller = " (or a smaller batch)" if batch_size > 1 else ""
        shown = said if said != "auto" else f"auto, {limit // 10**6}MB"
        raise OutOfRange(key, shown, f"at least {-(-least // 10**6)}MB for train.batch_size={batch_size}{smaller}")
