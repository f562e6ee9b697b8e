"""What this machine has, and how much of it is free: memory, disk, cores; of the system or of a container's limits."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import WorkspaceError

if TYPE_CHECKING:
    import socket

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
V1_LIMITS = "memory/"  # where version 1 mounts its controller
SECONDS_FOR_GPUS = 10
THREADS = "TF_NUM_INTRAOP_THREADS"  # which TensorFlow reads
VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"  # by which NVIDIA's libraries hide some; all, if it is empty or -1


def available_memory() -> int:
    """Return the bytes that a process can take without pushing another one out."""
    import psutil  # takes 20 ms, and mostly nobody asks

    return max(0, min((psutil.virtual_memory().available, *(limit - taken for limit, taken in _cgroups()))))


def total_memory() -> int:
    import psutil

    return min((psutil.virtual_memory().total, *(limit for limit, _ in _cgroups())))


def resident_memory() -> int:
    """Return the bytes of memory that this process takes."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Return how many threads TensorFlow lets work on one operation, if nobody tells it."""
    own = os.environ.get(THREADS, "")
    return int(own) if own.isdecimal() and int(own) else cores()


def disk_free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def oom_kills() -> int | None:
    """Return how many processes the kernel has ended for want of memory since it started, in containers too; None if
    the system does not count them.
    """
    return _figures(PROC / "vmstat").get("oom_kill")


def gpu_names() -> list[str]:
    """Return the names of the GPUs that a program may see; none where NVIDIA's own tool does not answer."""
    if os.environ.get(VISIBLE_GPUS) in ("", "-1"):
        return []
    try:
        return _ask_gpus("name")
    except (OSError, subprocess.SubprocessError):
        return []


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVIDIA's own tool describes it."""

    uuid: str
    name: str
    driver: str
    memory_bytes: int
    free_bytes: int


def list_gpus() -> list[Gpu]:
    """Return the GPUs that a program may see; none where NVIDIA's tool does not answer."""
    if os.environ.get(VISIBLE_GPUS) in ("", "-1"):
        return []
    try:
        rows = [line.split(", ") for line in _ask_gpus("uuid,name,driver_version,memory.total,memory.free")]
        return [
            Gpu(uuid, name, driver, int(memory) * 2**20, int(free) * 2**20) for uuid, name, driver, memory, free in rows
        ]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def _ask_gpus(what: str) -> list[str]:
    """Return NVIDIA's answer for each GPU."""
    visible = os.environ.get(VISIBLE_GPUS)
    chosen = [f"--id={visible}"] if visible else []
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits", *chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_FOR_GPUS, check=True)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _cgroups() -> Iterator[tuple[int, int]]:
    """Yield limit and use of every group around this process that has a limit. File pages that can be dropped count as
    free.
    """
    for limit, used, droppable in _limited_folders():
        try:
            bound, taken = limit.read_text().strip(), int(used.read_text())
        except (OSError, ValueError):
            continue
        if bound != "max":
            yield int(bound), taken - _figures(limit.with_name("memory.stat")).get(droppable, 0)


def _limited_folders() -> Iterator[tuple[Path, Path, str]]:
    """Yield the file of the limit, the file of the use and the name of the cache, for this process' cgroup and those
    around it.
    """
    try:
        lines = (PROC / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / V1_LIMITS if controllers else CGROUPS
        inner = root / name.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder == root or root in folder.parents:
                if controllers:
                    yield folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes", "total_inactive_file"
                else:
                    yield folder / "memory.max", folder / "memory.current", "inactive_file"


def _figures(file: Path) -> dict[str, int]:
    """Return the numbers of a file with lines `name number`; nothing of a file that is not there."""
    try:
        rows = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
    except OSError:
        return {}
    return {parts[0]: int(parts[1]) for parts in rows if len(parts) > 1 and parts[1].isdecimal()}


def peak_memory_bytes() -> int:
    """Return the most memory that this process has held so far."""
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def device_peak_bytes() -> int:
    """Return the peak memory of the accelerator that took most; 0 without one."""
    import tensorflow as tf

    names = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices("GPU")]
    return max((tf.config.experimental.get_memory_info(name)["peak"] for name in names), default=0)


def bind_port(host: str, port: int | None, ports: range, remedy: str = "choose another with --port") -> "socket.socket":
    """Return a socket that listens at a port, by default at the first free one of these."""
    import socket

    for number in [port] if port is not None else ports:
        place = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, number))
            place.listen(128)
        except (OSError, OverflowError):
            place.close()
            continue
        return place
    tried = f"port {port} is" if port is not None else f"ports {ports.start} to {ports.stop - 1} are"
    raise WorkspaceError(f"{host}: {tried} taken or not allowed; {remedy}")


def raise_file_limit() -> None:
    """Let this process open as many files and connections as the system allows it. Windows has no such limit."""
    try:
        import resource
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
