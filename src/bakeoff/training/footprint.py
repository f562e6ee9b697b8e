"""What a process has taken at its peak, and when."""

import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from bakeoff.input.memory import Parts

Result = TypeVar("Result")
OVER = 1.1  # of the budget: from here on a warning is due
BUILT, STEPPED, LOOKED = "the network was built", "the steps before the first look", "the first look at validation"


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

    def around(self, look: Callable[[], Result]) -> Callable[[], Result]:
        """The same look at validation, with the peak before and after the first."""

        def marked() -> Result:
            self.mark(STEPPED)
            result = look()
            self.mark(LOOKED)
            return result

        return marked


def warning(peaks: Mapping[str, int], peak: int, budget: int, parts: Parts) -> str | None:
    """What took more than it should, if the peak is over the budget by more than a tenth."""
    if peak <= OVER * budget:
        return None
    moments = [(moment, peaks[moment]) for moment in (BUILT, STEPPED, LOOKED) if moment in peaks] + [("the end", peak)]
    expected = {
        BUILT: (parts.program + parts.weights, "program and weights"),
        STEPPED: (parts.activations + parts.decoding + parts.shuffling + parts.batches, "activations and batches"),
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
