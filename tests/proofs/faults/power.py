"""Cuts of power: a file system in a file, shut down at any moment with what it did not write yet, and mounted again.

    python tests/proofs/faults/power.py --cuts 20 --kind ext4   # of a cheap pipeline's `dvc repro`, and after its end
    python tests/proofs/faults/power.py --cuts 20 --dvc dvc     # of DVC by itself, which loses and keeps what is empty
    python tests/proofs/faults/power.py --kills 20              # `kill -9` instead

What the kernel still holds in memory is lost, as with a machine that stops: its ioctl to shut a file system down,
without its journal being written. After each the next `dvc repro` must end by itself, in the right files.
"""

import argparse
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.cheap import find_faults, make_cheap
from proofs.faults.kills import curve, repeated, trained
from proofs.faults.kills import prepared as prepare_training
from proofs.faults.repros import VARIANT
from proofs.faults.sweep_checks import faults, manifests, mlflow_runs, repeated_points, standing
from proofs.faults.sweeps import WORDS, prepared
from support.workspace_copy import environment, tiny_workspace

SHUT_DOWN, WITHOUT_ITS_JOURNAL = 0x8004587D, 2
KINDS = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f"), "btrfs": ("mkfs.btrfs", "-q", "-f")}


class Disk:
    """A file system in a file, mounted at `place`."""

    def __init__(self, folder: Path, kind: str, size: int = 2 << 30) -> None:
        self.place, self._image = folder / "disk", folder / "disk.img"
        self.place.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(size)
        subprocess.run([*KINDS[kind], str(self._image)], check=True, capture_output=True)
        self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self._image), str(self.place)], check=True, capture_output=True)

    def unmount(self) -> None:
        for _ in range(50):
            self._end_users()
            done = subprocess.run(["umount", str(self.place)], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(done.stderr)

    def cut(self) -> None:
        """Lose what is not on it, end who used it, and mount it again."""
        number = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(number, SHUT_DOWN, struct.pack("I", WITHOUT_ITS_JOURNAL))
        os.close(number)
        self.unmount()
        self._mount()

    def _end_users(self) -> None:
        """All that work below it were started by what was started here."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                links = [process / "cwd", *(process / "fd").iterdir()]
                if any(os.readlink(link).startswith(str(self.place)) for link in links):
                    os.kill(int(process.name), signal.SIGKILL)


def missing_for(kind: str) -> str | None:
    """Return why no power can be cut here."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "cutting a file system's power needs Linux and root"
    if not (shutil.which(KINDS[kind][0]) and shutil.which("mount")):
        return f"{KINDS[kind][0]} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        try:
            disk = Disk(Path(folder), kind, 320 << 20)
        except (subprocess.CalledProcessError, OSError) as error:
            return f"this machine mounts no file as a disk ({error})"
        try:
            disk.cut()
        except OSError as error:
            return f"this machine shuts no file system down ({error})"
        finally:
            disk.unmount()
    return None


@contextmanager
def mounted(kind: str) -> Iterator[Disk]:
    folder = Path(tempfile.mkdtemp(prefix="power-"))
    disk = Disk(folder, kind)
    try:
        yield disk
    finally:
        disk.unmount()
        shutil.rmtree(folder)


def start_repro(workspace: Path, dvc: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", dvc, "repro"], cwd=workspace, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def endure(workspace: Path, dvc: str, disk: Disk | None, times: int, chance: random.Random) -> Iterator[list[str]]:
    """Yield of each cut, or kill without a disk, what was wrong after the next `dvc repro`.

    Of five cuts one comes in the half minute after the end of a repro. Of two kills one comes near its end.
    """
    seconds = 3.0
    for number in range(1, times + 1):
        seed = number if number % 3 else number - 2  # now and then what an earlier one made comes back
        (workspace / "params.yaml").write_text(f"seed: {seed}\n")
        began, process = time.monotonic(), start_repro(workspace, dvc)
        if disk and number % 5 == 0:
            process.wait()
            seconds = time.monotonic() - began
            time.sleep(chance.uniform(0, 30))
        else:
            time.sleep(chance.uniform(0.7 * seconds if disk is None and number % 2 else 0.2, seconds))
        if disk:
            disk.cut()
            (workspace / "params.yaml").write_text(f"seed: {seed}\n")
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        again = start_repro(workspace, dvc)
        _, printed = again.communicate()
        problems = [*find_faults(workspace, seed)]
        yield [f"exit code {again.returncode}: {printed.strip()[-500:]}"] * bool(again.returncode) + problems


def count_faults(kind: str | None, dvc: str, times: int, seed: int, *, patience: int = 1_000_000) -> int:
    """Say what came of so many cuts of such a disk, or kills without one; return after how many something was wrong."""
    bad = 0
    with mounted(kind) if kind else nullcontext() as disk, tempfile.TemporaryDirectory() as folder:
        workspace = (disk.place if disk else Path(folder)) / "clone"
        make_cheap(workspace)
        os.sync()  # a user's own files have been there for long
        for number, wrong in enumerate(endure(workspace, dvc, disk, times, random.Random(seed)), 1):
            bad += bool(wrong)
            for line in wrong:
                print(f"{number}: {line}", flush=True)
            if wrong and bad >= patience:
                break
    what = f"cuts of {kind}" if kind else "kills"
    print(f"{number} {what} through {dvc}: something was wrong after {bad}", flush=True)
    return bad


def cut_whole_pipeline(kind: str, cuts: int, seed: int) -> list[str]:
    """Return what is wrong with the real stages' results after so many cuts at any moment of the first repro."""
    chance = random.Random(seed)
    with mounted(kind) as disk, tempfile.TemporaryDirectory() as folder:
        lines = {key: line for key, line in VARIANT.items() if key != "track"}
        whole, cut = tiny_workspace(Path(folder) / "whole", lines), tiny_workspace(disk.place / "clone", lines)
        os.sync()
        began = time.monotonic()
        whole.run("python", "-m", "bakeoff", "repro")
        seconds = time.monotonic() - began
        for _ in range(cuts):
            process = start_repro(cut.folder, "bakeoff.foundation.dvc")
            time.sleep(chance.uniform(0.1, 1) * seconds)
            disk.cut()
            process.communicate()
        done = cut.run("python", "-m", "bakeoff", "repro", ok=False)
        problems = [f"exit code {done.returncode}: {done.stderr[-2000:]}"] * bool(done.returncode)
        problems += [
            f"dvc status: {printed}"
            for printed in [cut.run("dvc", "status", "--json").stdout]
            if printed.strip() != "{}"
        ]
        if (cut.folder / "dvc.lock").read_bytes() != (whole.folder / "dvc.lock").read_bytes():
            problems.append("dvc.lock: another")
        cut.run("python", "-m", "bakeoff", "track", "sync")
        runs = [(run["name"], run["status"]) for run in mlflow_runs(cut)]
        problems += [f"MLflow: {runs}"] * (len(runs) != 1) + [f"twice in MLflow: {one}" for one in repeated_points(cut)]
        return [*problems, *(f"empty in MLflow: {name}" for name in _empty_files(cut.folder / "mlartifacts"))]


def cut_training(kind: str, variant: str, cuts: int, seed: int) -> list[str]:
    """Return what is wrong with a training that lost the power so often, beside one that never did."""
    chance, problems = random.Random(seed), []
    with mounted(kind) as disk, tempfile.TemporaryDirectory() as folder:
        whole = prepare_training(Path(folder) / "whole", variant)
        cut = whole.copy(disk.place / "clone")
        expected = trained(whole)
        lines = len(curve(whole))
        os.sync()
        history, lost = cut.folder / "models/train.partial/history.jsonl", 0
        for _ in range(cuts):
            shutil.rmtree(history.parent, ignore_errors=True)  # of the life before
            process = subprocess.Popen(
                [sys.executable, "-m", "bakeoff.stages.train"], cwd=cut.folder, env=environment(),
                start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            start, awaited = None, chance.randrange(1, max(3, 2 * lines // cuts))
            while process.poll() is None and (start is None or _count_lines(history) < start + awaited):
                start = _count_lines(history) or None if start is None else start
                time.sleep(0.002)
            time.sleep(chance.random() * 0.05)
            lost += process.poll() is None
            disk.cut()
            _, printed = process.communicate()
            problems += [f"exit code {process.returncode}: {printed[-500:]}"] * (process.returncode not in (0, -9))
        state = trained(cut)
        print(f"{variant} on {kind}: {lost} of {cuts} cuts while it trained; resumed at {state['resumed_at_steps']}")
        problems += [f"weights: {state['weights_sha256']}"] * (state["weights_sha256"] != expected["weights_sha256"])
        problems += ["history: another"] * (curve(cut) != curve(whole))
        return [*problems, *(f"twice in the history: {place}" for place in repeated(cut))]


def _count_lines(history: Path) -> int:
    try:
        return history.read_bytes().count(b"\n")
    except OSError:
        return 0


def cut_sweep(kind: str, cuts: int, seed: int, *, queued: bool) -> list[str]:
    """Return what is wrong with a sweep of two points, or with the line in which it waits, after so many cuts."""
    chance = random.Random(seed)
    with mounted(kind) as disk:
        workspace = prepared(disk.place / "clone")
        before, bakeoff = standing(workspace), ("python", "-m", "bakeoff")
        if queued:
            workspace.run(*bakeoff, "queue", "add", WORDS[0])
        os.sync()
        for life in range(cuts + 3):
            resumed = ["--resume"] if manifests(workspace) else [WORDS[0]]
            command = [*bakeoff, *(["queue", "start"] if queued else ["sweep", *resumed])]
            process = subprocess.Popen(
                command, cwd=workspace.folder, env=environment(), start_new_session=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            if life < cuts:
                time.sleep(chance.uniform(5, 60))
                disk.cut()
            printed, _ = process.communicate()
            if life >= cuts and process.returncode == 0:
                break
        workspace.run(*bakeoff, "track", "sync")
        problems = [f"exit code {process.returncode}: {printed[-2000:]}"] * bool(process.returncode)
        problems += faults(workspace, before, 2)
        for job in manifests(workspace)[0]["jobs"]:
            workspace.run("git", "checkout", "--quiet", "--", ".")
            workspace.run("dvc", "exp", "apply", job["experiment"])
            problems += [f"{job['experiment']}: {name} is empty" for name in _empty_files(workspace.folder / "models")]
        return [*problems, *(f"empty in MLflow: {name}" for name in _empty_files(workspace.folder / "mlartifacts"))]


def _empty_files(folder: Path) -> list[str]:
    """Return those; no stage writes one."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.stat().st_size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(KINDS), default="ext4")
    parser.add_argument("--dvc", default="bakeoff.foundation.dvc", help="the module that is run as DVC")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.cuts and (why := missing_for(given.kind)):
        sys.exit(why)
    kind = given.kind if given.cuts else None
    sys.exit(1 if count_faults(kind, given.dvc, given.cuts or given.kills, given.seed) else 0)


if __name__ == "__main__":
    main()
