"""Memory that a process takes: its peak and when, and what is said when it runs out."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from bakeoff.foundation import machine
from bakeoff.foundation.errors import BakeoffError, is_disk_full
from bakeoff.learning.input.memory_budget import Parts
from bakeoff.learning.plan.phases import Derived

Result = TypeVar("Result")
OVER = 1.1  # of the budget: from here on a warning is due
BUILT, STEPPED, LOOKED = "the network was built", "the steps before validation", "the first validation pass"
SHOWN = "its samples and events"


def peak_memory_bytes() -> int:
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def device_peak_bytes() -> int:
    """Of the accelerator that took most; 0 without one."""
    import tensorflow as tf

    names = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices("GPU")]
    return max((tf.config.experimental.get_memory_info(name)["peak"] for name in names), default=0)


class Footprint:
    """The peak so far at a few moments of a run, by their names."""

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}

    def mark(self, moment: str) -> None:
        """A moment's first time is kept."""
        self.peaks.setdefault(moment, peak_memory_bytes())

    def around(self, validation_pass: Callable[[], Result]) -> Callable[[], Result]:
        """The same look at validation, with the peak before and after the first."""

        def marked() -> Result:
            self.mark(STEPPED)
            result = validation_pass()
            self.mark(LOOKED)
            return result

        return marked


def warning(peaks: Mapping[str, int], peak: int, budget: int, parts: Parts) -> str | None:
    """What took more than it should, if the peak is over the budget by more than a tenth."""
    if peak <= OVER * budget:
        return None
    known = (BUILT, STEPPED, LOOKED, SHOWN)
    moments = [(moment, peaks[moment]) for moment in known if moment in peaks] + [("the end", peak)]
    expected = {
        BUILT: (parts.program + parts.weights, "program and weights"),
        STEPPED: (parts.activations + parts.decoding + parts.shuffling + parts.batches, "activations and batches"),
        SHOWN: (0, "train.samples and train.tensorboard"),
    }
    growths, before = [], 0
    for moment, reached in moments:
        estimate, of = expected.get(moment, (0, "evaluation, checkpoints and the tracking store"))
        growths.append((reached - before - estimate, reached - before, estimate, of))
        before = reached
    _, grown, estimate, of = max(growths)
    course = ", ".join(f"{_gb(reached)} after {moment}" for moment, reached in moments)
    return (
        f"peak memory {_gb(peak)} is {peak / budget - 1:.0%} over memory.budget, {_gb(budget)}: {course}. "
        f"Most above the estimate: {of} took {_gb(grown)}, estimated {_gb(estimate)}; "
        "lower train.batch_size or raise memory.budget"
    )


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


REFUSED = re.compile(  # said where TensorFlow has no class of its own for it
    r"OOM when allocating|out of memory|OUT_OF_MEMORY|Dst tensor is not initialized|bad_alloc", re.IGNORECASE
)
SIZE_IN_MESSAGE = re.compile(
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
    def explained(self, key: str, batch_size: int) -> Iterator[None]:
        """Of work on batches of that size, which the key sets."""
        import tensorflow as tf

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
        known = SIZE_IN_MESSAGE.search(str(error))
        reason = known[0] if known else type(error).__name__
        numbers = f"{self.estimate(batch_size) / 1e9:.2f} GB were estimated, {self.left() / 1e9:.2f} GB are there"
        fits = self.largest_fitting(batch_size)
        remedy = f"{fits} is the largest that is expected to fit (accumulate_batches keeps the examples of a step)"
        if not fits:
            remedy = "no batch is expected to fit: choose a smaller network or input, or another machine"
        return (
            f"{key}: must be smaller, for memory ran out with batches of {batch_size} ({reason}); {numbers}; {remedy}"
        )


def explain_shortage(derived: Derived, devices: int) -> Shortage:
    """Return what explains memory that runs out in a training with these numbers."""
    largest = max(span.batch_size for span in derived.phases)

    def estimate(batch_size: int) -> int:
        return derived.memory_parts.with_batches(batch_size / largest).total()

    return Shortage(estimate, lambda: memory_left(devices), devices)


def memory_left(devices: int) -> int:
    """To a training in this process: of the GPUs that it uses, what TensorFlow may take; else of the machine."""
    from tensorflow.python.client import device_lib  # GPUs' limits are told nowhere else

    limits = [device.memory_limit for device in device_lib.list_local_devices() if device.device_type == "GPU"]
    if limits:
        return sum(limits[:devices])
    return machine.resident_memory() + machine.available_memory()


def _is_refusal(error: BaseException) -> bool:
    import tensorflow as tf

    if is_disk_full(error):  # a full disk is an exhausted resource to TensorFlow as well
        return False
    known = isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError))
    return known or REFUSED.search(str(error)) is not None
