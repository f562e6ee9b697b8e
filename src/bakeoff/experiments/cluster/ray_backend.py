"""The nodes of a Ray cluster as a place for jobs: an actor for each job, whose room Ray itself keeps free.

A node that sees the workspace's folder is near: the job runs there as it would here, and no file travels. Any other
node is far: `far.py` prepares the files that travel.
"""

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.experiments.cluster import node_agent
from bakeoff.experiments.cluster.fetch_process import Bringing
from bakeoff.experiments.cluster.node_probe import CODE, digest_code
from bakeoff.experiments.cluster.publish_inputs import Far
from bakeoff.experiments.cluster.ray_connection import connect, parse_address
from bakeoff.experiments.cluster.ray_job import RayJob
from bakeoff.experiments.cluster.ray_nodes import Node, ask_nodes, require_fitting
from bakeoff.experiments.sweep.backend import JobProcess, LocalProcess
from bakeoff.experiments.sweep.job import CACHE, FOLLOWS_PARENT, THREADS, JobFiles
from bakeoff.experiments.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.experiments.sweep.resources import CountedSeats, Seats
from bakeoff.foundation import machine, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import write_whole
from bakeoff.tracking.journal.journal import is_held

NAMESPACE = "bakeoff"  # in which Ray knows the actors by their names
MARK = "seen"  # a file beside the manifest
PASSED_ON = (  # the first letters of variables that a job gets on every node
    "AWS_", "AZURE_", "BAKEOFF_", "DVC_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GOOGLE_", "MLFLOW_", "TF_",
)  # fmt: skip


@contextmanager
def ray_place(on: str) -> Iterator["RayPlace"]:
    """Yield the place for jobs on a cluster. Raises WorkspaceError if its nodes do not fit."""
    with connect(parse_address(on)) as ray:
        nodes = ask_nodes(ray, workspace.main_workspace())
        code = {CODE: digest_code()}  # a node that does not see the workspace clones the same code
        require_fitting([
            node if node.sees_workspace else replace(node, versions={**node.versions, **code}) for node in nodes
        ])  # fmt: skip
        place = RayPlace(ray, on, nodes)
        try:
            yield place
        finally:
            place.close()


class RayPlace:
    """The nodes of a cluster as a place for jobs."""

    def __init__(self, ray: Any, name: str, nodes: Sequence[Node]) -> None:
        self.name = name
        self._ray, self._nodes = ray, nodes
        ray.cloudpickle.register_pickle_by_value(sys.modules[node_agent.__name__])
        self._agent = ray.remote(node_agent.Agent)
        self._far: dict[str, Far] = {}  # by sweep
        self._bringing = Bringing()

    def close(self) -> None:
        self._bringing.close()

    def seats(self, side_by_side: int | None) -> Seats:
        """Return seats. Ray itself gives out room, so jobs without room wait there."""
        return Seats(side_by_side, sys.maxsize) if side_by_side else CountedSeats(self._room)

    def _room(self) -> int:
        """Return how many jobs the nodes that are alive now can run together."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return sum(int(resources.get("CPU", 0.0) / self._cpus()) for resources in alive)

    def take_up(self, manifest: Manifest) -> None:
        waiting = [job for job in manifest.jobs if not job.state.is_final and job.state != JobState.RUNNING]
        for job in waiting:
            if why := self.refuses(job):
                raise WorkspaceError(f"--on {self.name}: job {job.number} {why}")
        if not (
            manifest.folder / MARK
        ).is_file():  # a new mark would be unknown to jobs that wait since an earlier launch
            write_whole(manifest.folder / MARK, secrets.token_hex(8))
        if any(node.cpus and not node.sees_workspace for node in self._nodes):
            self._far[manifest.id] = Far.prepare(manifest)

    def refuses(self, job: SweepJob) -> str | None:
        wanted = self._wanted(job)
        if any(_has_room(node, wanted) for node in self._nodes):
            return None
        there = "; ".join(_describe_room(node) for node in self._nodes)
        return (
            f"needs {wanted['num_cpus']:g} CPUs, {wanted['num_gpus']:g} GPUs and {wanted['memory'] / 1e9:.1f} GB of "
            f"memory on one node, and no node has so much: {there}"
        )

    def find(self, job: SweepJob, files: JobFiles) -> JobProcess | None:
        """Return a job that an earlier launcher started, if it runs or may have left a result in the git remote."""
        actor = None
        if job.state == JobState.RUNNING:
            with suppress(ValueError):  # there is none of that name
                actor = self._ray.get_actor(_name_actor(job), namespace=NAMESPACE)
        if actor is None and is_held(files.lock):
            return LocalProcess(files, None)
        order = self._errand(job, files) if job.state == JobState.RUNNING else None
        return RayJob(self._ray, actor, files, self._bringing, order) if actor is not None or order else None

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        files.forget_outcome()
        seats.take(job)
        about = {"name": _name_actor(job), "namespace": NAMESPACE, "lifetime": "detached", "max_concurrency": 8}
        order = self._order(job, files, cache)
        actor = self._agent.options(**about, **self._wanted(job)).remote(order)
        given = order["far"] and order["far"]["files"]
        return RayJob(self._ray, actor, files, self._bringing, self._errand(job, files), given)

    def _order(self, job: SweepJob, files: JobFiles, cache: Path) -> dict[str, Any]:
        folder = files.folder.resolve()
        passed = make_environment(os.environ, job)
        near = {
            "command": ["-m", "bakeoff.sweep.job", str(folder), str(files.number)],
            "folder": str(workspace.main_workspace()),
            "log": str(folder / files.log.name),
            "environment": passed | {CACHE: str(cache.resolve())},
        }
        far = self._far.get(folder.name)
        part = None if far is None else far.part(job, files, passed)
        mark = folder / MARK
        return {"mark": str(mark), "token": mark.read_text(encoding="utf-8"), "near": near, "far": part}

    def _errand(self, job: SweepJob, files: JobFiles) -> dict[str, Any] | None:
        """Return the order that brings a far job's result home; None if none is far."""
        far = self._far.get(files.folder.name)
        if far is None:
            return None
        return {"folder": str(files.folder), "job": job.number, "attempt": len(job.attempts), "remote": far.remote}

    def _cpus(self) -> int:
        """Return how many CPUs a job asks for: as many as it computes with, or as the largest node has."""
        return max(1, min(machine.cores(), max((int(node.cpus) for node in self._nodes), default=1)))

    def _wanted(self, job: SweepJob) -> dict[str, float]:
        gpus = max((node.gpus for node in self._nodes), default=0.0)
        if job.devices == "cpu":
            gpus = 0
        elif isinstance(job.devices, int):
            gpus = min(gpus, job.devices)
        return {"num_cpus": self._cpus(), "num_gpus": gpus, "memory": job.memory_bytes}


def make_environment(variables: Mapping[str, str], job: SweepJob) -> dict[str, str]:
    """Return the environment of a job on every node.

    The number of threads is that of this machine, because another one would change the last bits of the weights.
    """
    passed = {key: value for key, value in variables.items() if key.startswith(PASSED_ON) or key == "PYTHONPATH"}
    hidden = {machine.VISIBLE_GPUS: "-1"} if job.devices == "cpu" else {}
    return {THREADS: str(machine.cores())} | passed | hidden | {FOLLOWS_PARENT: "1"}


def _name_actor(job: SweepJob) -> str:
    return f"{job.experiment}.{len(job.attempts)}"


def _has_room(node: Node, wanted: Mapping[str, float]) -> bool:
    has = (node.cpus, node.gpus, node.memory_bytes)
    return all(there >= asked for there, asked in zip(has, wanted.values(), strict=True))


def _describe_room(node: Node) -> str:
    return f"{node.host} has {node.cpus:g} CPUs, {node.gpus:g} GPUs and {node.memory_bytes / 1e9:.1f} GB"
