"""The workers of one training: starts those of this machine, joins those of others, begins again where one is lost."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.runs.device import choose_devices
from bakeoff.foundation import workspace
from bakeoff.foundation.child_process import wait_or_kill
from bakeoff.foundation.errors import TRY_AGAIN_LATER, Canceled, ConfigError
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.signals import TAKES_AWAY
from bakeoff.learning.checkpoints.fingerprint import identity
from bakeoff.learning.run_file.read_write import fitting_manifest, load_learning
from bakeoff.learning.run_file.settings import LearningRun, learning_tree
from bakeoff.learning.training.workers import Alone, Crew, WorkerAddress, WorkerLost, describe_parts, follow

if TYPE_CHECKING:
    from bakeoff.learning.training.setup import Setup

STAGE = (sys.executable, "-m", "bakeoff.stages.train")  # every worker runs it; TF_CONFIG holds the worker's number
HERE = "127.0.0.1"
RESTARTS, MOST_RESTARTS = "BAKEOFF_RESTARTS", 100
SECONDS_TO_END = 5.0  # that workers of this machine have, once the training has ended
SECONDS_BETWEEN_TRIES = 0.5


@contextmanager
def gather(count: int, place: WorkerAddress | None) -> Iterator[WorkerAddress | None]:
    """Give the leader's place among so many workers: TF_CONFIG's, or one among workers that are started here."""
    if place is not None and place.count != count:
        raise ConfigError(f"train.workers: must be {place.count}, the number of workers in TF_CONFIG, got {count}")
    if place is not None or count == 1:
        yield place
        return
    place = WorkerAddress(0, tuple(f"{HERE}:{port}" for port in _free_ports(count)))
    print_line(f"train: {count} workers on this machine")
    others = [subprocess.Popen(STAGE, env=os.environ | place.environment(rank)) for rank in range(1, count)]
    try:
        yield place
    finally:
        for process in others:
            wait_or_kill(process, SECONDS_TO_END)


def crew_of(setup: "Setup", run: LearningRun, manifest: Manifest) -> Crew | Alone:
    """Return all workers, once it is known that they train the same with the same."""
    if setup.place is None:
        return Alone()
    _take_signals_back()
    crew = Crew(setup.strategy, setup.place)
    crew.require_same(describe_parts(identity(learning_tree(run), records=manifest.digest)))
    return crew


def follow_leader(place: WorkerAddress) -> None:
    """Train as one of the workers that follow. The leader decides when to end."""
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGUSR2", signal.SIGTERM)):
        signal.signal(number, signal.SIG_IGN)
    _wait_for_leader(place)
    run = load_learning(workspace.RUN)
    manifest = fitting_manifest(workspace.RECORDS, run.derived)
    choose_devices(run)
    from bakeoff.learning.training.setup import Setup

    setup = Setup.of(run, manifest, workspace.RECORDS, place=place)
    crew = crew_of(setup, run, manifest)
    assert isinstance(crew, Crew)
    try:
        follow(setup, crew)
    except WorkerLost as lost:
        raise Canceled(f"worker {place.rank}: {lost}", TRY_AGAIN_LATER) from None


def begin_again(lost: WorkerLost, place: WorkerAddress | None) -> NoReturn:
    """Replace this process by a new one that resumes from the checkpoint.

    This process cannot start workers of other machines, so whoever started them is asked to start all of them again.
    """
    restarts = int(os.environ.get(RESTARTS, "0")) + 1
    if place is not None or restarts > MOST_RESTARTS:
        raise Canceled(f"{lost}; start all workers again, they resume from the checkpoint", TRY_AGAIN_LATER)
    print_line(f"{lost}; all workers begin again from the checkpoint")
    sys.stdout.flush()
    os.execve(STAGE[0], STAGE, os.environ | {RESTARTS: str(restarts)})


def _take_signals_back() -> None:
    """Let Python's handlers have the signals again: TensorFlow takes SIGTERM for itself when it joins workers."""
    if threading.current_thread() is threading.main_thread():
        for number in TAKES_AWAY:
            signal.signal(number, signal.getsignal(number))


def _wait_for_leader(place: WorkerAddress) -> None:
    """Return once the leader listens: only then is run.yaml the one that is trained."""
    host, _, port = place.addresses[0].rpartition(":")
    parent = os.getppid()
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_BETWEEN_TRIES).close()
        except OSError:
            if host == HERE and os.getppid() != parent:
                raise Canceled(f"worker {place.rank}: the first worker is gone", TRY_AGAIN_LATER) from None
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            return


def _free_ports(count: int) -> Sequence[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HERE, 0))
        return [one.getsockname()[1] for one in sockets]
