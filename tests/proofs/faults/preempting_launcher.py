"""Let Slurm take the node away from points of a sweep that `--on slurm` began: is each point done once?

    python tests/proofs/faults/preempting_launcher.py --preemptions 10

sets up Slurm with two nodes on this machine and a small workspace. `bakeoff sweep --on slurm` begins
a job of Slurm's for each point in the partition `low`. Each time when a training has taken some steps, a job of the
partition `high` asks for its node. In the end the weights are compared with those of the same sweep without Slurm.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.preempting import STEPS, prepared, results
from proofs.faults.slurm import PATIENCE, Slurm, why_not
from support.extra_packages import extra_packages, python_path
from support.workspace_copy import Workspace, environment

PLUGIN = "submitit>=1.5"
POINTS = "seed=0,1,2,3"
WORDS = ("--on", "slurm", "hydra.launcher.partition=low", "hydra.launcher.timeout_min=600")


def training_of(slurm: Slurm, workspace: Workspace, job: str) -> dict[str, Any] | None:
    """Return the status of the training that a job has under way; None if there is none that takes steps."""
    own = {process.pid for process in slurm.processes_of(job)}
    for file in workspace.folder.glob(".bakeoff/runs/*/status.json"):
        try:
            status = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # it is being written
        if status["state"] == "RUNNING" and status["process"]["pid"] in own:
            return status | {"folder": file.parent}
    return None


def newest_step(run: Path) -> int:
    """Return the step of the checkpoint that was written last."""
    files = [path for path in run.glob("1-*/*") if path.name.isdigit()]
    return int(max(files, key=lambda path: path.stat().st_mtime).name)


def wait_for_steps(
    slurm: Slurm, workspace: Workspace, sweep: "subprocess.Popen[str]", chance: random.Random
) -> tuple[str, Path]:
    """Wait until a training has taken some steps in its turn; return its job, any of those that have, and its run."""
    first: dict[tuple[str, float], int] = {}
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ready = []
        for job in slurm.running("low"):
            if shown := training_of(slurm, workspace, job):
                first_steps = first.setdefault((job, shown["started"]), shown["steps_done"])
                if shown["steps_done"] >= first_steps + STEPS:
                    ready.append((job, shown["folder"]))
        if ready:
            return chance.choice(ready)
        assert sweep.poll() is None, "the sweep is over before its time"
        time.sleep(0.1)
    raise TimeoutError("no training takes steps")


def preempt_often(slurm: Slurm, workspace: Workspace, preemptions: int, seed: int) -> list[int] | None:
    """Return the step of each preemption; None if something of a job was left on a node that was taken."""
    slurm.environment |= environment() | {"PYTHONPATH": python_path(extra_packages(PLUGIN))}
    chance, steps = random.Random(seed), list[int]()
    out = workspace.folder.parent / "sweep.out"
    with out.open("w") as file:
        sweep = subprocess.Popen(
            ["bakeoff", "sweep", POINTS, *WORDS, "--yes"], cwd=workspace.folder, env=slurm.environment, text=True,
            stdout=file, stderr=file,
        )  # fmt: skip
    try:
        for number in range(1, preemptions + 1):
            job, run = wait_for_steps(slurm, workspace, sweep, chance)
            turn, start = slurm.turn_of(job), time.monotonic()
            waited = slurm.preempt(job)
            left = slurm.left_of(job, turn, start + slurm.grace - time.monotonic())
            steps.append(newest_step(run))
            print(
                f"{number}: job {job} lost its node after {waited:.1f} s of {slurm.grace}; checkpoint {steps[-1]}; "
                f"processes left after {time.monotonic() - start:.1f} s: {len(left)}",
                flush=True,
            )
            if left:
                print("\n".join(f"  {process}" for process in left))
                return None
        code = sweep.wait()
    finally:
        if sweep.poll() is None:
            sweep.terminate()
            sweep.wait()
    print(f"exit code of the sweep: {code}", flush=True)
    if code:
        print(out.read_text(encoding="utf-8"))
    return steps


def compare(folder: Path, preemptions: int, grace: int, steps: int, seed: int = 0) -> bool:
    cut = prepared(folder / "cut", steps)
    whole = cut.copy(folder / "whole")
    with Slurm(folder / "slurm", grace=grace) as slurm:
        took = preempt_often(slurm, cut, preemptions, seed)
    if took is None:
        return False
    whole.run("bakeoff", "sweep", POINTS, "--yes")
    ends, expected = results(cut), results(whole)
    resumed = sorted(step for end in ends.values() for step in end["resumed_at_steps"])
    print(f"taken at   {sorted(took)}\nwent on at {resumed}")
    [manifest] = cut.folder.glob(".bakeoff/sweeps/*/manifest.json")
    jobs = json.loads(manifest.read_text(encoding="utf-8"))["jobs"]
    states = [job["state"] for job in jobs]
    print(f"points {states}, turns {[len(job['attempts']) for job in jobs]}")
    print(f"preempted       {sorted(ends)}\nnever preempted {sorted(expected)}")
    once = {*states} == {"done"} and len(ends) == len(jobs)
    return sorted(took) == resumed and sorted(ends) == sorted(expected) and once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preemptions", type=int, default=10)
    parser.add_argument("--grace", type=int, default=60, help="seconds")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a new folder that stays")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        sys.exit(0 if compare(place, arguments.preemptions, arguments.grace, arguments.steps, arguments.seed) else 1)


if __name__ == "__main__":
    main()
