"""The arms of the comparison, and how a job of one is run by its library's own Python, on one thread."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datasets import BOXES, DEMO, FOLDERS, write_split

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from trials import ONE_THREAD, PACE_STEPS, ROOT  # noqa: E402 - it lies one folder up

from bakeoff.tracking.sync.system_metrics import has_bfloat16  # noqa: E402

TASKS = {DEMO: "detection", BOXES: "detection", FOLDERS: "classification"}
OFFLINE = {"YOLO_OFFLINE": "true", "YOLO_AUTOINSTALL": "false", "HF_HUB_OFFLINE": "1", "MKL_NUM_THREADS": "1"}
LARGE = 256  # pixels; from here on `point_nano` itself, with strides of 8 and more
EPOCHS = (1, 3)


@dataclass(frozen=True)
class Library:
    runner: str
    pace: tuple[int, int]  # the lengths of two trainings; what the second takes on top is the steps alone
    unit: str = "epochs"
    plain: tuple[str, int] | None = (
        None  # of detectors: the key of how many last epochs have no mosaic, and its default
    )
    long: tuple[int, dict[str, Any]] | None = None  # what it sets by itself for more updates than these


LIBRARIES = {
    "bakeoff": Library("bakeoff_runner.py", PACE_STEPS, "steps"),
    "ultralytics": Library(
        "ultralytics_runner.py",
        EPOCHS,
        plain=("close_mosaic", 10),
        long=(10_000, {"optimizer": "MuSGD", "lr0": 0.01, "momentum": 0.9}),
    ),
    "libreyolo": Library("libreyolo_runner.py", EPOCHS, plain=("no_aug_epochs", 15)),
    "keras": Library("keras_runner.py", (2, 12)),
}


@dataclass(frozen=True)
class Arm:
    name: str
    library: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    batch: int = 16

    @property
    def folder(self) -> str:
        return self.name.replace(", ", "_").replace(" ", "_")


def list_arms(kind: str, side: int) -> list[Arm]:
    """Return the arms: each library by its defaults, and with the batch and the updates per image that bakeoff has."""
    if kind == FOLDERS:
        return [
            Arm("cnn_small", "bakeoff", "cnn_small"),
            Arm("Keras' fit", "keras", "small", {"batch_size": 32}, 32),
            Arm("Keras' fit, batch 16", "keras", "small", {"batch_size": 16}),
            Arm("yolo11n-cls", "ultralytics", "yolo11n-cls"),
            Arm("yolo11n-cls, batch 16", "ultralytics", "yolo11n-cls", {"batch": 16, "nbs": 16}),
        ]
    points = "point_nano" if side >= LARGE else "point_nano_128"
    by_eights = {"batch": 8, "nbs": 8}
    for_anchors = {} if kind == DEMO else {"lr": {"use": "cosine"}, "optimizer": {"use": "adam_short"}}
    for_points = {"lr": {"use": "points"}, "optimizer": {"use": "adam"}}

    def ours(how: str = "", changes: dict[str, Any] | None = None) -> list[Arm]:
        return [
            Arm(f"ssd_small{how}", "bakeoff", "ssd_small", for_anchors | (changes or {}), 8),
            Arm(f"{points}{how}", "bakeoff", points, for_points | (changes or {}), 8),
        ]

    alone = {"train": {"use": "photographs"}}  # each photograph by itself
    mixed = {"train": {"ema_decay": 0.999, "augment": {"mosaic": {"probability": 0.5}}}}  # as photographs_from_scratch
    faster = {"train": {"mixed_precision": True}, "data": {"max_side": 2 * side}}
    return [
        *ours(),
        Arm("yolo11n, batch 8", "ultralytics", "yolo11n", by_eights, 8),
        Arm("yolo11n", "ultralytics", "yolo11n"),
        Arm("yolov8n, batch 8", "ultralytics", "yolov8n", by_eights, 8),
        Arm("yolov8n", "ultralytics", "yolov8n"),
        *(ours(", no mosaic", alone) if kind == BOXES else ours(", mosaic", mixed)),
        *(ours(", faster", faster) if has_bfloat16() else []),
        Arm("LibreYOLO9-t, batch 8", "libreyolo", "LibreYOLO9-t", {"batch": 8}, 8),
        Arm("LibreYOLO9-t", "libreyolo", "LibreYOLO9-t"),
    ]


def add_pythons(parser: argparse.ArgumentParser) -> None:
    for library in ("ultralytics", "libreyolo"):
        parser.add_argument(f"--{library}", type=Path, metavar="PYTHON", help="of the environment that has it")


def list_pythons(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the Python of each library that there is one for."""
    own = Path(sys.executable)
    given = {"bakeoff": own, "keras": own, "ultralytics": arguments.ultralytics, "libreyolo": arguments.libreyolo}
    return {name: path.absolute() for name, path in given.items() if path}


@dataclass(frozen=True)
class Bench:
    """One dataset at one side, and a folder that keeps every training on it."""

    keep: Path
    kind: str
    source: Path | None
    side: int
    pythons: dict[str, Path]  # of each library

    def folder(self, arm: Arm, seed: int) -> Path:
        """Name a folder that no other library sees: Ultralytics writes JPEGs with bytes after their end anew, there."""
        return self.keep / f"data{seed}" / arm.library

    def data(self, arm: Arm, seed: int) -> Path:
        place = self.folder(arm, seed)
        write_split(self.kind, self.source, seed, place)
        return place

    def examples(self, arm: Arm, seed: int) -> int:
        count: int = json.loads((self.data(arm, seed) / "split.json").read_text(encoding="utf-8"))["train"]
        return count

    def out(self, arm: Arm, seed: int, length: int) -> Path:
        return self.keep / f"seed{seed}" / arm.folder / str(length)

    def train(self, arm: Arm, seed: int, length: int) -> dict[str, Any]:
        """Return the answer of a training of this length, which is not done again."""
        return self._do("train", arm, seed, length)

    def ask(self, action: str, arm: Arm, seed: int, length: int) -> dict[str, Any]:
        """Return the answer of a trained network: `predict` or `export`."""
        self.train(arm, seed, length)
        return self._do(action, arm, seed, length)

    def measure_pace(self, arm: Arm, seed: int) -> tuple[float, float]:
        """Return steps or epochs per second of the processor, and the seconds that are spent beside them."""
        lengths = LIBRARIES[arm.library].pace
        few, many = (self.train(arm, seed, length)["seconds"] for length in lengths)
        pace = (lengths[1] - lengths[0]) / (many - few)
        return pace, few - lengths[0] / pace

    def plan_length(self, arm: Arm, seed: int, seconds: float) -> int:
        """Return how many steps or epochs fit, with the optimizer that so many have."""
        length, long = self._fit(arm, seed, seconds), LIBRARIES[arm.library].long
        if not long:
            return length
        most, settings = long
        updates = -(-self.examples(arm, seed) // max(arm.batch, arm.settings.get("nbs", 64)))  # of an epoch
        if length * updates <= most:
            return length
        slower = replace(arm, name=f"{arm.name}, {settings['optimizer']}", settings=arm.settings | settings)
        return max(most // updates, self._fit(slower, seed, seconds))

    def _fit(self, arm: Arm, seed: int, seconds: float) -> int:
        """Return how many fit at the pace. The last epochs have no mosaic, as all of the short trainings."""
        library, (pace, _) = LIBRARIES[arm.library], self.measure_pace(arm, seed)
        length = seconds * pace
        if TASKS[self.kind] == "detection" and library.plain and length > library.plain[1]:
            key, last = library.plain
            longer = library.pace[1]
            mixed = replace(arm, name=f"{arm.name}, mosaic", settings=arm.settings | {key: 0})
            more = (self.train(mixed, seed, longer)["seconds"] - self.train(arm, seed, longer)["seconds"]) / longer
            length = last + (seconds - last / pace) / (1 / pace + more)
        return max(1, round(length))

    def images(self, arm: Arm, seed: int, length: int) -> int:
        """Return how many images a training of this length has seen."""
        return length * (arm.batch if LIBRARIES[arm.library].unit == "steps" else self.examples(arm, seed))

    def _do(self, action: str, arm: Arm, seed: int, length: int) -> dict[str, Any]:
        out = self.out(arm, seed, length)
        if not (out / f"{action}.json").is_file():
            if action == "train":
                shutil.rmtree(out, ignore_errors=True)  # what was interrupted has other seconds
            process = self.start(action, arm, seed, length, out)
            if process.wait():
                log = (out / f"{action}.log").read_text(encoding="utf-8", errors="replace")
                sys.exit(f"{action} of {arm.name} in {out}: {log[-2000:]}")
        return self.read(out, action)

    def read(self, out: Path, action: str) -> dict[str, Any]:
        """Return the answer that a job has left."""
        answer: dict[str, Any] = json.loads((out / f"{action}.json").read_text(encoding="utf-8"))
        return answer

    def start(
        self, action: str, arm: Arm, seed: int, length: int, out: Path, *, resume: bool = False
    ) -> subprocess.Popen[bytes]:
        out.mkdir(parents=True, exist_ok=True)
        job = {
            "action": action, "task": TASKS[self.kind], "kind": self.kind, "data": str(self.data(arm, seed)),
            "model": arm.model, "side": self.side, "seed": seed, "length": length, "settings": arm.settings,
            "resume": resume, "out": str(out),
        }  # fmt: skip
        file = out / f"{action}.job.json"
        file.write_text(json.dumps(job), encoding="utf-8")
        environment = os.environ | ONE_THREAD | OFFLINE | {"YOLO_CONFIG_DIR": str(self.keep / "settings")}
        environment.pop("PYTHONPATH", None)
        if arm.library == "bakeoff":
            environment["PYTHONPATH"] = str(ROOT / "src")
        command = [str(self.pythons[arm.library]), str(HERE / LIBRARIES[arm.library].runner), str(file)]
        with (out / f"{action}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=out, env=environment, stdout=log, stderr=log)
