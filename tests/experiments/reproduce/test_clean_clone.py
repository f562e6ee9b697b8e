"""A fresh workspace has the commit and the patch, the one that it comes from stays as it is, and commands in it end."""

import configparser
import os
import sys
from pathlib import Path

import psutil
import pytest

from bakeoff.experiments.reproduce.clean_clone import fresh_workspace, has_remote, run_command
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.git import make_patch
from support.repository import FILES, git

PLACE = Path(".bakeoff/reproduce")
GRANDCHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_it_has_the_commit_and_the_patch_and_nothing_of_the_workspace(commit: str) -> None:
    Path("conf/lr/mine.yaml").write_text("kind: constant\n", encoding="utf-8")
    patch = make_patch()
    Path("conf/lr/mine.yaml").unlink()
    Path("params.yaml").write_text("lr: {use: constant}\n", encoding="utf-8")
    with fresh_workspace(commit, patch, keep=False) as folder:
        assert git("rev-parse", "HEAD", folder=folder) == commit
        assert (folder / "params.yaml").read_text(encoding="utf-8") == FILES["params.yaml"]
        assert (folder / "conf/lr/mine.yaml").read_text(encoding="utf-8") == "kind: constant\n"


def test_branches_index_worktrees_and_status_stay_as_they_are(commit: str) -> None:
    Path("params.yaml").write_text("edited: true\n", encoding="utf-8")
    git("add", "params.yaml")

    def look() -> tuple[str, ...]:
        return (
            git("for-each-ref"), git("status", "--porcelain"), git("worktree", "list"), git("rev-parse", "HEAD"),
            git("count-objects"), Path(".git/config").read_text(encoding="utf-8"),
        )  # fmt: skip

    before = look()
    with fresh_workspace(commit, None, keep=False) as folder:
        (folder / "new.txt").write_text("new", encoding="utf-8")
        git("add", "--all", folder=folder)
        git("commit", "--quiet", "--message", "in there", folder=folder)
        assert look() == before
    assert look() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_it_is_gone_however_the_work_in_it_ended(commit: str, error: type[BaseException]) -> None:
    with pytest.raises(error), fresh_workspace(commit, None, keep=False) as folder:
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data/link").write_bytes(b"as DVC protects its files")
        (folder / "data/link").chmod(0o444)
        raise error
    assert not PLACE.exists()


def test_one_that_is_kept_stays_and_is_not_cleared_away_later(commit: str) -> None:
    with fresh_workspace(commit, None, keep=True) as kept:
        pass
    with fresh_workspace(commit, None, keep=False):
        pass
    assert kept.is_dir() and [path.name for path in PLACE.iterdir()] == [kept.name]


def test_what_a_killed_process_left_is_cleared_but_not_what_another_one_uses(commit: str) -> None:
    (PLACE / "20260101-000000-1").mkdir(parents=True)
    with fresh_workspace(commit, None, keep=False) as used:
        assert [path.name for path in PLACE.iterdir() if path.is_dir()] == [used.name]
        with fresh_workspace(commit, None, keep=False):
            assert used.is_dir()


def test_a_patch_that_does_not_fit_is_refused_whole_and_leaves_nothing(commit: str) -> None:
    Path("dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    other = make_patch()
    Path("params.yaml").write_text("lr: {use: other}\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "second")
    second = git("rev-parse", "HEAD")
    with (
        pytest.raises(
            WorkspaceError, match=rf"^source/changes\.diff: does not apply to commit {second[:12]} \(git apply: "
        ),
        fresh_workspace(second, other, keep=False),
    ):
        pass
    assert not PLACE.exists()


def test_a_commit_without_a_pipeline_is_refused(commit: str) -> None:
    git("rm", "--quiet", "dvc.yaml")
    git("commit", "--quiet", "--message", "none")
    with (
        pytest.raises(WorkspaceError, match=r"has no dvc\.yaml"),
        fresh_workspace(git("rev-parse", "HEAD"), None, keep=False),
    ):
        pass


def test_a_workspace_below_the_root_of_its_repository_is_found_there(
    commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("moved").mkdir()
    for name in ("dvc.yaml", "params.yaml", "conf", ".dvc", ".gitignore"):
        git("mv", name, "moved/")
    git("commit", "--quiet", "--message", "below")
    monkeypatch.chdir("moved")
    with fresh_workspace(git("rev-parse", "HEAD"), None, keep=False) as folder:
        assert folder.name == "moved" and (folder / "dvc.yaml").is_file()


def test_dvc_there_has_this_cache_these_secrets_and_remotes_that_count_from_here(commit: str) -> None:
    Path(".dvc/config").write_text("['remote \"store\"']\n    url = ../../stored\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "a remote")
    Path(".dvc/config.local").write_text("['remote \"store\"']\n    password = x%y\n", encoding="utf-8")
    with fresh_workspace(git("rev-parse", "HEAD"), None, keep=False) as folder:
        config = configparser.ConfigParser(interpolation=None)
        config.read(folder / ".dvc/config.local", encoding="utf-8")
        assert config["cache"]["dir"] == f'"{Path(".dvc/cache").resolve()}"'
        remote = config["'remote \"store\"'"]
        assert (remote["password"], remote["url"]) == ("x%y", f'"{Path("../stored").resolve()}"')
        assert has_remote(folder)


# Commands in it.


def test_its_output_comes_line_by_line_without_the_chatter_of_dvc(tmp_path: Path) -> None:
    script = "import os; print('Updating lock file x'); print(os.getcwd()); raise SystemExit(int(os.environ['TRAY']))"
    shown: list[str] = []
    code, lines = run_command([sys.executable, "-c", script], tmp_path, shown.append, {"TRAY": "3"})
    assert (code, shown, lines) == (3, [str(tmp_path)], ["Updating lock file x", str(tmp_path)])


def test_it_knows_nothing_of_an_experiment_around_it_and_dvc_leaves_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "outer")
    script = "import os; print([os.environ.get(k) for k in ('DVC_EXP_NAME', 'DVC_SITE_CACHE_DIR')])"
    _, lines = run_command([sys.executable, "-c", script], tmp_path, lambda line: None)
    assert lines == [str([None, str(tmp_path / ".dvc/tmp/site")])]


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")
def test_ctrl_c_ends_it_and_what_it_started(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupted(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_command([sys.executable, "-c", GRANDCHILD], tmp_path, interrupted)
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
