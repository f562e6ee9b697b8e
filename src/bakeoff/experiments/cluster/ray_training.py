"""`train.workers: N` on a Ray cluster: this process leads, and each other worker is a task on a node of its own.

`find_address` and `run_worker` run on the nodes.
"""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from bakeoff.experiments.cluster import node_probe
from bakeoff.experiments.cluster.ray_connection import SCHEME, connect, parse_address
from bakeoff.experiments.cluster.ray_nodes import Node, ask_nodes, require_fitting
from bakeoff.experiments.cluster.ray_tasks import Call
from bakeoff.experiments.runs.worker_processes import STAGE, gather
from bakeoff.foundation.child_process import die_with_parent
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.workspace import main_workspace
from bakeoff.learning.training.workers import WorkerAddress

SECONDS_FOR_ROOM = 60.0
SECONDS_TO_END = 5.0  # workers have so long, once the training has ended


def gather_workers(
    count: int, given: WorkerAddress | None, on: str | None
) -> AbstractContextManager[WorkerAddress | None]:
    """Yield the leader's place among the workers: on Ray's nodes if `on` names a cluster, else as `gather` does."""
    return gather(count, given) if not on or given is not None or count == 1 else _gather_on_ray(count, on)


@contextmanager
def _gather_on_ray(count: int, on: str) -> Iterator[WorkerAddress]:
    address = parse_address(on)
    if address.text.startswith(SCHEME):
        raise ConfigError(f"--on {on}: several workers are led on a node of the cluster; give HOST:PORT, there")
    with connect(address) as ray:
        nodes = ask_nodes(ray, Path.cwd(), main_workspace())
        require_fitting(nodes)
        if far := [str(node) for node in nodes if not node.sees_workspace]:
            raise WorkspaceError(f"--on {on}: train.workers: {', '.join(far)}: does not see {Path.cwd()}")
        workers = _Workers(ray, nodes, count)
        place = workers.start()
        try:
            yield place
        finally:
            workers.end()


class _Workers:
    """The workers but the first, which is this process."""

    def __init__(self, ray: Any, nodes: Sequence[Node], count: int) -> None:
        self._ray, self._nodes, self._count = ray, nodes, count
        self._group = self._reserve()
        self._running: list[Any] = []

    def start(self) -> WorkerAddress:
        finding = [self._submit(rank, (find_address, ()), cpus=0) for rank in range(self._count)]
        place = WorkerAddress(0, tuple(self._ray.get(finding)))
        hosts = {address.rpartition(":")[0] for address in place.addresses}
        fewer = "" if len(hosts) == self._count else f", several on one: there are {len(hosts)}"
        print_line(f"train: {self._count} workers on nodes of Ray{fewer}: {', '.join(place.addresses)}")
        self._running = [self._submit(rank, (run_worker, (place, rank)), cpus=1) for rank in range(1, self._count)]
        return place

    def end(self) -> None:
        """Let the other workers end by themselves, and kill those that do not."""
        _, late = self._ray.wait(self._running, num_returns=len(self._running), timeout=SECONDS_TO_END)
        for task in late:
            self._ray.cancel(task, force=True)
        self._ray.util.remove_placement_group(self._group)

    def _reserve(self) -> Any:
        """Reserve a CPU for each worker, on a node for each if there are enough; the first is on this very node."""
        home = self._ray.get_runtime_context().get_node_id()
        [own] = [node for node in self._nodes if node.id == home]
        # Each node has a resource with its name, which binds work to it.
        bundles = [{f"node:{own.address}": 0.001} | ({"CPU": 1} if own.cpus else {})]
        bundles += [{"CPU": 1.0} for _ in range(1, self._count)]
        able = sum(1 for node in self._nodes if node.cpus or node.id == home)
        group = self._ray.util.placement_group(bundles, "STRICT_SPREAD" if able >= self._count else "SPREAD")
        if not group.wait(SECONDS_FOR_ROOM):
            there = ", ".join(f"{node} {node.cpus:g}" for node in self._nodes)
            self._ray.util.remove_placement_group(group)
            raise WorkspaceError(
                f"--on: train.workers: no room for {self._count} workers with a CPU each; CPUs of nodes, other work "
                f"included: {there}; wait for that, or begin more with `ray start --address=...`"
            )
        return group

    def _submit(self, rank: int, call: Call, *, cpus: int) -> Any:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        strategy = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=rank)
        remote = self._ray.remote(node_probe.call).options(num_cpus=cpus, max_retries=0, scheduling_strategy=strategy)
        return remote.remote(str(Path.cwd()), pickle.dumps(call))


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
    die = die_with_parent if sys.platform == "linux" else None
    return subprocess.run(STAGE, env=variables | place.environment(rank), preexec_fn=die, check=False).returncode
