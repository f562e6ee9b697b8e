"""The part of a training on several machines that a node does: it runs the stage as one of the workers."""

import ctypes
import os
import signal
import socket
import subprocess
import sys

from bakeoff.learning.training.workers import WorkerAddress

STAGE = (sys.executable, "-m", "bakeoff.stages.train")
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux' prctl


def find_address() -> str:
    """Return this node's address with a port that is free."""
    import ray

    host = ray.util.get_node_ip_address()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        one.bind((host, 0))
        return f"[{host}]:{one.getsockname()[1]}" if ":" in host else f"{host}:{one.getsockname()[1]}"


def run_worker(place: WorkerAddress, rank: int) -> int:
    """Train as one of the workers, in the current folder, and return the exit code. It dies with Ray's task."""
    variables = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}  # which Ray has set
    die = _die_with_parent if sys.platform == "linux" else None
    return subprocess.run(STAGE, env=variables | place.environment(rank), preexec_fn=die, check=False).returncode


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
