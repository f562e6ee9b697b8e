"""The workspace as it is now -> a commit that nothing points to but the sweep, so that every job begins with the same.

`dvc exp run --temp` does as much for each experiment by itself: it stashes what is not committed, edits params.yaml,
resets. A kill in that moment leaves the user's workspace without the edits, and two at once are in each other's way.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff import workspace
from bakeoff.errors import WorkspaceError
from bakeoff.tracking.git import OUTPUTS

AUTHOR = {
    f"GIT_{role}_{part}": word
    for role in ("AUTHOR", "COMMITTER")
    for part, word in (("NAME", "bakeoff"), ("EMAIL", "bakeoff@localhost"))
}
SHOWN = 5  # files


@dataclass(frozen=True)
class Snapshot:
    baseline: str  # HEAD
    commit: str


def take(name: str) -> Snapshot:
    """Named, so that git keeps it."""
    baseline = git("rev-parse", "HEAD")
    commit = git("commit-tree", _tree(), "-p", baseline, "-m", f"{name}: the workspace as it was", more=AUTHOR)
    git("update-ref", f"refs/bakeoff/{name}", commit)
    return Snapshot(baseline, commit)


def changed_since(commit: str) -> list[str]:
    """Files of the user's that are others now; not what stages write."""
    return git("diff", "--name-only", "--relative", commit, _tree(), "--", ".", *OUTPUTS).splitlines()


def _tree() -> str:
    """Of what git knows, as it lies there; the user's own index stays as it is."""
    with TemporaryDirectory() as folder:
        own, copy = Path(git("rev-parse", "--absolute-git-dir")) / "index", Path(folder) / "index"
        if own.is_file():
            copy.write_bytes(own.read_bytes())
        index = {"GIT_INDEX_FILE": str(copy)}
        git("add", "--update", "--", ":/", more=index)
        return git("write-tree", more=index)


def listed(files: Sequence[str]) -> str:
    """For a sentence; not all of many."""
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(files[:SHOWN]) + more


def git(*arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    place = folder or workspace.main_workspace()
    done = subprocess.run(
        ["git", *arguments], cwd=place, env={**os.environ, **(more or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["failed"])[-1]
        raise WorkspaceError(f"git {arguments[0]}: {reason}; `git status` says more")
    return done.stdout.strip()
