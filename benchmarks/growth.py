"""How costs grow with size: of records with images, of `compare` with runs, of a sweep's plan with configurations.

    python benchmarks/growth.py records                      # 1,000, 10,000 and 100,000 tiny images; 2 GB of disk
    python benchmarks/growth.py compare sweep --least        # without the largest size of each

Each size is measured in a process of its own; the largest of each kind takes minutes. `a piece` is what each further
image, run or configuration costs: the slope between this size and the one before. What is beyond the last size is
computed with the last slope, and marked `computed`. Memory is the peak of the first process, on Linux.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from compare import fill, make_workspace
from records import new_workspace, write_images
from result import describe_machine
from sweep import prepared

from support.workspace_copy import environment

MEASURED = {"records": (1_000, 10_000, 100_000), "compare": (10, 100, 1_000, 10_000), "sweep": (1, 10, 100, 1_000)}
COMPUTED = {"records": 1_000_000, "compare": 100_000, "sweep": 10_000}
WHAT = {
    "records": "`build_records`, images of 32 × 24", "compare": "`bakeoff compare` of all runs",
    "sweep": "`bakeoff sweep --dry-run`, configurations",
}  # fmt: skip
Cost = tuple[float, float, float]  # seconds by the clock, of the processor, peak memory of the first process in MB
MEASURED_CODE = """
import runpy, sys
from pathlib import Path
if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise
    print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=MEASURED)
    parser.add_argument("--least", action="store_true", help="without the largest size of each")
    arguments = parser.parse_args()
    print(f"{describe_machine()}\n")
    print("| what | size | seconds | of the processor | a piece | memory | load |\n|---|---|---|---|---|---|---|")
    for kind in arguments.kinds:
        sizes = MEASURED[kind][:-1] if arguments.least else MEASURED[kind]
        show(kind, sizes)


def show(kind: str, sizes: tuple[int, ...]) -> None:
    before: tuple[int, float] | None = None
    piece = 0.0
    for size in sizes:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            clock, busy, memory = COSTS[kind](Path(folder), size)
        if before:
            piece = (busy - before[1]) / (size - before[0])
        cells = (f"{clock:.1f}", f"{busy:.2f}", f"{piece * 1000:.2f} ms" if before else "", f"{memory:.0f} MB")
        print(f"| {WHAT[kind]} | {size:,} | {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |", flush=True)
        before = size, busy
    if before:
        size = COMPUTED[kind]
        total = before[1] + (size - before[0]) * piece
        print(f"| {WHAT[kind]} | {size:,} | | {total:,.0f}, computed | {piece * 1000:.2f} ms | | |", flush=True)


def records_of(folder: Path, size: int) -> Cost:
    workspace = new_workspace(folder / "workspace")
    write_images(workspace / "data/raw/images", size, (32, 24))
    return cost(workspace, ["bakeoff.stages.build_records"])


def compare_of(folder: Path, size: int) -> Cost:
    make_workspace(folder)
    fill(folder / "mlflow.db", size, 60)
    return cost(folder, ["bakeoff", "compare", "--recent", str(size)])


def plan_of(folder: Path, size: int) -> Cost:
    workspace = prepared(folder / "clone")
    return cost(workspace.folder, ["bakeoff", "sweep", f"seed=range(100,{100 + size})", "--dry-run", "--yes"])


COSTS: dict[str, Callable[[Path, int], Cost]] = {"records": records_of, "compare": compare_of, "sweep": plan_of}


def cost(folder: Path, arguments: list[str]) -> Cost:
    # A file, because processes that start anew import it.
    script = folder / "measured.py"
    script.write_text(MEASURED_CODE, encoding="utf-8")
    start, before = time.perf_counter(), os.times()
    command = [sys.executable, script.name, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    after = os.times()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, busy, float(done.stdout.split()[-2]) / 1024


if __name__ == "__main__":
    main()
