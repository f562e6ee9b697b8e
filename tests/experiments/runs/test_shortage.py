"""Memory that ran out, for real: allocations that no machine grants."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.experiments.runs.memory_use import MemoryUse, OutOfMemory, memory_left
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.tasks.task import Tensors
from support import allocations
from support.allocations import PETABYTES, shortage
from support.imports import ROOT
from support.kitchen import Kitchen, Ones, phase
from support.workspace_copy import environment


@pytest.fixture(scope="module")
def failures() -> dict[str, dict[str, Any]]:
    """What is said of each allocation, by a process whose TensorFlow does not wait before it gives up."""
    done = subprocess.run(
        [sys.executable, allocations.__file__], cwd=ROOT, capture_output=True, text=True,
        env=environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
                             "TF_ENABLE_ONEDNN_OPTS": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("allocation", "reason"),
    [
        ("at once", r"OOM .*shape\[1000000000000000\] .+"),
        ("in a step", r"OOM .*shape\[10000000,10000000\] .+"),
        ("while batches are made", r"OOM .*shape\[10000000,10000000\] .+"),
        ("in the input", r"Unable to allocate .+"),
        ("by NumPy", r"Unable to allocate .+"),
    ],
)
def test_an_allocation_that_fails_names_batch_estimate_and_what_fits(
    allocation: str, reason: str, failures: dict[str, dict[str, Any]]
) -> None:
    message = (
        rf"^train\.batch_size: .*\bbatches of 64 \({reason}\).*\b8\.4 GB\b.*\b6\.05 GB\b.*\b40 is the largest\b"
        r".*\baccumulate_batches\b"
    )
    assert re.search(message, failures[allocation]["message"])
    assert failures[allocation]["has_cause"] and "\n" not in failures[allocation]["message"]


def test_the_batch_is_that_of_the_phase(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Huge(Ones):
        def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
            if phase.span.name == "whole":
                yield {"image": np.zeros(PETABYTES)}  # refused at once, where TensorFlow would wait for memory
            yield from super().batches(phase, steps)

    kitchen = Kitchen(tmp_path, [phase("head", 0, 2, 0.1), phase("whole", 2, 2, 0.1, batch_size=32)])
    kitchen.feed = Huge()
    message = r"^train\.phases: batch_size of 'whole': .*\bbatches of 32 \(Unable to allocate"
    with pytest.raises(OutOfMemory, match=message):
        kitchen.bake(callbacks=[MemoryUse(shortage(1e9))])
    assert len(list(tmp_path.glob("1-head/00000002"))) == 1


def test_where_the_estimate_was_too_low_three_quarters_are_expected_to_fit() -> None:
    assert shortage(100e9).largest_fitting(64) == 48
    assert shortage(100e9).largest_fitting(1) == 0


def test_the_largest_batch_divides_by_the_devices() -> None:
    assert shortage(5.95e9).largest_fitting(64) == 39
    assert shortage(5.95e9, devices=4).largest_fitting(64) == 36


def test_a_network_that_fits_with_no_batch_is_said_to() -> None:
    message = r"batches of 8 \(MemoryError\).*\bno batch\b.*\bsmaller network\b"
    with pytest.raises(OutOfMemory, match=message):
        shortage(1e9).explain(MemoryError(), "train.batch_size", 8)


def test_what_cuda_says_of_its_memory_counts() -> None:
    error = tf.errors.InternalError(None, None, "Failed copying input tensor: Dst tensor is not initialized.")
    with pytest.raises(OutOfMemory, match=r"\(InternalError\)"):
        shortage(1e9).explain(error, "train.batch_size", 8)


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "models/x; No space left on device"),
        tf.errors.InvalidArgumentError(None, None, "Incompatible shapes: [8] vs. [9]"),
        KeyError("out of memory"),
    ],
)
def test_other_errors_stay_what_they_are(error: Exception) -> None:
    shortage(1e9).explain(error, "train.batch_size", 8)  # raises nothing, so that the error itself goes on


def test_what_is_left_to_a_training_is_more_than_it_has_and_less_than_there_is() -> None:
    import psutil

    assert psutil.Process().memory_info().rss < memory_left(1) < 2 * psutil.virtual_memory().total
