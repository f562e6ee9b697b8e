"""MLflow gone, killed, frozen, or its senders killed, or training killed: does MLflow end up with the very same run?

Each fault meets a run of some hundred steps. Then `bakeoff track sync` runs, and the store is compared, field by field,
with that of a run which met none. How long a logged step of training waited for tracking is measured, too.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from proofs.faults.full_disks import fill
from proofs.faults.tracking_store import Server, contents
from support.imports import ROOT
from support.workspace_copy import environment

STEPS, SECONDS_PER_STEP = 400, 0.02
PLAYER = Path(__file__).with_name("tracking_player.py")
PATHS = {"PYTHONPATH": str(ROOT / "src")}
MOST_WAITED_S = 0.005  # by a logged step


class Clone:
    """A workspace that holds nothing but what a tracked run needs."""

    def __init__(self, folder: Path, uri: str) -> None:
        self.folder, self.uri = folder, uri
        (folder / "conf").mkdir(parents=True)
        (folder / "dvc.yaml").touch()
        (folder / "config").mkdir()
        (folder / "config/run.yaml").write_text("seed: 0\n")
        (folder / "config/lr.svg").write_text("<svg/>\n")

    def play(
        self, run_id: str, steps: int = STEPS, pause: float = SECONDS_PER_STEP, **variables: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(PLAYER), run_id, str(steps), str(pause), self.uri],
            cwd=self.folder, env=environment() | PATHS | variables, start_new_session=True,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def reach(self, steps: int) -> None:
        """Wait until so many steps are logged."""
        waits = self.folder / "waits.txt"
        while not waits.exists() or waits.read_text().count("\n") < steps:
            time.sleep(0.01)

    def sync(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bakeoff", "track", "sync"],
            cwd=self.folder, env=environment() | PATHS, capture_output=True, text=True,
        )  # fmt: skip

    def senders(self) -> list[int]:
        """Their process ids."""
        listed = subprocess.run(["pgrep", "-f", "bakeoff.tracking.sync.process"], capture_output=True, text=True).stdout
        return [int(pid) for pid in listed.split() if os.readlink(f"/proc/{pid}/cwd") == str(self.folder)]


def no_fault(clone: Clone, server: Server) -> None:
    finish(clone)


def absent(clone: Clone, server: Server) -> None:
    """Not there at the start, and not until the run has ended."""
    server.kill()
    finish(clone)
    server.start()


def killed(clone: Clone, server: Server) -> None:
    process = clone.play("run")
    clone.reach(STEPS // 2)
    server.kill()
    ended(process)
    server.start()


def up_again(clone: Clone, server: Server) -> None:
    """Killed, and started again while training goes on."""
    process = clone.play("run")
    clone.reach(STEPS // 3)
    server.kill()
    clone.reach(STEPS // 2)
    server.start()
    ended(process)


def frozen(clone: Clone, server: Server) -> None:
    process = clone.play("run")
    clone.reach(STEPS // 2)
    server.freeze()
    ended(process)
    time.sleep(25)  # until requests that were made have run out of time; thawed, the server still answers them
    server.thaw()


def frozen_for_a_while(clone: Clone, server: Server) -> None:
    process = clone.play("run")
    clone.reach(STEPS // 4)
    server.freeze()
    time.sleep(3)
    server.thaw()
    ended(process)


def full_while_training(clone: Clone, server: Server) -> None:
    """The disk of the server fills up in the middle and has room again when training has ended."""
    process = clone.play("run")
    clone.reach(STEPS // 2)
    ballast = fill(server.folder, 0)
    ended(process)
    ballast.unlink()


def full_while_syncing(clone: Clone, server: Server) -> None:
    """The disk is full before the first step. Each `track sync` until there is room says so in one line and loses
    nothing.
    """
    fill(server.folder, 0)
    finish(clone)
    for left in (0, 1 << 20, 5 << 19):  # with some room the numbers get through, and a file does not
        ballast = fill(server.folder, left)
        done = clone.sync()
        print(f"{left:,} bytes left: {done.stdout.splitlines()[0]}")
        faults = [line for line in (done.stdout + done.stderr).splitlines() if "Traceback" in line]
        assert done.returncode == 1 and not faults and len(done.stderr.splitlines()) <= 1, done.stdout + done.stderr
    ballast.unlink()


def senders_killed(clone: Clone, server: Server) -> None:
    process = clone.play("run")
    chance = random.Random(0)
    while process.poll() is None:
        time.sleep(chance.uniform(0.3, 4))
        for sender in clone.senders():
            os.kill(sender, signal.SIGKILL)
    ended(process)


def training_killed(clone: Clone, server: Server) -> None:
    """Time and again; each time it goes on some steps before."""
    chance, logged = random.Random(1), 0
    for _ in range(4):
        process = clone.play("run")
        logged += chance.randrange(20, 120)
        clone.reach(logged)
        time.sleep(chance.random() * SECONDS_PER_STEP)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        logged = (clone.folder / "waits.txt").read_text().count("\n")
    clone.sync()
    [[left]] = contents(clone.uri).values()
    assert (left["status"], left["ended"], left["tags"]["bakeoff.state"]) == ("KILLED", False, "INTERRUPTED")
    finish(clone)


FAULTS: dict[str, Callable[[Clone, Server], None]] = {
    fault.__name__: fault
    for fault in (absent, killed, up_again, frozen, frozen_for_a_while, senders_killed, training_killed)
}
FULL_DISKS = {fault.__name__: fault for fault in (full_while_training, full_while_syncing)}
ROOM_OF_A_SERVER = 32 << 20  # bytes of its disk, enough for the whole run


def finish(clone: Clone) -> None:
    ended(clone.play("run"))


def ended(process: subprocess.Popen[str]) -> None:
    printed = process.communicate()[1]
    assert process.returncode == 0, printed
    assert len(re.findall("^warning: MLflow", printed, re.MULTILINE)) <= 1, printed


def meet(name: str, fault: Callable[[Clone, Server], None], folder: Path) -> tuple[list[dict], list[float]]:
    """What the store holds of the run in the end, and what each logged step waited."""
    server = Server(folder / f"{name}-server")
    server.start()
    try:
        clone = Clone(folder / name, server.uri)
        fault(clone, server)
        done = clone.sync()
        assert done.returncode == 0 and done.stdout.endswith("1 run, 1 sent whole\n"), done.stdout + done.stderr
        [runs] = contents(server.uri).values()
    finally:
        server.kill()
    return runs, [float(line) for line in (clone.folder / "waits.txt").read_text().split()]


def eight(folder: Path) -> list[str]:
    """Eight processes that start runs at once on a store that does not exist yet: what is missing or too much."""
    folder.mkdir()
    clones = [Clone(folder / str(number), "local") for number in range(8)]
    shared = environment() | PATHS | {"DVC_ROOT": str(folder)}  # one main workspace, as for experiments of DVC
    processes = [clone.play(f"{number}f", 40, 0.001, DVC_ROOT=str(folder)) for number, clone in enumerate(clones)]
    for process in processes:
        ended(process)
    sync = [
        sys.executable,
        "-c",
        "from bakeoff.tracking.sync.sync_status import sync; import sys; sys.exit(not sync(None, print))",
    ]
    subprocess.run(sync, cwd=folder, env=shared, check=True)
    runs = contents(f"sqlite:///{folder}/mlflow.db")
    [first] = runs.pop("0f")
    faults = [] if len(first["history"]["train/loss"]) == 40 and first["status"] == "FINISHED" else ["0f"]
    for run in (f"{number}f" for number in range(1, 8)):
        same = [{**other, "tags": {**other["tags"], "bakeoff.run": "0f"}} for other in runs.pop(run, [])] == [first]
        faults += [] if same else [run]
    return faults + sorted(runs)
