"""What `dvc repro` costs where nothing is to do, beside the same command on a pipeline of five empty stages.

    python benchmarks/nothing_to_do.py [--pairs 11]        # in a workspace where `dvc repro` has nothing to do

Both run in turn, first the one and then the other; the ratio is the median over the pairs.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from result import print_result

NAMES = ("one", "two", "three", "four", "five")


def five_empty_stages(folder: Path) -> None:
    """A pipeline of DVC's whose stages write an empty file each, and each depends on the one before."""
    stages = {
        name: {"cmd": f"touch {name}", "outs": [name]} | ({"deps": [before]} if before else {})
        for before, name in zip((None, *NAMES), NAMES, strict=False)
    }
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"], ["dvc", "repro", "-q"]):
        subprocess.run(command, cwd=folder, check=True)


def seconds_of_repro(folder: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(["dvc", "repro"], cwd=folder, capture_output=True, text=True, check=True)
    taken = time.perf_counter() - start
    if "Running stage" in done.stdout:
        sys.exit(f"there was something to do in {folder}: run dvc repro there first")
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11)
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name)
        five_empty_stages(empty)
        seconds_of_repro(Path.cwd()), seconds_of_repro(empty)  # both are warm from here on
        taken = [(seconds_of_repro(Path.cwd()), seconds_of_repro(empty)) for _ in range(pairs)]
    here, there = (statistics.median(column) for column in zip(*taken, strict=True))
    ratios = sorted(ours / theirs for ours, theirs in taken)
    print(f"dvc repro here: {here:.2f} s, on five empty stages: {there:.2f} s")
    ratio = statistics.median(ratios)
    print(f"ratio: {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    what = "`dvc repro` with nothing to do"
    print_result(what, f"{here:.2f} s", f"{there:.2f} s", ratio=ratio, other="five empty stages")


if __name__ == "__main__":
    main()
