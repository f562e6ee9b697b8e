"""What a training computes on: set in TensorFlow, printed before the first step, kept with the run, sent to MLflow."""

import os
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bakeoff.foundation.errors import BakeoffError, WorkspaceError
from bakeoff.foundation.files import read_text, write_whole
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.machine import VISIBLE_GPUS, cores, gpu_names, list_gpus
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.foundation.versions import library_version, package_of
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.tracking.sync.system_metrics import has_bfloat16, processor

DEVICE_FILE = "device"  # in a run's folder: what it computed on last
CPU = "the CPU"
DEVICE_TAG, THREADS_TAG = "bakeoff.device", "bakeoff.threads"
FAULT = re.compile(r"(CUDA_ERROR|CUDNN_STATUS|CUBLAS_STATUS)_\w+")


class GpuFault(BakeoffError):
    pass


def count_devices(run: LearningRun) -> int:
    """Return how many devices a training computes on. TensorFlow is loaded for it only if it alone knows."""
    if (number := run.train.device_number) is not None:
        return number
    choose_devices(run)
    from bakeoff.learning.training.accelerators import device_count

    return device_count(run.train.devices)


def choose_devices(run: LearningRun, threads: int | None = None) -> None:
    """Load TensorFlow and set the devices that a training computes on. A run that began with another number of
    `threads` in one operation than its variant has here goes on with that.
    """
    load_tensorflow(saves_graphs=False)
    from bakeoff.learning.training.accelerators import use_devices, use_threads

    use_devices(run.train.devices, run.memory.gpu_memory_limit)
    used = use_threads(threads or run.derived.threads)
    if threads and used != threads:
        course = f"this run has computed with {threads} in one operation and goes on with {used}"
        print(f"warning: train.threads: {course}, so no run repeats its weights to the bit", file=sys.stderr)


def print_device(replicas: int, *, mixed_precision: bool = False) -> None:
    """Print what the training computes on; of GPUs the first `replicas`. TensorFlow is loaded."""
    import tensorflow as tf

    from bakeoff.learning.training.accelerators import threads_in_use

    if details := _details(replicas):
        print_line(f"train: computes on {name_gpus([one.get('device_name', 'unnamed') for one in details])}")
        return
    with_threads = f"{format_count(threads_in_use(), 'thread')} in one operation"
    what = f"{format_count(cores(), 'core')} of {processor().split('; ')[1]}, {with_threads}"
    print_line(f"train: computes on the CPU, {what}")
    if not tf.config.list_physical_devices("GPU") and (unused := gpu_names()):
        print(f"warning: {describe_unused(unused)}", file=sys.stderr)
    if mixed_precision and not has_bfloat16():
        course = "this processor shows no instructions for bfloat16, so a step may take more than twice as long"
        print(f"warning: train.mixed_precision: {course}; false computes in float32", file=sys.stderr)


def keep_device(folder: Path, replicas: int) -> None:
    """Write what a run computes on into its folder. Another kind of device than before is said, or refused.

    A GPU that is no longer there is refused, for the CPU would go on many times slower and with other bits. Whoever
    wants that hides the GPUs.
    """
    names = [one.get("device_name", "unnamed") for one in _details(replicas)]
    now, file = name_gpus(names) if names else CPU, folder / DEVICE_FILE
    before = read_text(file) or now
    if (before == CPU) != (now == CPU):
        course = f"{folder.name}: this run has computed on {before} and would go on with {now}"
        if now == CPU and os.environ.get(VISIBLE_GPUS) != "-1":
            raise WorkspaceError(f"{course}; `bakeoff doctor` says why; {VISIBLE_GPUS}=-1 says that the CPU is meant")
        print(f"warning: {course}, which rounds differently: no run repeats these weights to the bit", file=sys.stderr)
    write_whole(file, now)


def explain_gpu_fault(error: BaseException) -> None:
    """Raise an error with the remedy, if this one means that a GPU failed."""
    if found := FAULT.search(str(error)):
        raise GpuFault(
            f"the GPU failed: {found[0]}; `nvidia-smi` says whether it is still there; the checkpoints are whole, and "
            "the same command resumes from the newest one"
        ) from error


def device_tags(replicas: int) -> dict[str, str]:
    """Return MLflow's tags: `1 GPU: NVIDIA A10; compute capability 8.6; 24.1 GB; driver 550.54.15`, and the threads."""
    from bakeoff.learning.training.accelerators import threads_in_use

    threads = {THREADS_TAG: str(threads_in_use())}
    if not (details := _details(replicas)):
        return {DEVICE_TAG: "CPU"} | threads
    parts = [name_gpus([one.get("device_name", "unnamed") for one in details])]
    if capability := details[0].get("compute_capability"):
        parts.append(f"compute capability {'.'.join(map(str, capability))}")
    if gpus := list_gpus():
        parts += [f"{gpus[0].memory_bytes / 1e9:.1f} GB", f"driver {gpus[0].driver}"]
    return {DEVICE_TAG: "; ".join(parts)} | threads


def _details(replicas: int) -> list[dict[str, Any]]:
    """Return what TensorFlow knows of the GPUs that a training uses; nothing on CPUs."""
    import tensorflow as tf

    gpus = tf.config.get_visible_devices("GPU")[:replicas]
    return [tf.config.experimental.get_device_details(gpu) for gpu in gpus]


def name_gpus(names: list[str]) -> str:
    """Return "2 GPUs: 2 x NVIDIA A10"."""
    counted = ", ".join(f"{count} x {name}" if count > 1 else name for name, count in Counter(names).items())
    return f"{format_count(len(names), 'GPU')}: {counted}"


def _name_remedy(package: str) -> str:
    if package != "tensorflow":
        extra = "bakeoff's extra gpu (docs/howto/install.md), or in a clone `make GPU=1 repro`,"
        return f"{package} has no GPUs: {extra} puts TensorFlow and NVIDIA's libraries in its place"
    pip = f"{sys.executable} -m pip" if find_spec("pip") else "uv pip"
    install = f"{pip} install 'tensorflow[and-cuda]=={library_version(package)}'"
    return f"{install} adds the libraries that it needs, as `make GPU=1 repro` does"


def describe_unused(names: list[str], system: str = sys.platform) -> str:
    """Return what is wrong where NVIDIA's tool sees GPUs and TensorFlow none, and the remedy."""
    if system == "win32":
        remedy = "TensorFlow has no GPUs on Windows: set bakeoff up in WSL2"
    else:
        remedy = f"{_name_remedy(package_of('tensorflow'))}, and `bakeoff doctor` says what is wrong"
    hidden = "CUDA_VISIBLE_DEVICES=-1 says that the CPU is meant"
    return f"nvidia-smi sees {name_gpus(names)}, TensorFlow sees none, so this takes much longer; {remedy}; {hidden}"
