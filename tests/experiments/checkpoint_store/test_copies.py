"""A copy is taken whole or not at all, and removed when newer ones took its place."""

import json
from pathlib import Path

import pytest

from bakeoff.experiments.checkpoint_store import copies
from bakeoff.experiments.checkpoint_store.copies import fetch, prune, send_file, send_manifest
from bakeoff.experiments.checkpoint_store.store import FolderStore
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.tracking.journal import checkpoint_copies
from bakeoff.tracking.journal.checkpoint_copies import CheckpointCopy

RUN, RUN_ID = "5d1c", "0" * 32
PREFIX = f"{RUN}/00000001-0f3a9c11"
NAME, BEST = "1-head/00000532", "1-head/best-00000400"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    monkeypatch.setattr(checkpoint_copies, "PART_BYTES", 10)
    (tmp_path / "store").mkdir()
    return FolderStore(tmp_path / "store")


def sent(store: FolderStore, tmp_path: Path, prefix: str = PREFIX, name: str = NAME, **more: str) -> list[copies.File]:
    contents = {BEST: b"twelve bytes", name: bytes(range(35))}
    files = []
    for inside, content in contents.items():
        (tmp_path / "file").write_bytes(content)
        files.append(send_file(store, prefix, inside, tmp_path / "file"))
    send_manifest(store, prefix, name, files, {"run": RUN_ID, "step": 532, "identity": {}, **more})
    return files


def test_what_was_sent_in_parts_comes_back_as_it_was(store: FolderStore, tmp_path: Path) -> None:
    sent(store, tmp_path, bad_records="train\t17\tshard: record 17\n")
    [copy] = copies.copies(store, RUN)
    assert copy == CheckpointCopy(1, 1, 532, NAME, PREFIX)
    files, run_id = fetch(store, copy, tmp_path / "here")
    assert [file.relative_to(tmp_path / "here").as_posix() for file in files] == ["bad_records", BEST, NAME]
    assert [file.read_bytes()[:6] for file in files] == [b"train\t", b"twelve", bytes(range(6))]
    assert files[2].read_bytes() == bytes(range(35)) and run_id == RUN_ID
    assert len(store.names(RUN)) == 2 + 4 + 1


def test_a_copy_without_its_manifest_is_none(store: FolderStore, tmp_path: Path) -> None:
    send_file(store, PREFIX, NAME, _file(tmp_path, b"content"))
    assert copies.copies(store, RUN) == []


@pytest.mark.parametrize("damage", ["part is gone", "other bytes", "shorter", "manifest is cut", "no run"])
def test_a_copy_that_lost_something_is_refused(store: FolderStore, tmp_path: Path, damage: str) -> None:
    sent(store, tmp_path)
    part, manifest = f"{PREFIX}/{NAME}.part-00002", f"{PREFIX}/{NAME}.json"
    if damage == "part is gone":
        store.remove(part)
    elif damage == "other bytes":
        store.write(part, bytes(10))
    elif damage == "shorter":
        store.write(part, store.read(part)[:-1])
    elif damage == "manifest is cut":
        store.write(manifest, store.read(manifest)[:-9])
    else:
        store.write(manifest, json.dumps({"files": []}).encode())
    [copy] = copies.copies(store, RUN)
    with pytest.raises(Damaged, match=r"\b1-head/00000532\b.*not whole"):
        fetch(store, copy, tmp_path / "here")


@pytest.mark.parametrize("name", ["../../run", "/etc/passwd", "1-head/../../x", "run", "1-head/x"])
def test_a_manifest_names_no_other_files_than_a_run_s(store: FolderStore, tmp_path: Path, name: str) -> None:
    sent(store, tmp_path)
    manifest = f"{PREFIX}/{NAME}.json"
    tree = json.loads(store.read(manifest))
    tree["files"][0]["name"] = name
    store.write(manifest, json.dumps(tree).encode())
    [copy] = copies.copies(store, RUN)
    with pytest.raises(Damaged, match="names other files"):
        fetch(store, copy, tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_the_newest_is_of_the_last_lease_then_of_the_last_phase(store: FolderStore, tmp_path: Path) -> None:
    later = f"{RUN}/00000002-aaaaaaaa"
    for prefix, name in ((PREFIX, "2-all/00000900"), (later, "1-head/00000700"), (later, "2-all/00000650")):
        sent(store, tmp_path, prefix, name)
    assert [(copy.epoch, copy.name) for copy in copies.copies(store, RUN)] == [
        (2, "2-all/00000650"), (2, "1-head/00000700"), (1, "2-all/00000900"),
    ]  # fmt: skip


def test_what_was_superseded_is_removed_and_later_leases_are_left_alone(store: FolderStore, tmp_path: Path) -> None:
    later, own = f"{RUN}/00000003-bbbbbbbb", f"{RUN}/00000002-aaaaaaaa"
    sent(store, tmp_path, PREFIX)
    sent(store, tmp_path, own, "1-head/00000600")
    files = sent(store, tmp_path, own, "1-head/00000700")
    sent(store, tmp_path, later)
    for epoch in (1, 2, 3):
        store.create(f"{RUN}/leases/{epoch:08d}", b"")
    prune(store, RUN, 2, {"1-head/00000700": files}, with_earlier=False)
    assert [copy.name for copy in copies.copies(store, RUN)] == [NAME, "1-head/00000700", NAME]
    prune(store, RUN, 2, {"1-head/00000700": files}, with_earlier=True)
    assert [copy.epoch for copy in copies.copies(store, RUN)] == [3, 2]
    for copy in copies.copies(store, RUN):
        fetch(store, copy, tmp_path / f"{copy.epoch}")
    left = [name for name in store.names(RUN) if "/leases/" in name or "00000001-" in name or "600" in name]
    assert left == [f"{RUN}/leases/00000002", f"{RUN}/leases/00000003"]


def _file(folder: Path, content: bytes) -> Path:
    (folder / "file").write_bytes(content)
    return folder / "file"
