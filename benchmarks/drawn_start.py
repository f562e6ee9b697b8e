"""Train the demo's networks on the project's drawn digits, as starts for `fine_tuning.py`.

python benchmarks/drawn_start.py ssd_small detector.weights.h5      # about four minutes of one core
python benchmarks/drawn_start.py cnn_small classifier.weights.h5    # about three, in two runs one after the other
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}
FIRST = "data/weights/first.weights.h5"
COMMON = {"lr": {"use": "cosine", "peak": 0.003}, "track": {"use": "none"}}
COLOUR = {"brightness": 0.15, "contrast": 0.3, "saturation": 0.5, "hue": 0.5}
SCENES = {
    "use": "digits", "train_examples": 3000, "validation_examples": 200, "max_side": 224, "max_digits": 8,
    "min_digit": 20, "max_digit": 150,
}  # fmt: skip
SINGLE = {"use": "digits_single", "train_examples": 4000, "validation_examples": 300, "side": 64}
SHORT = {"use": "small", "epochs": None, "steps": 1500, "validate_every_steps": 750}
RUNS: dict[str, list[dict[str, Any]]] = {
    "ssd_small": [
        {
            "experiment": "demo",
            "seed": 0,
            "data": SCENES,
            "train": {"use": "demo", "steps": 2500, "validate_every_steps": 1250}
            | {"augment": {"crop": {"kind": "ssd"}, "turn": {"mirror": 0.5}}},
        }
    ],
    "cnn_small": [
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
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=sorted(RUNS))
    parser.add_argument("out", type=Path, help="the file to write")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        best = None
        for number, params in enumerate(RUNS[arguments.network]):
            best = train(Path(folder) / str(number), COMMON | params, best)
        assert best is not None
        shutil.copy(best, arguments.out)


def train(place: Path, params: Mapping[str, Any], first: Path | None) -> Path:
    """Return the best weights of a variant, which may start from others."""
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dvc.yaml", place)
    (place / "params.yaml").write_text(yaml.safe_dump(dict(params)), encoding="utf-8")
    if first:
        (place / FIRST).parent.mkdir(parents=True)
        shutil.copy(first, place / FIRST)
    for stage in ("build_records", "render_config", "train"):
        command = [sys.executable, "-m", f"bakeoff.stages.{stage}"]
        subprocess.run(command, cwd=place, env=os.environ | ONE_THREAD | {"PYTHONPATH": str(place / "src")}, check=True)
    return place / "models/train/best.weights.h5"


if __name__ == "__main__":
    main()
