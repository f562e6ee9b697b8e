"""Whether there is room for a run, asked before its first step: memory, the memory of GPUs, disk.

An estimate of memory is what the run may take at most, and part of what a process takes is shared with others; so a
run is put off only if less than a share of the estimate is left. What it writes is known well, so disk counts in full.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from bakeoff.config.track_settings import Track
from bakeoff.experiments.planning.estimate import OnDisk
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import TryAgainLater
from bakeoff.foundation.files import bytes_below
from bakeoff.foundation.formatting import format_size
from bakeoff.foundation.machine import available_memory, disk_free, list_gpus
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.tracking.store.target import takes_checkpoints_here

MEMORY_SHARE = 0.4  # measured: the demo classifier, estimated at 1.0 GB, trains in 0.5 GB and is killed in 0.41
ANYWAY = "BAKEOFF_START_ANYWAY"
REMEDY = f"or set {ANYWAY}=1 to start all the same"


def require_room_for(run: LearningRun, track: Track, in_flight: Path, out: Path) -> None:
    """Ask before TensorFlow is loaded; work in flight may be there already, from before an interruption."""
    disk = OnDisk.of(run.train, run.derived.parameters)
    require_room(
        memory_bytes=run.derived.memory_estimate_bytes,
        disk_bytes={
            in_flight: disk.in_flight - bytes_below(in_flight),
            out: disk.outputs,
            # DVC's copy and MLflow's.
            workspace.main_workspace(): 2 * disk.outputs + disk.in_flight * takes_checkpoints_here(track),
        },
    )


def require_gpu_room_for(run: LearningRun, replicas: int) -> None:
    """Ask of GPUs that TensorFlow has found; where there is none, the estimate of memory has counted everything."""
    from bakeoff.learning.training.accelerators import has_gpus

    if has_gpus():
        require_gpu_room(run.derived.memory_parts.on_device(), replicas)


def require_room(*, memory_bytes: int, disk_bytes: Mapping[Path, int]) -> None:
    """Raise TryAgainLater if memory or disk is short. `disk_bytes` holds what will be written below each folder."""
    if _is_sure():
        return
    _require_memory("memory", available_memory(), memory_bytes, "end other programs")
    wanted: dict[int, int] = {}
    for folder, size in disk_bytes.items():
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        disk = there.stat().st_dev
        wanted[disk] = wanted.get(disk, 0) + max(0, size)
        free = disk_free(there)
        if free is not None and free < wanted[disk]:
            raise TryAgainLater(
                f"disk: {format_size(free)} are left for {folder.as_posix()}, the run writes "
                f"{format_size(wanted[disk])} to this disk; free some (`bakeoff clean` lists old work), {REMEDY}"
            )


def require_gpu_room(memory_bytes: int, devices: int) -> None:
    """Raise TryAgainLater if the run's memory is not free on each of the first `devices` GPUs."""
    remedy = "end what uses it (`nvidia-smi` lists it)"
    for number, gpu in enumerate([] if _is_sure() else list_gpus()[:devices]):  # in TensorFlow's order
        _require_memory(f"memory of GPU {number}", gpu.free_bytes, memory_bytes, remedy)


def _require_memory(which: str, left: int, wanted: int, remedy: str) -> None:
    if left < MEMORY_SHARE * wanted:
        raise TryAgainLater(
            f"{which}: {format_size(left)} are left here, the run is estimated at {format_size(wanted)}, and less than "
            f"{MEMORY_SHARE:.0%} of that is not enough; {remedy}, choose a smaller train.batch_size, {REMEDY}"
        )


def _is_sure() -> bool:
    return os.environ.get(ANYWAY, "") not in ("", "0")
