"""The result of a far job, from the git remote and the DVC remote into the main workspace, as `dvc exp pull` does it.

    python -m bakeoff.elsewhere.bring_home .bakeoff/sweeps/sweep-20260102-030405 7 ATTEMPT REMOTE

The experiment's reference comes last, so whoever finds it here has all of it.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from bakeoff import dvc, workspace
from bakeoff.elsewhere.far_job import TOLD_FILE, keep_trying
from bakeoff.elsewhere.mirror import unpack
from bakeoff.errors import said_plainly
from bakeoff.mending import settle
from bakeoff.sweep.experiment import name_experiment_ref
from bakeoff.sweep.manifest import Manifest, SweepJob, load_manifest
from bakeoff.sweep.snapshot import experiment_ref, git
from bakeoff.tracking.result import note_result, result_of

NOTHING = 3  # the exit code where no result is
REFS = "refs/bakeoff-far"
LOCK = "fetching.lock"


def ref_of(sweep: str, number: int, attempt: int) -> str:
    """Return where the git remote has the result of one attempt at a job."""
    return f"{REFS}/{sweep}/{number}.{attempt}"


def bring_home(manifest: Manifest, job: SweepJob, attempt: int, remote: str) -> bool:
    """Return whether there was a result."""
    ref = ref_of(manifest.id, job.number, attempt)
    if not git("ls-remote", remote, ref):
        return experiment_ref(job.experiment) is not None  # it was brought home, and nobody noted that
    git("fetch", "--quiet", "--no-tags", remote, f"+{ref}:{ref}")
    experiment = git("rev-parse", f"{ref}^")
    with TemporaryDirectory() as folder:
        git("archive", "--format=tar", f"--output={Path(folder) / 'commit.tar'}", ref)
        unpack_commit(Path(folder))
    with FileLock(workspace.sweeps() / LOCK):  # DVC lets one command in at a time
        dvc.fetch_commit(experiment, job.stages)
    settle(dvc.cache())
    name = name_experiment_ref(manifest.baseline, job.experiment)
    git("update-ref", name, experiment)
    result = result_of(job.experiment)
    note_result(result.run_id or "", experiment=job.experiment, here=False)
    git("push", "--quiet", remote, f"+{name}:{name}", f":{ref}")  # as `dvc exp push` leaves it for others
    git("update-ref", "-d", ref)
    return True


def unpack_commit(folder: Path) -> None:
    """Unpack what the run told, from the archive of the commit that has it."""
    import tarfile

    with tarfile.open(folder / "commit.tar") as tar:
        tar.extract(TOLD_FILE, folder, filter="data")
    unpack(folder / TOLD_FILE, workspace.main_workspace() / workspace.IN_FLIGHT)


def main() -> None:
    workspace.enter()
    os.environ.pop("DVC_ROOT", None)
    folder, number, attempt, remote = sys.argv[1:]
    with said_plainly():
        manifest = load_manifest(Path(folder))
        found = keep_trying(lambda: bring_home(manifest, manifest.job(int(number)), int(attempt), remote))
        sys.exit(0 if found else NOTHING)


if __name__ == "__main__":
    main()
