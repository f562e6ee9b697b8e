"""Nodes of Ray on this machine, each with an address and processes of its own, for proofs with the real one."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

PACKAGES = "ray>=2.60"
HERE = "127.0.0.{}"  # of each node; Ray takes 127.0.0.1 for the address of the network card
RAY = ("-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats")
MEMORY = ("--object-store-memory=100000000", "--memory=4000000000")  # the second is for the jobs of a node
MARK = "BAKEOFF_SCRATCH"  # the variable by which the processes of a node are known
COUNT = """
import ray
ray.init({!r}, logging_level="ERROR", log_to_driver=False)
print(sum(node["Alive"] for node in ray.nodes()))
"""
SECONDS_TO_START, SECONDS_TO_COUNT = 600, 120
# Ray gives up a daemon that takes more than half a minute to start, or that it could not hear for a while.
AGAIN = 'until "$@"; do sleep 1; done'
HIDE = 'mount -t tmpfs tmpfs "$0" && ' + AGAIN


class RayNode:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def processes(self) -> list[psutil.Process]:
        """Return all that runs on the node, jobs that have lost their parents among it."""
        running = set[psutil.Process]()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self._environment[MARK]:
                    running |= {process, *process.children(recursive=True)}  # a worker of Ray's hides its variables
        return list(running)

    def signal(self, number: int) -> None:
        for process in self.processes():
            with suppress(psutil.Error):
                process.send_signal(number)

    def kill(self) -> None:
        """End it as a loss of power does."""
        while self.processes():
            self.signal(signal.SIGKILL)
            time.sleep(0.1)
        if self._process is not None:
            self._process.wait()


class RayCluster:
    """A cluster, whose first node is the head. `environment` is what programs need to find it by the word `ray`."""

    def __init__(self, variables: Mapping[str, str], python: str = sys.executable) -> None:
        """`variables` are those of all nodes. Names of sockets are short, so that of the folder must be."""
        self._python = python
        folder = Path(tempfile.mkdtemp(prefix="ray-"))
        own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": str(folder)}
        self._folder, self._variables = folder, {**variables, **own}
        self.address, self.client_port = HERE.format(2) + f":{_find_port()}", _find_port()
        self.environment = own | {"RAY_ADDRESS": self.address}
        self.nodes: list[RayNode] = []

    def add(self, cpus: int = 1, variables: Mapping[str, str] | None = None, hidden: Path | None = None) -> int:
        """Add a node and return its number. It does not see the folder `hidden`, which takes the rights of root."""
        number = len(self.nodes)
        joins = [f"--address={self.address}"]
        if number == 0:
            port = self.address.partition(":")[2]
            joins = ["--head", f"--port={port}", f"--ray-client-server-port={self.client_port}"]
            joins += ["--include-dashboard=false"]
        joins += [f"--node-ip-address={HERE.format(number + 2)}", f"--num-cpus={cpus}"]
        start = [self._python, *RAY, *joins, *MEMORY]
        shell = ["sh", "-c", AGAIN, "sh"] if hidden is None else ["unshare", "--mount", "sh", "-c", HIDE, str(hidden)]
        own = {**self._variables, MARK: str(self._folder / f"node{number}"), **(variables or {})}
        own.pop("RAY_ADDRESS", None)
        self.nodes.append(RayNode([*shell, *start], own, self._folder / f"node{number}.log"))
        alive = self._count_alive() if number else 0
        self.nodes[-1].start()
        deadline = time.monotonic() + SECONDS_TO_START
        while self._count_alive() <= alive:
            assert time.monotonic() < deadline, (self._folder / f"node{number}.log").read_text(errors="replace")[-4000:]
            time.sleep(0.5)
        return number

    def _count_alive(self) -> int:
        command, own = [self._python, "-c", COUNT.format(self.address)], {**self._variables, MARK: ""}
        try:  # to a head that never answers Ray goes on connecting
            done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=SECONDS_TO_COUNT)
        except subprocess.TimeoutExpired:
            return 0
        return int(done.stdout.split()[-1]) if done.returncode == 0 else 0

    def kill(self) -> None:
        for node in reversed(self.nodes):
            node.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def ray_nodes(*cpus: int, python_path: str) -> Iterator[RayCluster]:
    """Give a cluster with a node of so many CPUs each. All is gone with the block."""
    cluster = RayCluster(os.environ | {"PYTHONPATH": python_path})
    cluster.environment["PYTHONPATH"] = python_path
    try:
        for count in cpus:
            cluster.add(count)
        yield cluster
    finally:
        cluster.kill()


def _find_port() -> int:
    with socket.socket() as free:
        free.bind((HERE.format(2), 0))
        return int(free.getsockname()[1])
