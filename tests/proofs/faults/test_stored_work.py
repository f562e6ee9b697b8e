"""Machines that are lost, cut off or full: a store of work in flight brings the same weights. Minutes each.

The faults are real ones: a disk that is full or read-only, a server of S3 that is killed, a trainer that is frozen.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.experiments.checkpoint_store.store import VARIABLE, FolderStore, open_store
from bakeoff.foundation.errors import TryAgainLater, WorkspaceError
from proofs.faults.s3_store import Bucket
from proofs.faults.stored_work import CLIENT, frozen_and_thawed, lost_and_gone_on
from support.extra_packages import extra_packages
from support.stored_training import save, steps, training, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals, mounts disks"),
]
DISK_BYTES = 2_000_000
KILLS = int(os.environ.get("BAKEOFF_KILLS", "3"))


@pytest.mark.parametrize("s3", [False, True])
def test_a_training_goes_on_in_other_clones_through_a_store(tmp_path: Path, s3: bool) -> None:
    assert lost_and_gone_on(tmp_path, KILLS, random.Random(0), steps=200 * KILLS, s3=s3) == []


@pytest.mark.parametrize("s3", [False, True])
def test_a_frozen_trainer_finds_its_lease_gone(tmp_path: Path, s3: bool) -> None:
    assert frozen_and_thawed(tmp_path, 1, random.Random(0), steps=600, s3=s3) == []


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderStore]:
    """A store on a small disk of its own."""
    folder = tmp_path / "store"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setattr("bakeoff.experiments.checkpoint_store.upload.RETRY_S", 0.1)
    yield FolderStore(folder)
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk: FolderStore, left: int) -> Path:
    ballast = Path(disk.shown, "ballast")
    free = os.statvfs(disk.shown).f_bavail * os.statvfs(disk.shown).f_frsize
    ballast.write_bytes(bytes(free - left))
    return ballast


def test_a_store_that_gets_full_loses_nothing(
    disk: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
        wait_until(lambda: steps(disk) == [10])
        ballast = fill(disk, 0)
        for step in (20, 30):
            save(work, step)
        printed = ""
        while "takes no copies now (No space left on device); training continues" not in printed:
            printed += capfd.readouterr().err
        assert steps(disk) == [10] and work.newest().position.step == 30
        ballast.unlink()
        wait_until(lambda: 30 in steps(disk))
    assert printed.count("\n") == 1 and not list(Path(disk.shown).rglob("*.partial"))


def test_a_store_that_is_full_at_the_start_begins_nothing(disk: FolderStore, tmp_path: Path) -> None:
    ballast = fill(disk, 0)
    with pytest.raises(TryAgainLater, match=rf"is full .*unset {VARIABLE}"), training(tmp_path / "one"):
        pass
    ballast.unlink()
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
    assert steps(disk) == [10]


def test_a_store_that_may_only_be_read_is_refused_or_said(
    disk: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    remount = ["mount", "-o", "remount,{}", disk.shown]
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
        wait_until(lambda: steps(disk) == [10])
        subprocess.run([word.format("ro") for word in remount], check=True)
        save(work, 20)
        printed = ""
        while "takes no copies now (Read-only file system)" not in printed:
            printed += capfd.readouterr().err
    with pytest.raises(WorkspaceError, match=rf"cannot be written .*unset {VARIABLE}"):
        with training(tmp_path / "one"):
            pass
    subprocess.run([word.format("rw") for word in remount], check=True)
    with training(tmp_path / "one") as (work, _):
        assert work.newest().position.step == 20


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server = started_bucket(tmp_path, monkeypatch)
    monkeypatch.setattr("bakeoff.experiments.checkpoint_store.upload.RETRY_S", 0.1)
    yield server
    server.kill()


def started_bucket(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket that this process reaches, too."""
    server = Bucket()
    server.start()
    for name, value in server.environment.items():
        if name != "PYTHONPATH":
            monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(extra_packages(*CLIENT)))
    monkeypatch.setenv("DVC_ROOT", str(workspace))
    return server


def test_a_server_that_is_killed_costs_copies_alone(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It comes back without what it had; the training goes on, and so does its lease."""
    monkeypatch.setenv(VARIABLE, bucket.uri)
    with training(tmp_path / "one") as (work, kept):
        save(work, 10)
        store = open_store(bucket.uri)
        wait_until(lambda: steps(store) == [10])
        bucket.kill()
        save(work, 20)
        printed = ""
        while "takes no copies now (EndpointConnectionError" not in printed:
            printed += capfd.readouterr().err
        bucket.start()
        wait_until(lambda: steps(store) == [20])
        assert not kept.has_lost()
    with training(tmp_path / "other") as (work, _):
        assert work.newest().position.step == 20


def test_a_server_that_is_down_at_the_start_begins_nothing(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, bucket.uri)
    bucket.kill()
    with pytest.raises(TryAgainLater, match=rf"cannot be used now .*unset {VARIABLE}"):
        with training(tmp_path / "one"):
            pass


def test_a_bucket_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", "1")  # moto asks for rights once the bucket is made
    server = started_bucket(tmp_path, monkeypatch)
    monkeypatch.setenv(VARIABLE, server.uri)
    try:
        with pytest.raises(WorkspaceError, match=rf"cannot be written .*unset {VARIABLE}"):
            with training(tmp_path / "one"):
                pass
    finally:
        server.kill()


def test_dvc_s_default_remote_is_used_with_dvc_s_settings(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint and the keys are in DVC's own settings alone."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text(
        f"[core]\n    remote = team\n['remote \"team\"']\n    url = {bucket.uri}\n", encoding="utf-8"
    )
    (tmp_path / ".dvc/config.local").write_text(
        f"['remote \"team\"']\n    endpointurl = {bucket.environment['AWS_ENDPOINT_URL_S3']}\n"
        "    access_key_id = key\n    secret_access_key = secret\n",
        encoding="utf-8",
    )
    for name in bucket.environment:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(VARIABLE, "dvc")
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
    with training(tmp_path / "other") as (work, _):
        assert work.newest().position.step == 10
    assert all(file.parts[:2] == ("of the team", "bakeoff-work") for file in bucket.files())
