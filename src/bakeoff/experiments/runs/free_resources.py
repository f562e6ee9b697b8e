"""Whether there is room for a run, asked before its first step: memory, the memory of GPUs, disk.

An estimate of memory is what the run may take at most, and part of what a process takes is shared with others; so a
run is put off only if less than a share of the estimate is left. What it writes is known well, so disk counts in full.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bakeoff.foundation.errors import TryAgainLater
from bakeoff.foundation.machine import available_memory, disk_free, free_on_gpus

MEMORY_SHARE = 0.4  # measured: the demo classifier, estimated at 1.0 GB, trains in 0.5 GB and is killed in 0.41
ANYWAY = "BAKEOFF_START_ANYWAY"
REMEDY = f"or set {ANYWAY}=1 to start all the same"


def require_room(*, memory_bytes: int, disk_bytes: Mapping[Path, int]) -> None:
    """Raise TryAgainLater if memory or disk is short. `disk_bytes` holds what will be written below each folder."""
    if _is_sure():
        return
    left = available_memory()
    if left < MEMORY_SHARE * memory_bytes:
        raise TryAgainLater(
            f"memory: {_size(left)} are left here, the run is estimated at {_size(memory_bytes)}, and less than "
            f"{MEMORY_SHARE:.0%} of that is not enough; end other programs, choose a smaller train.batch_size, {REMEDY}"
        )
    wanted: dict[int, int] = {}
    for folder, size in disk_bytes.items():
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        disk = there.stat().st_dev
        wanted[disk] = wanted.get(disk, 0) + max(0, size)
        free = disk_free(there)
        if free is not None and free < wanted[disk]:
            raise TryAgainLater(
                f"disk: {_size(free)} are left for {folder.as_posix()}, the run writes {_size(wanted[disk])} "
                f"to this disk; free some (`bakeoff clean` lists old work), {REMEDY}"
            )


def require_gpu_room(memory_bytes: int, devices: int) -> None:
    """Raise TryAgainLater if the run's memory is not free on each of the first `devices` GPUs."""
    left = free_on_gpus()
    if left is None or _is_sure():
        return
    for number, free in enumerate(left[:devices]):  # in the order in which TensorFlow takes them
        if free < MEMORY_SHARE * memory_bytes:
            raise TryAgainLater(
                f"memory of GPU {number}: {_size(free)} are left, the run is estimated at {_size(memory_bytes)} there, "
                f"and less than {MEMORY_SHARE:.0%} of that is not enough; end what uses it (`nvidia-smi` lists it), "
                f"choose a smaller train.batch_size, {REMEDY}"
            )


def bytes_below(folder: Path) -> int:
    """Return how many bytes the files below a folder take, without files that vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _is_sure() -> bool:
    return os.environ.get(ANYWAY, "") not in ("", "0")


def _size(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
