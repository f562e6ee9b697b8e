"""Results of far jobs -> the main workspace, from the git remote and the DVC remote, as `dvc exp pull` does it.

    python -m bakeoff.experiments.cluster.fetch_results

It reads a line with a FetchOrder for each, and answers it with a line, the order's number and an exit code. One process
fetches all results, one after the other, because loading DVC and its client of the remote takes longer than a result.

The experiment's reference comes last. So if it is here, the whole result is.
"""

import json
import os
import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from bakeoff.experiments.cluster.mirror_logs import JOURNAL, unpack
from bakeoff.experiments.cluster.remote_job import REPORTS_FILE
from bakeoff.experiments.sweep.dvc_experiment import name_experiment_ref
from bakeoff.experiments.sweep.git_snapshot import experiment_ref
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest, load_manifest
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.dvc_repair import settle
from bakeoff.foundation.errors import BakeoffError, WorkspaceError
from bakeoff.foundation.git import git
from bakeoff.tracking.results.results import note_result, result_of

FAILED, NOTHING = 1, 3  # exit codes: the order may be tried again; there is no result
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
    number: int = 0  # of the order

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def parse(cls, line: str) -> "FetchOrder":
        return cls(**json.loads(line))


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
    with TemporaryDirectory() as folder:
        git("archive", "--format=tar", f"--output={Path(folder) / 'commit.tar'}", ref)
        reports = unpack_commit(Path(folder))
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


def unpack_commit(folder: Path) -> list[str]:
    """Unpack the run's reports from the archive of a commit, and return the names of their files."""
    import tarfile

    with tarfile.open(folder / "commit.tar") as tar:
        tar.extract(REPORTS_FILE, folder, filter="data")
    return unpack(folder / REPORTS_FILE, workspace.main_workspace() / workspace.IN_FLIGHT)


def carry_out(order: FetchOrder) -> int:
    """Carry out an order and return an exit code. Errors are printed."""
    try:
        manifest = load_manifest(Path(order.folder))
        has_result = fetch_result(manifest, manifest.job(order.job), order.attempt, order.remote)
    except BakeoffError as error:
        print(error, file=sys.stderr)
        return FAILED
    except Exception:  # a client of a remote may raise anything, and the next order may succeed
        traceback.print_exc()
        return FAILED
    return 0 if has_result else NOTHING


def main() -> None:
    workspace.enter()
    os.environ.pop("DVC_ROOT", None)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        order = FetchOrder.parse(line)
        with open(order.log, "ab") as log:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
        code = carry_out(order)
        sys.stdout.flush()
        answers.write(f"{order.number} {code}\n")
        answers.flush()


if __name__ == "__main__":
    main()
