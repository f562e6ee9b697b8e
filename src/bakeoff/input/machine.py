"""What this machine has free now, for `auto`; nothing else looks at it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
SECONDS_TO_ANSWER = 20


@dataclass(frozen=True)
class Machine:
    free_bytes: int
    total_bytes: int
    cores: int
    device_free_bytes: int  # of the accelerator with the least; 0: there is none


def look() -> Machine:
    memory = psutil.virtual_memory()
    limit, left = _of_control_groups(GROUPS, OWN_GROUPS)
    return Machine(
        free_bytes=min([memory.available, *left]),
        total_bytes=min([memory.total, *limit]),
        cores=_cores(),
        device_free_bytes=_device_free_bytes(),
    )


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _of_control_groups(groups: Path, own: Path) -> tuple[list[int], list[int]]:
    """Limits of the control groups that this process is in, and what each has left; containers have such limits."""
    limits, lefts = [], []
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return [], []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, names = (
            (groups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"))
            if controllers
            else (groups, ("memory.max", "memory.current", "inactive_file"))
        )
        folder = top / path.lstrip("/")
        for group in (folder, *folder.parents):
            if top in (group, *group.parents):
                limit, used = _number(group / names[0]), _number(group / names[1])
                if limit is not None and used is not None and limit < 2**62:
                    limits.append(limit)
                    lefts.append(max(0, limit - used + _given_back(group / "memory.stat", names[2])))
    return limits, lefts


def _given_back(stat: Path, name: str) -> int:
    """Pages of files, which a group gives back when it needs memory."""
    for line in stat.read_text(encoding="utf-8").splitlines() if stat.is_file() else ():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # no such file, or "max": no limit


def _device_free_bytes() -> int:
    """Asked of NVIDIA's own tool, for TensorFlow would take the memory in order to see it."""
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_ANSWER, check=True).stdout
        return min(int(line) for line in answer.splitlines() if line.strip()) * 2**20
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0
