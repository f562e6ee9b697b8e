"""model.rknn: what is said where the toolkit is not there; the slow proof converts and simulates a real network."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from bakeoff.export.nms_numpy import read_candidates
from bakeoff.export.onnx_build import onnx_bytes
from bakeoff.export.rknn_build import PYTHON, TOOLKIT, RknnInput, find_python, make_rknn
from bakeoff.export.tflite_metadata import UNIT, ModelMetadata
from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError
from bakeoff.learning.input.view import View
from support.colour_model import write_colour_model
from support.extra_packages import FOLDER
from support.point_files import CLASSES, MODEL, drawn_network, images

IMAGE = np.zeros((8, 8, 3), np.uint8)


def test_the_toolkit_must_be_in_an_environment_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PYTHON, raising=False)
    with pytest.raises(WorkspaceError, match=r"export\.formats: rknn .*rknn-toolkit2"):
        find_python()
    monkeypatch.setenv(PYTHON, str(tmp_path / "python"))
    with pytest.raises(WorkspaceError, match=r"BAKEOFF_RKNN_PYTHON: .*/python .*no program.*`python3 -m venv rknn"):
        find_python()


def test_a_python_without_the_toolkit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    with pytest.raises(WorkspaceError, match=r"BAKEOFF_RKNN_PYTHON: .*\(No module named 'rknn'\)"):
        make_rknn(RknnInput(write_colour_model(tmp_path / "m.onnx").read_bytes()), ["a"], [IMAGE], np.stack([IMAGE]))


def test_calibration_without_images_is_refused() -> None:
    with pytest.raises(DataError, match=r"rknn .*training images.*\bnone\b"):
        make_rknn(RknnInput(b""), ["a"], [], np.stack([IMAGE]))


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
    data = onnx_bytes(network, task, View.of(MODEL), ModelMetadata("t"), CLASSES, "yolov8_levels")
    shown = images(8).astype(np.uint8)
    made = make_rknn(RknnInput(data, *UNIT), CLASSES, list(shown), shown[:4])
    assert made.file.startswith(b"RKNN") and len(made.answers) == 9
    outputs = network(shown[:4].astype(np.float32))
    for place in range(4):
        values = [answer[place] for answer in made.answers.values()]
        boxes, scores = read_candidates("yolov8_levels", values, MODEL.input_size, len(CLASSES))
        assert np.abs(scores - task.head.scores(outputs)[place]).mean() < 0.02
        assert np.abs(boxes - task.head.boxes(outputs)[place]).mean() < 0.02


@pytest.mark.slow
def test_a_file_that_the_toolkit_cannot_convert_is_refused(toolkit: None, tmp_path: Path) -> None:
    model = onnx.load(write_colour_model(tmp_path / "m.onnx"))
    model.graph.node[0].op_type, model.graph.node[0].domain = "Nonsense", "nobody"
    with pytest.raises(ConfigError, match=r"rknn cannot be made .*\(.+\)"):
        make_rknn(RknnInput(model.SerializeToString()), ["a"], [IMAGE], np.stack([IMAGE]))
