"""How many planted wrong labels the list of suspects has first: classes swapped, boxes moved, removed and doubled.

    python benchmarks/suspects.py data/raw/signs --data image_folders --keep signs
    python benchmarks/suspects.py data/raw/raccoon --data pascal_voc --keep raccoon

5 % of the labels are spoiled, by a seed. Each of the folds trains the demo's network for the task, `ssd_small` or
`cnn_small`, by one thread, on the labels as they then are. What an interrupted benchmark has left in `--keep` is not
made again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from planted_errors import Planted, plant_boxes, plant_classes
from trials import OWN_DATA, make_workspace, run, write_params

COLOUR = {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3}
TASKS: dict[str, dict[str, Any]] = {
    "pascal_voc": {
        "experiment": "demo", "batch_size": 8, "steps": 1000,
        "augment": {"turn": {"mirror": 0.5}, "crop": {"kind": "ssd"}, "colour": COLOUR},
    },
    "image_folders": {
        "experiment": "demo_images", "batch_size": 16, "steps": 2400,
        "augment": {"crop": {"kind": "single", "min_area": 0.8}, "colour": COLOUR},
    },
}  # fmt: skip


def make_params(kind: str, fold: str | None, seed: int) -> dict[str, Any]:
    task = TASKS[kind]
    train = {key: task[key] for key in ("batch_size", "steps", "augment")}
    return {
        "experiment": task["experiment"],
        "seed": seed,
        "data": {"use": kind, "path": OWN_DATA, "max_side": 256, "split": {"seed": seed, "fold": fold}},
        "lr": {"use": "constant", "peak": 0.001, "warmup_steps": 50},
        "train": {"use": "smoke", "epochs": None, "ema_decay": 0.99, "samples": 0} | train,
        "track": {"use": "none"},
    }


def plant(data: Path, kind: str, folder: Path, seed: int) -> tuple[Path, Planted]:
    """Return the copy with errors, and which examples have one."""
    copy, notes = folder / "spoiled", folder / "planted.json"
    if not notes.is_file():
        planted = (plant_boxes if kind == "pascal_voc" else plant_classes)(data, copy, seed)
        notes.write_text(json.dumps(planted, indent=1) + "\n", encoding="utf-8")
    return copy, json.loads(notes.read_text(encoding="utf-8"))


def train_folds(copy: Path, kind: str, folder: Path, folds: int, seed: int) -> list[Path]:
    """Return the examples of each fold's evaluation."""
    found = []
    for fold in range(1, folds + 1):
        place = folder / f"fold{fold}"
        params = make_params(kind, f"{fold}/{folds}", seed)
        make_workspace(place, copy, params)
        examples = place / "models/evaluation/examples.parquet"
        if not examples.is_file():
            write_params(place, params)
            seconds = sum(run(place, stage) for stage in ("render_config", "train", "evaluate"))
            headline = (place / "models/evaluation/headline.json").read_text(encoding="utf-8")
            print(f"  fold {fold}: {' '.join(headline.split())}, {seconds:.0f} s of processor time", flush=True)
        found.append(examples)
    return found


def main() -> None:
    arguments = parse_arguments()
    folder = arguments.keep.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    copy, planted = plant(arguments.folder.resolve(), arguments.data, folder, arguments.seed)
    print(f"{len(planted)} labels spoiled", flush=True)
    train_folds(copy, arguments.data, folder, arguments.folds, arguments.seed)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", choices=sorted(TASKS), required=True)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, required=True, help="a folder that keeps the copy and the runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
