"""The machine and the code that a run is made with: how busy it is and what energy it uses, under MLflow's own names
where it has some, and what it is."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import psutil

from bakeoff.foundation import git, machine
from bakeoff.foundation.files import read_text
from bakeoff.foundation.formatting import as_number, format_count
from bakeoff.foundation.installed import NAME, installed_address
from bakeoff.foundation.shipped import code_digest, code_stage
from bakeoff.foundation.versions import installed_version, library_version
from bakeoff.foundation.workspace import DVC_EXPERIMENT, main_workspace

FIRST = "system/cpu_utilization_percentage"
MB, MIB = 1e6, 2**20
CPUINFO = Path("/proc/cpuinfo")
LIBRARIES = ("tensorflow", "keras", "numpy")
# Instructions by which TensorFlow chooses how it multiplies: others add up in another order, and round elsewhere.
CHOSEN_BY = (
    "sse4_1", "sse4_2", "avx", "avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "i8mm", "bf16", "sve", "sve2",
)  # fmt: skip
OF_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
GPU_TOOL = "nvidia-smi"
GPU_QUESTION = (
    "--query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw",
    "--format=csv,noheader,nounits",
)
POWER = "_power_usage_watts"
POWERCAP = Path("/sys/class/powercap")
RAPL_ZONES = ("package", "dram")  # those of the cores are within a package's, and psys has all of them once more
PROCESSORS, GPUS = ENERGY = "system/processor_energy_joules", "system/gpu_energy_joules"
LONGEST_S = 2  # the end of a stage may wait for the tool's answer
# Of the bakeoff that made a run: its version, where it was installed from, and which code decided.
VERSION_TAG, INSTALLED_TAG, CODE_TAG = "bakeoff.version", "bakeoff.installed_from", "bakeoff.code_sha256"
FROM_DVC = (DVC_EXPERIMENT, "DVC_EXP_BASELINE_REV")


def measure_load() -> dict[str, float]:
    """Return how busy the machine was since the last call; nothing where the system does not report it."""
    try:
        memory, disk = psutil.virtual_memory(), psutil.disk_usage(str(main_workspace()))
        return {
            FIRST: psutil.cpu_percent(),
            "system/system_memory_usage_megabytes": memory.used / MB,
            "system/system_memory_usage_percentage": memory.percent,
            "system/process_memory_megabytes": psutil.Process().memory_info().rss / MB,
            "system/disk_usage_percentage": disk.percent,
        } | measure_gpus()
    except (OSError, psutil.Error):
        return {}


def measure_gpus() -> dict[str, float]:
    """Return how busy each GPU is, as NVIDIA's own tool reports it; nothing where there is none."""
    if not shutil.which(GPU_TOOL):
        return {}
    figures, command = {}, [GPU_TOOL, *GPU_QUESTION]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=True).stdout
        for line in answer.splitlines():
            *measured, power = line.split(",")
            number, busy, used, total = map(float, measured)
            name = f"system/gpu_{number:.0f}"
            figures[f"{name}_utilization_percentage"] = busy
            figures[f"{name}_memory_usage_megabytes"] = used * MIB / MB
            figures[f"{name}_memory_usage_percentage"] = 100 * used / total
            if (watts := as_number(power)) is not None:
                figures[f"{name}{POWER}"] = watts
    except (OSError, ValueError, ZeroDivisionError, subprocess.SubprocessError):  # a figure may be [N/A]
        return {}
    return figures


def energy_tag(name: str) -> str:
    return name.replace("system/", "bakeoff.")


def read_counters() -> dict[str, tuple[int, int]]:
    """Return the microjoules that each processor and its memory has counted, and where it begins anew.

    They are those of Linux's powercap, which also counts AMD's. Nothing where there are none, or only root may read.
    """
    try:
        return {
            zone.name: (int((zone / "energy_uj").read_text()), int((zone / "max_energy_range_uj").read_text()))
            for zone in POWERCAP.glob("intel-rapl:*")
            if (zone / "name").read_text().startswith(RAPL_ZONES)
        }
    except (OSError, ValueError):
        return {}


class EnergyMeter:
    """Adds up the joules that the machine uses: its processors by their counters, its GPUs by their power."""

    def __init__(self, joules: Mapping[str, float]) -> None:
        """Go on from `joules`; what is not among them is not measured."""
        self.joules = joules
        self._one_at_a_time, self._at, self._counters = Lock(), time.monotonic(), read_counters()

    def add(self, load: Mapping[str, float]) -> Mapping[str, float]:
        """Add what was used since the last call, by GPUs at the power of a `load`; return all of what is known."""
        with self._one_at_a_time:
            at, counters, used = time.monotonic(), read_counters(), {}
            if counters and counters.keys() == self._counters.keys():
                steps = ((now - self._counters[zone][0]) % max(most, 1) for zone, (now, most) in counters.items())
                used[PROCESSORS] = sum(steps) / 1e6
            if watts := [value for name, value in load.items() if name.endswith(POWER)]:
                used[GPUS] = sum(watts) * (at - self._at)
            self.joules = {name: joules + used[name] for name, joules in self.joules.items() if name in used}
            self._at, self._counters = at, counters
            return self.joules


def versions() -> str:
    """Return `python 3.11.2, tensorflow 2.21.0, …`, without loading any of them."""
    return ", ".join(
        [f"python {platform.python_version()}", *(f"{name} {library_version(name)}" for name in LIBRARIES)]
    )


def processor() -> str:
    """Return kind, model, cores that one may use, instructions: `x86_64; Intel(R) Xeon(R) …; 2 cores; avx avx2 fma`."""
    core = _first_core()
    model = core.get("model name") or platform.processor() or "unknown"
    flags = " ".join(_instructions(core)) or "unknown"
    return f"{platform.machine()}; {model}; {format_count(machine.cores(), 'core')}; {flags}"


def has_bfloat16() -> bool:
    """Say whether the processor multiplies bfloat16 by instructions of its own; TensorFlow does without, but slowly."""
    return not OF_BFLOAT16.isdisjoint(_instructions(_first_core()))


def _instructions(core: Mapping[str, str]) -> list[str]:
    known = {*core.get("flags", "").split(), *core.get("Features", "").split()}
    return [name for name in CHOSEN_BY if name in known]


def _first_core() -> dict[str, str]:
    """Return what the system reports of it; nothing where it reports none."""
    lines = (read_text(CPUINFO) or "").partition("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def source_tags(records_digest: str, fingerprint: str, parent: str | None = None) -> dict[str, str]:
    """Return what a run came from, as tags; `parent` is the fingerprint of the run that it continues."""
    commit = git.commit() or "none"
    tags = {
        "mlflow.source.name": "bakeoff train",
        "mlflow.source.git.commit": commit,
        "bakeoff.git_commit": commit,
        "bakeoff.git_dirty": str(git.has_uncommitted_changes()).lower(),
        "bakeoff.records_digest": records_digest,
        "bakeoff.fingerprint": fingerprint,
        "bakeoff.host": platform.node(),
        "bakeoff.versions": versions(),
        "bakeoff.processor": processor(),
        VERSION_TAG: installed_version(NAME),
    }
    tags |= {INSTALLED_TAG: address} if (address := installed_address()) else {}
    tags |= {CODE_TAG: code_digest()} if code_stage() else {}  # else the commit has the code
    tags |= {"bakeoff.continues": parent} if parent else {}
    return tags | {name: os.environ[name] for name in FROM_DVC if os.environ.get(name)}
