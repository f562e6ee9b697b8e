"""How busy the machine is, under the names that MLflow's own page of system metrics knows; and what it is."""

import platform
from importlib.metadata import version
from pathlib import Path

import psutil

from bakeoff import machine
from bakeoff.tracking import gpus
from bakeoff.workspace import main_workspace

FIRST = "system/cpu_utilization_percentage"
MB = 1e6
CPUINFO = Path("/proc/cpuinfo")
LIBRARIES = ("tensorflow", "keras", "numpy")
# Instructions by which TensorFlow chooses how it multiplies: others add up in another order, and round elsewhere.
CHOSEN_BY = (
    "sse4_1", "sse4_2", "avx", "avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "i8mm", "bf16", "sve", "sve2",
)  # fmt: skip


def look() -> dict[str, float]:
    """Since the look before; nothing where the system does not tell."""
    try:
        memory, disk = psutil.virtual_memory(), psutil.disk_usage(str(main_workspace()))
        return {
            FIRST: psutil.cpu_percent(),
            "system/system_memory_usage_megabytes": memory.used / MB,
            "system/system_memory_usage_percentage": memory.percent,
            "system/process_memory_megabytes": psutil.Process().memory_info().rss / MB,
            "system/disk_usage_percentage": disk.percent,
        } | gpus.look()
    except (OSError, psutil.Error):
        return {}


def versions() -> str:
    """`python 3.11.2, tensorflow 2.21.0, …`, without loading any of them."""
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in LIBRARIES)])


def processor() -> str:
    """`x86_64; Intel(R) Xeon(R) …; 2 cores; avx avx2 fma`: kind, model, cores that one may use, instructions."""
    said = _cpuinfo()
    model = said.get("model name") or platform.processor() or "unknown"
    known = {*said.get("flags", "").split(), *said.get("Features", "").split()}
    cores = machine.cores()
    flags = " ".join(name for name in CHOSEN_BY if name in known)
    return f"{platform.machine()}; {model}; {cores} {'core' if cores == 1 else 'cores'}; {flags or 'unknown'}"


def _cpuinfo() -> dict[str, str]:
    """Of the first core, where the system tells."""
    try:
        first = CPUINFO.read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
