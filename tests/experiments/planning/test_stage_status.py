"""What DVC left half written, or somebody wrote over it, is named in one line; of its cache it counts for nothing."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from bakeoff.experiments.planning import stage_status
from bakeoff.foundation.errors import WorkspaceError
from support.messages import missing_in

LOCK = "schema: '2.0'\nstages:\n  train:\n    cmd: x\n    outs:\n    - path: models/train\n      md5: abc.dir\n"


@pytest.fixture(autouse=True)
def place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stage_status.dvc, "asking_status", lambda: nullcontext(dict))  # DVC would refuse the folder
    (place / "dvc.yaml").write_text("stages:\n  train:\n    cmd: x\n")
    return place


@pytest.mark.parametrize(
    "left",
    [
        b"", bytes(99), b"\xff\xfe\x00", b"- a\n", b"stages: 3\n", b"stages:\n- a\n", b"stages:\n  train: x\n",
        b"a: [b\n",
        b"<<<<<<< HEAD\nstages: {}\n=======\n", LOCK.encode().replace(b"md5", b"m"), b"[" * 5000, b"a: !!bool x\n",
        LOCK.encode()[:-30], LOCK.encode().replace(b"- path", b"  path"), LOCK.encode() + b"    params: [a]\n",
    ],
)  # fmt: skip
def test_a_lock_that_is_none_is_named_with_what_brings_it_back(left: bytes, place: Path) -> None:
    (place / "dvc.lock").write_bytes(left)
    with pytest.raises(WorkspaceError) as refused:
        stage_status.read_known()
    assert missing_in(str(refused.value), "dvc.lock:", "DVC", "`git checkout dvc.lock`", "`dvc repro`") == []


def test_of_the_run_cache_only_whole_entries_count(place: Path) -> None:
    (place / "dvc.lock").write_text(LOCK)
    folder = place / ".dvc/cache/runs/ab/cd"
    folder.mkdir(parents=True)
    for number, left in enumerate([b"", bytes(9), b"- a\n", b"cmd: [\n", b"outs:\n- x\n", b"cmd: y\nouts: []\n"]):
        (folder / str(number)).write_bytes(left)
    known = stage_status.read_known()
    assert known.cached == [{"cmd": "y", "outs": []}] and known.locked["train"]["cmd"] == "x"
