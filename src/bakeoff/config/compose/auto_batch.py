"""`train.batch_size: auto`: the largest batch that fits the budget, found by trying.

A child process takes a few real steps with one size after the other and says the memory that it took; whatever kills
it costs nothing, and no TensorFlow is loaded here. Sizes climb a ladder 1, 2, 3, 4, 6, 8, 12, 16, …, so that a few
megabytes more or less rarely change the choice. It is kept for the next time: same network, task, budget and machine.
"""

import hashlib
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from bakeoff.config.compose.memory_plan import KEPT_OUTPUTS, Limits, Load, estimate
from bakeoff.config.compose.network_facts import find_once
from bakeoff.config.compose.whole_run import Run, write
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.foundation import machine
from bakeoff.foundation.versions import library_version
from bakeoff.learning.plan.phases import plan_auto_phases

LARGEST = 1024
LIBRARIES = ("tensorflow", "keras", "numpy")
TRIAL = "bakeoff.config.compose.memory_trial"
OVER = 1.05  # a trial that takes more than this share of the budget is ended
POLL_SECONDS = 0.05
MOST_SECONDS = 300.0  # for one size


@dataclass(frozen=True)
class BatchSizeTrial:
    batch_size: int
    peak_bytes: int | None  # None: it did not fit, or was ended when it went over the budget


@dataclass(frozen=True)
class BatchSizeChoice:
    batch_size: int
    trials: tuple[BatchSizeTrial, ...]

    def peak_bytes(self) -> int:
        return next(trial.peak_bytes or 0 for trial in self.trials if trial.batch_size == self.batch_size)

    def measured(self, load: Load) -> Load:
        """Return it with as many bytes for the outputs of layers as make the estimate what was measured."""
        apart = estimate(replace(load, activation_bytes=0), self.batch_size)
        of_outputs = max(0, self.peak_bytes() - apart) / (self.batch_size * KEPT_OUTPUTS)
        return replace(load, activation_bytes=int(of_outputs))

    def in_words(self, budget: int, most: int) -> str:
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
        """Return the bytes that training with such batches took at its peak; None if it did not fit."""


def ladder(most: int, multiple_of: int = 1) -> list[int]:
    """Return powers of two and what lies half way between them, up to `most`, which is the last rung in any case."""
    rungs = {size for power in range(12) for size in (2**power, 3 * 2**power)} | {most}
    fitting = {size // multiple_of * multiple_of for size in rungs if size <= min(most, LARGEST)}
    return sorted(fitting - {0})


def search(rungs: Sequence[int], budget: int, tries: Tries, expected: Callable[[int], int]) -> BatchSizeChoice | None:
    """Return the largest rung whose peak is within the budget, or None; `expected` says where to begin.

    Climbs, because within one process peaks only grow: first to where half of what is left would be taken, then by
    the line through what was measured.
    """
    trials: list[BatchSizeTrial] = []
    fits, fails = -1, len(rungs)  # indexes of rungs
    half = (expected(0) + budget) // 2
    at = max((place for place, size in enumerate(rungs) if expected(size) <= half), default=0)
    while fails - fits > 1:
        peak = tries.peak(rungs[at])
        peak = peak if peak is not None and peak <= budget else None
        trials.append(BatchSizeTrial(rungs[at], peak))
        fits, fails = (at, fails) if peak is not None else (fits, at)
        at = _next_rung(rungs, trials, budget, fits, fails, expected)
        if at == fits:
            break
    return BatchSizeChoice(rungs[fits], tuple(trials)) if fits >= 0 else None


def _next_rung(
    rungs: Sequence[int],
    trials: Sequence[BatchSizeTrial],
    budget: int,
    fits: int,
    fails: int,
    expected: Callable[[int], int],
) -> int:
    """Return the highest that should fit, above what is known to; that itself, if no higher one should."""
    measured = [(trial.batch_size, trial.peak_bytes) for trial in trials if trial.peak_bytes is not None]
    if not measured:
        return max(0, fails // 2)
    (size, peak), *others = sorted(measured, reverse=True)
    slope = float(expected(2 * size) - expected(size)) / size
    if others and others[0][0] < size:
        slope = max((peak - others[0][1]) / (size - others[0][0]), 0.0)
    above = [place for place in range(fits + 1, fails) if peak + slope * (rungs[place] - size) <= budget]
    return max(above, default=fits if len(measured) > 1 else min(fits + 1, fails - 1))


def evidence_name(*deciding: Any) -> str:
    """Return a file name, other for whatever changes what fits."""
    versions = [library_version(name) for name in LIBRARIES]
    evidence = json.dumps([platform.node(), *versions, *(repr(part) for part in deciding)])
    return f"batch-{hashlib.sha256(evidence.encode()).hexdigest()[:16]}.json"


def largest_batch(smallest: Run, load: Load, limits: Limits, records: Path, kept_in: Path) -> BatchSizeChoice | None:
    """Return it for a variant that is rendered with batches of 1. None without an example; raises NothingFits."""
    split = read_manifest(records).splits[TRAIN]
    sizes = (split.examples, split.decoded_bytes, sum(shard.bytes for shard in split.shards))
    decided_by = (
        smallest.model, smallest.derived.num_classes, smallest.derived.multi_label, smallest.memory, smallest.optimizer,
        replace(smallest.train, steps=1, epochs=None, phases=()),
        [phase.trainable for phase in plan_auto_phases(smallest)], sizes, limits,
        *(["eight bits"] if smallest.train.quantizes else []),
    )  # fmt: skip
    rungs = ladder(split.examples, multiple_of=smallest.train.device_number or 1)

    def find() -> BatchSizeChoice:
        with ChildTries(smallest, records, limits.bytes) as tries:
            choice = search(rungs, limits.bytes, tries, lambda size: estimate(load, size))
        if choice is not None:
            return choice
        with ChildTries(smallest, records, machine.available_memory()) as tries:
            raise NothingFits(tries.peak(rungs[0]))

    def read(tree: Any) -> BatchSizeChoice:
        return BatchSizeChoice(tree["batch_size"], tuple(BatchSizeTrial(**one) for one in tree["trials"]))

    return find_once(kept_in / evidence_name(*decided_by), read, find) if rungs else None


class ChildTries:
    """`peak(8)` asks for batches of 8. Sizes should climb: a smaller one after a larger one needs a new process."""

    def __init__(self, run: Run, records: Path, budget: int) -> None:
        self._records, self._budget = records, budget
        self._folder = tempfile.TemporaryDirectory()
        self._variant = Path(self._folder.name) / "run.yaml"
        write(run, self._variant)
        self._child: subprocess.Popen[str] | None = None
        self._reader = ThreadPoolExecutor(1)  # waits for the child's next line
        self._largest = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._reader.shutdown()
        self._folder.cleanup()

    def peak(self, batch_size: int) -> int | None:
        if batch_size < self._largest:
            self._end()
        self._largest = batch_size
        child = self._child or self._start()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(f"{batch_size}\n")
            child.stdin.flush()
        except BrokenPipeError:
            self._end()
            return None
        answer = self._await(self._reader.submit(child.stdout.readline), child.pid)
        if answer is None:
            self._end()
        too_much = f"more than {self._budget / 1e9:.2f} GB, or an error"
        taken = f"{answer / 1e9:.2f} GB" if answer is not None else too_much
        print(f"train.batch_size: auto: a batch of {batch_size} takes {taken}", file=sys.stderr, flush=True)
        return answer

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", TRIAL, str(self._variant), str(self._records)]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self._child

    def _await(self, line: Future[str], pid: int) -> int | None:
        """Return the peak; None if the child died, was ended, or said that the device was too small."""
        import psutil  # takes 20 ms, and mostly the size of a batch is stated

        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                text = line.result(timeout=POLL_SECONDS)
                return json.loads(text)["peak_bytes"] if text else None
            try:
                if psutil.Process(pid).memory_info().rss > OVER * self._budget:
                    return None
            except psutil.NoSuchProcess:
                return None
        return None

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()
        self._child, self._largest = None, 0
