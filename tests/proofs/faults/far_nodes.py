"""A Ray cluster on this machine whose nodes do not see each other's files: each has a mount namespace of its own, in
which an empty disk lies over the folders that it is not to see.
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

HEAD = "127.0.0.2"
MEMORY = 4_000_000_000  # bytes that Ray gives to the jobs of a node


class FarNode:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._command, self._environment, self._log = list(command), dict(environment), log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def processes(self) -> list[psutil.Process]:
        """Return all that runs on the node, jobs that have lost their parents among it."""
        mark, running = self._environment["BAKEOFF_SCRATCH"], []
        for process in psutil.process_iter():
            try:
                if process.environ().get("BAKEOFF_SCRATCH") == mark:
                    running.append(process)
            except psutil.Error:
                continue
        return running

    def signal(self, number: int) -> None:
        for process in self.processes():
            try:
                process.send_signal(number)
            except psutil.Error:
                continue

    def kill(self) -> None:
        """End it as a loss of power does."""
        while self.processes():
            self.signal(signal.SIGKILL)
            time.sleep(0.1)
        if self.process is not None:
            self.process.wait()


class FarCluster:
    """A head that runs no job, and nodes with a CPU each."""

    def __init__(self, folder: Path, hidden: Path, environment: Mapping[str, str], nodes: int = 2) -> None:
        own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": str(folder)}
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        with socket.socket() as free:
            free.bind((HEAD, 0))
            self.port = free.getsockname()[1]
        common = ["--object-store-memory=100000000", f"--memory={MEMORY}"]
        head = [
            *ray, "--head", f"--node-ip-address={HEAD}", f"--port={self.port}", "--num-cpus=0",
            "--include-dashboard=false", *common,
        ]  # fmt: skip
        base = {**environment, **own}
        self.head = FarNode(head, base | {"BAKEOFF_SCRATCH": str(folder / "head")}, folder / "head.log")
        self.nodes = []
        for number in range(nodes):
            words = [
                *ray, f"--address={self.address}", f"--node-ip-address=127.0.0.{number + 3}", "--num-cpus=1", *common,
            ]  # fmt: skip
            # Ray gives up a daemon that takes more than half a minute to start, or that it could not hear for a while.
            hide = f'mount -t tmpfs tmpfs "{hidden}" && until "$@"; do sleep 1; done'
            command = ["unshare", "--mount", "sh", "-c", hide, "sh", *words]
            scratch = {"BAKEOFF_SCRATCH": str(folder / f"node{number}")}
            self.nodes.append(FarNode(command, base | scratch, folder / f"node{number}.log"))

    @property
    def address(self) -> str:
        return f"{HEAD}:{self.port}"

    def start(self) -> None:
        self.head.start()
        self.wait(0)
        for node in self.nodes:
            node.start()
        self.wait(len(self.nodes))

    def wait(self, nodes: int) -> None:
        """Wait until so many nodes with CPUs are there."""
        code = (
            f"import ray\nray.init('{self.address}', logging_level='ERROR', log_to_driver=False)\n"
            "print(int(ray.cluster_resources().get('CPU', 0)))"
        )
        environment = self.head._environment
        for _ in range(100):
            done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            if done.stdout.strip() == str(nodes):
                return
            time.sleep(5)
        raise AssertionError(f"the nodes do not come up: {done.stdout}{done.stderr}")

    def kill(self) -> None:
        for node in [*self.nodes, self.head]:
            node.kill()
