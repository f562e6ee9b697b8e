"""Is a search worth its name? TPE against random points on the same budget, and against itself after a `kill -9`.

    python tests/proofs/faults/searches.py --seeds 5 --trials 20 -j 2 [--kills 3] [--folder FOLDER]

Everything is real but what stages compute: a quadratic of the variant, with its top at 1.0.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.sweep_checks import manifests
from support.quadratic import WORDS, prepared
from support.workspace_copy import Workspace, environment

SWEEP = [sys.executable, "-m", "bakeoff", "sweep", "--quiet"]
Points = list[tuple[tuple[str, ...], float | None]]


def search(workspace: Workspace, kind: str, trials: int, seed: int, side_by_side: int) -> dict[str, Any]:
    """To its end. No trial is pruned, so that both kinds train as much."""
    options = ("--search", kind, "--trials", str(trials), "--search-seed", str(seed), "--no-pruning", "--yes")
    workspace.run(*SWEEP, "-j", str(side_by_side), *options, *WORDS)
    return manifests(workspace)[-1]


def killed_search(workspace: Workspace, trials: int, seed: int, kills: int, chance: random.Random) -> dict[str, Any]:
    """The same, one by one, with so many `kill -9` of the launcher at random moments."""
    options = ("--search", "tpe", "--trials", str(trials), "--search-seed", str(seed), "--no-pruning", "--yes", *WORDS)
    before = len(manifests(workspace))
    for kill in range(kills + 1):
        begun = len(manifests(workspace)) > before
        command = [*SWEEP, *(["--resume"] if begun else options)]
        launcher = subprocess.Popen(
            command, cwd=workspace.folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        done = len(manifests(workspace)[-1]["jobs"]) if begun else 0
        until = min(trials - 1, done + max(1, trials // (kills + 1)))
        while kill < kills and launcher.poll() is None and _drawn(workspace, before) <= until:
            time.sleep(0.2)
        if kill < kills:
            time.sleep(chance.uniform(0, 4))
            launcher.kill()
        launcher.wait()
    return manifests(workspace)[-1]


def _drawn(workspace: Workspace, before: int) -> int:
    sweeps = manifests(workspace)
    return len(sweeps[-1]["jobs"]) if len(sweeps) > before else 0


def points(manifest: dict[str, Any]) -> Points:
    return [(tuple(job["points"][0]), job["value"]) for job in manifest["jobs"]]


def best(manifest: dict[str, Any]) -> float:
    return max(job["value"] for job in manifest["jobs"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    workspace = prepared((arguments.folder or Path(tempfile.mkdtemp(prefix="searches-"))) / "clone")
    failed = False
    if arguments.kills:
        whole = points(search(workspace, "tpe", arguments.trials, 0, 1))
        killed = points(killed_search(workspace, arguments.trials, 0, arguments.kills, random.Random(0)))
        failed = whole != killed
        print(f"{arguments.kills} kills: the same {arguments.trials} trials: {whole == killed}", flush=True)
    wins = 0
    for seed in range(arguments.seeds):
        start = time.monotonic()
        both = [best(search(workspace, kind, arguments.trials, seed, arguments.jobs)) for kind in ("tpe", "random")]
        wins += both[0] >= both[1]
        took = time.monotonic() - start
        print(f"seed {seed}: tpe {both[0]:.4f}, random {both[1]:.4f}, {took:.0f} s", flush=True)
    print(f"tpe is at least as good in {wins} of {arguments.seeds}")
    sys.exit(1 if failed or wins < 0.6 * arguments.seeds else 0)


if __name__ == "__main__":
    main()
