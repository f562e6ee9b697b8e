"""How busy each GPU is, as NVIDIA's own tool tells it, under MLflow's names; nothing where there is none."""

import shutil
import subprocess

TOOL = "nvidia-smi"
QUESTION = ("--query-gpu=index,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")
LONGEST_S = 2  # the end of a stage may wait for the answer
MIB, MB = 2**20, 1e6


def look() -> dict[str, float]:
    if not shutil.which(TOOL):
        return {}
    found = {}
    try:
        said = subprocess.run([TOOL, *QUESTION], capture_output=True, text=True, timeout=LONGEST_S, check=True).stdout
        for line in said.splitlines():
            number, busy, used, total = (float(figure) for figure in line.split(","))
            name = f"system/gpu_{number:.0f}"
            found[f"{name}_utilization_percentage"] = busy
            found[f"{name}_memory_usage_megabytes"] = used * MIB / MB
            found[f"{name}_memory_usage_percentage"] = 100 * used / total
    except (OSError, ValueError, ZeroDivisionError, subprocess.SubprocessError):  # a figure may be [N/A]
        return {}
    return found
