"""Lose nodes, launchers and the network under a sweep on far nodes: is every point done once, with the same weights?

    python tests/proofs/faults/far_sweeps.py --points 26 --faults 10 --seed 0 [--folder FOLDER]

makes a small workspace, a git remote, a bucket of S3 (moto), a server of MLflow on PostgreSQL and a Ray cluster of two
nodes that see neither the workspace nor each other. A sweep over so many points runs there, with faults at random
moments: a node is killed and started again, the launcher is killed and resumes, a node is frozen for a minute, which is
what a cut network looks like from both sides. Then DVC, MLflow and git are asked, and the weights are compared with a
sweep on this machine.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

from bakeoff.tracking.results.results import result_of
from proofs.faults.postgresql import OWNER, PASSWORD, PostgreSQL
from proofs.faults.s3_store import Bucket
from proofs.faults.sweep_checks import experiments, manifests, mlflow_runs, repeated_points
from proofs.faults.sweeps import is_half_trained, prepared
from proofs.faults.tracking_store import Server
from support.extra_packages import extra_packages, python_path
from support.ray_cluster import PACKAGES, RayCluster, RayNode
from support.workspace_copy import Workspace, environment

LINES = {
    "train": "train: {use: smoke, batch_size: 4, steps: 240, log_every_steps: 20, validate_every_steps: 120, "
    "checkpoint_every_steps: 20}"
}
SECONDS_CUT = 60.0
LONGEST_S = 5400.0
KINDS = ("node", "launcher", "network")
STAGE = "bakeoff.stages.train"


class Tracking:
    """A server of MLflow on PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        self._database = PostgreSQL()
        self._database.start()
        self._database.query("CREATE DATABASE mlflow;")
        address = f"postgresql+psycopg://{OWNER}:{PASSWORD}@127.0.0.1:{self._database.port}/mlflow"
        client = {"PYTHONPATH": python_path(extra_packages("psycopg[binary]"))}
        self.server = Server(folder, address, variables=client)
        try:
            self.server.start()
        except BaseException:
            self.close()
            raise

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self._database.rows(sql, "mlflow")

    def close(self) -> None:
        self.server.kill()
        self._database.close()


class Trial:
    def __init__(self, folder: Path, tracking: Tracking | None = None) -> None:
        self.tracking = tracking
        # Not within braces, where DVC drops the quotes of an address.
        track = {"track": f"track:\n  use: mlflow\n  uri: {tracking.server.uri}"} if tracking else {}
        self.workspace = prepared(folder / "clone", LINES | track)
        self.here = self.workspace.copy(folder / "local")  # with a cache of its own, and no remotes
        self.bucket = Bucket()
        self.bucket.start()
        site = os.pathsep.join(str(extra_packages(package)) for package in (PACKAGES, "dvc-s3>=3.2"))
        own = environment() | self.bucket.environment | {"PYTHONPATH": site}
        self.cluster = RayCluster(own)
        path = os.pathsep.join([site, str(self.workspace.folder / "src")])
        self.environment = own | self.cluster.environment | {"PYTHONPATH": path}
        self._add_remotes(folder / "remote.git")

    def _add_remotes(self, remote: Path) -> None:
        endpoint = self.bucket.environment["AWS_ENDPOINT_URL_S3"]
        for words in (
            ("git", "init", "--quiet", "--bare", str(remote)),
            ("git", "remote", "add", "origin", str(remote)),
            ("dvc", "remote", "add", "--quiet", "--default", "far", "s3://models/dvc"),
            (
                "dvc",
                "remote",
                "modify",
                "--quiet",
                "far",
                "endpointurl",
                endpoint,
            ),
        ):
            self.workspace.run(*words)
        self.workspace.commit()

    @property
    def workers(self) -> list[RayNode]:
        """Return the nodes that run jobs, which do not see the workspace."""
        return self.cluster.nodes[1:]

    def start_nodes(self) -> None:
        self.cluster.add(0)
        for _ in range(2):
            self.cluster.add(hidden=self.workspace.folder)

    def launch(self, *words: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "bakeoff", "sweep", *words]
        with (self.workspace.folder.parent / "output.txt").open("ab") as out:
            return subprocess.Popen(
                command, cwd=self.workspace.folder, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )

    def close(self) -> None:
        self.cluster.kill()
        self.bucket.kill()


def swept(trial: Trial, points: int, faults: int, chance: random.Random) -> Counter[str]:
    """To the end, through so many faults."""
    todo = [KINDS[number % len(KINDS)] for number in range(faults)]
    chance.shuffle(todo)
    done: Counter[str] = Counter()
    words = ("--on", "ray", "--until", "train", f"seed=range(0,{points})", "--yes")
    launcher, until = trial.launch(*words), time.monotonic() + LONGEST_S
    frozen: tuple[RayNode, float] | None = None
    due = time.monotonic() + chance.uniform(10, 60)
    while launcher.poll() is None and time.monotonic() < until:
        time.sleep(0.5)
        if frozen is not None and time.monotonic() > frozen[1]:
            frozen[0].signal(signal.SIGCONT)
            frozen = None
        if not todo or frozen is not None or time.monotonic() < due or not is_half_trained(trial.workspace):
            continue
        kind, node = todo.pop(), chance.choice(busy(trial) or trial.workers)
        done[kind] += 1
        print(f"{time.strftime('%H:%M:%S')} {kind}", flush=True)
        if kind == "node":
            node.kill()
            node.start()
        elif kind == "network":
            node.signal(signal.SIGSTOP)
            frozen = node, time.monotonic() + SECONDS_CUT
        else:
            launcher.kill()
            launcher.wait()
            launcher = trial.launch("--resume")
        due = time.monotonic() + chance.uniform(10, 60)
    if frozen is not None:
        frozen[0].signal(signal.SIGCONT)
    print(f"the launcher ended with {launcher.poll()}", flush=True)
    return done


def busy(trial: Trial) -> list[RayNode]:
    """Return the nodes on which a job trains."""
    return [node for node in trial.workers if any(STAGE in line for line in map(line_of, node.processes()))]


def line_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def weights_of(workspace: Workspace) -> dict[str, str]:
    """Return SHA-256 of the weights of each point of the newest sweep."""
    os.chdir(workspace.folder)
    jobs = manifests(workspace)[-1]["jobs"]
    return {job["points"][0][0]: str(result_of(job["experiment"]).state.weights_sha256) for job in jobs}


def wrong(trial: Trial, points: int) -> list[str]:
    manifest = manifests(trial.workspace)[-1]
    problems = []
    for job in manifest["jobs"]:
        ends = [attempt["state"] for attempt in job["attempts"]]
        if job["state"] != "done" or ends.count("done") != 1 or ends[-1] != "done":
            problems.append(f"job {job['number']}: {job['state']}, {ends}")
    wanted = sorted(f"{manifest['id']}-{number}" for number in range(1, points + 1))
    if experiments(trial.workspace) != wanted:
        problems.append(f"experiments: {experiments(trial.workspace)}")
    trial.workspace.run("python", "-m", "bakeoff", "track", "sync")
    ask = trial.tracking.ask if trial.tracking else None
    runs = [run for run in mlflow_runs(trial.workspace, ask) if run.get("bakeoff.run") != manifest["id"]]
    if Counter(run.get("DVC_EXP_NAME", "") for run in runs) != Counter(wanted):
        problems.append(f"MLflow's runs: {sorted(run.get('DVC_EXP_NAME', '') for run in runs)}")
    problems += [f"MLflow: {run['name']} is {run['status']}" for run in runs if run["status"] != "FINISHED"]
    problems += [f"twice in MLflow: {point}" for point in repeated_points(trial.workspace, ask)]
    return problems


def left_behind(trial: Trial) -> list[psutil.Process]:
    """Return processes of jobs on the nodes."""
    running = [process for node in trial.workers for process in node.processes()]
    return [process for process in running if "bakeoff." in line_of(process)]  # a folder may be called bakeoff


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--faults", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="far-"))
    chance = random.Random(arguments.seed)
    folder.mkdir(parents=True, exist_ok=True)
    tracking = Tracking(folder / "tracking")
    try:
        sys.exit(compared(Trial(folder, tracking), arguments.points, arguments.faults, chance))
    finally:
        tracking.close()


def compared(trial: Trial, points: int, faults: int, chance: random.Random) -> int:
    """Return the exit code of a trial."""
    try:
        trial.start_nodes()
        started = time.monotonic()
        done = swept(trial, points, faults, chance)
        print(f"{dict(done)} in {time.monotonic() - started:.0f} s, {trial.workspace.folder}", flush=True)
        problems = wrong(trial, points)
        problems += [f"only {done.total()} of {faults} faults"] * (done.total() < faults)
        jobs = manifests(trial.workspace)[-1]["jobs"]
        print(f"attempts: {json.dumps([len(job['attempts']) for job in jobs])}", flush=True)
        far = weights_of(trial.workspace)
        left = left_behind(trial)
    finally:
        trial.close()
    word = f"seed=range(0,{points})"
    trial.here.run("python", "-m", "bakeoff", "sweep", "-j", "2", "--until", "train", "--yes", word)
    here = weights_of(trial.here)
    same = far == here and {len(digest) for digest in here.values()} == {64}
    print("\n".join(problems) or f"{points} points, each done once", flush=True)
    print(
        f"weights: {'equal to' if same else 'other than'} those of a sweep here; left on the nodes: {left or 'nothing'}"
    )
    return 1 if problems or not same or left else 0


if __name__ == "__main__":
    main()
