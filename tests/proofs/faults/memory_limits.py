"""Each stage under limits of its addresses, and of a container's memory: one line that says what to do, or the result.

    python tests/proofs/faults/memory_limits.py --tries 10 --seed 0

The container is a group of the kernel's (version 1 or 2 of cgroups), where this machine lets one be made.
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

from proofs.faults.repros import VARIANT
from support.workspace_copy import Workspace, environment, tiny_workspace

STAGES = ("build_records", "code", "render_config", "train", "evaluate", "export")
LEAST_MB, MOST_MB = 16, 3500  # of addresses; with less, Python itself hardly starts
GROUP_MB = (40, 250)
SECONDS = 240  # until a stage hangs, on a busy machine
PLACES = (  # version of cgroups: its root, the file of the limit
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)
START_ANYWAY = {"BAKEOFF_START_ANYWAY": "1"}  # or training would ask for memory before it begins


def prepare(folder: Path) -> Workspace:
    """Return a workspace in which each stage has run."""
    workspace = tiny_workspace(folder, VARIANT)
    for stage in STAGES:
        workspace.run(sys.executable, "-m", f"bakeoff.stages.{stage}")
    return workspace


def limit_addresses(workspace: Workspace, stage: str, megabytes: int) -> Iterator[str]:
    """Yield what is wrong with how the stage ends under `ulimit -v`."""
    command = f"ulimit -v {megabytes * 1024}; exec {sys.executable} -m bakeoff.stages.{stage}"
    code, printed = _run(workspace, ["sh", "-c", command])
    lines = printed.splitlines() or [""]
    if code not in (0, 2, 75):
        yield f"exit code {code}: {printed[-600:]}"
    if "Traceback" in printed:
        yield f"a traceback: {printed[-1500:]}"
    if code and "memory" not in lines[-1]:
        yield f"the last line is {lines[-1]}"


def limit_container(workspace: Workspace, group: Path, limit: str, seed: int, megabytes: int) -> Iterator[str]:
    """Yield what is wrong with how `bakeoff repro` ends in a container that is too small."""
    (group / limit).write_text(str(megabytes << 20))
    params = workspace.folder / "params.yaml"
    before = params.read_text(encoding="utf-8")
    params.write_text(before.replace("seed: 0", f"seed: {seed}"), encoding="utf-8")
    inside = f"echo $$ > {group}/cgroup.procs; exec {sys.executable} -m bakeoff repro"
    try:
        code, printed = _run(workspace, ["sh", "-c", inside])
    finally:
        params.write_text(before, encoding="utf-8")
    lines = printed.splitlines() or [""]
    if "Traceback" in printed:
        yield f"a traceback: {printed[-1500:]}"
    if code == -9:  # the command itself was ended, and can say nothing
        return
    if code and "memory" not in lines[-1]:
        yield f"exit code {code}, the last line is {lines[-1]}"


def _run(workspace: Workspace, command: list[str]) -> tuple[int | str, str]:
    own = environment() | START_ANYWAY
    try:
        done = subprocess.run(
            command, cwd=workspace.folder, env=own, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "of a hang", ""
    return done.returncode, done.stderr


@contextmanager
def container() -> Iterator[tuple[Path, str] | None]:
    """Yield a group of processes whose memory can be limited, and the file of its limit; None if none can be made."""
    for root, limit in PLACES:
        group = root / f"bakeoff-proof-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            yield (group, limit) if (group / limit).exists() else None
        finally:
            group.rmdir()
        return
    yield None


def limit_all(tries: int, repros: int, seed: int) -> list[str]:
    """Return what was wrong in so many tries of each stage, and in so many of `bakeoff repro` in a container."""
    chance, problems = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        workspace = prepare(Path(folder) / "clone")
        for stage in STAGES:
            limits = [round(LEAST_MB * (MOST_MB / LEAST_MB) ** chance.random()) for _ in range(tries)]
            for megabytes in limits:
                found = limit_addresses(workspace, stage, megabytes)
                problems += [f"{stage}, `ulimit -v` of {megabytes} MB: {one}" for one in found]
            print(f"{stage}: {tries} limits of addresses, {min(limits)} to {max(limits)} MB", flush=True)
        with container() as made:
            if made is None:
                print("no container can be made here", flush=True)
                return problems
            for number in range(repros):
                megabytes = chance.randrange(*GROUP_MB)
                found = limit_container(workspace, *made, number + 1, megabytes)
                problems += [f"repro in {megabytes} MB: {one}" for one in found]
            print(f"{repros} times `bakeoff repro` in a container of {GROUP_MB[0]} to {GROUP_MB[1]} MB", flush=True)
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=10, help="of each stage")
    parser.add_argument("--repros", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    problems = limit_all(arguments.tries, arguments.repros, arguments.seed)
    print("\n".join(problems) or "nothing was wrong")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
