"""What benchmarks of training share: workspaces of their own, stages by one thread, and what a difference is worth."""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
BEGIN = ROOT / "benchmarks/begin_training.py"
OWN_DATA = "data/raw/own"
ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}
PACE_STEPS = (60, 200)  # two trainings; what the second takes on top is the steps alone


def make_workspace(
    place: Path, data: Path | None, params: dict[str, Any], weights: Path | None = None, *, root: Path = ROOT
) -> float:
    """Make a workspace with its records, unless it is there: `data` goes where DVC would see every edit. Return the
    seconds of processor time that the records took."""
    if (place / "data/records/manifest.json").is_file():
        return 0.0
    for name in ("src", "conf"):
        shutil.copytree(root / name, place / name, dirs_exist_ok=True)  # what Python has compiled, too
    shutil.copy(root / "dvc.yaml", place)
    (place / "data/weights").mkdir(parents=True, exist_ok=True)
    if weights:
        shutil.copy(weights, place / "data/weights/start.weights.h5")
    if data:
        shutil.copytree(data, place / OWN_DATA, dirs_exist_ok=True)
    write_params(place, params)
    return run(place, "build_records")


def write_params(place: Path, params: dict[str, Any]) -> None:
    (place / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def train(place: Path, params: dict[str, Any], headline: str) -> tuple[float, float, str]:
    """Return the headline of the last validation, the seconds that the processor took, and the run's fingerprint."""
    write_params(place, params)
    run(place, "render_config")
    seconds = run(place, "train")
    state = json.loads((place / "models/train/state.json").read_text(encoding="utf-8"))
    lines = (place / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    last = next(line for line in map(json.loads, reversed(lines)) if f"validation/{headline}" in line)
    return last[f"validation/{headline}"], seconds, state["lineage"]["fingerprint"]


def run(place: Path, stage: str, program: list[str] | None = None) -> float:
    """Return the seconds of processor time that a stage took, of all its threads; `program` runs it in its place."""
    before = os.times()
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(place / "src")}
    command = [sys.executable, *(program or ["-m", f"bakeoff.stages.{stage}"])]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    (place / f"{stage}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{stage} in {place}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def describe_difference(differences: list[float]) -> str:
    """Return the mean with Student's 95 % interval over the seeds."""
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return f"{mean:+.3f}"
    spread = statistics.stdev(differences) / math.sqrt(len(differences))
    half = float(stats.t.ppf(0.975, len(differences) - 1)) * spread
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"
