"""A trained network as model.rknn, for the neural processor of Rockchip's chips, in whole numbers of 8 bits.

rknn-toolkit2 makes it of model.onnx, in an environment of its own that the variable BAKEOFF_RKNN_PYTHON names. The file
takes pixels as they are: uint8 (1, size, size, 3), RGB. Only the toolkit's simulator can run it without the chip, and
only in the process that made it, so the answers to some images come back together with the file.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from bakeoff.export import rknn_worker
from bakeoff.export.tflite_metadata import DEVIATION, MEAN
from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError

PYTHON = "BAKEOFF_RKNN_PYTHON"
TOOLKIT = "rknn-toolkit2"
PLATFORM = "rk3588"
ALGORITHM = "normal"  # how ranges are found: from the least and greatest value of each channel
HOW = f"`python3 -m venv rknn && rknn/bin/pip install {TOOLKIT} 'setuptools<81'`, then set {PYTHON}=rknn/bin/python"
ONNX, IMAGES, OUT = "model.onnx", "images.npy", "model.rknn"


@dataclass(frozen=True)
class RknnInput:
    """What the toolkit begins with."""

    onnx: bytes
    mean: float = MEAN  # of pixels, which the file subtracts itself
    deviation: float = DEVIATION

    def names(self) -> tuple[str, list[str]]:
        """Return the name of its input, and those of its outputs."""
        import onnx

        graph = onnx.load_from_string(self.onnx).graph
        return graph.input[0].name, [output.name for output in graph.output]


@dataclass(frozen=True)
class Made:
    file: bytes
    answers: dict[str, np.ndarray]  # by output, of all images


def find_python() -> Path:
    """Return the Python that has the toolkit; refuse to go on where none is named."""
    named = os.environ.get(PYTHON)
    if not named:
        raise WorkspaceError(f"export.formats: rknn needs {TOOLKIT} in an environment of its own; {HOW}")
    path = Path(named).expanduser()
    if not os.access(path, os.X_OK):
        raise WorkspaceError(f"{PYTHON}: {path} is no program; {HOW}")
    return path.absolute()


def make_rknn(start: RknnInput, labels: Sequence[str], calibration: Sequence[np.ndarray], images: np.ndarray) -> Made:
    """Convert, calibrated on some images, and answer others; all are uint8 (size, size, 3)."""
    if not len(calibration):
        raise DataError("export.formats: rknn learns the ranges of values from training images, and there are none")
    python, (given, outputs) = find_python(), start.names()
    size = calibration[0].shape[0]
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ONNX).write_bytes(start.onnx)
        np.save(folder / IMAGES, images)
        names = [f"calibration_{number}.png" for number in range(len(calibration))]
        for file, pixels in zip(names, calibration, strict=True):
            Image.fromarray(pixels).save(folder / file)
        request = {
            "onnx": ONNX, "images": IMAGES, "out": OUT, "outputs": outputs, "platform": PLATFORM,
            "algorithm": ALGORITHM, "calibration": names, "mean": [start.mean] * 3, "deviation": [start.deviation] * 3,
            "input": {"name": given, "shape": [1, 3, size, size]}, "told": json.dumps({"labels": list(labels)}),
        }  # fmt: skip
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(python), rknn_worker.__file__, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise _explain(done.stderr, python)
        with np.load(folder / rknn_worker.ANSWERS) as answers:
            return Made((folder / OUT).read_bytes(), dict(answers))


def _explain(printed: str, python: Path) -> ConfigError | WorkspaceError:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    last = lines[-1] if lines else "it printed nothing"
    if "ModuleNotFoundError" in last:
        return WorkspaceError(f"{PYTHON}: {python} lacks a package ({last.partition(': ')[2]}); {HOW}")
    errors = [line for line in lines if line.startswith("E ")]
    why = f"{last}; {errors[-1][2:].strip()}" if errors and last.startswith(TOOLKIT) else last
    return ConfigError(f"export.formats: rknn cannot be made of this network ({why[:300]}); take it out of the list")
