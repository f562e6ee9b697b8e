"""A memory budget -> buffers: what a training will hold, part by part.

The sum must stay under the budget. Of what the fixed parts leave, a tenth is for batches that wait, 1 to 16 of them,
and a quarter for a buffer whose size is not stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.dataset.records.manifest import Split
from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.input.memory_budget import Memory, Parts

# As measured on CPUs (benchmarks/memory.py, and of full-size networks `make presets`).
PROGRAM_BYTES = 600 * 10**6
GRAPH_BYTES = 10**6  # for each of the network's variables: layers, traced functions, their gradients
OUTPUTS_IN_EIGHT_BITS = 2.2  # times as much waits for the gradients: a map as it was, and rounded
COPIES_OF_WEIGHTS = 3  # themselves, gradients, and those that are best so far, kept for writing
OTHER_COPIES = 3  # the process has: the values as drawn, and kernels in the order that oneDNN wants
KEPT_OUTPUTS = 0.8  # share of all layers' outputs that waits for the gradients; on an accelerator all are counted
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
    images: int = 1  # that an example may be made of
    validation_examples: int = 10**9  # no more of them can wait

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
        _measure_network(load, batch_size, 1.0 if limits.device_bytes else KEPT_OUTPUTS),
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


def of_largest_phase(held: Buffers, load: Load, phases: Sequence[tuple[int, float]], limits: Limits) -> Buffers:
    """Return what the phase holds that holds most, with as many batches waiting.

    `phases` are batch sizes, and the shares of the outputs that wait for gradients; `held` is the most of each.
    """
    most_kept = max(batch * share for batch, share in phases)
    several = [
        replace(
            held.parts,
            activations=int(held.parts.activations * batch * share / most_kept),
            batches=_measure_batches(load, batch, waiting=held.prefetch_batches),
        )
        for batch, share in phases
    ]
    parts = max(several, key=lambda one: _measure_held(one, limits))
    on_device = max(one.on_device() for one in several) if limits.device_bytes else 0
    return replace(held, parts=parts, bytes=_measure_held(parts, limits), device_bytes=on_device)


def _measure_network(load: Load, batch_size: int, kept_outputs: float = KEPT_OUTPUTS) -> Parts:
    copies = OTHER_COPIES * load.parameters * FLOAT_BYTES
    return Parts(
        program=PROGRAM_BYTES + load.variables * GRAPH_BYTES + copies,
        weights=load.weights(),
        activations=int(batch_size * load.activation_bytes * kept_outputs),
    )


def _measure_batches(load: Load, batch_size: int, *, waiting: int) -> int:
    """Of training and of its validation passes: those that wait, one in the making, one in use."""
    examples = (waiting + 2) * batch_size
    return (examples + min(examples, load.validation_examples)) * load.pixels * CHANNELS * FLOAT_BYTES


def _measure_held(parts: Parts, limits: Limits) -> int:
    """By the process; what an accelerator holds is not in it."""
    return parts.total() - (parts.on_device() if limits.device_bytes else 0)


def _require(least: int, limit: int, key: str, given: str | None, batch_size: int) -> None:
    if least > limit:
        smaller = " (or a smaller batch)" if batch_size > 1 else ""
        shown = given if given != "auto" else f"auto, {limit // 10**6}MB"
        raise OutOfRange(key, shown, f"at least {-(-least // 10**6)}MB for train.batch_size={batch_size}{smaller}")
