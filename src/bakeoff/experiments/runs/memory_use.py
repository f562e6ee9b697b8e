"""Memory that a process takes: its peak and when, and what is said when it runs out."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bakeoff.experiments.runs.device import explain_gpu_fault
from bakeoff.foundation import machine
from bakeoff.foundation.errors import BakeoffError, is_out_of_memory
from bakeoff.foundation.formatting import format_size
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.input.memory_budget import Parts
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.training.callbacks import Callback

OVER = 1.1  # of the budget: from here on a warning is due
BUILT, STEPPED, LOOKED = "the network was built", "the steps before validation", "the first validation pass"
SHOWN = "its samples and events"


class MemoryUse(Callback):
    """The peak so far at a few moments of a run, by their names; and what is to blame where memory runs out."""

    def __init__(self, shortage: "Shortage | None" = None) -> None:
        self.peaks: dict[str, int] = {}
        self.shortage = shortage

    def mark(self, moment: str) -> None:
        """Note the peak at a moment; the first time is kept."""
        self.peaks.setdefault(moment, machine.peak_memory_bytes())

    def on_validation_start(self, step: int) -> None:
        self.mark(STEPPED)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self.mark(LOOKED)

    def on_error(self, error: Exception, key: str, batch_size: int) -> None:
        if self.shortage:
            self.shortage.explain(error, key, batch_size)
        explain_gpu_fault(error)

    def after_pictures(self) -> Callback:
        """Return what marks the peak once the callbacks before it in the list have drawn and written."""
        return _AfterPictures(self)


class _AfterPictures(Callback):
    def __init__(self, memory: MemoryUse) -> None:
        self._memory = memory

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self._memory.mark(SHOWN)


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
    course = ", ".join(f"{format_size(reached)} after {moment}" for moment, reached in moments)
    return (
        f"peak memory {format_size(peak)} is {peak / budget - 1:.0%} over memory.budget, {format_size(budget)}: "
        f"{course}. Most above the estimate: {of} took {format_size(grown)}, estimated {format_size(estimate)}; "
        "lower train.batch_size or raise memory.budget"
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

    def explain(self, error: Exception, key: str, batch_size: int) -> None:
        """Raise an error with the remedy, if this one means that memory ran out in work on batches of that size."""
        if is_out_of_memory(error):
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
        estimated, left = format_size(self.estimate(batch_size)), format_size(self.left())
        numbers = f"{estimated} were estimated, {left} are there"
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
