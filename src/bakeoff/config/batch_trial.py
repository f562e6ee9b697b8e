"""The process that tries batch sizes, seen from render_config: asked one size a line, ended if it takes too much.

Nothing of its code, and no TensorFlow, is loaded here.
"""

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from bakeoff import machine
from bakeoff.config.auto_batch import Choice, NothingFits, evidence_name, kept_choice, ladder, search
from bakeoff.input.memory import Limits, Load, estimate
from bakeoff.records.manifest import read_manifest
from bakeoff.records.record import TRAIN
from bakeoff.run.settings import Run, write
from bakeoff.training.variant import plan_auto_phases

TRIAL = "bakeoff.config.memory_trial"
OVER = 1.05  # of the budget: then it is ended, before the machine suffers
SECONDS_BETWEEN_LOOKS = 0.05
MOST_SECONDS = 300.0  # for one size


def largest_batch(smallest: Run, load: Load, limits: Limits, records: Path, kept_in: Path) -> Choice | None:
    """For a variant that is rendered with batches of 1. None without an example; raises NothingFits."""
    assert smallest.derived is not None
    split = read_manifest(records).splits[TRAIN]
    sizes = (split.examples, split.decoded_bytes, sum(shard.bytes for shard in split.shards))
    decided_by = (
        smallest.model, smallest.derived.num_classes, smallest.derived.multi_label, smallest.memory, smallest.optimizer,
        replace(smallest.train, steps=1, epochs=None, phases=()), [leg.trainable for leg in plan_auto_phases(smallest)],
        sizes, limits,
    )  # fmt: skip
    devices = smallest.train.devices
    rungs = ladder(split.examples, multiple_of=devices if isinstance(devices, int) else 1)

    def find() -> Choice:
        with ChildTries(smallest, records, limits.bytes) as tries:
            choice = search(rungs, limits.bytes, tries, lambda size: estimate(load, size))
        if choice is not None:
            return choice
        with ChildTries(smallest, records, machine.available_memory()) as tries:
            raise NothingFits(tries.peak(rungs[0]))

    return kept_choice(kept_in / evidence_name(*decided_by), find) if rungs else None


class ChildTries:
    """`peak(8)` asks for batches of 8. Sizes should climb: a smaller one after a larger one needs a new process."""

    def __init__(self, run: Run, records: Path, budget: int) -> None:
        self._records, self._budget = records, budget
        self._folder = tempfile.TemporaryDirectory()
        self._variant = Path(self._folder.name) / "run.yaml"
        write(run, self._variant)
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._largest = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._folder.cleanup()

    def peak(self, batch_size: int) -> int | None:
        if batch_size < self._largest:
            self._end()
        self._largest = batch_size
        child = self._child or self._start()
        assert child.stdin is not None
        try:
            child.stdin.write(f"{batch_size}\n")
            child.stdin.flush()
        except BrokenPipeError:
            self._end()
            return None
        answer = self._answer(child)
        if answer is None:
            self._end()
        said = f"{answer / 1e9:.2f} GB" if answer is not None else f"more than {self._budget / 1e9:.2f} GB, or an error"
        print(f"train.batch_size: auto: a batch of {batch_size} takes {said}", file=sys.stderr, flush=True)
        return answer

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", TRIAL, str(self._variant), str(self._records)]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answers = queue.Queue()
        threading.Thread(target=self._listen, args=(self._child, self._answers), daemon=True).start()
        return self._child

    @staticmethod
    def _listen(child: "subprocess.Popen[str]", answers: "queue.Queue[str]") -> None:
        assert child.stdout is not None
        for line in child.stdout:
            answers.put(line)

    def _answer(self, child: "subprocess.Popen[str]") -> int | None:
        """None if it died, was ended, or said that the device was too small."""
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            with suppress(queue.Empty):
                return json.loads(self._answers.get(timeout=SECONDS_BETWEEN_LOOKS))["peak_bytes"]
            try:
                if child.poll() is not None or psutil.Process(child.pid).memory_info().rss > OVER * self._budget:
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
