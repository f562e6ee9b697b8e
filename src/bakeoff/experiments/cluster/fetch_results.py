"""The result of a far job -> the main workspace, from the git remote and the DVC remote, as `dvc exp pull` does it.

    python -m bakeoff.experiments.cluster.fetch_results .bakeoff/sweeps/sweep-20260102-030405 7 2 REMOTE

fetches that of the second attempt at job 7. DVC's own command would take whichever attempt was pushed last, would fetch
the outputs of all stages, and knows nothing of the run's reports. So only the push to the git remote that follows is
that of `dvc exp push`. The experiment's reference comes last. So if it is here, the whole result is.
"""

import os
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from bakeoff.experiments.cluster.mirror_logs import JOURNAL, write_reported
from bakeoff.experiments.sweep.dvc_experiment import name_experiment_ref
from bakeoff.experiments.sweep.git_snapshot import experiment_ref
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest, load_manifest
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.dvc_repair import settle
from bakeoff.foundation.errors import WorkspaceError, errors_in_one_line
from bakeoff.foundation.git import git
from bakeoff.tracking.results.results import note_result, result_of

FAILED, NOTHING = 1, 3  # exit codes: it may be tried again; there is no result
SECONDS_BETWEEN_TRIES = 5.0
REFS = "refs/bakeoff-far"
LOCK = "fetching.lock"


@dataclass(frozen=True)
class FetchOrder:
    """An attempt at a job, whose result is to be fetched."""

    folder: str  # of the sweep
    job: int
    attempt: int
    remote: str
    log: str  # the file that gets the output

    def run(self) -> int:
        """Fetch the result in a process of its own, and return its exit code."""
        arguments = [self.folder, str(self.job), str(self.attempt), self.remote]
        with open(self.log, "ab") as log:  # in a session of its own, for Ctrl-C is for the launcher
            done = subprocess.run(
                [sys.executable, "-m", "bakeoff.experiments.cluster.fetch_results", *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, check=False,
            )  # fmt: skip
        if done.returncode in (0, NOTHING):
            return done.returncode
        time.sleep(SECONDS_BETWEEN_TRIES)
        return FAILED


def ref_of(sweep: str, number: int, attempt: int) -> str:
    """Return the reference under which the git remote has the result of one attempt at a job."""
    return f"{REFS}/{sweep}/{number}.{attempt}"


def fetch_result(manifest: SweepManifest, job: SweepJob, attempt: int, remote: str) -> bool:
    """Fetch the result of an attempt into the main workspace, and return whether there was one."""
    ref = ref_of(manifest.id, job.number, attempt)
    try:
        git("fetch", "--quiet", "--no-tags", remote, f"+{ref}:{ref}")
    except WorkspaceError:
        if git("ls-remote", remote, ref):
            raise
        return experiment_ref(job.experiment) is not None  # it was fetched, and that was not noted
    experiment = git("rev-parse", f"{ref}^")
    reports = unpack_reports(ref, workspace.main_workspace() / workspace.IN_FLIGHT)
    with FileLock(workspace.sweeps() / LOCK):  # DVC lets one command in at a time
        dvc.fetch_commit(experiment, job.stages)
    settle(dvc.cache())
    name = name_experiment_ref(manifest.baseline, job.experiment)
    git("update-ref", name, experiment)
    result = result_of(job.experiment)
    # A training that DVC took from the node's cache has reported nothing. The next reader reports it from its files.
    if not result.run_id or f"journal/{result.run_id}/{JOURNAL}" in reports:
        note_result(result.run_id or "", experiment=job.experiment, here=False)
    git("push", "--quiet", remote, f"+{name}:{name}", f":{ref}")  # as `dvc exp push` leaves it for others
    git("update-ref", "-d", ref)
    return True


def unpack_reports(commit: str, home: Path) -> list[str]:
    """Write the files of a commit of reports where they are not here yet, and return the names of all.

    Git packs them by their names. So what a line of a journal names is written before the journal.
    """
    names = []
    with TemporaryDirectory() as folder:
        packed = Path(folder) / "reports.tar"
        git("archive", "--format=tar", f"--output={packed}", commit)
        with tarfile.open(packed) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                path, content = home / member.name, tar.extractfile(member)
                names.append(member.name)
                is_whole = JOURNAL in member.name and path.is_file() and path.stat().st_size >= member.size
                if content is not None and not is_whole:
                    write_reported(path, member.name, 0, content.read())
    return names


def main() -> None:
    folder, job, attempt, remote = sys.argv[1:]
    os.environ.pop("DVC_ROOT", None)
    with errors_in_one_line():
        workspace.enter()
        manifest = load_manifest(Path(folder))
        has_result = fetch_result(manifest, manifest.job(int(job)), int(attempt), remote)
    sys.exit(0 if has_result else NOTHING)


if __name__ == "__main__":
    main()
