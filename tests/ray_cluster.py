"""Nodes of Ray on this machine, as a process of its own, for proofs with the real one.

It reads lines: `add CPUS VARIABLES` makes a node, `kill NUMBER` kills one. Node 0 is the head.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = "ray>=2.60"
HERE = "127.0.0.{}"  # of each node; Ray takes 127.0.0.1 for the address of the network card


@dataclass
class Nodes:
    """A cluster; `environment` is what programs need to load Ray and to find this cluster by the word `ray` alone."""

    address: str
    client_port: int
    environment: dict[str, str]
    process: "subprocess.Popen[str]"

    def add(self, cpus: int = 1, variables: Mapping[str, str] | None = None) -> None:
        self._ask(f"add {cpus} {json.dumps(dict(variables or {}))}")

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
                nodes.address = nodes.address if number else answer
            found = {"PYTHONPATH": python_path, "RAY_ADDRESS": nodes.address, "RAY_TMPDIR": str(folder)}
            nodes.environment = found | dict(variables or {})
            yield nodes
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    from ray.cluster_utils import Cluster

    cluster, nodes = Cluster(), []
    for line in sys.stdin:
        word, number, *rest = line.split(" ", 2)
        if word == "add":
            own = {"include_dashboard": False, "ray_client_server_port": int(sys.argv[1])} if not nodes else {}
            given = {
                "num_cpus": int(number),
                "node_ip_address": HERE.format(len(nodes) + 2),
                "env_vars": json.loads(rest[0]),
            }
            nodes.append(cluster.add_node(**given, **own))
        else:
            cluster.remove_node(nodes[int(number)], allow_graceful=False)
        print(cluster.address, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
