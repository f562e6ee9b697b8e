"""Train, `kill -9`, lose the clone, go on in another one through a store: are weights the same, and is nothing left?

    python tests/proofs/faults/stored_work.py 5 [--s3]

trains in turn with and without a store, so many times, and says what each took. The store is a folder, or a bucket that
moto's server holds, as the default remote of DVC.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bakeoff.experiments.checkpoint_store.copies import copies, fetch, manifest_of
from bakeoff.experiments.checkpoint_store.lease import EXPIRES, LEASES
from bakeoff.experiments.checkpoint_store.store import VARIABLE, CheckpointStore, open_store
from proofs.faults.kills import SETTINGS, VARIANTS, curve, prepared, trained
from proofs.faults.s3_store import Bucket
from support.extra_packages import extra_packages, python_path
from support.workspace_copy import Workspace, environment

TRAIN = (sys.executable, "-m", "bakeoff.stages.train")
CLIENT = ("dvc-s3>=3.2",)
LEASE_S = 4.0
LINES_A_STEP = 5 / 8  # of the history
VARIANTS["large"] = VARIANTS["classification"] | {"model": "model: {use: cnn_small, width: 3, input_size: 32}"}


@contextmanager
def store_of(folder: Path, *, s3: bool) -> Iterator[str]:
    """Give what BAKEOFF_WORK_STORE is to name, and what its clients need to the end of the block."""
    before = dict(os.environ)
    os.environ[EXPIRES] = f"{LEASE_S}"
    bucket = Bucket() if s3 else None
    try:
        if bucket:
            bucket.start()
            os.environ.update(bucket.environment | {"PYTHONPATH": python_path(site := extra_packages(*CLIENT))})
            sys.path.insert(0, str(site))
            os.environ[VARIABLE] = bucket.uri
        else:
            folder.mkdir()
            os.environ[VARIABLE] = str(folder)
        yield os.environ[VARIABLE]
    finally:
        if bucket:
            bucket.kill()
        os.environ.clear()
        os.environ.update(before)


def origin(folder: Path, steps: int) -> Workspace:
    """Return a workspace that is about to train, from which clones are made."""
    train = f"train: {{use: demo, batch_size: 4, steps: {steps}, accumulate_batches: 2, {SETTINGS}}}"
    VARIANTS["stored"] = VARIANTS["classification"] | {"train": train}
    return prepared(folder, "stored")


def begin(workspace: Workspace) -> subprocess.Popen[str]:
    return subprocess.Popen(
        TRAIN, cwd=workspace.folder, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def lines_of(workspace: Workspace) -> int | None:
    """Return how long the history is of the training that is under way."""
    history = workspace.folder / "models/train.partial/history.jsonl"
    return history.read_bytes().count(b"\n") if history.is_file() else None


def killed_in_another_clone(first: Workspace, place: Path, chance: random.Random, lines: int) -> bool:
    """Train in a new clone, kill it about so many lines of its history later, and remove the clone.

    Return whether it was killed before it came to its end.
    """
    clone = first.copy(place)
    process, start = begin(clone), 0
    while process.poll() is None:
        now = lines_of(clone)
        start = start or now or 0  # the lines of the lives before are there at once
        if now is not None and now - start >= lines:
            break
        time.sleep(0.002)
    time.sleep(chance.random() * 0.05)  # into a step, a checkpoint, a copy
    was_alive = process.poll() is None
    if was_alive:
        os.killpg(process.pid, signal.SIGKILL)
    _, printed = process.communicate()
    assert was_alive or process.returncode == 0, printed
    shutil.rmtree(place)
    return was_alive


def leftovers(store: CheckpointStore) -> list[str]:
    """Return what the store has beside at most two whole copies of each run and one lease that was given back."""
    names, wrong = store.names(""), []
    for run in sorted({name.partition("/")[0] for name in names}):
        stored_copies = copies(store, run)
        leases = [name for name in names if name.startswith(f"{run}/{LEASES}/")]
        kept = set(leases[-1:]) | {manifest_of(copy) for copy in stored_copies}
        with tempfile.TemporaryDirectory() as folder:
            for copy in stored_copies:
                files, _ = fetch(store, copy, Path(folder))
                inside = [file.relative_to(folder).as_posix() for file in files]
                kept |= {name for name in names for file in inside if name.startswith(f"{copy.prefix}/{file}.part-")}
        wrong += sorted({name for name in names if name.startswith(f"{run}/")} - kept)
        wrong += [f"{run}: {len(stored_copies)} copies"] * (not 1 <= len(stored_copies) <= 2)
        wrong += [f"{run}: its lease was not given back"] * (b'"is_released": true' not in store.read(leases[-1]))
    return wrong


def compare(first: Workspace, last: Workspace, whole: Workspace, store: CheckpointStore) -> list[str]:
    state, expected = last.state(), whole.state()
    print(f"uninterrupted {expected['weights_sha256']}\nthrough store {state['weights_sha256']}", flush=True)
    print(f"went on after steps {state['resumed_at_steps']}", flush=True)
    wrong = [f"left in the store: {name}" for name in leftovers(store)]
    wrong += ["other weights"] * (state["weights_sha256"] != expected["weights_sha256"])
    return wrong + ["another history"] * (curve(last) != curve(whole))


def lost_and_gone_on(folder: Path, kills: int, chance: random.Random, *, steps: int, s3: bool) -> list[str]:
    """Return what differs from an uninterrupted training, and what is left in the store."""
    first = origin(folder / "first", steps)
    whole = first.copy(folder / "whole")
    trained(whole)
    with store_of(folder / "store", s3=s3) as named:
        for kill in range(kills):
            wanted = chance.randrange(0, int(LINES_A_STEP * steps) // kills)
            was_killed = killed_in_another_clone(first, folder / f"clone{kill}", chance, wanted)
            print(f"life {kill + 1:2}: {'killed' if was_killed else 'had come to its end'}", flush=True)
        last = first.copy(folder / "last")
        trained(last)
        return compare(first, last, whole, open_store(named))


def contents(store: CheckpointStore) -> dict[str, str]:
    return {name: hashlib.sha256(store.read(name)).hexdigest() for name in store.names("")}


def frozen_and_thawed(folder: Path, times: int, chance: random.Random, *, steps: int, s3: bool) -> list[str]:
    """Return what a training that was frozen does wrong when another one has its lease, and differences as above."""
    first = origin(folder / "first", steps)
    whole = first.copy(folder / "whole")
    trained(whole)
    wrong: list[str] = []
    for number in range(times):
        with store_of(folder / f"store{number}", s3=s3) as named:
            store, frozen = open_store(named), first.copy(folder / f"frozen{number}")
            process = begin(frozen)
            wanted = chance.randrange(10, int(LINES_A_STEP * steps) // 3)
            while process.poll() is None and (lines_of(frozen) or 0) < wanted:
                time.sleep(0.002)
            os.killpg(process.pid, signal.SIGSTOP)
            assert process.poll() is None, "it ended before it was frozen"
            last = first.copy(folder / f"last{number}")
            trained(last)
            before = contents(store)
            os.killpg(process.pid, signal.SIGCONT)
            _, printed = process.communicate()
            print(f"thawed: exit code {process.returncode}, said: {printed.strip()}", flush=True)
            wrong += compare(first, last, whole, store)
            wrong += ["it did not stop"] * (process.returncode != 75 or "trains this variant now" not in printed)
            wrong += ["it changed the store"] * (contents(store) != before)
            wrong += ["it left outputs"] * (frozen.folder / "models/train").is_dir()
    return wrong


def cost(folder: Path, times: int, *, s3: bool) -> None:
    """Say what training takes with a store and without, in turn, on one machine: seconds, and those of processors."""
    first = prepared(folder / "first", "large")
    took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    with store_of(folder / "store", s3=s3) as named:
        for turn in range(2 * times):
            has_store = turn % 2 == 1
            os.environ[VARIABLE] = named if has_store else ""
            clone, before = first.copy(folder / "clone"), os.times()
            seconds, after = trained(clone)["seconds"], os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            took[has_store].append((seconds, used))
            size = max(file.stat().st_size for file in clone.folder.glob(".bakeoff/runs/*/*-*/[0-9]*[0-9]"))
            shutil.rmtree(clone.folder)
            print(f"{'with' if has_store else 'without'}: {seconds:.1f} s, processors {used:.1f} s", flush=True)
            store = open_store(named)
            for name in store.names(""):
                store.remove(name)
    ratios = [
        statistics.median(one[part] / other[part] for one, other in zip(took[True], took[False], strict=True))
        for part in (0, 1)
    ]
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    print(f"with a store over without: {ratios[0]:.3f} of the seconds, {ratios[1]:.3f} of those of processors")
    print(f"{size / 1e6:.1f} MB a checkpoint, every 5 steps; load {load}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Say what training takes with a store and without.")
    parser.add_argument("times", type=int)
    parser.add_argument("--s3", action="store_true", help="the store is a bucket of S3, which moto's server holds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cost(Path(folder, "cost"), arguments.times, s3=arguments.s3)


if __name__ == "__main__":
    main()
