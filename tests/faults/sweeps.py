"""Kill a sweep, its jobs, everything, as often as wanted, and resume it: is every point done exactly once?

    python tests/faults/sweeps.py --kills 5 --job-kills 3 --seed 0 [--folder FOLDER]

makes a small workspace, sweeps over twelve points with `kill -9` at random moments, then asks the manifest, DVC, MLflow
and the workspace; sweeps over the same once more, applies the best, and asks `dvc repro` whether anything is left.
"""

import argparse
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil

from workspace_copy import Workspace, environment, tiny_workspace

LINES = {
    "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
    "model": "model: {use: cnn_small, width: 0.25, input_size: 32}",
    "train": (
        "train: {use: smoke, batch_size: 4, steps: 60, log_every_steps: 5, validate_every_steps: 30, "
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
        command = [sys.executable, "-m", "bakeoff.cli", "sweep", *options, *(["--resume"] if begun else words)]
        with output.open("ab") as out:
            launcher = subprocess.Popen(
                command, cwd=workspace.folder, env=environment(), stdout=out, stderr=out, start_new_session=True
            )
        done.lives += 1
        while launcher.poll() is None:
            if not todo:
                launcher.wait()
                break
            _wait(launcher, chance.uniform(1, 30))
            if launcher.poll() is None:
                _kill(todo.pop(), launcher, workspace, chance, done)
        if launcher.returncode >= 0:
            done.codes.append(launcher.returncode)
        if launcher.returncode == 0:
            break
    done.adopted = output.read_text(encoding="utf-8").count("still runs, from before")
    done.seconds = time.monotonic() - start
    return done


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


def running_jobs(workspace: Workspace) -> list[list[psutil.Process]]:
    """The processes of each job in this workspace, the first of them at the head."""
    jobs: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            line, session = process.cmdline(), os.getsid(process.pid)
        except (psutil.Error, OSError):
            continue
        if session == process.pid and "bakeoff.sweep.job" in line and str(workspace.folder) in " ".join(line):
            jobs[session] = [process]
    for process in psutil.process_iter():
        try:
            session = os.getsid(process.pid)
        except OSError:
            continue
        if session in jobs and process.pid != session:
            jobs[session].append(process)
    return list(jobs.values())


def _end(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.Error:
        pass


# What is there now.


def manifests(workspace: Workspace) -> list[dict[str, Any]]:
    files = sorted((workspace.folder / ".bakeoff/sweeps").glob("*/manifest.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def experiments(workspace: Workspace) -> list[str]:
    refs = workspace.run("git", "for-each-ref", "--format=%(refname)", "refs/exps").stdout.split()
    return sorted(ref.rpartition("/")[2] for ref in refs if len(ref.split("/")) == 5)


def mlflow_runs(workspace: Workspace) -> list[dict[str, str]]:
    """Asked of the database itself: tags of each run that is not deleted, its status among them."""
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        runs = store.execute("SELECT run_uuid, status, name FROM runs WHERE lifecycle_stage = 'active'").fetchall()
        tags = store.execute("SELECT run_uuid, key, value FROM tags").fetchall()
    return [
        {"id": run, "status": status, "name": name} | {key: value for own, key, value in tags if own == run}
        for run, status, name in runs
    ]


def repeated_points(workspace: Workspace) -> list[tuple[str, str, int]]:
    """Of a curve, what MLflow has twice."""
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        rows = store.execute("SELECT run_uuid, key, step FROM metrics WHERE key LIKE 'train/%'").fetchall()
    return [row for row, count in Counter(rows).items() if count > 1]


def faults(workspace: Workspace, before: tuple[str, ...], words: tuple[str, ...]) -> list[str]:
    """Of a sweep that came to its end; nothing if all is as promised."""
    found = []
    [manifest] = manifests(workspace)
    jobs, sweep = manifest["jobs"], manifest["id"]
    if [job["number"] for job in jobs] != list(range(1, POINTS + 1)) or len(
        {str(job["points"]) for job in jobs}
    ) != POINTS:
        found.append(f"numbering: {[(job['number'], job['points']) for job in jobs]}")
    for job in jobs:
        ends = [attempt["state"] for attempt in job["attempts"]]
        if job["state"] != "done" or ends.count("done") != 1 or ends[-1] != "done":
            found.append(f"job {job['number']}: {ends}")
    wanted = sorted(f"{sweep}-{number}" for number in range(1, POINTS + 1))
    if experiments(workspace) != wanted:
        found.append(f"experiments: {experiments(workspace)}")
    runs = mlflow_runs(workspace)
    parents = [run for run in runs if run.get("bakeoff.run") == sweep]
    children = [run for run in runs if parents and run.get("mlflow.parentRunId") == parents[0]["id"]]
    if len(parents) != 1 or len(children) != POINTS or len(runs) != POINTS + 1:
        found.append(f"MLflow: {len(parents)} parents, {len(children)} children, {len(runs)} runs")
    found += [
        f"MLflow: {run['name']} is {run['status']}" for run in [*parents, *children] if run["status"] != "FINISHED"
    ]
    if sorted(run.get("DVC_EXP_NAME", "") for run in children) != wanted:
        found.append(f"children: {sorted(run.get('DVC_EXP_NAME', '') for run in children)}")
    found += [f"twice in MLflow: {point}" for point in repeated_points(workspace)]
    if standing(workspace) != before:
        found.append(f"the workspace: {standing(workspace)}, was {before}")
    left = list((workspace.folder / ".dvc/tmp/exps/bakeoff").iterdir())
    if left or running_jobs(workspace):
        found.append(f"left behind: {left}, {running_jobs(workspace)}")
    return found


def standing(workspace: Workspace) -> tuple[str, ...]:
    """Of the user's own files, branch and stash."""
    asked = (
        ("status", "--porcelain"),
        ("diff", "HEAD"),
        ("symbolic-ref", "HEAD"),
        ("rev-parse", "HEAD"),
        ("stash", "list"),
    )
    return tuple(workspace.run("git", *words).stdout for words in asked)


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
    workspace.run("python", "-m", "bakeoff.cli", "track", "sync")
    found = faults(workspace, before, WORDS)
    print("\n".join(found) or f"{POINTS} points, each done once", flush=True)
    again = time.monotonic()
    said = workspace.run("python", "-m", "bakeoff.cli", "sweep", "-j", arguments.jobs, "--follow", *WORDS).stdout
    trained = re.findall(r"Running stage '(\w+)'", said)
    print(f"the same again: {time.monotonic() - again:.0f} s, stages that ran: {Counter(trained)}", flush=True)
    workspace.run("python", "-m", "bakeoff.cli", "sweep", "best", "--apply")
    ran = workspace.repro()
    best = max(manifests(workspace)[-1]["jobs"], key=lambda job: job["value"])
    print(f"best {best['experiment']} applied: `dvc repro` ran {ran or 'nothing'}", flush=True)
    sys.exit(1 if found or trained or ran else 0)


if __name__ == "__main__":
    main()
