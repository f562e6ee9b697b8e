"""Jobs -> tasks of Ray, each on a named node, so that it is known which job was lost with which node.

Another node does the jobs that a lost node did not finish. A job whose process dies again and again is done at home,
in a process of its own: only there it is certain that the job is the cause, and not the machine.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bakeoff.experiments.cluster import node_probe
from bakeoff.experiments.cluster.ray_nodes import Node, place_on
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

AHEAD = 2  # tasks on a node for each of its CPUs, so that one waits while another runs
MOST_CRASHES = 2
Call = tuple[Callable[..., Any], tuple[Any, ...]]


class ClusterTask(Protocol):
    def near(self) -> Call:
        """Return the call for a node that sees the workspace's folder."""

    def far(self) -> Call | None:
        """Return the call for a node that does not, or None if too much would travel."""

    def split(self) -> "Sequence[ClusterTask]":
        """Return the smallest jobs into which this one can be split."""

    def finish(self, result: Any) -> Any:
        """Return the part of a task's result that the caller wants."""

    def do_at_home(self) -> Any:
        """Do the job without any node, and return the same."""


@dataclass
class _Turn:
    """A job, and how often the process that worked on it died."""

    job: ClusterTask
    crashes: int = 0


@dataclass
class Tasks:
    """Runs tasks on nodes, on each as many at once as it has CPUs. Messages start with `title`."""

    ray: Any
    nodes: list[Node]
    workspace: Path
    title: str
    _running: dict[Any, tuple[_Turn, Node]] = field(default_factory=dict)
    _again: deque[_Turn] = field(default_factory=deque)
    _warm: list[Any] = field(default_factory=list)

    def warm_up(self, function: Callable[[], None]) -> None:
        """Start processes on all nodes, and let them import the function's module."""
        self._warm += [self._submit((function, ()), node) for node in self.nodes for _ in range(int(node.cpus))]

    def run(self, jobs: Iterable[ClusterTask]) -> Iterator[Any]:
        """Yield the results, as they come."""
        source = map(_Turn, jobs)
        while True:
            while (node := self._find_room()) is not None:
                turn = self._again.popleft() if self._again else next(source, None)
                if turn is None:
                    break
                call = turn.job.near() if node.sees_workspace else turn.job.far()
                if call is None:
                    yield turn.job.do_at_home()
                else:
                    self._running[self._submit(call, node)] = (turn, node)
            if not self._running:
                return
            done, _ = self.ray.wait(list(self._running), num_returns=1)
            for task in done:
                yield from self._take(task)

    def cancel(self) -> None:
        """End all running tasks at once."""
        for task in [*self._running, *self._warm]:
            self.ray.cancel(task, force=True)
        self._running.clear()
        self._again.clear()

    def _find_room(self) -> Node | None:
        """Return the node with the fewest tasks for each of its CPUs, unless all have enough."""
        counts = {node.id: 0 for node in self.nodes}
        for _, node in self._running.values():
            if node.id in counts:
                counts[node.id] += 1
        loads = [(counts[node.id] / int(node.cpus), node.id, node) for node in self.nodes]
        load, _, node = min(loads, key=lambda one: one[:2])
        return node if load < AHEAD else None

    def _submit(self, call: Call, node: Node) -> Any:
        remote = self.ray.remote(node_probe.call)
        placed = remote.options(num_cpus=1, max_retries=0, scheduling_strategy=place_on(self.ray, node.id))
        return placed.remote(str(self.workspace) if node.sees_workspace else None, pickle.dumps(call))

    def _take(self, task: Any) -> Iterator[Any]:
        """Yield the result of a task that is over, or let another node or this machine do its job."""
        turn, node = self._running.pop(task)
        errors = self.ray.exceptions
        try:
            result = self.ray.get(task)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.NodeDiedError, errors.TaskUnschedulableError):
            self._lose(node)
            self._again.append(turn)
        except errors.ObjectLostError:  # with the node that held it
            self._again.append(turn)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError):
            parts = turn.job.split()
            if turn.crashes < MOST_CRASHES:
                self._again += [_Turn(part, turn.crashes + 1) for part in parts]
            else:
                for part in parts:
                    yield part.do_at_home()
        else:
            yield turn.job.finish(result)

    def _lose(self, lost: Node) -> None:
        if lost not in self.nodes:
            return
        self.nodes.remove(lost)
        if not self.nodes:
            raise WorkspaceError(
                f"{self.title}: the last node of Ray, {lost}, is gone; run the same command again, "
                "it resumes from what is finished"
            )
        print_line(f"{self.title}: node {lost} is gone; others do its work")
