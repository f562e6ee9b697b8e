"""A run that is about to train -> a refusal where memory, a GPU or a disk has no room for what is estimated."""

from pathlib import Path

from bakeoff.config.track_settings import Track
from bakeoff.experiments.planning.estimate import OnDisk
from bakeoff.experiments.runs.free_resources import bytes_below, require_gpu_room, require_room
from bakeoff.foundation import workspace
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.tracking.store.target import takes_checkpoints_here


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
