"""What this machine computes on, for `bakeoff doctor`: versions, GPUs, a timed step, and why a GPU is not used.

A process of its own loads TensorFlow (`python -m bakeoff.experiments.runs.benchmark_step`). Its standard error names
the reason why it finds no GPU, and a driver that ends a process does not end the doctor.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from bakeoff.experiments.runs.device import describe_unused
from bakeoff.foundation.machine import VISIBLE_GPUS, Gpu, disk_free, list_gpus, total_memory
from bakeoff.foundation.versions import library_version
from bakeoff.tracking.sync.system_metrics import GPU_TOOL, processor

OLDEST_DRIVER = 525  # that CUDA 12 works with
SECONDS = 300  # that the timed step may take
CUDA_PACKAGE = re.compile(r"nvidia-(\w+)-cu\d+")
# Lines of TensorFlow's that name a fault of a GPU.
FAULTS = re.compile(r"(Could not find cuda drivers|Cannot dlopen some GPU libraries|cuInit: .*|libdevice not found).*")


@dataclass(frozen=True)
class Diagnosis:
    """The facts about a machine, and what is wrong with it."""

    rows: Sequence[tuple[str, str]]
    problem: str | None = None  # with what to do
    remark: str | None = None  # why there is no GPU where none is expected


@dataclass(frozen=True)
class TensorFlowProbe:
    """What the process with TensorFlow reported, and what it wrote to standard error."""

    facts: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def examine(folder: Path, system: str = sys.platform) -> Diagnosis:
    """Return all findings. This takes as long as loading TensorFlow and a few steps."""
    gpus, trial = list_gpus(), _try_steps()
    facts, libraries = trial.facts, _cuda_packages()
    free = disk_free(folder)
    rows = [
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("tensorflow", _describe_tensorflow(facts)),
        ("keras", metadata.version("keras")),
        ("processor", processor().rpartition(";")[0]),
        ("memory", f"{total_memory() / 1e9:.1f} GB"),
        *((f"GPU {number}", _describe_gpu(gpu)) for number, gpu in enumerate(gpus)),
        *([] if gpus else [("GPU", "none that nvidia-smi lists")]),
        ("CUDA libraries", ", ".join(libraries) or "none among the installed packages"),
        ("tensorflow sees", ", ".join(facts.get("devices", ())) or "nothing, for it cannot be loaded"),
        *((f"a step on {device}", f"{seconds * 1000:.1f} ms") for device, seconds in facts.get("steps", {}).items()),
        ("free disk", "unknown" if free is None else f"{free / 1e9:.1f} GB"),
    ]
    problem = _find_problem(gpus, trial, libraries, system)
    return Diagnosis(rows, problem, None if problem or _sees_gpu(facts) else _explain_no_gpu(gpus, system))


def _try_steps() -> TensorFlowProbe:
    command = [sys.executable, "-m", "bakeoff.experiments.runs.benchmark_step"]
    own = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
    try:
        done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return TensorFlowProbe(error=f"no answer within {SECONDS} s")
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        return TensorFlowProbe(json.loads(last), done.stderr)
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return TensorFlowProbe(error=lines[-1])


def _find_problem(gpus: Sequence[Gpu], trial: TensorFlowProbe, libraries: Sequence[str], system: str) -> str | None:
    """Return what is wrong and what to do; None if all that is there is used."""
    if not trial.facts:
        again = "install bakeoff again (docs/howto/install.md), or in a clone run `make repro`"
        return f"TensorFlow does not work here: {trial.error}; {again}"
    if not gpus or _sees_gpu(trial.facts):
        return None
    if not system.startswith("linux") or not libraries:
        return describe_unused([gpu.name for gpu in gpus], system)
    oldest = min(gpus, key=lambda gpu: _major(gpu.driver))
    if _major(oldest.driver) < OLDEST_DRIVER:
        return f"the driver {oldest.driver} is too old for CUDA 12, which needs {OLDEST_DRIVER} or newer; update it"
    faults = [match[0] for match in map(FAULTS.search, trial.error.splitlines()) if match]
    reason = faults[0] if faults else "TensorFlow does not say why"
    return f"nvidia-smi lists a GPU and CUDA's libraries are installed, but TensorFlow finds no GPU: {reason}"


def _explain_no_gpu(gpus: Sequence[Gpu], system: str) -> str:
    if (hidden := os.environ.get(VISIBLE_GPUS)) in ("", "-1"):
        return f"{VISIBLE_GPUS}={hidden} hides the GPUs; unset it to use them"
    if system == "darwin":
        return "TensorFlow computes on the CPU on macOS; docs/gpu.md says more"
    if system == "win32":
        return "TensorFlow computes on the CPU on Windows; WSL2 has GPUs, docs/gpu.md says how"
    return f"`{GPU_TOOL}` lists no GPU: there is none, or NVIDIA's driver is not installed; training uses the CPU"


def _sees_gpu(facts: dict[str, Any]) -> bool:
    return any(name.startswith("GPU") for name in facts.get("devices", ()))


def _describe_gpu(gpu: Gpu) -> str:
    sizes = f"{gpu.memory_bytes / 1e9:.1f} GB, {gpu.free_bytes / 1e9:.1f} GB free"
    return f"{gpu.name}, {sizes}, driver {gpu.driver}"


def _describe_tensorflow(facts: dict[str, Any]) -> str:
    version = library_version("tensorflow")
    return f"{version}, made for CUDA {facts['cuda']} and cuDNN {facts['cudnn']}" if facts.get("cuda") else version


def _cuda_packages() -> list[str]:
    """Return the packages with libraries of CUDA that are installed: `cublas 12.9.3.13`."""
    named = ((CUDA_PACKAGE.fullmatch(one.metadata["Name"] or ""), one.version) for one in metadata.distributions())
    return sorted(f"{match[1]} {version}" for match, version in named if match)


def _major(version: str) -> int:
    return int(match[0]) if (match := re.match(r"\d+", version)) else 0
