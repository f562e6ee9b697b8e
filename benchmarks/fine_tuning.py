"""What a start brings: fine-tuning on a folder of one's own data, from weights and from random, by minutes of training.

    python benchmarks/fine_tuning.py data/raw/raccoon --data pascal_voc --start start.weights.h5
    python benchmarks/fine_tuning.py data/raw/signs --data image_folders --start start.weights.h5 --minutes 2 5
    python benchmarks/fine_tuning.py data/raw/cells --data pascal_voc --start start.weights.h5 --images 50 100 200

The network is the demo's for the task, `ssd_small` or `cnn_small`, or `--model`, which may be a mapping, such as
`{use: yolox_nano, input_size: 128}`. Several starts are compared with random weights in one go. With `--images` it
learns from so many of the training images alone, and is judged on the same others. A minute is a number of steps: as
many as one thread takes in 60 seconds of processor time, measured once on the first seed, or as `--pace` says. So the
load of the machine changes no result. The rate is constant after 50 steps of warm-up, and the averages of the weights
are validated. So each number of minutes is the end of a fair run. A longer run goes on from the shorter one.

`benchmarks/drawn_start.py` makes such weights. So does this one with `--keep`, without a start: the last run of a seed
leaves `seed0/models/train/best.weights.h5`, a start for other pictures. Each seed has its own split into training and
validation and its own random numbers; all arms of a seed share them. A difference is `start - random` within a seed;
its 95 % interval is Student's over the seeds. The arms of a seed are printed when they are done. Those that an
interrupted benchmark has left in `--keep` are not trained again.
"""

import argparse
import itertools
import json
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from trials import OWN_DATA, PACE_STEPS, describe_difference, make_workspace, train

RANDOM = "random"
WARM_UP = 50
COLOUR = {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3}


@dataclass(frozen=True)
class Task:
    experiment: str
    batch_size: int
    headline: str
    warm_start: tuple[str, ...]
    augment: dict[str, object]

    def training(self, steps: int, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the groups of params.yaml that make every arm a fair run: constant rate, averages that are judged."""
        shared = {
            "batch_size": self.batch_size, "steps": steps, "epochs": None, "validate_every_steps": 0,
            "ema_decay": 0.99, "augment": self.augment, "samples": 0, "checkpoint_every_steps": steps,
        }  # fmt: skip
        return {
            "lr": {"use": "constant", "peak": 0.001, "warmup_steps": WARM_UP},
            "train": {"use": "smoke"} | shared | changes,
            "track": {"use": "none"},
        }


TASKS = {
    "pascal_voc": Task(
        "demo", 8, "mAP_50", ("backbone", "neck"), {"turn": {"mirror": 0.5}, "crop": {"kind": "ssd"}, "colour": COLOUR}
    ),
    "image_folders": Task(
        "demo_images", 16, "accuracy", ("backbone",), {"crop": {"kind": "single", "min_area": 0.8}, "colour": COLOUR}
    ),
}


@dataclass(frozen=True)
class Bench:
    folder: Path  # a workspace for each seed is made in it
    data: Path
    kind: str
    starts: dict[str, Path]
    max_side: int
    model: str | dict[str, Any] | None = None  # None: that of the experiment

    @property
    def task(self) -> Task:
        return TASKS[self.kind]

    def workspace(self, seed: int) -> Path:
        """Return the workspace of a seed, with its records."""
        place = self.folder / f"seed{seed}"
        make_workspace(place, self.data, self.params(seed, RANDOM, WARM_UP + 1, None, 1.0))
        for name, start in self.starts.items():
            shutil.copy(start, place / f"data/weights/{name}.weights.h5")
        return place

    def params(self, seed: int, arm: str, steps: int, parent: str | None, share: float) -> dict[str, Any]:
        task = self.task
        start = {"weights": f"data/weights/{arm}.weights.h5", "warm_start": list(task.warm_start)}
        split = {"by": "fraction", "validation": 0.2, "seed": seed}
        changes = {"continue_from": parent, "share": share} | ({"init": start} if arm != RANDOM else {})
        return {
            "experiment": task.experiment,
            "seed": seed,
            "data": {"use": self.kind, "path": OWN_DATA, "max_side": self.max_side, "split": split},
            **task.training(steps, changes),
            **({"model": self.model} if self.model else {}),
        }

    def share_of(self, place: Path, images: int | None) -> float:
        """Return which share of the training examples so many are; None: all."""
        manifest = json.loads((place / "data/records/manifest.json").read_text(encoding="utf-8"))
        return 1.0 if images is None else images / manifest["splits"]["train"]["examples"]

    def train(self, seed: int, arm: str, steps: int, images: int | None = None) -> tuple[float, float]:
        """Return the headline of validation after so many steps, and the seconds that the processor took."""
        place = self.workspace(seed)
        notes = place / f"{arm}{images or ''}.json"  # steps -> headline, seconds, and the run's fingerprint
        known = json.loads(notes.read_text(encoding="utf-8")) if notes.is_file() else {}
        if str(steps) not in known:
            before = [int(done) for done in known if int(done) < steps and int(done) not in PACE_STEPS]
            parent = known[str(max(before))][2] if before else None
            params = self.params(seed, arm, steps, parent, self.share_of(place, images))
            known[str(steps)] = train(place, params, self.task.headline)
            notes.write_text(json.dumps(known), encoding="utf-8")
        return known[str(steps)][0], known[str(steps)][1]

    def measure_pace(self, seed: int) -> float:
        """Return steps per second of one thread's processor time."""
        (_, few), (_, many) = (self.train(seed, RANDOM, steps) for steps in PACE_STEPS)
        return (PACE_STEPS[1] - PACE_STEPS[0]) / (many - few)


def main() -> None:
    arguments = parse_arguments()
    starts = {path.name.partition(".")[0]: path.resolve() for path in arguments.start}
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        bench = Bench(folder, arguments.folder.resolve(), arguments.data, starts, arguments.max_side, arguments.model)
        pace = arguments.pace or bench.measure_pace(arguments.seeds[0])
        print(f"{pace:.2f} steps of {bench.task.batch_size} a second; {bench.task.headline} after minutes of training")
        rows: dict[tuple[int | None, float], list[dict[str, float]]] = {}
        for images, minutes in itertools.product(arguments.images or [None], arguments.minutes):
            rows[images, minutes] = []
            for seed in arguments.seeds:
                arms = {arm: bench.train(seed, arm, round(minutes * 60 * pace), images)[0] for arm in (RANDOM, *starts)}
                values = ", ".join(f"{value:.3f} {arm}" for arm, value in arms.items())
                print(f"  {images or 'all'} images, {minutes:g} minutes, seed {seed}: {values}", flush=True)
                rows[images, minutes].append(arms)
    print_table(rows, list(starts), pace)


def print_table(rows: dict[tuple[int | None, float], list[dict[str, float]]], starts: list[str], pace: float) -> None:
    print("| images | minutes | steps | start | random | with it | difference (95 %) |\n|---|---|---|---|---|---|---|")
    for ((images, minutes), seeds), start in itertools.product(rows.items(), starts):
        random, started = (statistics.fmean(arms[arm] for arms in seeds) for arm in (RANDOM, start))
        difference = describe_difference([arms[start] - arms[RANDOM] for arms in seeds])
        length = f"{images or 'all'} | {minutes:g} | {round(minutes * 60 * pace):,}"
        print(f"| {length} | {start} | {random:.3f} | {started:.3f} | {difference} |")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", choices=sorted(TASKS), required=True)
    parser.add_argument(
        "--start", type=Path, nargs="*", default=[], help="weights for the network; random alone without"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, nargs="+", default=[2, 5, 10])
    parser.add_argument("--model", type=yaml.safe_load, help="an option of conf/model, or a mapping with `use`")
    parser.add_argument("--images", type=int, nargs="+", help="how many of the training images; all without it")
    parser.add_argument("--pace", type=float, help="steps per second, instead of measuring it")
    parser.add_argument("--max-side", type=int, default=256, help="larger images are resized when records are built")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the runs")
    arguments = parser.parse_args()
    arguments.minutes.sort()  # a longer run goes on from a shorter one
    return arguments


if __name__ == "__main__":
    main()
