"""What DVC left half written, or somebody wrote over it, is named in one line; of its cache it counts for nothing."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from bakeoff.experiments.planning import stage_status
from bakeoff.experiments.planning.step_time import remember, remembered
from bakeoff.foundation.errors import WorkspaceError
from support.messages import missing_in

LOCK = "schema: '2.0'\nstages:\n  train:\n    cmd: x\n    outs:\n    - path: models/train\n      md5: abc.dir\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage_status.dvc, "asking_status", lambda: nullcontext(dict))  # DVC would refuse the folder
    (tmp_path / "dvc.yaml").write_text("stages:\n  train:\n    cmd: x\n")
    return tmp_path


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


@pytest.mark.parametrize(
    "left",
    [
        b"\xff\xfe\n", bytes(99) + b"\n", b"[" * 100_000 + b"\n", b'{"key": "a", "seconds_per_step": 1e999}\n',
        b'{"key": "a", "seconds_per_step": "NaN"}\n', b'{"key": "a", "seconds_per_step": -1}\n', b'{"key": "a", "sec',
        b'{"key": "a", "seconds_per_step": 1' + b"0" * 4000 + b"}\n",
    ],
)  # fmt: skip
def test_what_is_no_time_of_a_step_is_passed_over(left: bytes, tmp_path: Path) -> None:
    file = tmp_path / "paces.jsonl"
    remember(file, "a", 0.5)
    with file.open("ab") as lines:
        lines.write(left)
    assert remembered(file, "a") == 0.5
    remember(file, "a", 0.25)
    assert remembered(file, "a") == 0.375
