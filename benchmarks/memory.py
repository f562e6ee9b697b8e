"""Does a run keep to its memory budget, and how honest is the estimate? Prints a table; takes some minutes a row.

    python benchmarks/memory.py [--budgets 1500MB 3GB] [--tasks detection classification video]

For each task and budget a workspace of its own: records of the demo, `train.batch_size: auto`, render_config, then a
whole training of a few steps with looks at validation, checkpoints and MLflow, in a process of its own. `peak` is what
the system says of it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).resolve().parent.parent
STEPS = 12


@dataclass(frozen=True)
class Case:
    task: str
    experiment: str
    data: str
    examples: int  # for training


CASES = (
    Case("detection", "demo", "digits", 1200),
    Case("classification", "demo_images", "digits_single", 2000),
    Case("video", "demo_clips", "digits_motion", 400),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", default=["1500MB", "3GB"])
    parser.add_argument("--tasks", nargs="+", default=[case.task for case in CASES])
    arguments = parser.parse_args()
    print(f"{'task':<15}{'budget':>8}{'batch':>7}{'estimate':>10}{'peak':>8}{'peak/budget':>13}{'estimate/peak':>15}")
    for case in CASES:
        if case.task not in arguments.tasks:
            continue
        with TemporaryDirectory() as folder:
            workspace = Path(folder)
            for name in ("src", "conf"):
                shutil.copytree(ROOT / name, workspace / name, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "dvc.yaml", workspace)
            write_params(workspace, case, arguments.budgets[0])
            run(workspace, "build_records")
            for budget in arguments.budgets:
                write_params(workspace, case, budget)
                run(workspace, "render_config")
                run(workspace, "train")
                print(row(workspace, case, budget), flush=True)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def write_params(workspace: Path, case: Case, budget: str) -> None:
    params = {
        "experiment": case.experiment,
        "seed": 0,
        "data": {"use": case.data, "train_examples": case.examples},
        "memory": {"use": "medium", "budget": budget},
        "lr": {"use": "constant"},
        "train": {"use": "smoke", "batch_size": "auto", "steps": STEPS, "validate_every_steps": STEPS // 2},
    }
    (workspace / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    for left in ("models", ".bakeoff/runs"):
        shutil.rmtree(workspace / left, ignore_errors=True)


def run(workspace: Path, stage: str) -> None:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", f"bakeoff.stages.{stage}"], cwd=workspace, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{stage}: {done.stderr}")
    print(f"  {stage}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def row(workspace: Path, case: Case, budget: str) -> str:
    state = json.loads((workspace / "models/train/state.json").read_text(encoding="utf-8"))
    variant = yaml.safe_load((workspace / "models/config/run.yaml").read_text(encoding="utf-8"))
    limit, estimate, peak = (
        state[key] for key in ("memory_budget_bytes", "memory_estimate_bytes", "peak_memory_bytes")
    )
    return (
        f"{case.task:<15}{budget:>8}{variant['train']['batch_size']:>7}{estimate / 1e9:>9.2f}G{peak / 1e9:>7.2f}G"
        f"{peak / limit:>13.2f}{estimate / peak:>15.2f}"
    )


if __name__ == "__main__":
    main()
