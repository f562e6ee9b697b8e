"""A workspace that git cannot commit is refused before anything runs. All other edits are in the snapshot."""

import os
import subprocess
from pathlib import Path

import pytest

from bakeoff.experiments.sweep import git_snapshot
from bakeoff.experiments.sweep.git_snapshot import require_capturable
from bakeoff.experiments.sweep.job_workspace import JobWorkspace
from bakeoff.foundation.errors import WorkspaceError
from support.messages import missing_in
from support.repository import git

FILES = {
    "params.yaml": "seed: 0\n",
    "dvc.yaml": "",
    ".dvc/config": "",
    "conf/lr/cosine.yaml": "kind: cosine\n",
    "src/own.py": "x = 1\n",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", *(name for name in os.environ if name.startswith("GIT_"))):
        monkeypatch.delenv(name, raising=False)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def committed(place: Path) -> None:
    """Make the place a repository with one commit."""
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")


def refused(*parts: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        require_capturable()
    assert missing_in(str(caught.value), *parts) == []


def test_no_repository_and_no_commit_are_reported(place: Path) -> None:
    refused(f"{place}:", "git repository", "git rev-parse:")
    git("init", "--quiet")
    refused("git:", "a commit", "`git add --all && git commit`")


def test_without_git_it_is_reported_as_missing(committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    refused("git:", "installed")


def test_edits_and_a_detached_head_can_be_held(committed: None, place: Path) -> None:
    git("checkout", "--quiet", "--detach")
    (place / "params.yaml").write_text("seed: 5\n", encoding="utf-8")
    (place / "conf/lr/mine.yaml").write_text("kind: constant\n", encoding="utf-8")
    git("add", "--intent-to-add", "conf/lr/mine.yaml")
    (place / "notes.txt").write_text("of no part of the variant\n", encoding="utf-8")
    require_capturable()
    taken = git_snapshot.take_snapshot("sweep-20260102-030405")
    assert git("show", f"{taken.commit}:params.yaml") == "seed: 5"
    assert git("show", f"{taken.commit}:conf/lr/mine.yaml") == "kind: constant"


def test_both_sides_of_a_conflict_are_no_variant(committed: None, place: Path) -> None:
    git("checkout", "--quiet", "-b", "other")
    (place / "params.yaml").write_text("seed: 1\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "two")
    git("checkout", "--quiet", "main")
    (place / "params.yaml").write_text("seed: 2\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "three")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "other")
    refused("params.yaml:", "conflict", "`git merge --abort`")
    (place / "params.yaml").write_text("seed: 3\n", encoding="utf-8")
    git("add", "params.yaml")  # merged, and not committed: it can be held
    require_capturable()


def test_files_that_git_does_not_know_or_ignores_are_named(committed: None, place: Path) -> None:
    (place / ".git/info/exclude").write_text("secret.yaml\n*.pyc\n", encoding="utf-8")
    (place / "src/own.pyc").touch()
    (place / "conf/team.yaml").touch()  # the minutes of a team, which no job needs
    require_capturable()
    (place / "parts").mkdir()
    (place / "parts/halving.py").touch()
    refused("parts/halving.py:", "known to git", "`git add`")
    git("add", "parts")
    require_capturable()
    taken = git_snapshot.take_snapshot("sweep-20260102-030405")
    assert git("ls-tree", "--name-only", taken.commit, "parts/") == "parts/halving.py"  # jobs have it
    (place / "conf/lr/secret.yaml").touch()
    refused("conf/lr/secret.yaml:", "git", "ignore")
    for number in range(7):
        (place / f"conf/lr/new{number}.yaml").touch()
    refused("conf/lr/new3.yaml, conf/lr/new4.yaml and 2 more:", "known to git", "`git add`")


def test_edits_that_git_must_ignore_are_named(committed: None, place: Path) -> None:
    git("update-index", "--assume-unchanged", "conf/lr/cosine.yaml")
    refused("conf/lr/cosine.yaml:", "git", "changes")
    git("update-index", "--no-assume-unchanged", "conf/lr/cosine.yaml")
    git("update-index", "--skip-worktree", "src/own.py")
    (place / "src/own.py").unlink()  # a sparse checkout: nothing is there that could be missed
    require_capturable()


def test_a_submodule_under_src_is_refused(committed: None, place: Path) -> None:
    git("clone", "--quiet", str(place), str(place / "src/vendor"))
    git("add", "src/vendor")
    refused("src/vendor:", "submodule")


def test_a_job_of_a_shallow_clone_has_the_snapshot(
    committed: None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("commit", "--quiet", "--allow-empty", "--message", "two")
    git("clone", "--quiet", "--depth", "1", place.as_uri(), str(place / "clone"))
    monkeypatch.chdir(place / "clone")
    Path("params.yaml").write_text("seed: 7\n", encoding="utf-8")
    taken = git_snapshot.take_snapshot("sweep-20260102-030405")
    folder = JobWorkspace("sweep-20260102-030405-1").prepare(taken, place / "cache")
    assert (folder / "params.yaml").read_text(encoding="utf-8") == "seed: 7\n"
