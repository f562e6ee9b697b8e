"""A plain `dvc repro`, killed with `kill -9` as often as wanted: does the next one work, and end in the same files?

    python tests/proofs/faults/repros.py --kills 20

Some kills come at any moment, some while DVC itself writes: its lock file, its run cache, the objects of its cache.
The outputs repeat to the byte, so dvc.lock of the workspace that was killed must equal that of one that never was.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.workspace_copy import Workspace, environment, tiny_workspace

VARIANT = {
    "model": "model: {use: ssd_tiny, input_size: 64, width: 0.25, pyramid_channels: 8}",
    "train": "train: {use: smoke, steps: 6, batch_size: 4}",
    "track": "track: {use: none}",
}
MOMENTS = ("at any moment", "dvc.lock", "run cache", "objects")


def kill_repros(workspace: Workspace, chance: random.Random, kills: int, seconds: float) -> list[str]:
    """Kill so many of them, each about so many seconds long; return at which moments."""
    moments: list[str] = []
    seed = 0
    while len(moments) < kills:
        name = MOMENTS[len(moments) % len(MOMENTS)]
        if _kill_one(workspace, name, chance, seconds):
            moments.append(name)
        else:  # it came to its end, and there must be something to do again
            workspace.edit("params.yaml", f"seed: {seed}", f"seed: {seed + 1}")
            seed += 1
    workspace.edit("params.yaml", f"seed: {seed}", "seed: 0")
    return moments


def _kill_one(workspace: Workspace, name: str, chance: random.Random, seconds: float) -> bool:
    """Start `dvc repro` and kill it and all that it started; return False if it came to its end before."""
    look = _look_of(workspace.folder, name)
    before, ends = look(), time.monotonic() + chance.uniform(0.2, seconds)
    process = subprocess.Popen(
        ["dvc", "repro"], cwd=workspace.folder, env=environment(),
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and (look() == before if name != "at any moment" else time.monotonic() < ends):
        time.sleep(0.001)
    time.sleep(chance.random() * 0.02)
    was_alive = process.poll() is None
    if was_alive:
        os.killpg(process.pid, signal.SIGKILL)
    _, printed = process.communicate()
    assert was_alive or process.returncode == 0, printed
    return was_alive


def _look_of(folder: Path, name: str) -> Callable[[], object]:
    """Return what is watched: it changes while DVC writes there."""
    lock, runs, objects = folder / "dvc.lock", folder / ".dvc/cache/runs", folder / ".dvc/cache/files/md5"
    watched: dict[str, Callable[[], object]] = {
        "dvc.lock": lambda: lock.stat().st_mtime_ns if lock.is_file() else None,
        "run cache": lambda: [path.name for path in runs.glob("*/*/*")],
        "objects": lambda: len(os.listdir(objects)) if objects.is_dir() else 0,
    }
    return watched.get(name, lambda: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if compare_repros(Path(folder), arguments.kills, random.Random(arguments.seed)) else 1)


def compare_repros(folder: Path, kills: int, chance: random.Random) -> bool:
    """Return whether the next `dvc repro` after the kills works, and ends in the same files."""
    whole = tiny_workspace(folder / "whole", VARIANT)
    began = time.monotonic()
    whole.run("dvc", "repro")
    cut = tiny_workspace(folder / "cut", VARIANT)
    moments = kill_repros(cut, chance, kills, time.monotonic() - began)
    done = cut.run("dvc", "repro", ok=False)
    same = (cut.folder / "dvc.lock").read_bytes() == (whole.folder / "dvc.lock").read_bytes()
    print(f"{len(moments)} kills: {', '.join(f'{moments.count(name)} {name}' for name in dict.fromkeys(moments))}")
    print(f"the next `dvc repro`: exit code {done.returncode}, dvc.lock {'the same' if same else 'another'}")
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:])
    return done.returncode == 0 and same


if __name__ == "__main__":
    main()
