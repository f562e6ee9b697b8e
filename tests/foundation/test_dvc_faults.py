"""A disk that is full or read-only ends DVC in one line of ours, and leaves nothing of it in the way."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.foundation import dvc
from bakeoff.foundation.errors import WorkspaceError
from proofs.faults.cheap import make_cheap
from support.messages import missing_in
from support.workspace_copy import environment

pytestmark = pytest.mark.long

SECONDS = 120  # DVC by itself tries for ever


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB with a cheap pipeline that has not run yet."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        make_cheap(disk / "clone")
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path, left: int) -> Path:
    ballast = disk / "ballast"
    state = os.statvfs(disk)
    ballast.write_bytes(bytes(state.f_bavail * state.f_frsize - left))
    return ballast


def run(disk: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bakeoff.foundation.dvc", *arguments]
    return subprocess.run(
        command, cwd=disk / "clone", env=environment() | variables, capture_output=True, text=True, timeout=SECONDS
    )


@pytest.mark.parametrize("left", [0, 160_000, 600_000])
def test_a_full_disk_ends_dvc_in_one_line_and_no_half_copy_stays_on_it(disk: Path, left: int) -> None:
    """In DVC's own store, while it tries again, and while it copies into its cache."""
    ballast = fill(disk, left)
    done = run(disk, "repro")
    [line] = done.stderr.splitlines()
    assert done.returncode == dvc.DVC_FAILED
    assert missing_in(line, "dvc repro: no space left", str(disk), "free some", "same command again") == []
    assert list(disk.rglob("*.tmp")) == []
    ballast.unlink()
    done = run(disk, "repro")
    assert done.returncode == 0 and (disk / "clone/models/export").is_dir(), done.stderr


@pytest.mark.parametrize("command", ["checkout", "repro"])
def test_where_dvc_says_that_links_or_files_are_missing_the_full_disk_is_named(
    disk: Path, tmp_path: Path, command: str
) -> None:
    elsewhere = {"DVC_SITE_CACHE_DIR": str(tmp_path / "site")}  # as on most machines, where the digests have room
    assert run(disk, "repro", **elsewhere).returncode == 0
    shutil.rmtree(disk / "clone/models/train")
    fill(disk, 0)
    done = run(disk, command, **elsewhere)
    [line] = done.stderr.splitlines()
    assert done.returncode == dvc.DVC_FAILED and missing_in(line, f"dvc {command}: no space left", "free some") == []


def test_a_disk_that_nobody_may_write_to_is_named(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(disk, "repro").returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for command in ("repro", "status", "checkout"):
        for variables in ({}, {"DVC_SITE_CACHE_DIR": str(tmp_path / "site")}):
            done = run(disk, command, **variables)
            [line] = done.stderr.splitlines()
            assert done.returncode == dvc.DVC_FAILED
            assert missing_in(line, f"dvc {command}: {disk}/clone/", "Read-only file system", "make it writable") == []
    with pytest.raises(WorkspaceError) as refused:
        dvc.answer("status", folder=disk / "clone")
    assert missing_in(str(refused.value), "dvc status: ", "Read-only file system", "make it writable") == []


def test_a_limit_of_a_file_s_size_is_named(place: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], check=True, env=environment())
    assert dvc.run_here("init", "--quiet") == 0
    limited = ["prlimit", "--fsize=65536", *dvc.command("status")]
    own = environment() | {"DVC_SITE_CACHE_DIR": str(place / "site")}
    if shutil.which(limited[0]) is None:
        pytest.skip("needs prlimit")
    [line] = subprocess.run(limited, env=own, capture_output=True, text=True, timeout=SECONDS).stderr.splitlines()
    assert missing_in(line, "dvc status: ", "File too large", "`ulimit -f`") == []


def test_whatever_else_is_wrong_dvc_reports_itself(place: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], check=True, env=environment())
    assert dvc.run_here("init", "--quiet") == 0
    done = subprocess.run(dvc.command("repro", "nowhere"), env=environment(), capture_output=True, text=True)
    assert done.returncode == dvc.DVC_FAILED and "ERROR: 'dvc.yaml' does not exist" in done.stderr


def test_a_stage_that_the_system_ended_is_named_with_what_to_do_about_memory(tmp_path: Path) -> None:
    make_cheap(tmp_path / "clone")
    pipeline = tmp_path / "clone/dvc.yaml"
    pipeline.write_text("stages: {train: {cmd: 'exec sh -c \"kill -9 $$\"'}}")
    done = run(tmp_path, "repro")
    assert done.returncode == dvc.DVC_FAILED and "exited with -9" in done.stderr  # a sweep reads DVC's own line
    assert missing_in(done.stderr.splitlines()[-1], "dvc repro: ", "SIGKILL", "memory", "same command again") == []
