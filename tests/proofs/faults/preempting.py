"""Let Slurm take the node away from a training, again and again: does it go on at its step, and what is left behind?

    python tests/proofs/faults/preempting.py --preemptions 10 --way repro
    python tests/proofs/faults/preempting.py --preemptions 10 --way sweep --proctrack pgid
    python tests/proofs/faults/preempting.py --preemptions 10 --way points --grace 60 --steps 4000
    python tests/proofs/faults/preempting.py --minutes 4

sets up Slurm with two nodes on this machine in a temporary folder, and a small workspace. A job of the partition `low`
trains by a script of docs/slurm.md: `bakeoff repro` or `bakeoff sweep` below srun. Each time when some steps are done,
a job of the partition `high` asks for the node. The points are those of `bakeoff sweep --on slurm`, each a job of
`low`, and any of them that trains loses its node. With `--minutes` the job has a time limit, before whose end Slurm
sends the signal that the script asks for, and goes on in turn after turn.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.slurm import PATIENCE, Slurm, why_not
from proofs.faults.sweep_checks import manifests
from support.extra_packages import extra_packages, python_path
from support.imports import ROOT
from support.workspace_copy import Workspace, environment, tiny_workspace

PAGE = (ROOT / "docs/slurm.md").read_text(encoding="utf-8")
LINES = {
    "data": "data: {{use: digits_single, train_examples: 40, validation_examples: 12}}",
    "model": "model: {{use: cnn_small, width: 0.25, input_size: 32}}",
    "train": (
        "train: {{use: smoke, batch_size: 4, steps: {steps}, log_every_steps: 5, validate_every_steps: {steps}, "
        "checkpoint_every_steps: {steps}}}"
    ),
}
PACKAGE = "submitit>=1.5"
POINTS, ON_SLURM = (
    ("seed=0,1,2,3",),
    ("--on", "slurm", "hydra.launcher.partition=low", "hydra.launcher.timeout_min=600"),
)
ELSEWHERE = {"repro": ("repro",), "sweep": ("sweep", "seed=0,1", "--yes"), "points": ("sweep", *POINTS, "--yes")}
SCRIPTS = dict(zip(("repro", "sweep"), re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL), strict=True))
STEPS = 20  # that a training takes before its node is asked for


def prepared(folder: Path, steps: int) -> Workspace:
    workspace = tiny_workspace(folder, {key: line.format(steps=steps) for key, line in LINES.items()})
    prepared_git(workspace)
    return workspace


def prepared_git(workspace: Workspace) -> None:
    """Leave and commit what comes before the training."""
    workspace.run("git", "config", "user.name", "t")
    workspace.run("git", "config", "user.email", "t@localhost")
    workspace.repro("render_config")
    workspace.commit()


def newest_step(runs: Iterable[Path]) -> int:
    """Return the step of the checkpoint of these runs that was written last; 0 if there is none."""
    files = [path for run in runs for path in run.glob("1-*/*") if path.name.isdigit()]
    return int(max(files, key=lambda path: path.stat().st_mtime).name) if files else 0


def status(workspace: Workspace) -> dict:
    files = list(workspace.folder.glob(".bakeoff/runs/*/status.json"))
    try:
        return json.loads(max(files, key=lambda path: path.stat().st_mtime).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def wait_for_steps(slurm: Slurm, workspace: Workspace, job: str, since: float) -> bool:
    """Wait until a training that started after `since` has taken some steps; False if the job is over."""
    end, first = time.monotonic() + PATIENCE, None
    while time.monotonic() < end:
        report = status(workspace)
        if report.get("state") == "RUNNING" and report["started"] > since:
            first = report["steps_done"] if first is None else first
            if report["steps_done"] >= first + STEPS:
                return True
        if slurm.state(job)[0] == "GONE":
            return False
        time.sleep(0.1)
    raise TimeoutError(f"no steps: {report}")


def preempt_often(slurm: Slurm, workspace: Workspace, way: str, preemptions: int) -> list[int] | None:
    """Return the step of each preemption; None if something of the job was left on a node that was taken."""
    out = workspace.folder.parent / "job.out"
    options = ("-p", "low", "--requeue", "--open-mode=append", "-o", str(out))
    job, since, steps = slurm.submit(workspace.folder, SCRIPTS[way], *options), 0.0, list[int]()
    for number in range(1, preemptions + 1):
        if not wait_for_steps(slurm, workspace, job, since):
            print(out.read_text(encoding="utf-8"))
            raise RuntimeError("the job is over before its time")
        since, (_, node) = time.time(), slurm.state(job)
        waited = slurm.preempt(job)
        left = slurm.processes_of(job)
        report, step = status(workspace), newest_step(workspace.folder.glob(".bakeoff/runs/*"))
        steps.append(step)
        print(
            f"{number}: {node} taken after {waited:.1f} s of {slurm.grace}; {report['state']} at step "
            f"{report['steps_done']}, checkpoint {step}; processes left: {len(left)}",
            flush=True,
        )
        if left:
            print("\n".join(f"  {process.pid} {' '.join(process.cmdline())}" for process in left))
            return None
    while slurm.state(job)[0] != "GONE":
        time.sleep(0.5)
    return steps


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


def wait_for_point(
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


def preempt_points(slurm: Slurm, workspace: Workspace, preemptions: int) -> list[int] | None:
    """Return the step of each preemption; None if something of a job was left on a node that was taken."""
    chance, steps = random.Random(0), list[int]()
    out = workspace.folder.parent / "sweep.out"
    with out.open("w") as file:
        command = ["bakeoff", *ELSEWHERE["points"], *ON_SLURM]
        sweep = subprocess.Popen(
            command, cwd=workspace.folder, env=slurm.environment, text=True, stdout=file, stderr=file
        )
    try:
        for number in range(1, preemptions + 1):
            job, run = wait_for_point(slurm, workspace, sweep, chance)
            turn, start = slurm.turn_of(job), time.monotonic()
            waited = slurm.preempt(job)
            left = slurm.left_of(job, turn, start + slurm.grace - time.monotonic())
            steps.append(newest_step([run]))
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


def compare(folder: Path, way: str, preemptions: int, grace: int, proctrack: str, steps: int) -> bool:
    cut = prepared(folder / "cut", steps)
    whole = cut.copy(folder / "whole")
    with Slurm(folder / "slurm", grace=grace, proctrack=proctrack) as slurm:
        slurm.environment |= environment() | {"PYTHONPATH": python_path(extra_packages(PACKAGE))}
        is_one = way in SCRIPTS
        took = preempt_often(slurm, cut, way, preemptions) if is_one else preempt_points(slurm, cut, preemptions)
    if took is None:
        return False
    whole.run("bakeoff", *ELSEWHERE[way])
    ends, expected = results(cut), results(whole)
    resumed = sorted(step for end in ends.values() for step in end["resumed_at_steps"])
    print(f"taken at   {sorted(took)}\nwent on at {resumed}")
    jobs = [job for manifest in manifests(cut) for job in manifest["jobs"]]
    print(f"points {[job['state'] for job in jobs]}, turns {[len(job['attempts']) for job in jobs]}")
    print(f"preempted       {sorted(ends)}\nnever preempted {sorted(expected)}")
    once = {job["state"] for job in jobs} <= {"done"} and len(ends) >= len(jobs)
    return sorted(took) == resumed and sorted(ends) == sorted(expected) and once


def search(folder: Path, trials: int) -> list[dict[str, Any]]:
    """Return the trials of a search on Slurm whose launcher is killed while two of them run."""
    workspace = prepared(folder / "clone", 3000)
    space = ("train.validate_every_steps=100", "lr.peak=tag(log,interval(0.00001,0.3))")
    words = ("--search", "asha", "--trials", str(trials), "-j", "2", "--metric", "validation/accuracy")
    with Slurm(folder / "slurm") as slurm:
        slurm.environment |= environment() | {"PYTHONPATH": python_path(extra_packages(PACKAGE))}
        command = ["bakeoff", "sweep", *words, "--until", "train", "--yes", *space, *ON_SLURM]
        launcher = subprocess.Popen(command, cwd=workspace.folder, env=slurm.environment)
        while len(slurm.running("low")) < 2:
            assert launcher.poll() is None
            time.sleep(0.2)
        launcher.kill()
        launcher.wait()
        subprocess.run(
            ["bakeoff", "sweep", "--resume", "-j", "2"], cwd=workspace.folder, env=slurm.environment, check=True
        )
        assert not slurm.running("low")
    return list(manifests(workspace)[-1]["jobs"])


def outlive_limit(folder: Path, minutes: int, steps: int) -> bool:
    """Train longer than a job may take; return whether SIGUSR2 ended each turn but the last, and nothing was lost."""
    cut = prepared(folder / "cut", steps)
    whole = cut.copy(folder / "whole")
    out = folder / "job.out"
    with Slurm(folder / "slurm") as slurm:
        slurm.environment |= environment()
        options = ("-p", "low", f"--time={minutes}", "-o", str(out))
        job = slurm.submit(cut.folder, SCRIPTS["repro"], *options)
        while slurm.state(job)[0] != "GONE":
            time.sleep(0.5)
    whole.run("bakeoff", "repro")
    report = out.read_text(encoding="utf-8")
    [(digest, measured)] = results(cut).items()
    signals, limits = report.count("SIGUSR2"), report.count("TIME LIMIT")
    resumed = measured["resumed_at_steps"]
    print(f"SIGUSR2 is named {signals} times, the time limit was reached {limits} times; went on at {resumed}")
    print(f"in turns   {digest}\nin one go  {next(iter(results(whole)))}")
    if not resumed or limits:
        print(report)
    return bool(resumed) and signals >= len(resumed) and not limits and {digest} == {*results(whole)}


def results(workspace: Workspace) -> dict[str, dict]:
    """Return what was measured of each run, by the digest of its last weights, which the run's journal tells."""
    measurements = {}
    for file in workspace.folder.glob(".bakeoff/results/*.json"):
        measured = json.loads(file.read_text(encoding="utf-8"))
        folder = workspace.folder / ".bakeoff/journal" / measured["run_id"]
        journals_text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.jsonl"))
        [digest] = set(re.findall(r'"bakeoff\.weights_sha256": *"([0-9a-f]+)"', journals_text))
        measurements[digest] = measured
    return measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preemptions", type=int, default=10)
    parser.add_argument("--way", choices=sorted(ELSEWHERE), default="repro")
    parser.add_argument("--grace", type=int, default=20, help="seconds")
    parser.add_argument("--proctrack", choices=["linuxproc", "pgid", "cgroup"], default="linuxproc")
    parser.add_argument("--steps", type=int, default=40000)
    parser.add_argument("--minutes", type=int, help="of a time limit, in the place of preemptions")
    parser.add_argument("--keep", type=Path, help="a new folder that stays")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        if arguments.minutes:
            sys.exit(0 if outlive_limit(place, arguments.minutes, arguments.steps) else 1)
        chosen = (arguments.way, arguments.preemptions, arguments.grace, arguments.proctrack, arguments.steps)
        sys.exit(0 if compare(place, *chosen) else 1)


if __name__ == "__main__":
    main()
