"""Detectors against each other, by minutes of training: on the demo's digits, or on a folder of one's own photographs.

    python benchmarks/detectors.py ssd_small point_nano_128 --minutes 2
    python benchmarks/detectors.py ssd_small "point_nano_128 lr.peak=0.002" --folder data/raw/raccoon --minutes 2 5

A contender is an option of `model`, with changes to the recipe behind it. The recipe is the demo's, with averages of
the weights, for photographs with mirroring and crops. A minute is a number of steps: as many as one thread takes in 60
seconds of processor time, measured for each contender on the first seed. So the load of the machine changes no result.
Each number of minutes is a training of its own, with its own end of the learning rate.

Each seed has its own data: digits drawn by it, or its own split of the photographs. All contenders share it. A
difference is to the first contender, within a seed; its 95 % interval is Student's over the seeds. Trainings that an
interrupted benchmark has left in `--keep` are not done again.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from trials import ONE_THREAD, OWN_DATA, PACE_STEPS, describe_difference, make_workspace, train

HEADLINE, BATCH, SECONDS = "mAP_50", 8, 10
PHOTOS = {
    "turn": {"mirror": 0.5}, "crop": {"kind": "ssd"}, "colour": {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3},
}  # fmt: skip
ANSWERS = f"""
import time, sys
from pathlib import Path
import numpy as np, tensorflow as tf
from bakeoff.config.compose.whole_run import load
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.networks.weights import restore
run = load(Path("models/config/run.yaml"))
network = restore(run.model, run.derived.num_classes, Path("models/train/final.weights.h5"))
task = Detection(run.model, [str(number) for number in range(run.derived.num_classes)])
answer = tf.function(lambda images: task.predict(network(images, training=False)))
images = tf.constant(np.full((1, run.model.input_size, run.model.input_size, 3), 127, np.float32))
for _ in range(2):
    answer(images)
calls, before = 0, time.process_time()
while time.process_time() - before < {SECONDS}:
    answer(images)
    calls += 1
print(calls / (time.process_time() - before))
"""


@dataclass(frozen=True)
class Contender:
    name: str  # as it was typed
    model: str
    changes: dict[str, Any]  # dotted keys

    @classmethod
    def read(cls, text: str) -> "Contender":
        model, *overrides = text.split()
        pairs = (override.partition("=") for override in overrides)
        return cls(text, model, {key: yaml.safe_load(value) for key, _, value in pairs})


@dataclass(frozen=True)
class Bench:
    folder: Path  # a workspace for each seed is made in it
    photos: Path | None
    max_side: int
    pace_steps: tuple[int, int]  # of two trainings; what the second takes on top is the steps alone

    def params(self, contender: Contender, seed: int, steps: int) -> dict[str, Any]:
        """Return a params.yaml."""
        split = {"by": "fraction", "validation": 0.2, "seed": seed}
        photos = {"use": "pascal_voc", "path": OWN_DATA, "max_side": self.max_side, "split": split}
        common = {"batch_size": BATCH, "steps": steps, "validate_every_steps": 0, "ema_decay": 0.99, "samples": 0}
        changed = {"augment": PHOTOS, "use": "smoke"} if self.photos else {"use": "demo"}
        tree: dict[str, Any] = {
            "experiment": "demo", "seed": seed, "data": photos if self.photos else {"use": "digits", "seed": seed},
            "model": {"use": contender.model}, "train": common | changed | {"checkpoint_every_steps": steps},
            "lr": {"use": "cosine"}, "track": {"use": "none"},
        }  # fmt: skip
        for key, value in contender.changes.items():
            *path, last = key.split(".")
            place = tree
            for name in path:
                place = place.setdefault(name, {})
            place[last] = value
        return tree

    def workspace(self, contender: Contender, seed: int) -> Path:
        place = self.folder / f"seed{seed}"
        make_workspace(place, self.photos, self.params(contender, seed, self.pace_steps[0]))
        return place

    def train(self, contender: Contender, seed: int, steps: int) -> tuple[float, float, float]:
        """Return the headline after so many steps, the processor's seconds, and answers a second of one thread."""
        place = self.workspace(contender, seed)
        notes = place / "known.json"
        known = json.loads(notes.read_text(encoding="utf-8")) if notes.is_file() else {}
        key = f"{contender.name}, {steps} steps"
        if key not in known:
            headline, seconds, _ = train(place, self.params(contender, seed, steps), HEADLINE)
            known[key] = [headline, seconds, measure_answers(place)]
            notes.write_text(json.dumps(known, indent=1), encoding="utf-8")
        headline, seconds, answers = known[key]
        return headline, seconds, answers

    def measure_pace(self, contender: Contender, seed: int) -> float:
        """Return steps per second of one thread's processor time."""
        (_, few, _), (_, many, _) = (self.train(contender, seed, steps) for steps in self.pace_steps)
        return (self.pace_steps[1] - self.pace_steps[0]) / (many - few)


def measure_answers(place: Path) -> float:
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(place / "src")}
    command = [sys.executable, "-c", ANSWERS]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"answers in {place}: {done.stderr[-2000:]}")
    return float(done.stdout)


def main() -> None:
    arguments = parse_arguments()
    with TemporaryDirectory() as temporary:
        photos = arguments.folder.resolve() if arguments.folder else None
        keep = (arguments.keep or Path(temporary)).resolve()
        bench = Bench(keep, photos, arguments.max_side, tuple(arguments.pace_steps))
        contenders = [Contender.read(text) for text in arguments.contenders]
        given = dict(zip(arguments.contenders, arguments.pace or [], strict=bool(arguments.pace)))
        paces = {one.name: given.get(one.name) or bench.measure_pace(one, arguments.seeds[0]) for one in contenders}
        for minutes in arguments.minutes:
            compare(bench, contenders, paces, minutes, arguments.seeds)


def compare(
    bench: Bench, contenders: list[Contender], paces: dict[str, float], minutes: float, seeds: list[int]
) -> None:
    rows: dict[str, list[float]] = {one.name: [] for one in contenders}
    answers: dict[str, list[float]] = {one.name: [] for one in contenders}
    for seed in seeds:
        for one in contenders:
            headline, _, a_second = bench.train(one, seed, max(1, round(minutes * 60 * paces[one.name])))
            rows[one.name].append(headline)
            answers[one.name].append(a_second)
        scores = ", ".join(f"{name} {values[-1]:.3f}" for name, values in rows.items())
        print(f"  {minutes:g} minutes, seed {seed}: {scores}", flush=True)
    first = rows[contenders[0].name]
    print(f"{HEADLINE} after {minutes:g} minutes; images a second of one thread, trained and answered")
    print("| contender | steps | mAP_50 | difference (95 %) | trained | answered |\n|---|---|---|---|---|---|")
    for one in contenders:
        values, steps = rows[one.name], max(1, round(minutes * 60 * paces[one.name]))
        differences = [value - other for value, other in zip(values, first, strict=True)]
        difference = "" if one is contenders[0] else describe_difference(differences)
        print(
            f"| {one.name} | {steps:,} | {statistics.fmean(values):.3f} | {difference} | "
            f"{paces[one.name] * BATCH:.3g} | {statistics.median(answers[one.name]):.3g} |"
        )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="+", metavar="CONTENDER", help="an option of conf/model, and key=value …")
    parser.add_argument("--folder", type=Path, help="photographs with Pascal VOC's annotations, not the demo's digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, nargs="+", default=[2, 5])
    parser.add_argument("--pace", type=float, nargs="+", help="steps a second of each contender, not measured")
    parser.add_argument("--pace-steps", type=int, nargs=2, default=PACE_STEPS, help="fewer for large networks")
    parser.add_argument("--max-side", type=int, default=256, help="larger photographs are resized for the records")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the trainings")
    return parser.parse_args()


if __name__ == "__main__":
    main()
