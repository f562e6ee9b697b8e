"""Whether git can hold the workspace as it is now, asked before anything runs: what it cannot, no job would have."""

from pathlib import Path

from bakeoff import workspace
from bakeoff.errors import WorkspaceError
from bakeoff.sweep.snapshot import git, listed
from bakeoff.tracking.git import untracked

CODE, PIPELINE = "src", ("dvc.yaml", "dvc.lock")
NEEDED_OF_IGNORED = (".py", ".yaml")  # what else git ignores there is made again
SUBMODULE = "160000"  # the mode that git lists it with


def require_capturable() -> None:
    _require_commit()
    places = (workspace.CONF.as_posix(), CODE, workspace.PARAMS.as_posix(), *PIPELINE)
    _require_merged()
    files = untracked(*places)
    if files:
        raise WorkspaceError(f"{listed(files)}: must be known to git, or no experiment has it; `git add` it")
    ignored = [
        file for file in git("ls-files", "--others", "--ignored", "--exclude-standard", "--", *places).splitlines()
        if file.endswith(NEEDED_OF_IGNORED)
    ]  # fmt: skip
    if ignored:
        raise WorkspaceError(
            f"{listed(ignored)}: must be known to git, which is told to ignore it, or no experiment has it; "
            "`git add --force` it, or move it away"
        )
    unseen = [line[2:] for line in git("ls-files", "-v", "--", *places).splitlines() if _is_unseen(line)]
    if unseen:
        raise WorkspaceError(
            f"{listed(unseen)}: git is told not to look for changes in it, so an experiment may have another; "
            "`git update-index --no-assume-unchanged --no-skip-worktree` on it"
        )
    modules = [line for line in git("ls-files", "--stage", "--", *places).splitlines() if line.startswith(SUBMODULE)]
    if modules:
        names = [line.partition("\t")[2] for line in modules]
        raise WorkspaceError(f"{listed(names)}: must not be a submodule of git, whose files no experiment has")


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


def _require_merged() -> None:
    lines = git("ls-files", "--unmerged").splitlines()
    files = list(dict.fromkeys(line.partition("\t")[2] for line in lines))
    if files:
        raise WorkspaceError(
            f"{listed(files)}: must be merged, got both sides of a conflict; end the merge, or `git merge --abort`"
        )


def _is_unseen(line: str) -> bool:
    """`h` and `S` before a name: assumed to be unchanged, or not to be in the working tree, where it is though."""
    return (line[0].islower() or line[0] == "S") and Path(line[2:]).is_file()
