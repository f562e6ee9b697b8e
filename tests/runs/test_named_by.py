"""Which results came from which run: from dvc.lock of every branch and experiment, and DVC's cache."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from bakeoff.runs.named_by import named_by
from workspace_copy import environment


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def cached(folder: Path, content: str, ending: str = "") -> str:
    digest = hashlib.md5(content.encode()).hexdigest() + ending
    path = folder / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return digest


def trained(folder: Path, fingerprint: str) -> str:
    """A dvc.lock as it is after a training, and what the cache then holds."""
    state = cached(folder, json.dumps({"lineage": {"fingerprint": fingerprint}}))
    listing = [{"md5": "00" * 16, "relpath": "history.jsonl"}, {"md5": state, "relpath": "state.json"}]
    digest = cached(folder, json.dumps(listing), ".dir")
    lock = f"schema: '2.0'\nstages:\n  train:\n    cmd: x\n    outs:\n    - path: models/train\n      md5: {digest}\n"
    (folder / "dvc.lock").write_text(lock, encoding="utf-8")
    return lock


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / ".gitignore").write_text(".dvc\n", encoding="utf-8")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "before any training")
    git(tmp_path, "tag", "start")
    return tmp_path


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "trained")


def test_branches_and_experiments_name_the_runs_that_they_came_from(clone: Path) -> None:
    trained(clone, "1111")
    commit(clone)
    git(clone, "branch", "same")
    git(clone, "checkout", "--quiet", "-b", "other")
    trained(clone, "2222")
    commit(clone)
    git(clone, "update-ref", "refs/exps/ab/cdef/tall-kite", "other")
    named = {fingerprint: sorted(names) for fingerprint, names in named_by().items()}
    assert named == {"1111": ["main", "same"], "2222": ["other", "tall-kite"]}


def test_the_workspace_names_the_run_that_its_results_came_from(clone: Path) -> None:
    (clone / "models/train").mkdir(parents=True)
    (clone / "models/train/state.json").write_text('{"lineage": {"fingerprint": "3333"}}', encoding="utf-8")
    assert named_by() == {"3333": ["workspace"]}


def test_what_dvc_no_longer_has_or_git_holds_damaged_names_nothing(clone: Path) -> None:
    trained(clone, "1111")
    commit(clone)
    for file in (clone / ".dvc/cache").rglob("*"):
        if file.is_file():
            file.unlink()
    git(clone, "checkout", "--quiet", "-b", "odd")
    (clone / "dvc.lock").write_text("stages: [\n", encoding="utf-8")
    commit(clone)
    assert named_by() == {}
