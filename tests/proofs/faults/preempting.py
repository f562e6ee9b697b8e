"""Let Slurm take the node away from a training, again and again: does it go on at its step, and what is left behind?

    python tests/proofs/faults/preempting.py --preemptions 10 --way repro
    python tests/proofs/faults/preempting.py --preemptions 10 --way sweep --proctrack pgid
    python tests/proofs/faults/preempting.py --minutes 4

sets up Slurm with two nodes on this machine in a temporary folder, and a small workspace. A job of the partition `low`
trains by a script of docs/slurm.md: `bakeoff repro` or `bakeoff sweep` below srun. Each time when some steps are done,
a job of the partition `high` asks for the node. With `--minutes` the job has a time limit, before whose end Slurm sends
the signal that the script asks for, and goes on in turn after turn.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.slurm import PATIENCE, Slurm, why_not
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


def newest_step(workspace: Workspace) -> int:
    """Return the step of the checkpoint that was written last; 0 if there is none."""
    files = [path for path in workspace.folder.glob(".bakeoff/runs/*/1-*/*") if path.name.isdigit()]
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
    slurm.environment |= environment()
    job, since, steps = slurm.submit(workspace.folder, SCRIPTS[way], *options), 0.0, list[int]()
    for number in range(1, preemptions + 1):
        if not wait_for_steps(slurm, workspace, job, since):
            print(out.read_text(encoding="utf-8"))
            raise RuntimeError("the job is over before its time")
        since, (_, node) = time.time(), slurm.state(job)
        waited = slurm.preempt(job)
        left = slurm.processes_of(job)
        report, step = status(workspace), newest_step(workspace)
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


def compare(folder: Path, way: str, preemptions: int, grace: int, proctrack: str, steps: int) -> bool:
    cut = prepared(folder / "cut", steps)
    whole = cut.copy(folder / "whole")
    with Slurm(folder / "slurm", grace=grace, proctrack=proctrack) as slurm:
        took = preempt_often(slurm, cut, way, preemptions)
    if took is None:
        return False
    command = ("bakeoff", "repro") if way == "repro" else ("bakeoff", "sweep", "seed=0,1", "--yes")
    whole.run(*command)
    ends, expected = results(cut), results(whole)
    resumed = sorted(step for end in ends.values() for step in end["resumed_at_steps"])
    print(f"went on at {resumed}")
    print(f"preempted       {sorted(ends)}\nnever preempted {sorted(expected)}")
    return sorted(took) == resumed and sorted(ends) == sorted(expected)


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
    parser.add_argument("--way", choices=sorted(SCRIPTS), default="repro")
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
