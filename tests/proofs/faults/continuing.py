"""Train, `kill -9`, lose all but MLflow's server, clone anew, `bakeoff continue`: do the same weights come out?

A small workspace trains once to the end. Then, so many times, training and its sender are killed in a fresh clone at a
random moment, the clone is removed, and another one goes on. With a bucket, files go to it from the training machine,
and checkpoints are so large that they go in parts.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from proofs.faults.kills import SETTINGS, curve
from proofs.faults.s3_store import Bucket
from proofs.faults.tracking_store import Server, contents
from support.workspace_copy import Workspace, environment, tiny_workspace

SMALL, LARGE = (0.25, 1_200), (3, 200)  # width and steps; MLflow gets a checkpoint of LARGE in parts
STEPS_BETWEEN = 300  # two kills, also where the first checkpoint of a start is sent late
BAKEOFF = (sys.executable, "-m", "bakeoff")


def origin(folder: Path, uri: str, width: float, steps: int) -> Workspace:
    """A repository to be cloned, whose variant tells a store of its checkpoints."""
    lines = {
        "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
        "model": f"model: {{use: cnn_small, width: {width}, input_size: 32}}",
        "train": f"train: {{use: demo, batch_size: 4, steps: {steps}, accumulate_batches: 2, {SETTINGS}}}",
        "track": f"track: {{use: mlflow, uri: '{uri}', wait_s: 60}}",
    }
    return tiny_workspace(folder, lines)


def cloned(repository: Workspace, folder: Path, like: Workspace | None = None) -> Workspace:
    """A clone that knows of networks what another one knows. Else a short training may end before its first checkpoint
    is sent, for which the sender builds the network."""
    subprocess.run(["git", "clone", "--quiet", str(repository.folder), str(folder)], check=True)
    if like:
        shutil.copytree(like.folder / ".bakeoff/networks", folder / ".bakeoff/networks")
    return Workspace(folder)


def uninterrupted(repository: Workspace, folder: Path) -> Workspace:
    workspace = cloned(repository, folder)
    workspace.run(*BAKEOFF, "repro", "train")
    return workspace


def lost(workspace: Workspace, server: Server, step: int) -> str:
    """Train, kill all of it when the store has a checkpoint of that step or a later one; return the id of the run."""
    had = server.checkpoints()
    process = subprocess.Popen(
        [*BAKEOFF, "repro", "train"], cwd=workspace.folder, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and not any(int(file.name) >= step for file in server.checkpoints() - had):
        time.sleep(0.1)
    was_alive = process.poll() is None
    for running in _below(workspace.folder):  # the training, DVC, and the sender
        running.send_signal(signal.SIGKILL)
    process.wait()
    assert was_alive, "the training ended before it was killed"
    [file] = (workspace.folder / ".bakeoff/runs").glob("*/run")
    run_id = file.read_text(encoding="utf-8")
    shutil.rmtree(workspace.folder)
    return run_id


def gone_on(workspace: Workspace, run_id: str) -> tuple[int, dict] | None:
    """Go on in a clone; return the step after which it did, and what came of it. The last step leaves nothing to do.

    None: the kill came before the store had the whole of a first checkpoint.
    """
    if (step := fetched(workspace, run_id)) is None:
        return None
    workspace.run(*BAKEOFF, "repro", "train")
    return step, workspace.state()


def fetched(workspace: Workspace, run_id: str) -> int | None:
    """Fetch a run's newest checkpoint from the store; return its step.

    None: the store has the whole of none. It may have offered one of an equal training that it has.
    """
    done = workspace.run(*BAKEOFF, "continue", run_id[:9], ok=False)
    if "has no checkpoint of run" in done.stderr:
        return None
    assert done.returncode == 0, done.stdout + done.stderr
    [(run, step)] = re.findall(r"run (\w+): after step ([\d,]+)", done.stdout)
    return int(step.replace(",", "")) if run == run_id[:SHOWN_OF_ID] else None


def _below(folder: Path) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and Path(process.cwd()).is_relative_to(folder):
                processes.append(process)
        except (psutil.Error, OSError):
            continue
    return processes


def lost_and_gone_on(folder: Path, kills: int, chance: random.Random, bucket: Bucket | None = None) -> list[str]:
    """Return what differs from an uninterrupted training; prints a line for each kill."""
    server = Server(folder / "server", bucket=bucket)
    server.start()
    width, steps = LARGE if bucket else SMALL
    wrong = []
    try:
        repository = origin(folder / "origin", server.uri, width, steps)
        whole = uninterrupted(repository, folder / "whole")
        whole.run(*BAKEOFF, "track", "sync")  # or a checkpoint of it comes later and is taken for the next one's
        expected = whole.state()["weights_sha256"]
        print(f"uninterrupted {expected}", flush=True)
        ids: list[str] = []
        while len(ids) < kills:
            place = folder / "clone"
            run_id = lost(cloned(repository, place, whole), server, chance.randrange(steps * 9 // 10))
            workspace = cloned(repository, place, whole)
            if outcome := gone_on(workspace, run_id):
                step, state = outcome
                ids.append(run_id)
                print(f"kill {len(ids):2}: went on after step {step:5}: {state['weights_sha256']}", flush=True)
                if state["weights_sha256"] != expected or curve(workspace) != curve(whole):
                    wrong.append(f"kill {len(ids)}: other weights or another history")
                workspace.run(*BAKEOFF, "track", "sync")
            shutil.rmtree(workspace.folder)
        runs = contents(server.uri)
        wrong += in_mlflow(runs, ids)
        left = sorted(map(str, server.checkpoints_of_nobody()))
        print(f"{len(server.checkpoints())} checkpoints' files, of which MLflow does not know {len(left)}", flush=True)
        wrong += [f"MLflow does not know the model of {path}" for path in left]
    finally:
        server.kill()
    return wrong


def lost_again_and_again(folder: Path, kills: int, chance: random.Random) -> list[str]:
    """Lose one training so many times, each time in a clone of its own; return what differs at its end."""
    server = Server(folder / "server")
    server.start()
    try:
        repository = origin(folder / "origin", server.uri, SMALL[0], STEPS_BETWEEN * kills)
        whole = uninterrupted(repository, folder / "whole")
        whole.run(*BAKEOFF, "track", "sync")
        expected, place = whole.state()["weights_sha256"], folder / "clone"
        print(f"uninterrupted {expected}", flush=True)
        run_id, step, done = "", 0, 0
        while done < kills:
            workspace = cloned(repository, place, whole)
            if run_id and (found := fetched(workspace, run_id)) is None:
                run_id, done = "", 0  # it was lost before its first checkpoint was there
                shutil.rmtree(place)
                continue
            if run_id:
                print(f"kill {done:2}: goes on after step {found:5}", flush=True)
                step = found or 0
            run_id, done = lost(workspace, server, step + chance.randrange(1, STEPS_BETWEEN // 4)), done + 1
        outcome = gone_on(workspace := cloned(repository, place, whole), run_id)
        assert outcome is not None
        print(f"kill {kills:2}: went on after step {outcome[0]:5}: {outcome[1]['weights_sha256']}", flush=True)
        same = outcome[1]["weights_sha256"] == expected and curve(workspace) == curve(whole)
        workspace.run(*BAKEOFF, "track", "sync")
        return ([] if same else ["other weights or another history"]) + in_mlflow(contents(server.uri), [run_id])
    finally:
        server.kill()


def in_mlflow(runs: dict[str, list[dict[str, Any]]], ids: list[str]) -> list[str]:
    """Return what is wrong with the runs there: each is one, ended, and has every point and checkpoint once."""
    wrong = []
    for run_id in ids:
        [run, *more] = runs[run_id]
        twice = [key for key, points in run["history"].items() if len({step for step, _ in points}) < len(points)]
        names = [name.partition(" ")[0] for name in run["models"]]
        checkpoints = sum(name.startswith("checkpoint-") for name in names)
        if more or run["status"] != "FINISHED" or twice or checkpoints != 2 or not {"best", "final"} <= set(names):
            wrong.append(f"{run_id}: {len(more)} runs more, {run['status']}, twice: {twice}, models: {names}")
    return wrong
