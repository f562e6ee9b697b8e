"""Where a job runs: a clone in `.dvc/tmp/exps/bakeoff/<experiment>/` that shares the main workspace's DVC cache.

The clone is needed only until its experiment has landed in the main workspace. Checkpoints, journals and MLflow's
store are the main workspace's own.
"""

import shutil
from pathlib import Path

from bakeoff.experiments.sweep import pycache
from bakeoff.experiments.sweep.git_snapshot import RECEIVE_LASTING, Snapshot, experiment_ref
from bakeoff.foundation import workspace
from bakeoff.foundation.clone import make_clone, share_cache
from bakeoff.foundation.dvc_repair import repair_cache, settle
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import sync_disk, write_whole
from bakeoff.foundation.git import git, git_beside_gc

SOURCE = "src"
SETTLED = ".git/settled"


class JobWorkspace:
    def __init__(self, experiment: str) -> None:
        self.experiment = experiment
        self._clone = all_job_workspaces() / experiment

    def prepare(self, snapshot: Snapshot, cache: Path) -> Path:
        """Make the clone anew, without anything of an earlier attempt, and return the folder to run DVC in."""
        self.remove()
        repair_cache(cache)
        folder = make_clone(self._clone, snapshot.baseline, snapshot.commit)
        git("read-tree", "-m", "-u", snapshot.baseline, snapshot.commit, folder=self._clone)
        self._copy_author()
        # The job commits by itself what its stages made.
        share_cache(folder, cache, site_cache_dir=str(folder / ".dvc/tmp/site"), no_scm="true")
        pycache.copy_to_clone(folder / SOURCE)
        return folder

    def settle(self, cache: Path) -> None:
        """Sync DVC's work to the disk, and note that. Without the note it may not land after a loss of power."""
        settle(cache)
        sync_disk(self._clone)
        write_whole(self._clone / SETTLED, "", lasting=True)

    def is_settled(self) -> bool:
        return (self._clone / SETTLED).is_file()

    def land(self) -> bool:
        """Bring the experiment to the main workspace, whole or not at all. Return whether there is one."""
        if not self._clone.is_dir():
            return False
        ref = experiment_ref(self.experiment, self._clone)
        if ref is not None:
            git_beside_gc("push", "--quiet", RECEIVE_LASTING, "origin", f"+{ref}:{ref}", folder=self._clone)
        return ref is not None

    def remove(self) -> None:
        """Remove the clone, the note that it is settled first: what a kill leaves of it must not land again."""
        if self._clone.exists():
            (self._clone / SETTLED).unlink(missing_ok=True)
            shutil.rmtree(self._clone)

    def _copy_author(self) -> None:
        """Copy the author that is set for this repository alone. Git finds the one for all repositories by itself."""
        for key in ("user.name", "user.email"):
            try:
                git("config", "--local", key, git("config", "--local", key), folder=self._clone)
            except WorkspaceError:  # not set
                continue


def all_job_workspaces() -> Path:
    return workspace.main_workspace().joinpath(*workspace.TEMPORARY) / "bakeoff"
