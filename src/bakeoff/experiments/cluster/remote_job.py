"""A job in a clone of the sweep's snapshot, on a node that reaches only a git remote and a DVC remote.

    python -m bakeoff.experiments.cluster.remote_job .bakeoff/sweeps/sweep-20260102-030405 1 REMOTE REF

Outputs are pushed to the DVC remote. Then one commit is pushed to the git remote, under a reference of this attempt
alone. Its parent is the experiment, and its files are the run's reports. The launcher brings it home.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from bakeoff.experiments.cluster.far_folder import GROWING, KEPT, REPORTS
from bakeoff.experiments.sweep import job as jobs
from bakeoff.experiments.sweep import pycache
from bakeoff.experiments.sweep.git_snapshot import AUTHOR, experiment_ref
from bakeoff.experiments.sweep.job_workspace import SOURCE
from bakeoff.experiments.sweep.sweep_manifest import SweepJob
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.git import git
from bakeoff.foundation.workspace import IN_FLIGHT, main_workspace

LARGEST = 1_000_000  # bytes of a file in the commit; larger ones are outputs, which DVC has
T = TypeVar("T")
SECONDS_TO_TRY, SECONDS_BETWEEN_TRIES = 600.0, 5.0  # a network may come back


def deliver(job: SweepJob, remote: str, ref: str) -> None:
    """Push a job's experiment and the reports of its run."""
    experiment = experiment_ref(job.experiment)
    if experiment is None:
        raise WorkspaceError(f"{job.experiment}: there is no such experiment to deliver")
    commit = commit_reports(main_workspace() / IN_FLIGHT, experiment, f"{job.experiment}: reports of its run")
    keep_trying(lambda: git("push", "--quiet", remote, f"+{commit}:{ref}"))


def commit_reports(home: Path, parent: str, message: str) -> str:
    """Commit the reports in a folder, and nothing else, on no branch."""
    files = [path for pattern in (*REPORTS, KEPT, GROWING) for path in home.glob(pattern) if path.is_file()]
    names = [str(path.relative_to(home)) for path in files if path.stat().st_size <= LARGEST]
    with TemporaryDirectory() as folder:
        own = {"GIT_INDEX_FILE": str(Path(folder) / "index"), "GIT_WORK_TREE": str(home)}
        git("add", "--force", "--", *names, folder=home, more=own)
        tree = git("write-tree", folder=home, more=own)
    return git("commit-tree", tree, "-p", parent, "-m", message, more=AUTHOR)


def keep_trying(act: Callable[[], T]) -> T:
    """Call `act` until it succeeds, and return its result. Raises WorkspaceError when that takes too long."""
    until = time.monotonic() + SECONDS_TO_TRY
    while True:
        try:
            return act()
        except WorkspaceError as error:
            if time.monotonic() > until:
                raise
            print(f"{error}; it is tried again", file=sys.stderr, flush=True)
        time.sleep(SECONDS_BETWEEN_TRIES)


def main(arguments: Sequence[str]) -> None:
    *job, remote, ref = arguments
    source = Path(SOURCE).resolve()
    try:
        jobs.main(job, lambda done: deliver(done, remote, ref))
    finally:
        pycache.keep_compiled(source)


if __name__ == "__main__":
    main(sys.argv[1:])
