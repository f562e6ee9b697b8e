"""One training by two workers as two tasks of a Slurm job, by the script of docs/workers.md: does it come out the same?

    python tests/proofs/faults/workers_on_slurm.py --kills 1,0 --preemptions 1

sets up Slurm with two nodes on this machine. Each node runs a worker. Workers of these ranks are killed and the nodes
are taken away, each when some steps are done. The weights are compared with those of two workers without Slurm. Both
nodes are this machine, so a line of the script is another here: each worker has a port of its own.
"""

import argparse
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.postgresql import free_port
from proofs.faults.preempting import prepared_git, status, wait_for_steps
from proofs.faults.slurm import PATIENCE, Slurm, why_not
from proofs.faults.workers import curve, rendered, trained
from support.imports import ROOT
from support.workspace_copy import Workspace, environment

PAGE = (ROOT / "docs/workers.md").read_text(encoding="utf-8")
[SCRIPT] = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def script() -> str:
    """Return the page's script with two addresses of this machine."""
    hosts = ",".join(f'"127.0.0.1:{free_port()}"' for _ in range(2))
    text, count = re.subn(r"^hosts=.*$", f"hosts='{hosts}'", SCRIPT, flags=re.MULTILINE)
    assert count == 1
    return text


def kill_worker(slurm: Slurm, job: str, rank: int) -> None:
    for process in slurm.processes_of(job):
        try:
            is_training = "bakeoff.stages.train" in process.cmdline()
            if is_training and process.environ().get("SLURM_PROCID") == str(rank):
                process.send_signal(signal.SIGKILL)
        except psutil.Error:
            continue


def wait_for_turn(slurm: Slurm, job: str, turn: int) -> None:
    """Wait until a job has been put into the line so many times."""
    end = time.monotonic() + PATIENCE
    while slurm.turn_of(job) < turn:
        assert time.monotonic() < end, "it does not begin again"
        time.sleep(0.2)


def disturb(slurm: Slurm, workspace: Workspace, kills: list[int], preemptions: int) -> bool:
    """Return whether a job left nothing on nodes that were taken."""
    out = workspace.folder.parent / "job.out"
    options = ("-p", "low", "--open-mode=append", "-o", str(out))
    job, since = slurm.submit(workspace.folder, script(), *options), 0.0
    for turn, rank in enumerate([*kills, *[None] * preemptions], start=1):
        if not wait_for_steps(slurm, workspace, job, since):
            raise RuntimeError(f"the job is over before its time:\n{out.read_text(encoding='utf-8')}")
        since, step = time.time(), status(workspace)["steps_done"]
        if rank is None:
            waited = slurm.preempt(job)
            left = slurm.left_of(job, turn - 1, slurm.grace - waited)
            print(f"at step {step} both nodes are taken after {waited:.1f} s; processes left: {len(left)}", flush=True)
            if left:
                print("\n".join(f"  {process}" for process in left))
                return False
        else:
            kill_worker(slurm, job, rank)
            print(f"at step {step} worker {rank} is killed", flush=True)
        wait_for_turn(slurm, job, turn)
    while slurm.state(job)[0] != "GONE":
        time.sleep(0.5)
    return True


def compare(folder: Path, kills: list[int], preemptions: int, steps: int, grace: int) -> bool:
    cut = rendered(folder / "cut", 2, steps)
    prepared_git(cut)
    whole = cut.copy(folder / "whole")
    with Slurm(folder / "slurm", grace=grace) as slurm:
        slurm.environment |= environment()
        if not disturb(slurm, cut, kills, preemptions):
            return False
    expected, lines = trained(whole)
    state = cut.state()
    print(f"went on at {state['resumed_at_steps']}")
    print(f"on Slurm      {state['weights_sha256']}\nwithout Slurm {expected}")
    return state["weights_sha256"] == expected and curve(cut) == lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", default="1,0", help="ranks of workers, one kill after the other")
    parser.add_argument("--preemptions", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--grace", type=int, default=60, help="seconds")
    parser.add_argument("--keep", type=Path, help="a new folder that stays")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    kills = [int(rank) for rank in arguments.kills.split(",") if rank]
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        sys.exit(0 if compare(place, kills, arguments.preemptions, arguments.steps, arguments.grace) else 1)


if __name__ == "__main__":
    main()
