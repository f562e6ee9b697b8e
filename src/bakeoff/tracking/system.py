"""How busy the machine is, under the names that MLflow's own page of system metrics knows."""

import psutil

from bakeoff.tracking import gpus
from bakeoff.workspace import main_workspace

FIRST = "system/cpu_utilization_percentage"
MB = 1e6


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
