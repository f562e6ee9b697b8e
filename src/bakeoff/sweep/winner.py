"""A point of a sweep -> the workspace: params.yaml, run.yaml, weights, and a dvc.lock after which nothing is to do."""

from bakeoff import dvc
from bakeoff.errors import WorkspaceError
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.snapshot import changed_since, git
from bakeoff.sweep.standing import best


def winner(manifest: Manifest) -> SweepJob:
    found = best(manifest)
    if found is None:
        done = sum(job.state == JobState.DONE for job in manifest.jobs)
        raise WorkspaceError(
            f"{manifest.id}: no point has been evaluated ({done} of {len(manifest.jobs)} are done), so none is best; "
            "`bakeoff sweep --resume` goes on, and --until must reach evaluate"
        )
    return found


def apply(manifest: Manifest, job: SweepJob) -> None:
    """By `dvc exp apply`; refused if it would take away edits that were made since the sweep began."""
    refs = git("for-each-ref", "--format=%(refname)", "refs/exps").splitlines()
    own = [ref for ref in refs if ref.endswith(f"/{job.experiment}")]
    if not own:
        raise WorkspaceError(f"{job.experiment}: DVC has no such experiment any more; `dvc exp list` says which")
    lost = sorted({*changed_since(manifest.snapshot)} & {*changed_since(own[0])})
    if lost:
        raise WorkspaceError(
            f"{', '.join(lost)}: edited since {manifest.id} began, and would be as they were then; `git stash` first"
        )
    dvc.answer("exp", "apply", job.experiment)
