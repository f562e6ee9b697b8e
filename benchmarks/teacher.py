"""What a teacher brings: a small detector learns few labels alone, with a larger run's answers, and bare pictures.

    python benchmarks/teacher.py data/raw/cells --labels 50 100 200 --teacher '{use: ssd_small, input_size: 256}'
    python benchmarks/teacher.py data/raw/signs --data image_folders --student cnn_small --teacher mobilenet_v2 \
        --teacher-start imagenet.h5

The folder has labels in Pascal VOC, or a folder for each class. Of each seed a fifth of the pictures is held back, and
so many others keep their labels. The teacher learns these labels, and three students the same, of classes two:

    alone    the labels
    taught   the labels, and what the teacher answers to the same pictures (`train.teacher`)
    film     the same, and its answers to the pictures that lost their labels (`data.unlabelled: taught`)

All students of a seed take the same number of steps, at a constant rate, with the same random numbers, and are judged
on the same pictures. `--start` are weights for the students, `--teacher-start` for the teacher. A difference is to
`alone` within a seed; its 95 % interval is Student's over the seeds. Runs that an interrupted benchmark has left in
`--keep` are not trained again.
"""

import argparse
import itertools
import json
import random
import shutil
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from fine_tuning import TASKS, Task
from trials import OWN_DATA, describe_difference, make_workspace, train

ALONE, TAUGHT, FILM = ARMS = ("alone", "taught", "film")
BOXES = "pascal_voc"
HELD_BACK = "validation.txt"
Model = str | dict[str, Any]


@dataclass(frozen=True)
class Bench:
    folder: Path
    data: Path
    student: Model
    teacher: Model
    starts: tuple[Path | None, Path | None]  # weights for a student, for the teacher
    steps: tuple[int, int]  # of a student, of the teacher
    max_side: int
    settings: dict[str, Any]  # of train.teacher
    kind: str = BOXES

    @property
    def task(self) -> Task:
        return TASKS[self.kind]

    @property
    def students(self) -> tuple[str, ...]:
        return ARMS if self.kind == BOXES else (ALONE, TAUGHT)

    def prepare(self, seed: int, labels: int) -> Path:
        """Return a copy of the data with so many labels of training pictures, and those held back."""
        place = self.folder / f"seed{seed}-{labels}"
        if not place.is_dir():
            partial = place.with_name(f"{place.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            files = sorted((self.data / "annotations").glob("*.xml") if self.kind == BOXES else self.data.glob("*/*.*"))
            random.Random(seed).shuffle(files)
            count = round(len(files) / 5)
            copy = self._copy_boxes if self.kind == BOXES else _copy_folders
            copy(partial, files[:count], files[count:], labels)
            partial.rename(place)
        return place

    def _copy_boxes(self, place: Path, held_back: list[Path], others: list[Path], labels: int) -> None:
        shutil.copytree(self.data / "images", place / "images")
        (place / "annotations").mkdir()
        for file in held_back + others[:labels]:
            shutil.copy(file, place / "annotations")
        (place / HELD_BACK).write_text("".join(f"{file.stem}\n" for file in held_back), encoding="utf-8")

    def train(self, seed: int, labels: int, arm: str) -> float:
        """Return the headline on the pictures held back; `arm` may be the teacher, too."""
        data = self.prepare(seed, labels)
        place, notes = data.with_name(f"{data.name}-{arm}"), data.with_name(f"{data.name}-{arm}.json")
        if not notes.is_file():
            params = self.params(seed, arm, f"../{data.name}-teacher")
            make_workspace(place, data, params | {"train": {"use": "smoke"}}, self.starts[arm not in ARMS])
            notes.write_text(json.dumps(train(place, params, self.task.headline)), encoding="utf-8")
        return float(json.loads(notes.read_text(encoding="utf-8"))[0])

    def params(self, seed: int, arm: str, teacher: str) -> dict[str, Any]:
        is_student = arm in ARMS
        steps = self.steps[0 if is_student else 1]
        changes: dict[str, Any] = {}
        if arm in (TAUGHT, FILM):
            changes["teacher"] = self.settings | {"run": teacher}
        if self.starts[not is_student]:
            changes["init"] = {"weights": "data/weights/start.weights.h5", "warm_start": list(self.task.warm_start)}
        of_boxes = {
            "unlabelled": "taught" if arm == FILM else "skip",
            "split": {"by": "given", "validation_list": HELD_BACK},
        }
        return {
            "experiment": self.task.experiment,
            "seed": seed,
            "data": {"use": self.kind, "path": OWN_DATA, "max_side": self.max_side}
            | (of_boxes if self.kind == BOXES else {}),
            "model": self.student if is_student else self.teacher,
            **self.task.training(steps, changes),
        }


def _copy_folders(place: Path, held_back: list[Path], others: list[Path], labels: int) -> None:
    """Of training pictures, as many of each class as there are."""
    seen: Counter[str] = Counter()
    turns: dict[Path, int] = {}
    for file in others:
        turns[file] = seen[file.parent.name]
        seen[file.parent.name] += 1
    chosen = sorted(others, key=turns.__getitem__)[:labels]
    for side, files in (("validation", held_back), ("train", chosen)):
        for file in files:
            (place / side / file.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / side / file.parent.name)


def main() -> None:
    arguments = parse_arguments()
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        steps, starts = (arguments.steps, arguments.teacher_steps), (arguments.start, arguments.teacher_start)
        networks, data = (arguments.student, arguments.teacher), arguments.folder.resolve()
        bench = Bench(folder, data, *networks, starts, steps, arguments.max_side, arguments.settings, arguments.data)
        arms = ("teacher", *bench.students)
        rows: dict[int, list[dict[str, float]]] = {labels: [] for labels in arguments.labels}
        for seed, labels in itertools.product(arguments.seeds, arguments.labels):
            rows[labels].append({arm: bench.train(seed, labels, arm) for arm in arms})
            values = ", ".join(f"{value:.3f} {arm}" for arm, value in rows[labels][-1].items())
            print(f"  {labels} labels, seed {seed}: {values}", flush=True)
    taught = bench.students[1:]
    print("| labels | teacher | alone |" + "".join(f" {arm} | difference (95 %) |" for arm in taught))
    print("|---" * (3 + 2 * len(taught)) + "|")
    for labels, seeds in rows.items():
        mean = {arm: f"{statistics.fmean(one[arm] for one in seeds):.3f}" for arm in arms}
        gain = {arm: describe_difference([one[arm] - one[ALONE] for one in seeds]) for arm in taught}
        cells = [mean["teacher"], mean[ALONE], *(f"{mean[arm]} | {gain[arm]}" for arm in taught)]
        print(f"| {labels} |", " | ".join(cells), "|")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="images/ and annotations/, or a folder for each class")
    parser.add_argument("--data", choices=sorted(TASKS), default=BOXES)
    parser.add_argument("--labels", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--student", type=yaml.safe_load, default="ssd_small", help="an option of conf/model")
    parser.add_argument("--teacher", type=yaml.safe_load, default={"use": "ssd_small", "input_size": 256})
    parser.add_argument("--start", type=Path, help="weights that students start from")
    parser.add_argument("--teacher-start", type=Path, help="weights that the teacher starts from")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--teacher-steps", type=int, default=600)
    parser.add_argument("--settings", type=yaml.safe_load, default={}, help="of train.teacher, as {weight: 0.5}")
    parser.add_argument("--max-side", type=int, default=256, help="larger images are resized when records are built")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
