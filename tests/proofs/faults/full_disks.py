"""Each stage on a disk that fills up: one line that says so, nothing half made, and the right files once there is room.

    python tests/proofs/faults/full_disks.py --tries 4 --seed 0

The disk is one in memory. In each try it has a part of the room that the stage takes on a disk with enough of it.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bakeoff.foundation.files import bytes_below
from proofs.faults.repros import VARIANT
from support.workspace_copy import Workspace, environment, tiny_workspace

STAGES = {
    "build_records": "data/records",
    "render_config": "models/config/run.yaml",
    "train": "models/train",
    "evaluate": "models/evaluation",
    "export": "models/export",
}
SIZE = 400 << 20  # bytes of the disk
BALLAST = "ballast"
ALL_ON_IT = {"BAKEOFF_START_ANYWAY": "1"}  # or training would ask for room before it begins


@contextmanager
def memory_disk(place: Path, size: int = SIZE) -> Iterator[Path]:
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # a process that was killed may not be gone yet


def may_mount(folder: Path) -> bool:
    try:
        with memory_disk(folder / "tried"):
            return True
    except subprocess.CalledProcessError:
        return False


def run_stage(workspace: Workspace, stage: str) -> subprocess.CompletedProcess[str]:
    own = environment() | ALL_ON_IT | {"TMPDIR": str(workspace.folder.parent / "tmp")}
    return subprocess.run(
        [sys.executable, "-m", f"bakeoff.stages.{stage}"], cwd=workspace.folder, env=own, capture_output=True, text=True
    )


def fill(disk: Path, left: int) -> Path:
    ballast = disk / BALLAST
    ballast.unlink(missing_ok=True)
    state = os.statvfs(disk)
    ballast.write_bytes(bytes(max(0, state.f_bavail * state.f_frsize - left)))
    return ballast


def fill_in_each_stage(tries: int, seed: int) -> list[str]:
    """Return what was wrong in so many tries of each stage."""
    chance, problems = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder, memory_disk(Path(folder) / "disk") as disk:
        (disk / "tmp").mkdir()
        whole, cut = (tiny_workspace(place / "clone", VARIANT) for place in (Path(folder), disk))
        (Path(folder) / "tmp").mkdir()
        for stage, output in STAGES.items():
            before = bytes_below(whole.folder)
            done = run_stage(whole, stage)
            assert done.returncode == 0, done.stderr
            needed, full = bytes_below(whole.folder) - before, 0
            for number in range(tries):
                ballast = fill(disk, round(needed * chance.random() * 0.9) if number else 0)
                done = run_stage(cut, stage)
                problems += [f"{stage}: {one}" for one in _find_faults(cut.folder / output, done)]
                full += done.returncode != 0
                ballast.unlink()
            print(f"{stage}: takes {needed:,} bytes; {full} of {tries} ended for lack of room", flush=True)
            done = run_stage(cut, stage)
            problems += [f"{stage} with room: {done.stderr}"] * bool(done.returncode)
        problems += [name for name in _list_files(whole) if _content(whole, name) != _content(cut, name)]
    return problems


def _find_faults(output: Path, done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    last = (done.stderr.splitlines() or [""])[-1]
    if "Traceback" in done.stderr:
        yield f"a traceback: {done.stderr[-1500:]}"
    if done.returncode and "no space left" not in last:
        yield f"exit code {done.returncode}: {done.stderr[-600:]}"
    if done.returncode and output.exists():
        yield f"{output.name} is there, and its stage failed"
    yield from (f"{path} was left" for path in output.parent.glob(f"{output.name}.partial"))


def _list_files(workspace: Workspace) -> list[str]:
    """List what repeats to the byte."""
    names = ("data/records/manifest.json", "models/config/run.yaml", "models/evaluation/metrics.json")
    return [*names, "models/train/final.weights.h5"]


def _content(workspace: Workspace, name: str) -> bytes | None:
    path = workspace.folder / name
    return path.read_bytes() if path.is_file() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    problems = fill_in_each_stage(arguments.tries, arguments.seed)
    print("\n".join(problems) or "nothing was wrong")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
