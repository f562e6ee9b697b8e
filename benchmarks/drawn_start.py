"""Train the demo's networks on the project's drawn digits, as starts for `fine_tuning.py`.

python benchmarks/drawn_start.py ssd_small detector.weights.h5      # about four minutes of one core
python benchmarks/drawn_start.py cnn_small classifier.weights.h5    # about three, in two runs one after the other
python benchmarks/drawn_start.py point_nano points.weights.h5       # about fourteen, at 192 pixels
python benchmarks/drawn_start.py point_nano_128 points.weights.h5   # on the scenes of the first, as the next two
python benchmarks/drawn_start.py yolox_nano yolox.weights.h5        # at 128 pixels
python benchmarks/drawn_start.py set_detector_atto sets.weights.h5  # at 128 pixels, of 60 queries

The first and the third are what `bakeoff weights get drawn_ssd_small` and `drawn_point_nano` make, by one thread. The
second brings nothing.
"""

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.importing.weights.demo_weights import DETECTOR, FIRST, POINTS, train_on_drawings

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}
COLOUR = {"brightness": 0.15, "contrast": 0.3, "saturation": 0.5, "hue": 0.5}
SINGLE = {"use": "digits_single", "train_examples": 4000, "validation_examples": 300, "side": 64}
SHORT = {"use": "small", "epochs": None, "steps": 1500, "validate_every_steps": 750}
CLASSIFIER: tuple[Mapping[str, Any], ...] = (
    {
        "experiment": "demo_images",
        "seed": 0,
        "data": SINGLE,
        "train": SHORT | {"augment": {"crop": {"kind": "single", "min_area": 0.6}, "colour": COLOUR}},
    },
    {
        "experiment": "demo_images",
        "seed": 1,
        "data": SINGLE | {"seed": 1},
        "train": SHORT | {"init": {"weights": FIRST}, "augment": {"crop": {"kind": "single", "min_area": 0.8}}},
    },
)
AT_128: dict[str, str | dict[str, Any]] = {
    "point_nano_128": "point_nano_128",
    "yolox_nano": {"use": "yolox_nano", "input_size": 128},
    "set_detector_atto": {"use": "set_detector_atto", "input_size": 128, "queries": 60},
}
DRAWN = {name: ({**DETECTOR.runs[0], "model": model},) for name, model in AT_128.items()}
RUNS = {DETECTOR.model: DETECTOR.runs, POINTS.model: POINTS.runs, "cnn_small": CLASSIFIER} | DRAWN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=sorted(RUNS))
    parser.add_argument("out", type=Path, help="the file to write")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        best = train_on_drawings(RUNS[arguments.network], Path(folder), code=ROOT, environment=ONE_THREAD)
        shutil.copy(best, arguments.out)


if __name__ == "__main__":
    main()
