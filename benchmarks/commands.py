"""How long commands take that compute nothing, beside the same commands by the code of another clone.

    python benchmarks/commands.py --before ../before             # here and there `dvc repro` has nothing to do
    python benchmarks/commands.py --before ../before --runs 10 100 1000 10000     # `compare` on stores of so many runs

Both run in turn, first the one and then the other. Prints of each the median time and the median of the processor's
time, which other work on the machine lengthens less; the ratio is the median over the pairs.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare import fill

COMMANDS = (("--help",), ("status",), ("config",), ("plan",))
COMPARISONS = ((), ("--recent", "1000000"))  # the newest 20, all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="another clone, the code of which is compared with")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--runs", type=int, nargs="*", default=[], help="compare on stores of so many runs instead")
    arguments = parser.parse_args()
    clones = (arguments.before.resolve(), Path(__file__).resolve().parents[1])
    print(f"{'command':38} {'before':>16} {'now':>16} {'ratio':>12} {'load':>5}   (by the clock, of the processor)")
    if not arguments.runs:
        for command_line in COMMANDS:
            measure(" ".join(command_line), command_line, clones, clones, arguments.pairs)
    for runs in arguments.runs:
        with tempfile.TemporaryDirectory() as folder:
            places = [make_place(Path(folder) / str(number), clone) for number, clone in enumerate(clones)]
            fill(places[0] / "mlflow.db", runs, 60)
            os.link(places[0] / "mlflow.db", places[1] / "mlflow.db")
            for command_line in COMPARISONS:
                name = f"compare, {min(runs, 20) if not command_line else runs:,} of {runs:,} runs"
                measure(name, ("compare", *command_line), places, clones, arguments.pairs)


def make_place(folder: Path, clone: Path) -> Path:
    """A workspace with the code of a clone, and nothing else."""
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    for name in ("src", "conf"):
        (folder / name).symlink_to(clone / name)
    return folder


def measure(name: str, command_line: tuple[str, ...], places, clones, pairs: int) -> None:
    for place, clone in zip(places, clones, strict=True):
        seconds(
            command_line, place, clone
        )  # files of bytecode are there from here on, and the disk's content in memory
    taken = [
        [seconds(command_line, place, clone) for place, clone in zip(places, clones, strict=True)] for _ in range(pairs)
    ]
    before, now = ([statistics.median(one[part] for one in arm) for part in (0, 1)] for arm in zip(*taken, strict=True))
    ratio = [statistics.median(after[part] / earlier[part] for earlier, after in taken) for part in (0, 1)]
    arms = " ".join(f"{clock:7.2f}s {busy:6.2f}s" for clock, busy in (before, now))
    print(f"{name:38} {arms} {ratio[0]:5.2f} {ratio[1]:5.2f} {os.getloadavg()[0]:6.1f}", flush=True)


def seconds(command_line: tuple[str, ...], place: Path, clone: Path) -> tuple[float, float]:
    """By the clock, and of the processor."""
    command, code = [sys.executable, "-m", "bakeoff", *command_line], {"PYTHONPATH": str(clone / "src")}
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=place, env=os.environ | code, capture_output=True, check=True)
    after = os.times()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, busy


if __name__ == "__main__":
    main()
