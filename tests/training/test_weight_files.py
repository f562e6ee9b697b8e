"""Files of weights that are broken, or that want more than to be read."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from bakeoff.errors import DataError
from first_weights import SAVED, Small, numbered, start, whole_model


@pytest.mark.parametrize("name", ["one.weights.h5", "one.keras", "one.h5"])
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(3)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(DataError, match=r": cannot be read as weights \(.+\); it is truncated or no file of Keras"):
        start(tmp_path / name)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.h5").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(DataError, match=r"cannot be read as weights \(neither HDF5 nor an archive\)"):
        start(tmp_path / "one.h5")


@pytest.mark.parametrize("kind", ["external link", "soft link", "external storage", "text"])
def test_a_file_that_points_elsewhere_is_refused(kind: str, tmp_path: Path) -> None:
    """HDF5 may name other files of the machine, which would then be read as weights."""
    path, secret = tmp_path / "one.h5", tmp_path / "secret"
    secret.write_bytes(bytes(4 * 4 * 3))
    whole_model(path, numbered(Small().build(3)))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["kernel"] = np.ones((4, 3), np.float32)
    with h5py.File(path, "a") as file:
        head = file["model_weights/logits/logits"]
        del head["kernel:0"]
        if kind == "external link":
            head["kernel:0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "kernel")
        elif kind == "soft link":
            head["kernel:0"] = h5py.SoftLink("/model_weights/outer/Conv1/kernel:0")
        elif kind == "text":
            head["kernel:0"] = np.array([b"import os"], object)
        else:
            head.create_dataset("kernel:0", (4, 3), np.float32, external=[(str(secret), 0, 48)])
    with pytest.raises(DataError, match=r"kernel:0 (is a link or missing|holds no plain numbers)"):
        start(path)


def test_a_size_that_only_the_file_believes_in_is_skipped_without_memory(tmp_path: Path) -> None:
    whole_model(tmp_path / "one.h5", numbered(Small().build(3)))
    with h5py.File(tmp_path / "one.h5", "a") as file:
        head = file["model_weights/logits/logits"]
        del head["kernel:0"]
        head.create_dataset("kernel:0", (2**22, 2**22), np.float32, chunks=(1024, 1024))  # 70 TB
    _, report = start(tmp_path / "one.h5")
    assert [one["name"] for one in report["skipped"]] == ["logits/kernel"]
