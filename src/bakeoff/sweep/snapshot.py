"""The workspace as it is now -> a commit that nothing points to but the sweep, so that every job begins with the same.

`dvc exp run --temp` does as much for each experiment by itself: it stashes what is not committed, edits params.yaml,
resets. A kill in that moment leaves the user's workspace without the edits, and two at once are in each other's way.
"""

import os
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff import workspace
from bakeoff.errors import WorkspaceError
from bakeoff.files import building
from bakeoff.sweep.manifest import Manifest
from bakeoff.tracking.git import OUTPUTS, untracked

AUTHOR = {
    f"GIT_{role}_{part}": word
    for role in ("AUTHOR", "COMMITTER")
    for part, word in (("NAME", "bakeoff"), ("EMAIL", "bakeoff@localhost"))
}
# Git itself does not bring all of it to the disk; a loss of power would leave objects and references empty.
LASTING = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsync", "GIT_CONFIG_VALUE_0": "all"}
RECEIVE_LASTING = "--receive-pack=git -c core.fsync=all receive-pack"
PLACES = (workspace.CONF.as_posix(), "src", workspace.PARAMS.as_posix(), "dvc.yaml", "dvc.lock")
NEEDED_OF_IGNORED = (".py", ".yaml")  # what else git ignores there is made again
NOT_NEEDED = f":(exclude){workspace.TEAM.as_posix()}"  # by any job
SUBMODULE = "160000"  # the mode that git lists it with
BEGUN = "begun"
SHOWN = 5  # files


@dataclass(frozen=True)
class Snapshot:
    baseline: str  # HEAD
    commit: str


def take_snapshot(name: str) -> Snapshot:
    """Under a name, so that git keeps it."""
    baseline = git("rev-parse", "HEAD")
    commit = git("commit-tree", _tree(), "-p", baseline, "-m", f"{name}: the workspace as it was", more=AUTHOR)
    git("update-ref", f"refs/bakeoff/{name}", commit)
    return Snapshot(baseline, commit)


def changed_since(commit: str) -> list[str]:
    """Files of the user's that are others now; not what stages write."""
    return git("diff", "--name-only", "--relative", commit, _tree(), "--", ".", *OUTPUTS, NOT_NEEDED).splitlines()


def _tree() -> str:
    """Write what git knows, as it lies there; the user's own index stays as it is."""
    with TemporaryDirectory() as folder:
        own, copy = Path(git("rev-parse", "--absolute-git-dir")) / "index", Path(folder) / "index"
        if own.is_file():
            copy.write_bytes(own.read_bytes())
        index = {"GIT_INDEX_FILE": str(copy)}
        git("add", "--update", "--", ":/", more=index)
        return git("write-tree", more=index)


def folder_as_begun(manifest: Manifest) -> Path:
    """Return a folder beside the manifest with params.yaml and conf/ as they were when the sweep began.

    What is drawn later is read with these, not with edits. It is made from the snapshot where it is missing.
    """
    folder = manifest.folder / BEGUN
    if not folder.is_dir():
        names = (workspace.PARAMS.as_posix(), workspace.CONF.as_posix())
        with TemporaryDirectory() as place, building(folder) as partial:
            packed = Path(place) / "begun.tar"
            git("archive", "--format=tar", f"--output={packed}", manifest.snapshot, *names)
            with tarfile.open(packed) as tar:
                tar.extractall(partial, filter="data")
    return folder


def require_capturable() -> None:
    """Refuse a workspace that git cannot hold as it is now: no job would have what it cannot."""
    _require_commit()
    lines = git("ls-files", "--unmerged").splitlines()
    if files := list(dict.fromkeys(line.partition("\t")[2] for line in lines)):
        raise WorkspaceError(
            f"{format_files(files)}: must be merged, got both sides of a conflict; "
            "end the merge, or `git merge --abort`"
        )
    if files := untracked(*PLACES, NOT_NEEDED):
        raise WorkspaceError(f"{format_files(files)}: must be known to git, or no experiment has it; `git add` it")
    ignored = git("ls-files", "--others", "--ignored", "--exclude-standard", "--", *PLACES, NOT_NEEDED).splitlines()
    if files := [file for file in ignored if file.endswith(NEEDED_OF_IGNORED)]:
        raise WorkspaceError(
            f"{format_files(files)}: must be known to git, which is told to ignore it, or no experiment has it; "
            "`git add --force` it, or move it away"
        )
    if files := [line[2:] for line in git("ls-files", "-v", "--", *PLACES).splitlines() if _is_unseen(line)]:
        raise WorkspaceError(
            f"{format_files(files)}: git is told not to look for changes in it, so an experiment may have another; "
            "`git update-index --no-assume-unchanged --no-skip-worktree` on it"
        )
    staged = git("ls-files", "--stage", "--", *PLACES).splitlines()
    if files := [line.partition("\t")[2] for line in staged if line.startswith(SUBMODULE)]:
        raise WorkspaceError(f"{format_files(files)}: must not be a submodule of git, whose files no experiment has")


def _require_commit() -> None:
    try:
        git("rev-parse", "--verify", "HEAD")
    except FileNotFoundError:
        raise WorkspaceError("git: must be installed, for every point is an experiment in it") from None
    except WorkspaceError as error:
        try:
            git("rev-parse", "--show-toplevel")
        except WorkspaceError:
            raise WorkspaceError(
                f"{workspace.main_workspace()}: must be in a git repository, for every point is an experiment in it; "
                f"git says: {error}"
            ) from None
        raise WorkspaceError(
            "git: must have a commit, for experiments are listed under it; `git add --all && git commit` makes one"
        ) from None


def _is_unseen(line: str) -> bool:
    """`h` and `S` before a name: assumed to be unchanged, or not to be in the working tree, where it is though."""
    return (line[0].islower() or line[0] == "S") and Path(line[2:]).is_file()


def experiment_ref(name: str, folder: Path | None = None) -> str | None:
    """Where git keeps this experiment of DVC's; None if there is none."""
    refs = git("for-each-ref", "--format=%(refname)", "refs/exps", folder=folder).splitlines()
    return next((ref for ref in refs if ref.endswith(f"/{name}")), None)


def format_files(files: Sequence[str]) -> str:
    """For a sentence; not all of many."""
    return ", ".join(files[:SHOWN]) + (f" and {len(files) - SHOWN} more" if len(files) > SHOWN else "")


def git(*arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    place = folder or workspace.main_workspace()
    environment = {**os.environ, **LASTING, **(more or {})}
    done = subprocess.run(["git", *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["failed"])[-1]
        raise WorkspaceError(f"git {arguments[0]}: {reason}; `git status` says more")
    return done.stdout.strip()
