"""A checkpoint is read as it was written, or refused."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.checkpoint import Damaged

ARRAYS = {
    "network/00000": np.arange(12, dtype=np.float32).reshape(3, 4).T,  # not in the order of memory
    "network/00001": np.array(7, np.int64),  # of no dimension, as a count of steps
    "seed": np.array([5, 0], np.uint32),
    "empty": np.zeros((0, 3), np.float32),
}
FACTS = {"step": 400, "history": ['{"step": 1}']}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    checkpoint.write(tmp_path / "00000400", FACTS, ARRAYS)
    return tmp_path / "00000400"


def test_what_was_written_is_read_to_the_bit(written: Path) -> None:
    contents = checkpoint.read(written)
    assert contents.facts == FACTS and contents.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (contents.arrays[name].shape, contents.arrays[name].dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(contents.arrays[name], array)
    assert [file.name for file in written.parent.iterdir()] == ["00000400"]


def test_a_change_of_any_byte_is_found_out(written: Path) -> None:
    content = written.read_bytes()
    for place in range(0, len(content), 7):
        written.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(Damaged, match="/00000400: "):
            checkpoint.read(written)


def test_a_file_that_ends_early_or_late_is_refused(written: Path) -> None:
    content = written.read_bytes()
    for length in (0, 5, 30, len(content) // 2, len(content) - 1):
        written.write_bytes(content[:length])
        with pytest.raises(Damaged, match=r"/00000400: (damaged.*early|no checkpoint)"):
            checkpoint.read(written)
    written.write_bytes(content + b"x")
    with pytest.raises(Damaged, match=r"/00000400: damaged.*longer"):
        checkpoint.read(written)


@pytest.mark.parametrize("shape", [[-1], [2**62, 4], [2.5], ["3"], None, [[1]], [10**30]])
def test_a_shape_that_is_none_is_damage(tmp_path: Path, shape: object) -> None:
    digest = checkpoint._digest(b"").hex()
    head = json.dumps(
        {"facts": {}, "arrays": [{"name": "a", "type": "<f4", "shape": shape, "digest": digest}]}
    ).encode()
    path = tmp_path / "hostile"
    path.write_bytes(checkpoint.FORMAT + len(head).to_bytes(8, "little") + head + checkpoint._digest(head))
    with pytest.raises(checkpoint.Damaged, match="hostile: damaged"):
        checkpoint.read(path)


def test_a_head_without_end_is_not_read(written: Path) -> None:
    written.write_bytes(checkpoint.FORMAT + (2**62).to_bytes(8, "little"))
    with pytest.raises(Damaged, match="/00000400: .*head.*length"):
        checkpoint.read(written)


def test_a_full_disk_leaves_the_file_before_and_nothing_else(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = written.read_bytes()
    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoint.write(written, {}, {"more": np.ones(1000)})
    assert written.read_bytes() == before
    assert [file.name for file in written.parent.iterdir()] == ["00000400"]
