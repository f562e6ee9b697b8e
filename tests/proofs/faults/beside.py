"""What a user does beside a training or a sweep: git gc, commit, checkout; a second sweep in the same workspace.

python tests/proofs/faults/beside.py --seed 0
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.kills import curve, repeated, trained
from proofs.faults.kills import prepared as prepare_training
from proofs.faults.sweep_checks import experiments, manifests, mlflow_runs, repeated_points, running_jobs
from proofs.faults.sweeps import prepared
from support.workspace_copy import Workspace, environment

GC = ("gc", "--quiet", "--prune=now")
COMMANDS = (  # of git, each as a user types it while something runs
    (GC,),
    (("commit", "--quiet", "--allow-empty", "--message", "beside"),),
    (("checkout", "--quiet", "-b", "other"), ("checkout", "--quiet", "main"), ("branch", "--quiet", "-D", "other")),
    (("stash", "--quiet"), ("stash", "pop", "--quiet")),
)


@contextmanager
def _git_beside(
    workspace: Workspace, chance: random.Random, commands: Sequence[Sequence[tuple[str, ...]]]
) -> Iterator[list[str]]:
    """Run git at random moments of the block, and yield the list of what it complained of."""
    over, problems = Event(), []

    def go_on() -> None:
        while not over.wait(chance.uniform(0.05, 0.6)):
            for words in chance.choice(commands):
                done = workspace.run("git", *words, ok=False)
                problems.extend([f"git {' '.join(words)}: {done.stderr}"] * bool(done.returncode))

    thread = Thread(target=go_on)
    thread.start()
    try:
        yield problems
    finally:
        over.set()
        thread.join()


def train_beside_git(folder: Path, variant: str, chance: random.Random) -> list[str]:
    """Return what is wrong with a training beside which git worked, and with git."""
    whole = prepare_training(folder / "whole", variant)
    cut = whole.copy(folder / "cut")
    cut.edit("README.md", "# ", "# An edit that is not committed. ")
    expected = trained(whole)
    with _git_beside(cut, chance, COMMANDS) as problems:
        state = trained(cut)
    problems += [f"weights: {state['weights_sha256']}"] * (state["weights_sha256"] != expected["weights_sha256"])
    problems += ["history: another"] * (curve(whole) != curve(cut) or bool(repeated(cut)))
    text = (cut.folder / "README.md").read_text(encoding="utf-8")
    return [*problems, *["README.md: the edit is gone"] * ("An edit that is not" not in text)]


def sweep_beside_sweep(folder: Path, chance: random.Random, *, is_shared: bool) -> list[str]:
    """Return what is wrong with two sweeps at once while git collects garbage. They may share a point."""
    workspace = prepared(folder / "clone")
    words = (("lr=cosine,exponential",), ("lr=cosine", "seed=0,1" if is_shared else "seed=1,2"))
    with _git_beside(workspace, chance, [(GC,)]) as problems:
        sweeps = []
        for number, one in enumerate(words):
            command = [sys.executable, "-m", "bakeoff", "sweep", "-j", "1", *one]
            sweeps.append(
                subprocess.Popen(
                    command,
                    cwd=workspace.folder,
                    env=environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
            )
            time.sleep(chance.random() * 2 * (number == 0))
        printed = [one.communicate()[0] for one in sweeps]
    for one, text in zip(sweeps, printed, strict=True):
        problems += [f"exit code {one.returncode}: {text[-1500:]}"] * bool(one.returncode)
    jobs = [(manifest["id"], job) for manifest in manifests(workspace) for job in manifest["jobs"]]
    for sweep, job in jobs:
        if job["state"] != "done":
            log = workspace.folder / f".bakeoff/sweeps/{sweep}/{job['number']}.log"
            problems.append(f"{sweep}-{job['number']}: {job['attempts']}: {log.read_text(encoding='utf-8')[-600:]}")
    wanted = sorted(f"{sweep}-{job['number']}" for sweep, job in jobs)
    problems += [f"experiments: {experiments(workspace)}, wanted {wanted}"] * (experiments(workspace) != wanted)
    workspace.run("python", "-m", "bakeoff", "track", "sync")
    runs = [run for run in mlflow_runs(workspace) if "bakeoff.weights_sha256" in run]
    same = {run["bakeoff.weights_sha256"] for run in runs}
    problems += [f"MLflow: {[(run['name'], run['status']) for run in runs]}"] * (len(same) != len(runs) - is_shared)
    problems += [f"MLflow: {run['name']} is {run['status']}" for run in runs if run["status"] != "FINISHED"]
    problems += [f"twice in MLflow: {point}" for point in repeated_points(workspace)]
    left = list((workspace.folder / ".dvc/tmp/exps/bakeoff").iterdir())
    return [*problems, *[f"left behind: {left}"] * bool(left or running_jobs(workspace))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance, problems = random.Random(arguments.seed), []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("training", "sweeps"):
            Path(folder, name).mkdir()
        problems += train_beside_git(Path(folder, "training"), "detection", chance)
        print("a training beside git:", problems or "the same weights", flush=True)
        problems += sweep_beside_sweep(Path(folder, "sweeps"), chance, is_shared=False)
    print("\n".join(problems) or "nothing was wrong")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
