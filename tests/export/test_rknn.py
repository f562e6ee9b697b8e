"""model.rknn: what is said where the toolkit is not there; the slow proof converts and simulates a real network."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.errors import DataError, WorkspaceError
from bakeoff.export.rknn_file import PYTHON, find_python, make_rknn

IMAGE = np.zeros((8, 8, 3), np.uint8)


def test_the_toolkit_must_be_in_an_environment_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PYTHON, raising=False)
    with pytest.raises(WorkspaceError, match=r"export\.formats: rknn needs rknn-toolkit2 in an environment of its own"):
        find_python()
    monkeypatch.setenv(PYTHON, str(tmp_path / "python"))
    with pytest.raises(WorkspaceError, match=r"BAKEOFF_RKNN_PYTHON: .*/python is no program; `python3 -m venv rknn"):
        find_python()


def test_a_python_without_the_toolkit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    with pytest.raises(WorkspaceError, match=r"BAKEOFF_RKNN_PYTHON: .* lacks a package \(No module named 'rknn'\)"):
        make_rknn(b"", ["probabilities"], ["a"], [IMAGE], np.stack([IMAGE]))


def test_calibration_without_images_is_refused() -> None:
    with pytest.raises(DataError, match=r"rknn learns the ranges of values from training images, and there are none"):
        make_rknn(b"", ["probabilities"], ["a"], [], np.stack([IMAGE]))
