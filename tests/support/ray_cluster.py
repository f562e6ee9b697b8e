"""Nodes of Ray on this machine, as a process of its own, for proofs with the real one.

It reads lines: `add CPUS VARIABLES` makes a node, `hide CPUS FOLDER` makes one that does not see a folder (for root
alone, as it mounts an empty one over it), `kill NUMBER` kills one. Node 0 is the head.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

PACKAGES = "ray>=2.60"
TRIES = 5
HERE = "127.0.0.{}"  # of each node; Ray takes 127.0.0.1 for the address of the network card


@dataclass
class Nodes:
    """A cluster. `environment` is what programs need to load Ray and to find this cluster by the word `ray` alone."""

    address: str
    client_port: int
    environment: dict[str, str]
    process: "subprocess.Popen[str]"
    count: int = 0  # of nodes that were added, the killed ones among them

    def add(self, cpus: int = 1, variables: Mapping[str, str] | None = None) -> int:
        """Return the node's number."""
        self._ask(f"add {cpus} {json.dumps(dict(variables or {}))}")
        self.count += 1
        return self.count - 1

    def hide(self, folder: Path, cpus: int = 1) -> None:
        self._ask(f"hide {cpus} {folder}")

    def kill(self, number: int) -> None:
        self._ask(f"kill {number}")

    def _ask(self, line: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, line
        return answer


@contextmanager
def ray_nodes(*cpus: int, python_path: str, variables: Mapping[str, str] | None = None) -> Iterator[Nodes]:
    """Give a cluster with a node of so many CPUs each. All is gone with the block."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # names of sockets are short, so that of this folder must be
    with socket.socket() as listener:
        listener.bind((HERE.format(2), 0))
        port = listener.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": python_path, "RAY_TMPDIR": str(folder), "RAY_USAGE_STATS_ENABLED": "0", **(variables or {}),
    }  # fmt: skip
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, __file__, str(port)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        try:
            nodes = Nodes("", port, {}, process)
            for number, count in enumerate(cpus):
                answer = nodes._ask(f"add {count} {{}}")
                nodes.count, nodes.address = number + 1, answer
            ray_environment = {"PYTHONPATH": python_path, "RAY_ADDRESS": nodes.address, "RAY_TMPDIR": str(folder)}
            nodes.environment = ray_environment | dict(variables or {})
            yield nodes
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    from ray.cluster_utils import Cluster

    cluster, nodes = Cluster(), list[Any]()
    hidden: list[subprocess.Popen[bytes]] = []
    for line in sys.stdin:
        word, number, *rest = line.rstrip("\n").split(" ", 2)
        address = HERE.format(len(nodes) + len(hidden) + 2)
        if word == "add":
            own = {"include_dashboard": False, "ray_client_server_port": int(sys.argv[1])} if not nodes else {}
            given = {"num_cpus": int(number), "node_ip_address": address, "env_vars": json.loads(rest[0])}
            nodes.append(_add(cluster, given | own))
        elif word == "hide":
            hidden.append(_start_hidden(cluster.address, address, number, rest[0]))
            _wait_for(cluster, len(nodes) + len(hidden))
        elif node := nodes[int(number)]:
            cluster.remove_node(node, allow_graceful=False)
            nodes[int(number)] = None
        print(cluster.address, flush=True)
    for process in hidden:
        process.terminate()
        process.wait()
    cluster.shutdown()


def _add(cluster: "Cluster", given: dict[str, Any]) -> Any:
    """Add a node; again on a machine that is so busy that Ray gives up after half a minute."""
    for _ in range(TRIES):
        try:
            return cluster.add_node(**given)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    raise TimeoutError(f"no node of Ray came up in {TRIES} tries")


def _start_hidden(head: str, address: str, cpus: str, folder: str) -> "subprocess.Popen[bytes]":
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", f"--address={head}", f"--num-cpus={cpus}", "--block"]
    command = ["unshare", "--mount", "sh", "-c", script, folder, *start, f"--node-ip-address={address}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for(cluster: "Cluster", count: int) -> None:
    while len(cluster.global_state._live_node_ids()) < count:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
