"""A sweep that is killed in each of its parts, one after the other, and resumed: each point is done once.

    python tests/proofs/faults/sweep_parts.py --seed 0

The points differ in their data, so each of them builds records. The weights must equal those of a sweep that nobody
killed.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

from bakeoff.experiments.sweep.job_workspace import SETTLED
from proofs.faults.sweep_checks import faults, manifests, mlflow_runs, running_jobs, standing
from proofs.faults.sweeps import is_half_trained, prepared
from support.workspace_copy import Workspace, environment

WORDS = ("data.train_examples=32,36",)
POINTS = 2
CLONES = ".dvc/tmp/exps/bakeoff"
TRAIN = "train: {use: smoke, batch_size: 4, steps: 150, log_every_steps: 5, checkpoint_every_steps: 5}"


def kill_in_each_part(seed: int) -> list[str]:
    """Return what was wrong with a sweep after a kill in each of its parts."""
    chance, problems = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        cut = prepared(Path(folder) / "cut", {"train": TRAIN})
        whole, before = cut.copy(Path(folder) / "whole"), standing(cut)
        for name, look in PARTS.items():
            has_killed = _kill_one(cut, look, chance)
            print(f"{name}: {'killed' if has_killed else 'came to its end before'}", flush=True)
        for _ in range(3):
            done = cut.run(sys.executable, "-m", "bakeoff", "sweep", *_begin_or_resume(cut), ok=False)
            if done.returncode == 0:
                break
        problems += [f"resumed: exit code {done.returncode}: {done.stderr[-1000:]}"] * bool(done.returncode)
        whole.run(sys.executable, "-m", "bakeoff", "sweep", *WORDS)
        for workspace in (cut, whole):
            workspace.run(sys.executable, "-m", "bakeoff", "track", "sync")
        problems += faults(cut, before, POINTS)
        if _list_weights(cut) != _list_weights(whole) or len(_list_weights(whole)) != POINTS:
            problems.append(f"weights: {_list_weights(cut)}, unkilled {_list_weights(whole)}")
    return problems


def _begin_or_resume(workspace: Workspace) -> tuple[str, ...]:
    return ("--resume",) if manifests(workspace) else WORDS


def _list_weights(workspace: Workspace) -> list[str]:
    key = "bakeoff.weights_sha256"
    return sorted(run[key] for run in mlflow_runs(workspace) if key in run)


def _has_clone(workspace: Workspace) -> bool:
    return any((workspace.folder / CLONES).glob("*/.git"))


def _builds_records(workspace: Workspace) -> bool:
    return any(_is_stage(process, "build_records") for job in running_jobs(workspace) for process in job)


def _is_stage(process: psutil.Process, stage: str) -> bool:
    try:
        return f"bakeoff.stages.{stage}" in process.cmdline()
    except psutil.Error:
        return False


def _is_landing(workspace: Workspace) -> bool:
    """Whether a job has ended, and its experiment comes to the workspace."""
    settled = (workspace.folder / CLONES).glob(f"*/{SETTLED}")
    return any(settled) or _count_done(workspace) > 0


def _count_done(workspace: Workspace) -> int:
    return sum(job["state"] == "done" for manifest in manifests(workspace) for job in manifest["jobs"])


PARTS: dict[str, Callable[[Workspace], bool]] = {
    "a clone is made": _has_clone,
    "records are built": _builds_records,
    "a point trains": is_half_trained,
    "results are fetched": _is_landing,
    "the parent run is written": lambda workspace: _count_done(workspace) == POINTS,
}


def _kill_one(workspace: Workspace, look: Callable[[Workspace], bool], chance: random.Random) -> bool:
    """Kill the sweep, and mostly its jobs, in a part; return False if it came to its end before."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "sweep", *_begin_or_resume(workspace)], cwd=workspace.folder,
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    while launcher.poll() is None and not look(workspace):
        time.sleep(0.02)
    time.sleep(chance.random() * 0.2)
    was_alive = launcher.poll() is None
    for process in [process for job in running_jobs(workspace) for process in job] if chance.random() < 0.7 else []:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.Error:
            pass
    launcher.kill()
    launcher.wait()
    return was_alive


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    problems = kill_in_each_part(parser.parse_args().seed)
    print("\n".join(problems) or f"{POINTS} points, each done once, with the weights of an unkilled sweep")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
