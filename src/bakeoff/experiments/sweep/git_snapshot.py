"""The workspace as it is now -> a commit on no branch, so that every job of a sweep starts with the same files.

`dvc exp run --temp` does as much for each experiment by itself: it stashes uncommitted edits, edits params.yaml,
resets. A kill in that moment leaves the user's workspace without the edits, and two at once disturb each other.
"""

import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.experiments.sweep.sweep_manifest import SweepManifest
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building
from bakeoff.foundation.formatting import format_names
from bakeoff.foundation.git import OUTPUTS, git, own_index, untracked

AUTHOR = {
    f"GIT_{role}_{part}": text
    for role in ("AUTHOR", "COMMITTER")
    for part, text in (("NAME", "bakeoff"), ("EMAIL", "bakeoff@localhost"))
}
RECEIVE_LASTING = "--receive-pack=git -c core.fsync=all receive-pack"
PLACES = (workspace.CONF.as_posix(), "parts", "src", workspace.PARAMS.as_posix(), "dvc.yaml", "dvc.lock")
NEEDED_OF_IGNORED = (".py", ".yaml")  # other files that git ignores there are made again
NOT_NEEDED = f":(exclude){workspace.TEAM.as_posix()}"  # no job reads it
SUBMODULE = "160000"  # the mode with which git lists a submodule
START_FOLDER = "begun"
SHOWN = 5  # files


@dataclass(frozen=True)
class Snapshot:
    baseline: str  # HEAD
    commit: str


def take_snapshot(name: str) -> Snapshot:
    """Commit the workspace under a name, so that git keeps it."""
    baseline = git("rev-parse", "HEAD")
    commit = git("commit-tree", _write_tree(), "-p", baseline, "-m", f"{name}: the workspace as it was", more=AUTHOR)
    git("update-ref", f"refs/bakeoff/{name}", commit)
    return Snapshot(baseline, commit)


def changed_since(commit: str) -> list[str]:
    """Return the user's files that differ from a commit, without those that stages write."""
    return git("diff", "--name-only", "--relative", commit, _write_tree(), "--", ".", *OUTPUTS, NOT_NEEDED).splitlines()


def _write_tree() -> str:
    """Write a tree of all files that git knows, as they are now. The user's own index stays as it is."""
    with own_index(workspace.main_workspace()) as index:
        git("add", "--update", "--", ":/", more=index)
        return git("write-tree", more=index)


def restore_start_folder(manifest: SweepManifest) -> Path:
    """Return a folder beside the manifest with params.yaml and conf/ as they were when the sweep started.

    Configurations that are drawn later are read with these, not with edits. If the folder is missing, it is made from
    the snapshot.
    """
    folder = manifest.folder / START_FOLDER
    if not folder.is_dir():
        names = (workspace.PARAMS.as_posix(), workspace.CONF.as_posix())
        with TemporaryDirectory() as place, building(folder) as partial:
            packed = Path(place) / "begun.tar"
            git("archive", "--format=tar", f"--output={packed}", manifest.snapshot, *names)
            with tarfile.open(packed) as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(partial, filter="data")
                else:  # Python before 3.11.4 has no filters; what is in here is the repository's own
                    tar.extractall(partial)
    return folder


def require_capturable() -> None:
    """Raise WorkspaceError if git cannot commit the workspace as it is now, because jobs would lack those files."""
    _require_commit()
    lines = git("ls-files", "--unmerged").splitlines()
    if files := list(dict.fromkeys(line.partition("\t")[2] for line in lines)):
        raise WorkspaceError(
            f"{format_names(files, SHOWN)}: must be merged, got both sides of a conflict; "
            "end the merge, or `git merge --abort`"
        )
    if files := untracked(*PLACES, NOT_NEEDED):
        raise WorkspaceError(
            f"{format_names(files, SHOWN)}: must be known to git, or no experiment has it; `git add` it"
        )
    ignored = git("ls-files", "--others", "--ignored", "--exclude-standard", "--", *PLACES, NOT_NEEDED).splitlines()
    if files := [file for file in ignored if file.endswith(NEEDED_OF_IGNORED)]:
        raise WorkspaceError(
            f"{format_names(files, SHOWN)}: must be known to git, which is told to ignore it, or no experiment has it; "
            "`git add --force` it, or move it away"
        )
    if files := [line[2:] for line in git("ls-files", "-v", "--", *PLACES).splitlines() if _is_unseen(line)]:
        raise WorkspaceError(
            f"{format_names(files, SHOWN)}: git is told not to look for changes in it, so an experiment may have "
            "another; `git update-index --no-assume-unchanged --no-skip-worktree` on it"
        )
    staged = git("ls-files", "--stage", "--", *PLACES).splitlines()
    if files := [line.partition("\t")[2] for line in staged if line.startswith(SUBMODULE)]:
        raise WorkspaceError(
            f"{format_names(files, SHOWN)}: must not be a submodule of git, whose files no experiment has"
        )


def _require_commit() -> None:
    try:
        git("rev-parse", "--verify", "HEAD")
    except FileNotFoundError:
        raise WorkspaceError("git: must be installed, for every configuration is an experiment in it") from None
    except WorkspaceError as error:
        try:
            git("rev-parse", "--show-toplevel")
        except WorkspaceError:
            raise WorkspaceError(
                f"{workspace.main_workspace()}: must be in a git repository, for every configuration is an experiment "
                f"in it; git says: {error}"
            ) from None
        raise WorkspaceError(
            "git: must have a commit, for experiments are listed under it; `git add --all && git commit` makes one"
        ) from None


def _is_unseen(line: str) -> bool:
    """Return whether git must ignore changes of a file: `h` (assumed unchanged) or `S` (skipped) before its name."""
    return (line[0].islower() or line[0] == "S") and Path(line[2:]).is_file()


def experiment_ref(name: str, folder: Path | None = None) -> str | None:
    """Return the reference under which git keeps an experiment of DVC, or None if there is none."""
    refs = git("for-each-ref", "--format=%(refname)", "refs/exps", folder=folder).splitlines()
    return next((ref for ref in refs if ref.endswith(f"/{name}")), None)
