"""A job's workspace is the user's as it was when the sweep started. No change in it reaches the user's."""

from pathlib import Path

import pytest

from bakeoff.experiments.sweep import git_snapshot, job_workspace
from bakeoff.experiments.sweep.job_workspace import JobWorkspace
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.git import git


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with a committed, an edited, an added, a deleted, an ignored and an unknown file."""
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "GIT_DIR", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("params.yaml", "gone", "conf/lr/a.yaml", "models/x"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("old\n")
    (tmp_path / ".gitignore").write_text("ignored\n.dvc/tmp\n.dvc/config.local\n")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    analytics = false\n")
    (tmp_path / ".dvc/config.local").write_text("['remote \"ours\"']\n    url = ../elsewhere\n")
    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@localhost")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    (tmp_path / "params.yaml").write_text("edited\n")
    (tmp_path / "added").write_text("added\n")
    git("add", "added")
    (tmp_path / "gone").unlink()
    (tmp_path / "ignored").touch()
    (tmp_path / "unknown").touch()
    return tmp_path


def test_a_job_begins_with_the_workspace_as_it_was_taken(main: Path) -> None:
    before = git("status", "--porcelain")
    taken = git_snapshot.take_snapshot("sweep-1")
    (main / "params.yaml").write_text("edited later\n")
    place = JobWorkspace("sweep-1-1")
    folder = place.prepare(taken, main / "cache")
    (folder / "half").touch()
    folder = place.prepare(taken, main / "cache")  # after a kill
    assert folder == main / ".dvc/tmp/exps/bakeoff/sweep-1-1"
    there = {path.name for path in folder.iterdir()}
    assert there == {".dvc", ".git", ".gitignore", "added", "conf", "models", "params.yaml"}
    assert (folder / "params.yaml").read_text() == "edited\n"
    assert git("rev-parse", "HEAD", folder=folder) == taken.baseline == git("rev-parse", "HEAD")
    assert git("config", "user.name", folder=folder) == "Ada"
    config = (folder / ".dvc/config.local").read_text()
    assert f'[\'remote "ours"\']\nurl = "{main}/elsewhere"\n' in config
    assert f'dir = "{main}/cache"\ntype = "reflink,hardlink,symlink,copy"\n' in config
    assert git("rev-parse", "refs/bakeoff/sweep-1") == taken.commit  # so that git keeps it
    assert git("status", "--porcelain") == before and git("stash", "list") == ""


def test_what_stands_in_a_job_s_workspace_finds_the_main_one(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(JobWorkspace("sweep-1-1").prepare(git_snapshot.take_snapshot("sweep-1"), main / "cache"))
    assert workspace.main_workspace() == main


def test_an_experiment_lands_whole_and_in_the_place_of_an_earlier_one(main: Path) -> None:
    taken, place = git_snapshot.take_snapshot("sweep-1"), JobWorkspace("sweep-1-1")
    assert not place.land()
    ref = f"refs/exps/{taken.baseline[:2]}/{taken.baseline[2:]}/sweep-1-1"
    landed = []
    for message in ("stopped", "done"):
        folder = place.prepare(taken, main / "cache")
        assert not place.land()
        commit = git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", message, folder=folder)
        git("update-ref", ref, commit, folder=folder)
        assert place.land() and place.land()
        landed.append(git("log", "-1", "--format=%s", ref))
        place.remove()
    assert landed == ["stopped", "done"]
    assert not (main / ".dvc/tmp/exps/bakeoff/sweep-1-1").exists()


def test_the_user_s_own_type_of_links_stays(main: Path) -> None:
    (main / ".dvc/config.local").write_text("[cache]\n    type = copy\n")
    folder = JobWorkspace("sweep-1-1").prepare(git_snapshot.take_snapshot("sweep-1"), main / "cache")
    assert "type = copy\n" in (folder / ".dvc/config.local").read_text()


def test_what_changed_since_is_named_unless_stages_wrote_it(main: Path) -> None:
    taken = git_snapshot.take_snapshot("sweep-1")
    assert git_snapshot.changed_since(taken.commit) == []
    (main / "models/x").write_text("trained\n")
    (main / "dvc.lock").write_text("trained\n")
    git("add", "dvc.lock")
    (main / "conf/lr/a.yaml").write_text("new\n")
    (main / "params.yaml").unlink()
    assert git_snapshot.changed_since(taken.commit) == ["conf/lr/a.yaml", "params.yaml"]


def test_a_repository_without_a_commit_is_refused(main: Path) -> None:
    (main / ".git/HEAD").write_text("ref: refs/heads/nothing\n")
    with pytest.raises(WorkspaceError, match="^git rev-parse: .*; `git status` says more$"):
        git_snapshot.take_snapshot("sweep-2")


def test_a_clone_whose_removal_was_killed_does_not_land_again(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, place = git_snapshot.take_snapshot("sweep-1"), JobWorkspace("sweep-1-1")
    folder = place.prepare(taken, main / "cache")
    place.settle(main / "cache")
    assert place.is_settled()

    def remove_one(tree: Path) -> None:
        (tree / ".git/config").unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(job_workspace.shutil, "rmtree", remove_one)
        with pytest.raises(KeyboardInterrupt):
            place.remove()
    assert folder.is_dir() and not place.is_settled()
    assert (place.prepare(taken, main / "cache") / ".git/config").is_file()
