"""model.rknn: what is said where the toolkit is not there; the slow proof converts and simulates a real network."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.errors import ConfigError, DataError, WorkspaceError
from bakeoff.export.enlarging import enlarge_by_one_operation
from bakeoff.export.grid_layout import every_grid, grid_names, read_grids
from bakeoff.export.onnx_file import bare_onnx
from bakeoff.export.rknn_file import PYTHON, TOOLKIT, find_python, make_rknn
from bakeoff.graphs import compile_graph
from extra_packages import FOLDER
from point_files import CLASSES, MODEL, drawn_network, images

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


@pytest.fixture
def toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with the toolkit and nothing of this project: 2.9 GB to fetch, unless one is named."""
    if os.environ.get(PYTHON):
        return
    folder = Path(os.environ.get(FOLDER) or Path.home() / ".cache/bakeoff/extras") / "rknn"
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        install = [str(python), "-m", "pip", "install", "--quiet", TOOLKIT, "setuptools<81"]
        subprocess.run(install, check=True, env=clean)
        (folder / "installed").touch()
    monkeypatch.setenv(PYTHON, str(python))


@pytest.mark.slow
def test_the_simulator_answers_as_the_network_does(toolkit: None) -> None:
    """In whole numbers of 8 bits, by the layout that PhotonVision reads."""
    network, task = drawn_network()
    given = tf.TensorSpec([1, *network.input_shape[1:]], tf.float32, name="image")
    with enlarge_by_one_operation(network):
        onnx = bare_onnx(compile_graph(every_grid(network, MODEL), input_signature=[given]), grid_names(MODEL))
    shown = images(8).astype(np.uint8)
    made = make_rknn(onnx, grid_names(MODEL), CLASSES, list(shown), shown[:4])
    assert made.file.startswith(b"RKNN")
    outputs = network(shown[:4].astype(np.float32))
    for place in range(4):
        boxes, scores = read_grids([answer[place] for answer in made.answers.values()], MODEL.input_size)
        assert np.abs(scores - task.head.scores(outputs)[place]).mean() < 0.02
        assert np.abs(boxes - task.head.boxes(outputs)[place]).mean() < 0.02


@pytest.mark.slow
def test_a_file_that_the_toolkit_cannot_read_is_refused(toolkit: None) -> None:
    with pytest.raises(ConfigError, match=r"rknn cannot be made of this network \(.+\); take it out of the list"):
        make_rknn(b"no onnx", ["scores"], ["a"], [IMAGE], np.stack([IMAGE]))
