"""The nodes of a Ray cluster: what each has, and whether it can do this workspace's work."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bakeoff.experiments.cluster import node_probe
from bakeoff.experiments.cluster.node_probe import NodeDescription
from bakeoff.foundation.errors import WorkspaceError, one_line
from bakeoff.foundation.workspace import IN_FLIGHT

LIBRARIES = ("dvc", "tensorflow", "keras", "numpy", "pillow", "simplejpeg", "av")  # those that decide numbers or bytes
MOST_SECONDS_APART = 60.0  # between the clocks of two machines
SECONDS_TO_DESCRIBE = 120.0  # a worker process has to start


@dataclass(frozen=True)
class Node:
    """A node that is alive, and its description of itself."""

    id: str
    address: str  # where other nodes reach it
    host: str
    cpus: float
    gpus: float
    memory_bytes: int
    sees_workspace: bool
    versions: Mapping[str, str]
    seconds_apart: float  # the least difference of its clock from this machine's

    def __str__(self) -> str:
        return f"{self.host} ({self.address}, node {self.id[:8]})"


def send_by_value(ray: Any, *modules: ModuleType) -> None:
    """Let Ray send what these modules define by value, not by name."""
    for module in modules:
        ray.cloudpickle.register_pickle_by_value(module)


def place_on(ray: Any, node_id: str) -> Any:
    """Return Ray's scheduling strategy for a task that runs on this node or not at all."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node_id, soft=False)


def ask_nodes(ray: Any, workspace: Path, shelf: Path | None = None) -> list[Node]:
    """Return the nodes that are alive, in the order of their ids. Raises WorkspaceError if one does not answer.

    With `shelf` a node sees the workspace only if it also sees this folder, where work in flight is kept.
    """
    send_by_value(ray, node_probe)
    alive = sorted((node for node in ray.nodes() if node["Alive"]), key=lambda node: str(node["NodeID"]))
    describe = ray.remote(node_probe.describe)
    nodes = []
    with _mark_folder(shelf or workspace) as mark:
        asked_at = time.time()
        places = [{"num_cpus": 0, "scheduling_strategy": place_on(ray, node["NodeID"])} for node in alive]
        asked = [describe.options(**place).remote(str(workspace), mark, LIBRARIES) for place in places]
        for node, answer in zip(alive, asked, strict=True):
            where = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            try:
                description = ray.get(answer, timeout=SECONDS_TO_DESCRIBE)
            except (ray.exceptions.NodeDiedError, ray.exceptions.TaskUnschedulableError):
                continue  # it was dead, and Ray did not know it yet
            except ray.exceptions.RayError as error:
                raise WorkspaceError(f"--on: Ray's node {where} does not answer: {one_line(error)}") from None
            nodes.append(_make_node(node, description, asked_at, time.time()))
    if not nodes:
        raise WorkspaceError("--on: no node of Ray's cluster is alive; see `ray status` there")
    return nodes


def require_fitting(nodes: Sequence[Node]) -> None:
    """Raise WorkspaceError if a node has other code, libraries or time than this machine."""
    here = {"python": node_probe.platform.python_version(), node_probe.CODE: node_probe.digest_code()}
    here |= {name: node_probe.find_version(name) for name in LIBRARIES}
    wrong = [line for node in nodes if (line := find_difference(node, here))]
    if wrong:
        raise WorkspaceError(f"--on: {'; '.join(wrong)}; give all nodes the same bakeoff, environment and time")


def find_difference(node: Node, here: Mapping[str, str]) -> str:
    """Return how a node differs from this machine, or an empty text if it can do the work."""
    differences = [
        f"{name} {node.versions.get(name, node_probe.MISSING)} there, {version} here"
        for name, version in here.items()
        if node.versions.get(name, node_probe.MISSING) != version
    ]
    if abs(node.seconds_apart) > MOST_SECONDS_APART:
        way = "ahead of" if node.seconds_apart > 0 else "behind"
        differences.append(f"its clock is {abs(node.seconds_apart):.0f} s {way} the clock here")
    return f"node {node}: {', '.join(differences)}" if differences else ""


def measure_apart(node_time: float, asked_at: float, answered_at: float) -> float:
    """Return the least difference of a node's clock from this machine's.

    The node has read its clock between the question and the answer.
    """
    return min(node_time - asked_at, 0.0) + max(node_time - answered_at, 0.0)


def _make_node(node: Mapping[str, Any], described: NodeDescription, asked_at: float, answered_at: float) -> Node:
    resources = node["Resources"]
    return Node(
        id=node["NodeID"],
        address=node["NodeManagerAddress"],
        host=described.host,
        cpus=resources.get("CPU", 0.0),
        gpus=resources.get("GPU", 0.0),
        memory_bytes=int(resources.get("memory", 0)),
        sees_workspace=described.sees_workspace,
        versions=described.versions,
        seconds_apart=measure_apart(described.time, asked_at, answered_at),
    )


@contextmanager
def _mark_folder(folder: Path) -> Iterator[str]:
    """Put a file into the folder, by which a node recognises this very folder."""
    path = folder.resolve() / IN_FLIGHT / f"seen-{secrets.token_hex(8)}"
    path.parent.mkdir(exist_ok=True)
    path.touch()
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)
