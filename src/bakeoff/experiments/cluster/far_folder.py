"""The folder of a far job on its node: a clone of the sweep's snapshot, and the files that the job writes in it.

Far jobs of a node share its scratch folder:
    jobs/ATTEMPT     workspace/, log, and a link to the reports; a lock beside it is held while the agent lives
    ID.git           the node's own copy of the repository
    cache, bytecode, networks    what one job leaves for the next
    told/JOB         the reports of a job that was killed, for its next attempt

Ray sends this file by value, like the agent. It imports nothing at the top but the standard library.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from bakeoff.experiments.cluster.node_orders import LOG, FarJob, FilePart, JobCommand

SECONDS_REPORTS_ARE_KEPT = 7 * 86400.0  # of jobs that never came back
MOST_AT_ONCE = 8_000_000  # bytes of an answer
SCRATCH = "BAKEOFF_SCRATCH"  # a variable of the node: the folder in which far jobs run
REPORTS = ("runs/*/run", "runs/*/status.json", "results/*.json", "journal/*/target.json")  # small files, replaced whole
GROWING = "journal/*/journal.jsonl"
KEPT = "journal/*/files/*"  # a journal's lines name these files, so they travel before it
UNFINISHED = ".partial"
REPORTS_LINK = "told"  # in a job's folder a link to its reports; in the node's the reports of jobs that were killed


class FarFolder:
    def __init__(self, scratch: Path, job: FarJob) -> None:
        self._scratch, self._job = scratch, job
        self._own = scratch / "jobs" / job.attempt
        self._workspace = self._own / "workspace" / job.prefix
        self.home, self.log = self._workspace / ".bakeoff", self._own / LOG
        self.is_made = False

    def make(self) -> None:
        self._own.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _hold_lock(self._own)
        _remove_abandoned(self._scratch)
        _clone(self._scratch, self._own / "workspace", self._job)
        _share(self._scratch, self._workspace)
        (self._own / REPORTS_LINK).symlink_to(self.home)
        for name, content in self._job.files.items():
            path = self._workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _restore_reports(self._scratch, self._job.attempt, self.home)
        self.is_made = True

    def command(self) -> JobCommand:
        """Return the process that does the job here."""
        sweep, path = self.home / "sweeps" / self._job.sweep, [str(self._workspace / "src")]
        own = {
            "PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")]).strip(":"),
            "BAKEOFF_DVC_CACHE": str(self._scratch / "cache"),
            "BAKEOFF_BYTECODE": str(self._scratch / "bytecode"),
        }
        arguments = ("-m", "bakeoff.experiments.cluster.remote_job", str(sweep), *self._job.arguments)
        return JobCommand(arguments, str(self._workspace), str(self.log), {**self._job.environment, **own})

    def collect_parts(self, known: Mapping[str, int]) -> list[FilePart]:
        """Return the new parts of files, as many as fit into an answer.

        `known` has the sizes of files that grow and the times of those that are replaced, by their names.
        """
        # Journals are measured before the files that their lines name. So what a line names is sent before the line.
        growing = _measure([*sorted(self.home.glob(GROWING)), self.log])
        parts = self._collect_replaced(known)
        room = MOST_AT_ONCE
        for path, size in {**_measure(sorted(self.home.glob(KEPT))), **growing}.items():
            name, first = (LOG, self._job.log_size) if path == self.log else (self._name(path), 0)
            at = max(known.get(name, first), first)
            content = _read_part(path, at - first, min(room, size - (at - first)))
            if content or (size == 0 and name not in known):
                parts.append(FilePart(name, at, content))
                room -= len(content)
        return parts

    def request_stop(self, name: str) -> None:
        """Make a file by which somebody asks a run to stop after its step."""
        if (self.home / name).parent.is_dir():
            (self.home / name).touch()

    def remove(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)

    def remove_reports(self) -> None:
        """Remove the reports of earlier attempts at the job."""
        shutil.rmtree(self._scratch / REPORTS_LINK / _find_job(self._job.attempt), ignore_errors=True)

    def _collect_replaced(self, known: Mapping[str, int]) -> list[FilePart]:
        parts = []
        for pattern in REPORTS:
            for path in sorted(self.home.glob(pattern)):
                name, at = self._name(path), path.stat().st_mtime_ns
                if known.get(name) != at:
                    parts.append(FilePart(name, at, path.read_bytes()))
        return parts

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.home))


def find_scratch() -> Path:
    return Path(os.environ.get(SCRATCH) or Path.home() / ".cache/bakeoff/far")


def _clone(scratch: Path, place: Path, job: FarJob) -> None:
    store = scratch / f"{job.repository}.git"
    with open(scratch / f"{job.repository}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several jobs of this node come at once
        if not store.is_dir():
            _git("init", "--quiet", "--bare", str(store))
        look = ["git", "-C", str(store), "cat-file", "-e", job.snapshot]
        if subprocess.run(look, capture_output=True, check=False).returncode:
            _git("-C", str(store), "fetch", "--quiet", "--no-tags", job.remote, f"+{job.ref}:{job.ref}")
    _git("clone", "--quiet", "--local", "--no-checkout", "--no-tags", str(store), str(place))
    _git("-C", str(place), "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", job.snapshot)


def _share(scratch: Path, workspace: Path) -> None:
    """Give a job the compiled Python files of earlier ones (experiments/sweep/pycache.py) and sizes of networks."""
    with suppress(OSError):
        shutil.copytree(scratch / "bytecode", workspace / "src", dirs_exist_ok=True)
    networks, home = scratch / "networks", workspace / ".bakeoff"
    networks.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (home / "networks").symlink_to(networks)


def _git(*arguments: str) -> None:
    """Run git. The project's own runner is not on the node before this has cloned it."""
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _hold_lock(own: Path) -> IO[str]:
    """Hold a lock beside the folder as long as the file that is returned is open."""
    lock = open(own.with_name(f"{own.name}.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _remove_abandoned(scratch: Path) -> None:
    """Remove folders of jobs whose agents are gone. The reports of their runs are kept for the next attempt."""
    for path in (scratch / "jobs").glob("*.lock"):
        with open(path, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            own = path.with_suffix("")
            _copy_reports(own / REPORTS_LINK, scratch / REPORTS_LINK / _find_job(own.name))
            shutil.rmtree(own, ignore_errors=True)
            path.unlink(missing_ok=True)
    for reports in (scratch / REPORTS_LINK).glob("*"):
        with suppress(OSError):
            if time.time() - reports.stat().st_mtime > SECONDS_REPORTS_ARE_KEPT:
                shutil.rmtree(reports, ignore_errors=True)


def _restore_reports(scratch: Path, attempt: str, home: Path) -> None:
    """Give a job the reports of its last attempt on this node, unless the launcher has received others since.

    The attempt may have ended, and its training may be in the node's cache, before the launcher received that.
    """
    reports = scratch / REPORTS_LINK / _find_job(attempt)
    for journal in reports.glob(GROWING):
        received = home / journal.relative_to(reports)
        if received.is_file() and not journal.read_bytes().startswith(received.read_bytes()):
            return
    _copy_reports(reports, home)


def _copy_reports(source: Path, target: Path) -> None:
    for pattern in (*REPORTS, KEPT, GROWING):
        for path in source.glob(pattern):
            if path.is_file() and not path.name.endswith(UNFINISHED):
                place = target / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


def _find_job(attempt: str) -> str:
    """Return the name of an attempt's job."""
    return attempt.rpartition(".")[0]


def _measure(paths: Iterable[Path]) -> dict[Path, int]:
    """Return the sizes of those files that are whole."""
    return {path: path.stat().st_size for path in paths if path.is_file() and not path.name.endswith(UNFINISHED)}


def _read_part(path: Path, start: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(max(0, length))
