"""One job in a process of its own: makes its workspace, runs its stages, lands its experiment, notes its outcome.

    python -m bakeoff.experiments.sweep.job .bakeoff/sweeps/sweep-20260102-030405 7

It needs no launcher to finish. A later launch of the sweep finds its outcome beside the manifest.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from bakeoff.experiments.sweep import process_group, pycache
from bakeoff.experiments.sweep.git_snapshot import Snapshot
from bakeoff.experiments.sweep.job_workspace import SOURCE, JobWorkspace
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, load_manifest
from bakeoff.foundation import dvc, machine, workspace
from bakeoff.foundation.errors import TRY_AGAIN_LATER, errors_in_one_line
from bakeoff.foundation.files import read_json, write_whole
from bakeoff.foundation.signals import TAKES_AWAY
from bakeoff.foundation.timings import JOB, begin_command, end_command
from bakeoff.tracking.journal.journal_folder import NOTE_VARIABLE

ALREADY_RUNS = 4
CACHE = "BAKEOFF_DVC_CACHE"  # the path of the main workspace's cache
CORES = "BAKEOFF_CORES"  # the cores that the job may use
FOLLOWS_PARENT = "BAKEOFF_FOLLOWS_PARENT"  # whether it ends when the process that started it is gone


@dataclass(frozen=True)
class JobFiles:
    """The files of a job beside the manifest."""

    folder: Path
    number: int

    @property
    def log(self) -> Path:
        """The output of all its attempts."""
        return self.folder / f"{self.number}.log"

    @property
    def process(self) -> Path:
        return self.folder / f"{self.number}.process.json"

    @property
    def signal(self) -> Path:
        """The number of a signal that its launcher wants it to get, if a scheduler starts it elsewhere."""
        return self.folder / f"{self.number}.signal"

    @property
    def lock(self) -> FileLock:
        """The lock that it holds as long as it runs."""
        return FileLock(self.folder / f"{self.number}.lock")

    @property
    def _outcome(self) -> Path:
        """Its exit code; the file is missing if the job was killed."""
        return self.folder / f"{self.number}.outcome.json"

    def forget_outcome(self) -> None:
        """Forget how the last attempt ended, and what it was asked."""
        for file in (self._outcome, self.signal):
            file.unlink(missing_ok=True)

    def write_outcome(self, code: int) -> None:
        write_whole(self._outcome, json.dumps({"code": code, "ended": time.time()}))

    def exit_code(self) -> int | None:
        """Return the exit code of the last attempt, or None if it was killed."""
        return read_json(self._outcome).get("code")


def start_job(
    files: JobFiles, cache: Path, cores: Sequence[int], gpus: Sequence[str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a job in a session of its own. So Ctrl-C reaches it only through us, and the end of a terminal does not."""
    files.forget_outcome()
    with files.log.open("ab") as log:
        return subprocess.Popen(
            make_command(files), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            env=make_environment(os.environ, cache, cores, gpus),
        )  # fmt: skip


def make_command(files: JobFiles) -> list[str]:
    return [sys.executable, "-m", "bakeoff.experiments.sweep.job", str(files.folder), str(files.number)]


def make_environment(
    variables: Mapping[str, str], cache: Path, cores: Sequence[int], gpus: Sequence[str] | None = None
) -> dict[str, str]:
    """Return the environment of a job. `gpus` are those that it may see; None leaves that as it is.

    A sum that more threads add up differs in its last bits. So a job on a few cores computes with as many threads as
    one that has all of them, and ends in the same weights.
    """
    threads = {machine.THREADS: str(machine.threads()), CORES: ",".join(map(str, cores))} if cores else {}
    visible = {} if gpus is None else {machine.VISIBLE_GPUS: ",".join(gpus) or "-1"}
    return threads | dvc.environment(variables) | visible | {CACHE: str(cache)}


def main(arguments: Sequence[str], deliver: Callable[[SweepJob], None] | None = None) -> None:
    """Run the job that the arguments name: its sweep's folder, its number. `deliver` gets the job once it is done."""
    for number in (signal.SIGINT, *TAKES_AWAY):
        signal.signal(number, signal.SIG_IGN)
    if cores := os.environ.pop(CORES, ""):  # for this process and all that it starts
        os.sched_setaffinity(0, map(int, cores.split(",")))
    if os.environ.pop(FOLLOWS_PARENT, ""):
        process_group.follow_parent()
    workspace.enter()
    files = JobFiles(Path(arguments[0]), int(arguments[1]))
    try:
        # A process that asks whether a job runs holds the lock for a moment.
        with files.lock.acquire(timeout=1), errors_in_one_line():
            if before := process_group.find_noted_session(files.process):  # it was killed, its stage may not have been
                process_group.end(before)
            process_group.note_leader(files.process)
            manifest = load_manifest(files.folder)
            job = manifest.job(files.number)
            os.environ |= {NOTE_VARIABLE: manifest.note} if manifest.note else {}  # for the stage that trains
            code = 1
            try:
                begin_command()
                code = run_job(job, Snapshot(manifest.baseline, manifest.snapshot), Path(os.environ[CACHE]))
                if code == 0:
                    end_command(JOB)
                    if deliver is not None:
                        code = 1
                        deliver(job)
                        code = 0
            finally:
                if process_group.is_noted(files.process):  # otherwise a later attempt has taken its place
                    files.write_outcome(code)
    except Timeout:
        sys.exit(ALREADY_RUNS)
    sys.exit(code)


def run_job(job: SweepJob, snapshot: Snapshot, cache: Path) -> int:
    place = JobWorkspace(job.experiment)
    if place.is_settled() and place.land():  # an earlier attempt was killed just before this
        place.remove()
        return 0
    folder = place.prepare(snapshot, cache)
    restore = _restore_signals if process_group.POSIX else None
    # Ctrl-C ends DVC, and this process notes how that ended.
    code = subprocess.Popen(make_experiment(job, folder), stdin=subprocess.DEVNULL, preexec_fn=restore).wait()
    process_group.end(os.getpid(), asked=code == TRY_AGAIN_LATER)  # if DVC was killed, its stage may still run
    pycache.keep_compiled(folder / SOURCE)
    place.settle(cache)
    if code == 0 and not place.land():
        print(f"{job.experiment}: DVC says that it is done, and has no such experiment", flush=True)
        code = 1
    place.remove()
    return code


def make_experiment(job: SweepJob, clone: Path) -> list[str]:
    """Return the command that runs a job's stages and saves its experiment."""
    changes = [part for option in job.options for part in ("-S", option)]
    return [
        sys.executable,
        "-m",
        "bakeoff.experiments.sweep.dvc_experiment",
        str(clone),
        job.experiment,
        *changes,
        "--",
        *job.stages,
    ]


def _restore_signals() -> None:
    """Give a child the default signal handlers, because it would inherit those that this process ignores."""
    for number in (signal.SIGINT, *TAKES_AWAY):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main(sys.argv[1:])
