"""Memory that ran out: the batch that did not fit, what was estimated for it, and the largest that is expected to fit.

A CPU's memory often runs out otherwise: Linux grants what it does not have and ends the process later. What is caught
here is what the system, TensorFlow or a GPU refuses.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import tensorflow as tf

from bakeoff import machine
from bakeoff.errors import BakeoffError, is_disk_full

REFUSED = re.compile(  # said where TensorFlow has no class of its own for it
    r"OOM when allocating|out of memory|OUT_OF_MEMORY|Dst tensor is not initialized|bad_alloc", re.IGNORECASE
)
SAID = re.compile(
    r"OOM when allocating tensor with shape\[[^]]*\] and type \w+ on \S+|Unable to allocate [^\n]*|CUDA_ERROR\w+"
)
WRONG_BY = 0.75  # of the batch that failed is expected to fit, where the estimate says that all of it would have


class OutOfMemory(BakeoffError):
    pass


@dataclass(frozen=True)
class Shortage:
    estimate: Callable[[int], int]  # bytes that a training takes with a batch of so many examples
    left: Callable[[], int]  # bytes that it may take in all
    devices: int = 1  # a batch is made of equal shares for them

    @contextmanager
    def said(self, key: str, batch_size: int) -> Iterator[None]:
        """Of work on batches of that size, which the key sets."""
        try:
            yield
        except (tf.errors.OpError, MemoryError, SystemError) as error:
            if not _is_refusal(error):
                raise
            raise OutOfMemory(self._message(key, batch_size, error)) from error

    def largest_fitting(self, failed: int) -> int:
        """By the estimate, but well below what is known not to fit; 0 if nothing is expected to."""
        left = self.left()
        fits = int(failed * WRONG_BY) if self.estimate(failed) <= left else failed - 1
        while fits and self.estimate(fits) > left:
            fits -= 1
        return fits - fits % self.devices

    def _message(self, key: str, batch_size: int, error: BaseException) -> str:
        known = SAID.search(str(error))
        reason = known[0] if known else type(error).__name__
        numbers = f"{self.estimate(batch_size) / 1e9:.2f} GB were estimated, {self.left() / 1e9:.2f} GB are there"
        fits = self.largest_fitting(batch_size)
        remedy = f"{fits} is the largest that is expected to fit (accumulate_batches keeps the examples of a step)"
        if not fits:
            remedy = "no batch is expected to fit: choose a smaller network or input, or another machine"
        return (
            f"{key}: must be smaller, for memory ran out with batches of {batch_size} ({reason}); {numbers}; {remedy}"
        )


def memory_left(devices: int) -> int:
    """To a training in this process: of the GPUs that it uses, what TensorFlow may take; else of the machine."""
    from tensorflow.python.client import device_lib  # GPUs' limits are told nowhere else

    limits = [device.memory_limit for device in device_lib.list_local_devices() if device.device_type == "GPU"]
    if limits:
        return sum(limits[:devices])
    return machine.resident_memory() + machine.available_memory()


def _is_refusal(error: BaseException) -> bool:
    if is_disk_full(error):  # a full disk is an exhausted resource to TensorFlow as well
        return False
    known = isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError))
    return known or REFUSED.search(str(error)) is not None
