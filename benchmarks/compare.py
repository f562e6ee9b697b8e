"""How long `bakeoff compare` takes on a store of many runs, the start of the process included.

    python benchmarks/compare.py                        # 1,000 runs of 60 params and 150 numbers each
    python benchmarks/compare.py --runs 200 --params 30

The store is made by MLflow and filled by SQL, in a workspace of its own with this one's code. Prints the median and the
range of seven runs each, and the start of the command itself (`--help`) for comparison; beside it the processor's time.
"""

import argparse
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from result import print_result

from bakeoff.tracking.journal.entries import MetricsEntry, ParamsEntry, RunEntry, format_line
from bakeoff.tracking.store.target import SyncProgress, Target

CLASSES = 40
SUMMARY = ("mAP", "mAP_50", "mAP_75", "AR_1", "AR_10", "AR_100", "f1", "precision", "recall", "threshold", "loss")
WITH_INTERVAL = ("mAP", "mAP_50", "mAP_75", "AR_100", "f1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--params", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        make_workspace(workspace)
        numbers = fill(workspace / "mlflow.db", arguments.runs, arguments.params)
        size = (workspace / "mlflow.db").stat().st_size / 1e6
        print(f"{arguments.runs:,} runs, {arguments.params} params, {numbers} numbers each; a store of {size:.0f} MB")
        everything = ["--recent", str(arguments.runs)]
        commands = {
            "--help": ["--help"],
            "the newest 20": [],
            "all": everything,
            "all, no seeds folded": [*everything, "--no-fold"],
            "best ten of a filter": ["--filter", "lr.use=cosine", "--filter", "mAP_50>0.5", "--top", "10"],
            "all as a page": [*everything, "--html", str(workspace / "page.html")],
            "all as JSON": [*everything, "--json"],
        }
        medians = measure(commands, workspace, arguments.repeats)
        what, start = f"`bakeoff compare` of all of {arguments.runs:,} runs", medians["--help"]
        print_result(what, f"{medians['all']:.2f} s", f"{start:.2f} s", ratio=medians["all"] / start, other="--help")
        print_times(workspace)
        print("the same runs made in this clone, which has their journals")
        measure(commands, workspace, arguments.repeats)


def measure(commands: dict[str, list[str]], workspace: Path, repeats: int) -> dict[str, float]:
    """Print the seconds of each; return their medians by the clock."""
    medians = {}
    print(f"{'bakeoff compare …':24} {'median':>8} {'least':>8} {'most':>8} {'processor':>10}")
    for name, options in commands.items():
        command = [sys.executable, "-m", "bakeoff", "compare", *options]
        taken = [_seconds(command, workspace) for _ in range(repeats)]
        seconds, busy = zip(*taken, strict=True)
        ends = f"{min(seconds):7.2f}s {max(seconds):7.2f}s"
        print(f"{name:24} {statistics.median(seconds):7.2f}s {ends} {statistics.median(busy):9.2f}s")
        medians[name] = statistics.median(seconds)
    return medians


def print_times(workspace: Path) -> None:
    """A journal for each run, all of it sent."""
    target = Target("local", "bakeoff")
    with closing(sqlite3.connect(workspace / "mlflow.db")) as store:
        runs = store.execute("SELECT value, run_uuid FROM tags WHERE key = 'bakeoff.run'").fetchall()
        for run_id, mlflow_id in runs:
            folder = workspace / ".bakeoff/journal" / run_id
            folder.mkdir(parents=True)
            params = dict(store.execute("SELECT key, value FROM params WHERE run_uuid = ?", (mlflow_id,)))
            written = [RunEntry(run_id), ParamsEntry(params)]
            written += [MetricsEntry(step, {"train/loss": 1.0}) for step in range(200)]
            content = b"".join(map(format_line, written))
            (folder / "journal.jsonl").write_bytes(content)
            target.write(folder)
            SyncProgress(len(content), run=mlflow_id, created=True).write(folder, target)


def make_workspace(folder: Path) -> None:
    here = Path(__file__).resolve().parents[1]
    for name in ("src", "conf"):
        (folder / name).symlink_to(here / name)
    (folder / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)


def fill(file: Path, runs: int, params: int) -> int:
    """How many numbers each run has."""
    make = (
        "import sys, mlflow; mlflow.MlflowClient(tracking_uri=sys.argv[1])"
        ".create_experiment('bakeoff', artifact_location='file:///nowhere')"
    )
    subprocess.run([sys.executable, "-c", make, f"sqlite:///{file}"], check=True, capture_output=True)
    draw = random.Random(0)
    with closing(sqlite3.connect(file)) as store, store:
        [(experiment,)] = store.execute("SELECT experiment_id FROM experiments WHERE name = 'bakeoff'").fetchall()
        for number in range(runs):
            run = f"{draw.getrandbits(128):032x}"
            began = 1_760_000_000_000 + 60_000 * number
            store.execute(
                "INSERT INTO runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, artifact_uri,"
                " experiment_id, source_type) VALUES (?, ?, 'FINISHED', ?, ?, 'active', '', ?, 'LOCAL')",
                (run, f"run {number}", began, began + 50_000, experiment),
            )
            values = dict(_params(number, params, draw))
            store.executemany("INSERT INTO params (run_uuid, key, value) VALUES (?, ?, ?)", _rows(run, values))
            metrics = dict(_metrics(draw))
            store.executemany(
                "INSERT INTO latest_metrics (run_uuid, key, value, timestamp, step, is_nan)"
                " VALUES (?, ?, ?, 0, 2000, 0)",
                _rows(run, metrics),
            )
            tags = {"bakeoff.run": f"{draw.getrandbits(128):032x}", "bakeoff.state": "SUCCEEDED"}
            tags |= {
                "bakeoff.git_commit": "aa6cff0",
                "bakeoff.records_digest": "e260",
                "bakeoff.peak_memory_bytes": "1e9",
            }
            store.executemany("INSERT INTO tags (run_uuid, key, value) VALUES (?, ?, ?)", _rows(run, tags))
    return len(metrics)


def _params(number: int, count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Three seeds of each variant; eight keys differ."""
    draw = random.Random(number // 3)
    yield "variant.lr", draw.choice(("cosine", "exponential"))
    yield "variant.model", draw.choice(("ssd_small", "ssd_tiny"))
    yield "seed", str(number % 3)
    for key in ("lr.peak", "lr.warmup_steps", "optimizer.weight_decay", "train.batch_size", "train.steps"):
        yield key, str(draw.choice((1, 2, 3, 4)))
    for rest in range(count - 8):
        yield f"model.part_{rest % 7}.value_{rest}", str(rest)


def _metrics(draw: random.Random) -> Iterator[tuple[str, float]]:
    for name in SUMMARY:
        yield f"evaluation/{name}", draw.random()
        yield f"validation/{name}", draw.random()
    for name in WITH_INTERVAL:
        for end in ("low", "high"):
            yield f"evaluation/interval.{name}.{end}", draw.random()
    for label in range(CLASSES):
        for name in ("AP", "AP_50", "class_f1"):
            yield f"evaluation/{name}.class {label}", draw.random()


def _rows(run: str, values: dict) -> list[tuple]:
    return [(run, key, value) for key, value in values.items()]


def _seconds(command: list[str], workspace: Path) -> tuple[float, float]:
    """By the clock, and of the processor, which other processes do not lengthen much."""
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=workspace, capture_output=True, check=True)
    after = os.times()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, busy


if __name__ == "__main__":
    main()
