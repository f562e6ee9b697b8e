"""Does a run keep to its memory budget, and how honest is the estimate? Prints a table; takes some minutes a row.

    python benchmarks/memory.py [--budgets 1500MB 3GB] [--tasks detection classification video]
    python benchmarks/memory.py --budgets 9GB --tasks set_detector_n set_detector_s

For each task and budget a workspace of its own: records of the demo, `train.batch_size: auto`, render_config, then a
whole training of a few steps with looks at validation, checkpoints and MLflow, in a process of its own. `peak` is what
the system says of it. The detectors of sets have their full size, their optimizer, averaged weights and batches of 2.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
STEPS = 12


@dataclass(frozen=True)
class Case:
    task: str
    experiment: str
    data: str
    examples: int  # for training
    params: Mapping[str, Any] = field(default_factory=dict)  # what else its params.yaml says


def of_sets(model: str) -> Case:
    few = {"use": "digits", "train_examples": 24, "validation_examples": 2}
    train = {"use": "smoke", "batch_size": 2, "steps": 3, "validate_every_steps": 3, "ema_decay": 0.9999}
    return Case(model, "demo", "digits", 24, {"model": model, "optimizer": "set_detector", "data": few, "train": train})


CASES = (
    Case("detection", "demo", "digits", 1200),
    Case("classification", "demo_images", "digits_single", 2000),
    Case("video", "demo_clips", "digits_motion", 400),
    of_sets("set_detector_n"),
    of_sets("set_detector_s"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", default=["1500MB", "3GB"])
    parser.add_argument("--tasks", nargs="+", default=["detection", "classification", "video"])
    arguments = parser.parse_args()
    print(f"{'task':<16}{'budget':>8}{'batch':>7}{'estimate':>10}{'peak':>8}{'peak/budget':>13}{'estimate/peak':>15}")
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
        **case.params,
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
    results = workspace / ".bakeoff/results" / f"{state['lineage']['fingerprint']}.json"
    measured = json.loads(results.read_text(encoding="utf-8"))
    limit, estimate, peak = (
        measured[key] for key in ("memory_budget_bytes", "memory_estimate_bytes", "peak_memory_bytes")
    )
    return (
        f"{case.task:<16}{budget:>8}{variant['train']['batch_size']:>7}{estimate / 1e9:>9.2f}G{peak / 1e9:>7.2f}G"
        f"{peak / limit:>13.2f}{estimate / peak:>15.2f}"
    )


if __name__ == "__main__":
    main()
