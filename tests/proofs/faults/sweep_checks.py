"""What a sweep left, asked of the manifest, of DVC, of MLflow's database, of the machine, of the workspace."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psutil

from support.workspace_copy import Workspace

Ask = Callable[[str], list[tuple[Any, ...]]]  # SQL -> rows


def running_jobs(workspace: Workspace) -> list[list[psutil.Process]]:
    """The processes of each job in this workspace, the first of them at the head."""
    jobs: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            line, session = process.cmdline(), os.getsid(process.pid)
        except (psutil.Error, OSError):
            continue
        if (
            session == process.pid
            and "bakeoff.experiments.sweep.job" in line
            and str(workspace.folder) in " ".join(line)
        ):
            jobs[session] = [process]
    for process in psutil.process_iter():
        try:
            session = os.getsid(process.pid)
        except OSError:
            continue
        if session in jobs and process.pid != session:
            jobs[session].append(process)
    return list(jobs.values())


def manifests(workspace: Workspace) -> list[dict[str, Any]]:
    files = sorted((workspace.folder / ".bakeoff/sweeps").glob("*/manifest.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def experiments(workspace: Workspace) -> list[str]:
    refs = workspace.run("git", "for-each-ref", "--format=%(refname)", "refs/exps").stdout.split()
    return sorted(ref.rpartition("/")[2] for ref in refs if len(ref.split("/")) == 5)


def asked_of(workspace: Workspace) -> Ask:
    """Return what asks the workspace's own store of MLflow."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
            return store.execute(sql).fetchall()

    return ask


def mlflow_runs(workspace: Workspace, ask: Ask | None = None) -> list[dict[str, str]]:
    """Asked of the database itself: tags of each run that is not deleted, its status among them."""
    ask = ask or asked_of(workspace)
    runs = ask("SELECT run_uuid, status, name FROM runs WHERE lifecycle_stage = 'active'")
    tags = ask("SELECT run_uuid, key, value FROM tags")
    return [
        {"id": run, "status": status, "name": name} | {key: value for own, key, value in tags if own == run}
        for run, status, name in runs
    ]


def repeated_points(workspace: Workspace, ask: Ask | None = None) -> list[tuple[Any, ...]]:
    """Of a curve, what MLflow has twice."""
    ask = ask or asked_of(workspace)
    rows = ask("SELECT run_uuid, key, step FROM metrics WHERE key LIKE 'train/%'")
    return [row for row, count in Counter(rows).items() if count > 1]


def faults(workspace: Workspace, before: tuple[str, ...], points: int) -> list[str]:
    """Of a sweep that came to its end; nothing if all is as promised."""
    problems = []
    [manifest] = manifests(workspace)
    jobs, sweep = manifest["jobs"], manifest["id"]
    if [job["number"] for job in jobs] != list(range(1, points + 1)) or len(
        {str(job["points"]) for job in jobs}
    ) != points:
        problems.append(f"numbering: {[(job['number'], job['points']) for job in jobs]}")
    for job in jobs:
        ends = [attempt["state"] for attempt in job["attempts"]]
        if job["state"] != "done" or ends.count("done") != 1 or ends[-1] != "done":
            problems.append(f"job {job['number']}: {ends}")
    wanted = sorted(f"{sweep}-{number}" for number in range(1, points + 1))
    if experiments(workspace) != wanted:
        problems.append(f"experiments: {experiments(workspace)}")
    runs = mlflow_runs(workspace)
    parents = [run for run in runs if run.get("bakeoff.run") == sweep]
    children = [run for run in runs if parents and run.get("mlflow.parentRunId") == parents[0]["id"]]
    if len(parents) != 1 or len(children) != points or len(runs) != points + 1:
        problems.append(f"MLflow: {len(parents)} parents, {len(children)} children, {len(runs)} runs")
    problems += [
        f"MLflow: {run['name']} is {run['status']}" for run in [*parents, *children] if run["status"] != "FINISHED"
    ]
    if sorted(run.get("DVC_EXP_NAME", "") for run in children) != wanted:
        problems.append(f"children: {sorted(run.get('DVC_EXP_NAME', '') for run in children)}")
    problems += [f"twice in MLflow: {point}" for point in repeated_points(workspace)]
    if standing(workspace) != before:
        problems.append(f"the workspace: {standing(workspace)}, was {before}")
    left = list((workspace.folder / ".dvc/tmp/exps/bakeoff").iterdir())
    if left or running_jobs(workspace):
        problems.append(f"left behind: {left}, {running_jobs(workspace)}")
    return problems


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


def weights(workspace: Workspace) -> tuple[str, str]:
    """SHA-256 of the workspace's, and what the run of that point told MLflow."""
    state = workspace.state()
    [run] = [run for run in mlflow_runs(workspace) if run.get("bakeoff.run") == state["run_id"]]
    return state["weights_sha256"], run["bakeoff.weights_sha256"]
