"""The stores that BAKEOFF_WORK_STORE names, and values that are refused before a training starts."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.experiments.checkpoint_store.store import CheckpointStore, FolderStore, open_store
from bakeoff.foundation.errors import ConfigError, WorkspaceError


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "clone"
    (folder / ".dvc").mkdir(parents=True)
    monkeypatch.setenv("DVC_ROOT", str(folder))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    yield FolderStore(tmp_path)


def test_a_file_is_created_once(store: CheckpointStore) -> None:
    store.create("run/leases/00000001", b"mine")
    with pytest.raises(FileExistsError):
        store.create("run/leases/00000001", b"another's")
    assert store.read("run/leases/00000001") == b"mine"


def test_a_file_is_replaced_whole_and_removed_with_its_folders(store: CheckpointStore, tmp_path: Path) -> None:
    store.write("run/1/checkpoint", b"one")
    store.write("run/1/checkpoint", b"two")
    store.write("run/other", b"three")
    assert store.names("run") == ["run/1/checkpoint", "run/other"] and store.read("run/1/checkpoint") == b"two"
    store.remove("run/1/checkpoint")
    store.remove("run/1/checkpoint")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["other"]


def test_the_time_is_that_of_the_file(store: CheckpointStore, tmp_path: Path) -> None:
    store.write("run/lease", b"mine")
    os.utime(tmp_path / "run/lease", (1000, 1000))
    assert store.modified("run/lease") == 1000
    store.write("run/lease", b"mine")
    assert abs(store.modified("run/lease") - time.time()) < 3600


def test_a_folder_that_went_away_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "unmounted")
    with pytest.raises(FileNotFoundError):
        store.names("run")
    with pytest.raises(FileNotFoundError):
        store.write("run/file", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("{folder}/nowhere", "/nowhere must be a folder"),
        ("sftp://host/folder", "sftp://host/folder: sftp cannot write.*one of: s3"),
        ("https://user:secret@host/x", "BAKEOFF_WORK_STORE: https://host/x: https cannot write"),
    ],
)
def test_what_is_no_store_is_refused_in_one_line(clone: Path, named: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_store(named.format(folder=clone))


def test_a_package_that_is_missing_is_named(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gcsfs", None)
    with pytest.raises(WorkspaceError, match=r"gs://bucket/x .*`pip install gcsfs`"):
        open_store("gs://bucket/x")


def test_a_relative_folder_is_below_the_main_workspace(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "shared").mkdir()
    monkeypatch.chdir(clone.parent)
    assert open_store("shared").shown == (clone / "shared").as_posix()


def test_dvc_without_a_remote_is_refused_with_what_to_do(clone: Path) -> None:
    (clone / ".dvc/config").write_text("[core]\n", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="there is none.*`dvc remote add --default NAME ADDRESS`"):
        open_store("dvc")


def test_dvc_means_a_folder_beside_the_data_of_its_default_remote(clone: Path) -> None:
    config = "[core]\n    remote = shared\n['remote \"shared\"']\n    url = ../../remote\n"
    (clone / ".dvc/config").write_text(config, encoding="utf-8")
    open_store("dvc").write("run/file", b"content")
    assert (clone.parent / "remote/bakeoff-work/run/file").read_bytes() == b"content"


def test_dvc_s_own_local_settings_count(clone: Path) -> None:
    (clone / ".dvc/config").write_text("[core]\n    remote = shared\n", encoding="utf-8")
    (clone / ".dvc/config.local").write_text(
        "['remote \"shared\"']\n    url = https://host/data\n    user = somebody\n    password = secret\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match="https://host/data/bakeoff-work: https cannot write"):
        open_store("dvc")


def test_a_remote_that_dvc_does_not_know_is_reported_in_one_line(clone: Path) -> None:
    (clone / ".dvc/config").write_text("[core]\n    remote = shared\n", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="DVC's default remote: .*shared"):
        open_store("dvc")
