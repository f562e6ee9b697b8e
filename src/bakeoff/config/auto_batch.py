"""`train.batch_size: auto`: the largest batch that fits the budget, found by trying.

A child process takes a few real steps with one size after the other and says the memory that it took; whatever kills
it costs nothing. Sizes climb a ladder 1, 2, 3, 4, 6, 8, 12, 16, …, so that a few megabytes more or less, as two tries
differ, rarely change the choice. What was found is kept for the next time: same network, task, budget and machine.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from bakeoff.files import write_whole
from bakeoff.input.memory import Load, estimate

LARGEST = 1024
LIBRARIES = ("tensorflow", "keras", "numpy")


@dataclass(frozen=True)
class Trial:
    """One size, tried."""

    batch_size: int
    peak_bytes: int | None  # None: it did not fit, or was ended when it went over the budget


@dataclass(frozen=True)
class Choice:
    batch_size: int
    trials: tuple[Trial, ...]

    def peak_bytes(self) -> int:
        return next(trial.peak_bytes or 0 for trial in self.trials if trial.batch_size == self.batch_size)

    def measured(self, load: Load) -> Load:
        """With as many bytes for the outputs of layers as make the estimate what was measured."""
        apart = estimate(replace(load, activation_bytes=0), self.batch_size)
        return replace(load, activation_bytes=max(0, (self.peak_bytes() - apart) // self.batch_size))

    def in_words(self, budget: int, most: int) -> str:
        """Why this size."""
        took = f"auto: {self.batch_size} took {self.peak_bytes() / 1e9:.2f} of {budget / 1e9:.2f} GB when tried"
        if self.batch_size == most < LARGEST:
            return f"{took}, and is all there is to train on"
        over = [trial.batch_size for trial in self.trials if trial.batch_size > self.batch_size]
        return f"{took}; {min(over)} did not fit" if over else took


class NothingFits(Exception):
    """Not even the smallest batch does; it takes `least_bytes`, unless that could not be found out either."""

    def __init__(self, least_bytes: int | None) -> None:
        super().__init__(least_bytes)
        self.least_bytes = least_bytes


class Tries(Protocol):
    def peak(self, batch_size: int) -> int | None:
        """Bytes that training with such batches took at its peak; None if it did not fit."""


def ladder(most: int, multiple_of: int = 1) -> list[int]:
    """Powers of two and what lies half way between them, up to `most`, which is the last rung if it is none of them."""
    rungs = {size for power in range(12) for size in (2**power, 3 * 2**power)} | {most}
    fitting = {size // multiple_of * multiple_of for size in rungs if size <= min(most, LARGEST)}
    return sorted(fitting - {0})


def search(rungs: Sequence[int], budget: int, tries: Tries, expected: Callable[[int], int]) -> Choice | None:
    """The largest rung whose peak is within the budget; None if the first is not. `expected` says where to begin.

    Climbs, because within one process peaks only grow: first to where half of what is left would be taken, then by
    the line through what was measured.
    """
    trials: list[Trial] = []
    fits, fails = -1, len(rungs)  # indexes of rungs
    half = (expected(0) + budget) // 2
    at = max((place for place, size in enumerate(rungs) if expected(size) <= half), default=0)
    while fails - fits > 1:
        peak = tries.peak(rungs[at])
        peak = peak if peak is not None and peak <= budget else None
        trials.append(Trial(rungs[at], peak))
        fits, fails = (at, fails) if peak is not None else (fits, at)
        at = _next_rung(rungs, trials, budget, fits, fails, expected)
        if at == fits:
            break
    if fits < 0:
        return None
    return Choice(rungs[fits], tuple(trials))


def _next_rung(
    rungs: Sequence[int], trials: Sequence[Trial], budget: int, fits: int, fails: int, expected: Callable[[int], int]
) -> int:
    """The highest that should fit, above what is known to; that itself, if no higher one should."""
    measured = [(trial.batch_size, trial.peak_bytes) for trial in trials if trial.peak_bytes is not None]
    if not measured:
        return max(0, fails // 2)
    (size, peak), *others = sorted(measured, reverse=True)
    slope = float(expected(2 * size) - expected(size)) / size
    if others and others[0][0] < size:
        slope = max((peak - others[0][1]) / (size - others[0][0]), 0.0)
    above = [place for place in range(fits + 1, fails) if peak + slope * (rungs[place] - size) <= budget]
    if above:
        return max(above)
    return fits if len(measured) > 1 else min(fits + 1, fails - 1)


def kept_choice(path: Path, find: Callable[[], Choice]) -> Choice:
    """Read from the file, or found and then kept there."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Choice(tree["batch_size"], tuple(Trial(**trial) for trial in tree["trials"]))
    except (OSError, ValueError, KeyError, TypeError):
        choice = find()  # nothing yet, or cut off by a crash
    write_whole(path, json.dumps(asdict(choice), indent=1))
    return choice


def evidence_name(*deciding: Any) -> str:
    """A file name, other for whatever changes what fits."""
    versions = [metadata.version(name) for name in LIBRARIES]
    said = json.dumps([platform.node(), *versions, *(repr(part) for part in deciding)])
    return f"batch-{hashlib.sha256(said.encode()).hexdigest()[:16]}.json"
