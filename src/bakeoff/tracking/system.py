"""How busy the machine is, under the names that MLflow's own page of system metrics knows."""

from pathlib import Path

import psutil

MB = 1e6


def look(workspace: Path) -> dict[str, float]:
    """Since the look before."""
    memory, disk = psutil.virtual_memory(), psutil.disk_usage(str(workspace))
    return {
        "system/cpu_utilization_percentage": psutil.cpu_percent(),
        "system/system_memory_usage_megabytes": memory.used / MB,
        "system/system_memory_usage_percentage": memory.percent,
        "system/process_memory_megabytes": psutil.Process().memory_info().rss / MB,
        "system/disk_usage_percentage": disk.percent,
    }
