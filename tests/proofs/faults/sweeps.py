"""Kill a sweep, its jobs, everything, as often as wanted, and resume it: is every point done exactly once?

    python tests/proofs/faults/sweeps.py --kills 5 --job-kills 3 --seed 0 [--folder FOLDER]

makes a small workspace, sweeps over twelve points with `kill -9` at random moments, then asks the manifest, DVC, MLflow
and the workspace; sweeps over the same once more, applies the best, and asks `dvc repro` whether anything is left.
"""

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

from proofs.faults.sweep_checks import faults, manifests, running_jobs, standing, weights
from support.workspace_copy import Workspace, environment, tiny_workspace

LINES = {
    "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
    "model": "model: {use: cnn_small, width: 0.25, input_size: 32}",
    "train": (
        "train: {use: smoke, batch_size: 4, steps: 500, log_every_steps: 5, validate_every_steps: 250, "
        "checkpoint_every_steps: 5}"
    ),
}
WORDS = ("lr=cosine,exponential", "lr.peak=0.01,0.02", "seed=range(0,3)")
POINTS = 12
LONGEST_S = 3600.0


@dataclass
class Killed:
    """What was killed, and what was found out."""

    launchers: int = 0
    jobs: int = 0
    lives: int = 0  # of launchers
    resumed: int = 0  # trainings that went on at a checkpoint
    adopted: int = 0
    seconds: float = 0.0
    codes: list[int] = field(default_factory=list)  # of launchers that ended by themselves


def prepared(folder: Path, lines: dict[str, str] | None = None) -> Workspace:
    workspace = tiny_workspace(folder, LINES | (lines or {}))
    workspace.run("git", "config", "user.name", "t")
    workspace.run("git", "config", "user.email", "t@localhost")
    workspace.repro("render_config")
    workspace.commit()
    workspace.edit("params.yaml", "# The variant", "# An edit that is not committed. The variant")
    return workspace


def swept(
    workspace: Workspace,
    chance: random.Random,
    kills: int,
    job_kills: int,
    options: tuple[str, ...],
    words: tuple[str, ...],
) -> Killed:
    """To the end, through so many kills."""
    done, start, output = Killed(), time.monotonic(), workspace.folder.parent / "output.txt"
    todo = ["launcher"] * (kills - kills // 3) + ["everything"] * (kills // 3) + ["job"] * job_kills
    chance.shuffle(todo)
    while time.monotonic() - start < LONGEST_S:
        begun = bool(manifests(workspace))
        command = [sys.executable, "-m", "bakeoff", "sweep", *options, *(["--resume"] if begun else words)]
        with output.open("ab") as out:
            launcher = subprocess.Popen(
                command, cwd=workspace.folder, env=environment(), stdout=out, stderr=out, start_new_session=True
            )
        done.lives += 1
        while launcher.poll() is None:
            if not todo:
                launcher.wait()
                break
            _wait(launcher, chance.uniform(1, 20))  # a sweep of four points ends within a minute or two
            is_patient = chance.random() < 0.7
            while is_patient and launcher.poll() is None and not is_half_trained(workspace):
                _wait(launcher, 0.2)
            if launcher.poll() is None:
                _kill(todo.pop(), launcher, workspace, chance, done)
        if launcher.returncode >= 0:
            done.codes.append(launcher.returncode)
        if launcher.returncode == 0:
            break
    logs = (workspace.folder / ".bakeoff/sweeps").glob("*/*.log")
    done.resumed = sum(log.read_text(encoding="utf-8").count("resumes after step") for log in logs)
    done.adopted = output.read_text(encoding="utf-8").count("still runs, from before")
    done.seconds = time.monotonic() - start
    return done


def is_half_trained(workspace: Workspace) -> bool:
    """Some job is between its first step and its last."""
    for file in (workspace.folder / ".bakeoff/runs").glob("*/status.json"):
        shown = json.loads(file.read_text(encoding="utf-8"))
        if shown["state"] == "RUNNING" and 0 < shown["steps_done"] < shown["steps"]:
            return True
    return False


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def _kill(
    what: str, launcher: subprocess.Popen[bytes], workspace: Workspace, chance: random.Random, done: Killed
) -> None:
    jobs = running_jobs(workspace)
    if what == "job" and jobs:
        processes = chance.choice(jobs)
        for process in chance.choice([processes, processes[:1], processes[-1:]]):  # all of it, its head, its stage
            _end(process)
        done.jobs += 1
        return
    for process in [process for job in jobs for process in job] if what == "everything" else []:
        _end(process)
    launcher.kill()
    launcher.wait()
    done.launchers += 1


def _end(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.Error:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--job-kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("-j", "--jobs", default="2")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="sweeps-"))
    workspace = prepared(folder / "clone")
    before, chance = standing(workspace), random.Random(arguments.seed)
    done = swept(workspace, chance, arguments.kills, arguments.job_kills, ("-j", arguments.jobs), WORDS)
    print(f"{done} in {workspace.folder}", flush=True)
    workspace.run("python", "-m", "bakeoff", "track", "sync")
    problems = faults(workspace, before, POINTS)
    print("\n".join(problems) or f"{POINTS} points, each done once", flush=True)
    again = time.monotonic()
    shown = workspace.run("python", "-m", "bakeoff", "sweep", "-j", arguments.jobs, "--follow", *WORDS).stdout
    ran_again = Counter(re.findall(r"Running stage '(\w+)'", shown))
    trained = ran_again.keys() - {"render_config"}  # DVC's cache has no file that git tracks
    print(f"the same again: {time.monotonic() - again:.0f} s, stages that ran: {dict(ran_again)}", flush=True)
    workspace.run("python", "-m", "bakeoff", "sweep", "best", "--apply")
    ran = workspace.repro()
    best = max(manifests(workspace)[-1]["jobs"], key=lambda job: job["value"])
    own, logged = weights(workspace)
    print(
        f"best {best['experiment']} applied: `dvc repro` ran {ran or 'nothing'}; weights {own[:12]} and {logged[:12]}"
    )
    sys.exit(1 if problems or trained or ran or own != logged else 0)


if __name__ == "__main__":
    main()
