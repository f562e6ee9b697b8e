"""Ten mistakes in data and settings: what each library says of them, and whether it trains all the same.

    python benchmarks/peers/mistakes.py --ultralytics /of/ultralytics/bin/python --libreyolo /of/libreyolo/bin/python

Each mistake is made in a copy of a dataset of some drawn scenes, in YOLO's layout, or of folders with an image for each
class. Then a short training runs. Of a run that fails, the last line that it prints is shown, which in a traceback is
the message. Of one that trains, it is the first warning that the faultless training does not print, if possible
one that names a file.
"""

import argparse
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arms import Arm, Bench, add_pythons, list_pythons
from datasets import BOXES, FOLDERS, draw_demo, write_boxes
from PIL import Image, ImageOps

OWN_DATA = "data/raw/own"  # where a workspace of bakeoff has the data
SIDE, LARGE, SHOWN, MINUTES = 64, 1000, 110, 10
WARNINGS = re.compile(r"warn|error|ignor|corrupt|skip|reject|has no|without|maybe|not found|duplicate|drop|fail", re.I)
HARMLESS = re.compile(r"\b0 corrupt|overlap no anchor")  # a count of every folder; what also varies without a mistake
NAMED = re.compile(r"\.(jpg|png|txt)\b")
ERROR = re.compile(r"[\w.]*(Error|Exception|render_config in|build_records in|train in)\b.*: ")
NOISE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[0-9.]+|/\S+")
ARMS = {
    BOXES: {
        "bakeoff": Arm("bakeoff", "bakeoff", "ssd_small", {"data": {"use": "yolo", "path": OWN_DATA}}),
        "ultralytics": Arm("Ultralytics", "ultralytics", "yolo11n", {"batch": 8, "nbs": 8}),
        "libreyolo": Arm("LibreYOLO", "libreyolo", "LibreYOLO9-t", {"batch": 8}),
    },
    FOLDERS: {
        "bakeoff": Arm("bakeoff", "bakeoff", "cnn_small"),
        "ultralytics": Arm("Ultralytics", "ultralytics", "yolo11n-cls", {"batch": 8}),
        "keras": Arm("Keras", "keras", "small", {"batch_size": 8}),
    },
}


@dataclass(frozen=True)
class Mistake:
    name: str
    spoil: Callable[[Path], object] = lambda folder: None
    settings: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # by library
    kinds: tuple[str, ...] = (BOXES,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_pythons(parser)
    parser.add_argument("--only", nargs="+", default=[], help="some of the mistakes, by their names")
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and what was printed")
    arguments = parser.parse_args()
    pythons = list_pythons(arguments)
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        print("| mistake | library | status | what it says |\n|---|---|---|---|", flush=True)
        for mistake in MISTAKES:
            for kind in mistake.kinds if not arguments.only or mistake.name in arguments.only else ():
                for library in (name for name in ARMS[kind] if name in pythons):
                    status, line = try_mistake(folder, pythons, mistake, kind, library)
                    print(f"| {mistake.name} | {ARMS[kind][library].name} | {status} | {line} |", flush=True)


def try_mistake(folder: Path, pythons: dict[str, Path], mistake: Mistake, kind: str, library: str) -> tuple[int, str]:
    """Return how the training ended, and the line that says what is wrong."""
    faultless = run(folder, pythons, FAULTLESS, kind, library)[1]
    status, lines = run(folder, pythons, mistake, kind, library)
    if status:
        return status, show(next((line for line in reversed(lines) if ERROR.match(line)), lines[-1]))
    usual = {normalise(line) for line in faultless}
    found = [
        line for line in lines if WARNINGS.search(line) and not HARMLESS.search(line) and normalise(line) not in usual
    ]
    named = [line for line in found if NAMED.search(line)]
    return status, show([*named, *found, "it trains without a word"][0])


def run(folder: Path, pythons: dict[str, Path], mistake: Mistake, kind: str, library: str) -> tuple[int, list[str]]:
    """Return the status of a short training, and the lines that it prints; it is not done twice."""
    place = folder / f"{mistake.name}_{kind}_{library}".replace(" ", "_")
    arm = ARMS[kind][library]
    arm = Arm(arm.name, library, arm.model, arm.settings | mistake.settings.get(library, {}))
    bench, status = Bench(place, kind, None, SIDE, pythons), place / "status"
    if not status.is_file():
        shutil.rmtree(place, ignore_errors=True)
        write_small(kind, bench.folder(arm, 0))
        mistake.spoil(bench.folder(arm, 0))
        process = bench.start("train", arm, 0, 4 if library == "bakeoff" else 1, place)
        status.write_text(str(process.wait(MINUTES * 60)), encoding="utf-8")
    logs = [*sorted(place.glob("workspace/*.log")), place / "train.log"]
    text = "\n".join(log.read_text(encoding="utf-8", errors="replace") for log in logs).replace("\r", "\n")
    return int(status.read_text(encoding="utf-8")), [line for line in map(str.strip, text.splitlines()) if line]


def normalise(line: str) -> str:
    return NOISE.sub("", line)


def show(line: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).replace("|", "\\|")
    return re.sub(r"^\w+ in …/workspace: ", "", re.sub(r"/\S*/", "…/", plain))[:SHOWN]


def write_small(kind: str, out: Path) -> None:
    """Write a dataset of 24 and 8 images."""
    scenes = draw_demo(seed=0, train_examples=24, validation_examples=8)
    if kind == BOXES:
        write_boxes(scenes, out)
    for split, pictures in scenes.items() if kind == FOLDERS else ():
        for number, picture in enumerate(pictures):
            file = out / split / ("cat", "dog")[number % 2] / f"{picture.name}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(picture.encoded)
    (out / "split.json").write_text('{"train": 24, "validation": 8}', encoding="utf-8")


def first(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def cut_image(data: Path) -> None:
    file = first(data, "**/train/**/*.jpg")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def add_line(data: Path, line: str) -> None:
    with first(data, "labels/train/*.txt").open("a", encoding="utf-8") as labels:
        labels.write(line)


def double_name(data: Path) -> None:
    """Add the mirrored picture under the same name with another ending."""
    file = first(data, "images/train/*.jpg")
    ImageOps.mirror(Image.open(file)).save(file.with_suffix(".png"))


def keep_for_validation(data: Path) -> None:
    """Take the boxes of one class of validation out of training, or a folder."""
    for seen in sorted(data.glob("labels/validation/*.txt"))[:1]:
        label = seen.read_text(encoding="utf-8").split()[0] + " "
        for file in data.glob("labels/train/*.txt"):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            file.write_text("".join(line for line in lines if not line.startswith(label)), encoding="utf-8")
    shutil.rmtree(data / "train/cat", ignore_errors=True)


FAULTLESS = Mistake("none")
BOTH = (BOXES, FOLDERS)
TYPO = {
    "bakeoff": {"lr": {"use": "cosine", "peek": 0.01}}, "ultralytics": {"lr00": 0.01}, "libreyolo": {"lr00": 0.01},
    "keras": {"batchsize": 8},
}  # fmt: skip
TOO_LARGE = {
    "bakeoff": {"train": {"use": "preset", "steps": 4, "epochs": None, "batch_size": LARGE}},
    "ultralytics": {"batch": LARGE}, "libreyolo": {"batch": LARGE}, "keras": {"batch_size": LARGE},
}  # fmt: skip
NEGATIVE = {
    "bakeoff": {"lr": {"use": "cosine", "peak": -0.01}}, "ultralytics": {"lr0": -0.01}, "libreyolo": {"lr0": -0.01},
    "keras": {"learning_rate": -0.01},
}  # fmt: skip
MISTAKES = (
    Mistake("an image that is cut", cut_image, kinds=BOTH),
    Mistake("a label of an unknown class", lambda data: add_line(data, "99 0.5 0.5 0.2 0.2\n")),
    Mistake("a box outside the image", lambda data: add_line(data, "0 1.5 0.5 0.2 0.2\n")),
    Mistake("an empty folder of a class", lambda data: (data / "train/owl").mkdir(), kinds=(FOLDERS,)),
    Mistake("a typo in a key", settings=TYPO, kinds=BOTH),
    Mistake("a batch larger than the data", settings=TOO_LARGE, kinds=BOTH),
    Mistake("a missing folder", lambda data: shutil.rmtree(first(data, "**/train")), kinds=BOTH),
    Mistake("two images of one name", double_name),
    Mistake("a class that is only in validation", keep_for_validation, kinds=BOTH),
    Mistake("a negative learning rate", settings=NEGATIVE, kinds=BOTH),
)


if __name__ == "__main__":
    main()
