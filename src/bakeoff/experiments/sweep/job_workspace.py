"""Where a job runs: a clone in `.dvc/tmp/exps/bakeoff/<experiment>/` that shares the main workspace's DVC cache.

The clone is needed only until its experiment has landed in the main workspace. Checkpoints, journals and MLflow's
store are the main workspace's own.
"""

import shutil
from configparser import ConfigParser
from pathlib import Path

from bakeoff.experiments.sweep import pycache
from bakeoff.experiments.sweep.git_snapshot import RECEIVE_LASTING, Snapshot, experiment_ref, git
from bakeoff.foundation import workspace
from bakeoff.foundation.dvc_repair import repair_cache, settle
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import sync_disk, write_whole

SOURCE = "src"
SETTLED = ".git/settled"
LINKS = "reflink,hardlink,symlink"  # the first kind that the disk supports; never copies


class JobWorkspace:
    def __init__(self, experiment: str) -> None:
        self.experiment = experiment
        self._clone = all_job_workspaces() / experiment

    def prepare(self, snapshot: Snapshot, cache: Path) -> Path:
        """Make the clone anew, without anything of an earlier attempt, and return the folder to run DVC in."""
        self.remove()
        repair_cache(cache)
        self._clone.parent.mkdir(parents=True, exist_ok=True)
        top = git("rev-parse", "--show-toplevel")
        # All objects come along as hard links, the snapshot's among them, which is on no branch.
        git("clone", "--quiet", "--local", "--no-checkout", "--no-tags", top, str(self._clone))
        if git("rev-parse", "--is-shallow-repository") == "true":  # then git copies no more than what branches lead to
            git("fetch", "--quiet", "--no-tags", "origin", snapshot.baseline, snapshot.commit, folder=self._clone)
        git("checkout", "--quiet", "--detach", snapshot.baseline, folder=self._clone)
        git("read-tree", "-m", "-u", snapshot.baseline, snapshot.commit, folder=self._clone)
        self._copy_author()
        folder = self._clone / git("rev-parse", "--show-prefix")
        self._configure(folder / ".dvc", cache)
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
            git("push", "--quiet", RECEIVE_LASTING, "origin", f"+{ref}:{ref}", folder=self._clone)
        return ref is not None

    def remove(self) -> None:
        if self._clone.exists():
            shutil.rmtree(self._clone)

    def _copy_author(self) -> None:
        """Copy the author that is set for this repository alone. Git finds the one for all repositories by itself."""
        for key in ("user.name", "user.email"):
            try:
                git("config", "--local", key, git("config", "--local", key), folder=self._clone)
            except WorkspaceError:  # not set
                continue

    def _configure(self, dvc: Path, cache: Path) -> None:
        shared = workspace.main_workspace() / ".dvc"
        config = ConfigParser(interpolation=None, strict=False)
        config.read(shared / "config.local", encoding="utf-8")
        whole = ConfigParser(interpolation=None, strict=False)
        whole.read([shared / "config", shared / "config.local"], encoding="utf-8")
        settings = {
            ("cache", "dir"): str(cache),
            ("core", "site_cache_dir"): str(dvc / "tmp" / "site"),
            ("core", "no_scm"): "true",  # the job commits by itself what its stages made
        }
        if not whole.has_option("cache", "type"):
            settings["cache", "type"] = LINKS
        for (section, key), value in settings.items():
            if not config.has_section(section):
                config.add_section(section)
            config.set(section, key, f'"{value}"')
        with (dvc / "config.local").open("w", encoding="utf-8") as file:
            config.write(file)


def all_job_workspaces() -> Path:
    return workspace.main_workspace().joinpath(*workspace.TEMPORARY) / "bakeoff"
