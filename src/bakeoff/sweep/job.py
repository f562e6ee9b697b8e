"""One job, a process of its own: its workspace, its stages in it, its experiment brought home, its outcome.

    python -m bakeoff.sweep.job .bakeoff/sweeps/sweep-20260102-030405 7

It needs no launcher to come to its end; whoever launches the sweep again finds what it left beside the manifest.
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

from bakeoff import dvc, machine, workspace
from bakeoff.durations import JOB, begin_command, end_command
from bakeoff.errors import TRY_AGAIN_LATER, errors_in_one_line
from bakeoff.files import write_whole
from bakeoff.signals import TAKES_AWAY
from bakeoff.sweep import bytecode, session
from bakeoff.sweep.job_workspace import SOURCE, JobWorkspace
from bakeoff.sweep.manifest import SweepJob, load_manifest
from bakeoff.sweep.snapshot import Snapshot
from bakeoff.tracking.journal import NOTE_VARIABLE

ALREADY_RUNS = 4
CACHE = "BAKEOFF_DVC_CACHE"  # where the main workspace's is
CORES = "BAKEOFF_CORES"  # that the job may use
THREADS = "TF_NUM_INTRAOP_THREADS"
FOLLOWS_PARENT = "BAKEOFF_FOLLOWS_PARENT"  # whether it ends when the process is gone that started it


@dataclass(frozen=True)
class JobFiles:
    folder: Path
    number: int

    @property
    def log(self) -> Path:
        """What it said, of all attempts."""
        return self.folder / f"{self.number}.log"

    @property
    def process(self) -> Path:
        return self.folder / f"{self.number}.process.json"

    @property
    def lock(self) -> FileLock:
        """Held as long as it runs."""
        return FileLock(self.folder / f"{self.number}.lock")

    @property
    def _outcome(self) -> Path:
        """How it ended; missing if it was killed."""
        return self.folder / f"{self.number}.outcome.json"

    def forget_outcome(self) -> None:
        self._outcome.unlink(missing_ok=True)

    def write_outcome(self, code: int) -> None:
        write_whole(self._outcome, json.dumps({"code": code, "ended": time.time()}))

    def exit_code(self) -> int | None:
        """Of the last attempt; None if it was killed."""
        try:
            return int(json.loads(self._outcome.read_text(encoding="utf-8"))["code"])
        except (OSError, ValueError, KeyError):
            return None


def start_job(
    files: JobFiles, cache: Path, cores: Sequence[int], gpus: Sequence[str] | None = None
) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C reaches it once, through us, and the end of a terminal does not."""
    files.forget_outcome()
    with files.log.open("ab") as log:
        return subprocess.Popen(
            command(files), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            env=environment(os.environ, cache, cores, gpus),
        )  # fmt: skip


def command(files: JobFiles) -> list[str]:
    return [sys.executable, "-m", "bakeoff.sweep.job", str(files.folder), str(files.number)]


def environment(
    own: Mapping[str, str], cache: Path, cores: Sequence[int], gpus: Sequence[str] | None = None
) -> dict[str, str]:
    """A sum that more threads add up is another in its last bits. So a job that gets a few cores computes with as many
    threads as one that has them all, and ends in the same weights. `gpus` are all that it may see; None: as ever.
    """
    threads = {THREADS: str(machine.cores()), CORES: ",".join(map(str, cores))} if cores else {}
    visible = {} if gpus is None else {machine.VISIBLE_GPUS: ",".join(gpus) or "-1"}
    return threads | dvc.environment(own) | visible | {CACHE: str(cache)}


def main(deliver: Callable[[SweepJob], None] | None = None) -> None:
    """Run a job; `deliver` is called with one that has come to its end."""
    for number in (signal.SIGINT, *TAKES_AWAY):
        signal.signal(number, signal.SIG_IGN)
    if cores := os.environ.pop(CORES, ""):  # for this process and all that it starts
        os.sched_setaffinity(0, map(int, cores.split(",")))
    if os.environ.pop(FOLLOWS_PARENT, ""):
        session.follow_parent()
    workspace.enter()
    files = JobFiles(Path(sys.argv[1]), int(sys.argv[2]))
    try:
        with (
            files.lock.acquire(timeout=1),
            errors_in_one_line(),
        ):  # whoever asks whether a job runs holds it for a moment
            if before := session.noted_session(files.process):  # it was killed, its stage may not have been
                session.end(before)
            session.note_leader(files.process)
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
                if session.is_noted(files.process):  # or a later attempt has taken its place
                    files.write_outcome(code)
    except Timeout:
        sys.exit(ALREADY_RUNS)
    sys.exit(code)


def run_job(job: SweepJob, snapshot: Snapshot, cache: Path) -> int:
    place = JobWorkspace(job.experiment)
    if place.is_settled() and place.land():  # a kill came just before
        place.remove()
        return 0
    folder = place.prepare(snapshot, cache)
    hear = _hear_signals if session.POSIX else None
    # Ctrl-C is for DVC; this process notes how it ends.
    code = subprocess.Popen(make_experiment(job, folder), stdin=subprocess.DEVNULL, preexec_fn=hear).wait()
    session.end(os.getpid(), asked=code == TRY_AGAIN_LATER)  # of DVC, if it was killed, the stage may be left
    bytecode.keep(folder / SOURCE)
    place.settle(cache)
    if code == 0 and not place.land():
        print(f"{job.experiment}: DVC says that it is done, and has no such experiment", flush=True)
        code = 1
    place.remove()
    return code


def make_experiment(job: SweepJob, clone: Path) -> list[str]:
    """Return the command. The records are what they were when the sweep was planned, but for a fold's own."""
    changes = [part for option in job.options for part in ("-S", option)]
    return [sys.executable, "-m", "bakeoff.sweep.experiment", str(clone), job.experiment, *changes, "--", *job.stages]


def _hear_signals() -> None:
    """What this process ignores its child would, too; as a shell does that starts a sweep in the background."""
    for number in (signal.SIGINT, *TAKES_AWAY):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
