"""The nodes of a Ray cluster as a place for jobs: an actor for each job, whose room Ray itself keeps free.

A node that sees the workspace's folder is near: the job runs there as it would here, and no file travels. Any other
node is far: `publish_inputs.py` prepares the files that travel.
"""

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.experiments.cluster import far_folder, node_agent, node_orders
from bakeoff.experiments.cluster.fetch_results import FetchOrder
from bakeoff.experiments.cluster.node_orders import JobCommand, JobOrder
from bakeoff.experiments.cluster.node_probe import CODE, digest_code
from bakeoff.experiments.cluster.publish_inputs import FarSweep
from bakeoff.experiments.cluster.ray_connection import connect, parse_address
from bakeoff.experiments.cluster.ray_job import RayJob
from bakeoff.experiments.cluster.ray_nodes import Node, ask_nodes, require_fitting, send_by_value
from bakeoff.experiments.sweep.backend import Backend, JobProcess
from bakeoff.experiments.sweep.job import CACHE, FOLLOWS_PARENT, JobFiles
from bakeoff.experiments.sweep.resources import CountedSeats, Seats
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest
from bakeoff.foundation import machine, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.shipped import code_stage

NAMESPACE = "bakeoff"  # in which Ray knows the actors by their names
MARK = "seen"  # a random text beside the manifest, by which a node tells that it sees the workspace
PASSED_ON = (  # the first letters of variables that a job gets on every node
    "AWS_", "AZURE_", "BAKEOFF_", "DVC_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GOOGLE_", "MLFLOW_", "TF_",
)  # fmt: skip


@contextmanager
def ray_place(on: str) -> Iterator["RayBackend"]:
    """Yield the place for jobs on a cluster. Raises WorkspaceError if its nodes do not fit."""
    with connect(parse_address(on)) as ray:
        nodes = ask_nodes(ray, workspace.main_workspace())
        # A node that does not see the workspace clones its code with it, if the workspace has any.
        code = {} if code_stage(workspace.main_workspace()) else {CODE: digest_code()}
        require_fitting(
            [node if node.sees_workspace else replace(node, versions={**node.versions, **code}) for node in nodes]
        )
        place = RayBackend(ray, on, nodes)
        try:
            yield place
        finally:
            place.close()


class RayBackend(Backend):
    """The nodes of a cluster as a place for jobs."""

    def __init__(self, ray: Any, name: str, nodes: Sequence[Node]) -> None:
        self.name = name
        self._ray, self._nodes = ray, nodes
        send_by_value(ray, node_agent, far_folder, node_orders)
        self._agent = ray.remote(node_agent.Agent)
        self._far: dict[str, FarSweep] = {}  # by the sweep's id
        self._fetches = ThreadPoolExecutor(1, "fetch")  # DVC lets one command in at a time

    def close(self) -> None:
        self._fetches.shutdown(wait=False, cancel_futures=True)

    def seats(self, side_by_side: int | None) -> Seats:
        """Return seats. Ray itself gives out room, so jobs without room wait there."""
        return Seats(side_by_side, sys.maxsize) if side_by_side else CountedSeats(self._room)

    def _room(self) -> int:
        """Return how many jobs the nodes that are alive now can run together."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return sum(int(resources.get("CPU", 0.0) / self._cpus()) for resources in alive)

    def take_up(self, manifest: SweepManifest) -> None:
        waiting = [job for job in manifest.jobs if not job.state.is_final and job.state != JobState.RUNNING]
        for job in waiting:
            if why := self.refuses(job):
                raise WorkspaceError(f"--on {self.name}: job {job.number} {why}")
        mark = manifest.folder / MARK
        if not mark.is_file():  # a new mark would be unknown to jobs that wait since an earlier launch
            write_whole(mark, secrets.token_hex(8))
        if any(node.cpus and not node.sees_workspace for node in self._nodes):
            self._far[manifest.id] = FarSweep.prepare(manifest)

    def refuses(self, job: SweepJob) -> str | None:
        room = self._needed_room(job)
        if any(room.fits(node) for node in self._nodes):
            return None
        there = "; ".join(_describe_room(node) for node in self._nodes)
        return (
            f"needs {room.cpus:g} CPUs, {room.gpus:g} GPUs and {room.memory_bytes / 1e9:.1f} GB of memory on one node, "
            f"and no node has so much: {there}"
        )

    def find(self, job: SweepJob, files: JobFiles) -> JobProcess | None:
        """Return a job that an earlier launcher started, if it runs or may have left a result in the git remote."""
        actor = None
        if job.state == JobState.RUNNING:
            with suppress(ValueError):  # there is none of that name
                actor = self._ray.get_actor(_name_actor(job), namespace=NAMESPACE)
        if actor is None and (process := super().find(job, files)) is not None:
            return process
        order = self._fetch_order(job, files) if job.state == JobState.RUNNING else None
        return RayJob(self._ray, actor, files, self._fetches, order) if actor is not None or order else None

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        files.forget_outcome()
        seats.take(job)
        about = {"name": _name_actor(job), "namespace": NAMESPACE, "lifetime": "detached", "max_concurrency": 8}
        order = self._job_order(job, files, cache)
        actor = self._agent.options(**about, **self._needed_room(job).as_options()).remote(order)
        sent = order.far.files if order.far else None
        return RayJob(self._ray, actor, files, self._fetches, self._fetch_order(job, files), sent)

    def _job_order(self, job: SweepJob, files: JobFiles, cache: Path) -> JobOrder:
        folder = files.folder.resolve()
        passed = make_environment(os.environ, job)
        near = JobCommand(
            arguments=("-m", "bakeoff.experiments.sweep.job", str(folder), str(files.number)),
            folder=str(workspace.main_workspace()),
            log=str(folder / files.log.name),
            environment=passed | {CACHE: str(cache.resolve())},
        )
        sweep, mark = self._far.get(folder.name), folder / MARK
        far = sweep.make_job(job, files, passed) if sweep else None
        return JobOrder(str(mark), mark.read_text(encoding="utf-8"), near, far)

    def _fetch_order(self, job: SweepJob, files: JobFiles) -> FetchOrder | None:
        """Return the order that fetches a far job's result; None if no node is far."""
        sweep = self._far.get(files.folder.name)
        if sweep is None:
            return None
        return FetchOrder(str(files.folder), job.number, len(job.attempts), sweep.remote, str(files.log))

    def _cpus(self) -> int:
        """Return how many CPUs a job asks for: as many as it computes with, or as the largest node has."""
        return max(1, min(machine.cores(), max((int(node.cpus) for node in self._nodes), default=1)))

    def _needed_room(self, job: SweepJob) -> "Room":
        gpus = max((node.gpus for node in self._nodes), default=0.0)
        if job.devices == "cpu":
            gpus = 0
        elif isinstance(job.devices, int):
            gpus = min(gpus, job.devices)
        return Room(self._cpus(), gpus, job.memory_bytes)


@dataclass(frozen=True)
class Room:
    """What a job needs on one node."""

    cpus: float
    gpus: float
    memory_bytes: float

    def fits(self, node: Node) -> bool:
        return node.cpus >= self.cpus and node.gpus >= self.gpus and node.memory_bytes >= self.memory_bytes

    def as_options(self) -> dict[str, float]:
        """Return Ray's options of an actor."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "memory": self.memory_bytes}


def make_environment(variables: Mapping[str, str], job: SweepJob) -> dict[str, str]:
    """Return the environment of a job on every node.

    The number of threads is that of this machine, because another one would change the last bits of the weights.
    """
    passed = {key: value for key, value in variables.items() if key.startswith(PASSED_ON) or key == "PYTHONPATH"}
    hidden = {machine.VISIBLE_GPUS: "-1"} if job.devices == "cpu" else {}
    return {machine.THREADS: str(machine.threads())} | passed | hidden | {FOLLOWS_PARENT: "1"}


def _name_actor(job: SweepJob) -> str:
    return f"{job.experiment}.{len(job.attempts)}"


def _describe_room(node: Node) -> str:
    return f"{node.host} has {node.cpus:g} CPUs, {node.gpus:g} GPUs and {node.memory_bytes / 1e9:.1f} GB"
