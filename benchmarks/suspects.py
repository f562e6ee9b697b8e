"""How many planted wrong labels the list of suspects has first: classes swapped, boxes moved, removed and doubled.

    python benchmarks/suspects.py data/raw/signs --data image_folders --keep signs
    python benchmarks/suspects.py data/raw/raccoon --data pascal_voc --keep raccoon

5 % of the labels are spoiled, by a seed. Each of the folds trains the demo's network for the task, `ssd_small` or
`cnn_small`, by one thread, on the labels as they then are. What an interrupted benchmark has left in `--keep` is not
made again. The page of the suspects and the names of the first that were not spoiled go there, too: look at those, for
a data set has wrong labels of its own.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from planted_errors import Planted, plant_boxes, plant_classes
from trials import OWN_DATA, make_workspace, run, write_params

from bakeoff.experiments.compare.examples import Judged
from bakeoff.inference.label_errors.labelled import Labelled
from bakeoff.inference.label_errors.out_of_fold import join_answers
from bakeoff.inference.label_errors.rank import list_suspects
from bakeoff.inference.label_errors.suspects_page import write_page

SHARES, FIRST = (0.05, 0.10), 50
COLOUR = {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3}
TASKS: dict[str, dict[str, Any]] = {
    "pascal_voc": {
        "experiment": "demo", "batch_size": 8, "steps": 1500, "lr": {"use": "cosine"},
        "augment": {"turn": {"mirror": 0.5}, "crop": {"kind": "ssd"}, "colour": COLOUR},
    },
    "image_folders": {
        "experiment": "demo_images", "batch_size": 16, "steps": 2400,
        "lr": {"use": "constant", "peak": 0.001, "warmup_steps": 50},
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
        "lr": task["lr"],
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
    picked = []
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
        picked.append(examples)
    return picked


def main() -> None:
    arguments = parse_arguments()
    folder = arguments.keep.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    copy, planted = plant(arguments.folder.resolve(), arguments.data, folder, arguments.seed)
    print(f"{len(planted)} labels spoiled", flush=True)
    files = train_folds(copy, arguments.data, folder, arguments.folds, arguments.seed)
    print_result(folder, files, planted)


def print_result(folder: Path, files: Sequence[Path], planted: Planted) -> None:
    """Say how many of the spoiled labels are first in the list, and which others are."""
    with chdir(folder / "fold1"):  # its records hold all examples
        source = f"{len(files)} folds"
        listing = list_suspects(join_answers([Judged.read(file) for file in files], source, source), Labelled())
        write_page(folder / "suspects.html", listing, len(listing.suspects))
    assert listing.findings is not None, listing.remarks
    ranking = listing.findings.ranking
    planted = {name: what for name, what in planted.items() if name in set(ranking)}
    named = {one.file for one in listing.suspects}
    print(f"{len(ranking):,} examples: {listing.findings.quality}")
    for remark in listing.remarks:
        print(f"  {remark}")
    for share in SHARES:
        first = ranking[: round(share * len(ranking))]
        hits = sum(name in planted for name in first)
        picked = f"{hits} of {len(planted)} ({hits / len(planted):.0%})"
        print(f"  {picked} are in the first {share:.0%}, {len(first)} examples")
    print(f"  {len(named)} examples are suspected, {len(named & planted.keys())} of them spoiled")
    for kind, count in sorted(Counter(what.split()[0] for what in planted.values()).items()):
        print(f"    {kind}: {sum(planted[name].split()[0] == kind for name in named & planted.keys())} of {count}")
    others = [name for name in ranking[:FIRST] if name not in planted]
    (folder / "others.txt").write_text("".join(f"{name}\n" for name in others), encoding="utf-8")
    print(f"  {len(others)} of the first {FIRST} were not spoiled: others.txt")


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
