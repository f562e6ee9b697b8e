"""What `model.tiles` brings on small objects in large pictures, and what it costs.

    python benchmarks/tiles.py --steps 1500 --keep folder

Pictures of 960 x 720 pixels are drawn, with 6 to 16 discs, squares and triangles of 12 to 22 pixels on grey clouds.
The network takes 128 x 128 pixels, so that such an object is two pixels wide in the whole picture. It is trained once
as it is and once in tiles, by one thread, as many steps of as many crops or pictures. Printed are mAP_50 on whole
validation pictures, processor seconds of a training step, and seconds of an answer.
"""

import argparse
import csv
import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from trials import OWN_DATA, make_workspace, run, write_params

KINDS = ("disc", "square", "triangle")
WIDTH, HEIGHT, SMALLEST, LARGEST = 960, 720, 12, 22
TIMED = 10  # pictures
ARMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "tiles": {"tiles": {"size": 192}},
}


def draw_dataset(folder: Path, pictures: int, seed: int) -> None:
    """Write images/ and labels.csv."""
    (folder / "images").mkdir(parents=True)
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"])
        for number in range(pictures):
            name = f"p{number:04d}.jpg"
            image, boxes = draw_picture(np.random.default_rng([seed, number]))
            image.save(folder / "images" / name, quality=92)
            rows.writerows([name, WIDTH, HEIGHT, kind, *box] for kind, box in boxes)


def draw_picture(draw: np.random.Generator) -> tuple[Image.Image, list[tuple[str, tuple[int, int, int, int]]]]:
    coarse = draw.integers(80, 180, (24, 32), np.uint8)
    image = Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).convert("RGB")
    pen, boxes = ImageDraw.Draw(image), []
    taken = np.zeros((HEIGHT, WIDTH), bool)
    for _ in range(int(draw.integers(6, 17))):
        side = int(draw.integers(SMALLEST, LARGEST + 1))
        left, top = int(draw.integers(0, WIDTH - side)), int(draw.integers(0, HEIGHT - side))
        if taken[top : top + side, left : left + side].any():
            continue
        taken[top : top + side, left : left + side] = True
        around = np.asarray(image)[top : top + side, left : left + side].mean(axis=(0, 1))
        colour = tuple(int(value) for value in np.where(draw.random(3) < 0.5, around - 75, around + 75))
        kind, right, bottom = KINDS[int(draw.integers(3))], left + side, top + side
        if kind == "disc":
            pen.ellipse((left, top, right - 1, bottom - 1), fill=colour)
        elif kind == "square":
            pen.rectangle((left, top, right - 1, bottom - 1), fill=colour)
        else:
            pen.polygon([(left + side // 2, top), (left, bottom - 1), (right - 1, bottom - 1)], fill=colour)
        boxes.append((kind, (left, top, right, bottom)))
    return image, boxes


def params(arm: str, steps: int) -> dict[str, Any]:
    return {
        "experiment": "demo",
        "seed": 0,
        "data": {"use": "box_csv", "path": OWN_DATA, "split": {"by": "fraction", "validation": 0.2}},
        "model": {"use": "ssd_tiny", "anchors": {"scale": 1.5, "aspect_ratios": [1.0]}} | ARMS[arm],
        "lr": {"use": "cosine"},
        "train": {
            "use": "smoke", "batch_size": 8, "steps": steps, "epochs": None, "validate_every_steps": 0,
            "ema_decay": 0.99, "samples": 0, "checkpoint_every_steps": steps, "augment": {"turn": {"mirror": 0.5}},
        },
        "track": {"use": "none"},
    }  # fmt: skip


def measure(place: Path, arm: str, steps: int) -> dict[str, float]:
    write_params(place, params(arm, steps))
    run(place, "render_config")
    seconds = run(place, "train")
    run(place, "evaluate")
    metrics = json.loads((place / "models/evaluation/metrics.json").read_text(encoding="utf-8"))
    return {
        "mAP_50": metrics["mAP_50"], "mAP": metrics["mAP"], "low": metrics["interval"]["mAP_50"]["low"],
        "high": metrics["interval"]["mAP_50"]["high"], "training_s": seconds, "answer_s": time_answers(place),
    }  # fmt: skip


def time_answers(place: Path) -> float:
    """Return the median of seconds that this process waits for the answer to a whole picture."""
    from bakeoff.config.compose.whole_run import load
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.inference.predict.model_interface import opened
    from bakeoff.inference.predict.select_model import Trained

    settings, manifest = load(place / "models/config/run.yaml"), read_manifest(place / "data/records")
    weights = place / "models/train/best.weights.h5"
    model = opened(Trained(settings.model, weights, manifest.classes, multi_label=False))
    taken = []
    for file in sorted((place / OWN_DATA / "images").glob("*.jpg"))[: TIMED + 1]:
        pixels = np.asarray(Image.open(file))
        before = time.perf_counter()
        model.answer(pixels)
        taken.append(time.perf_counter() - before)
    return statistics.median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arms", nargs="+", choices=sorted(ARMS), default=list(ARMS))
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and models")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        if not (folder / "drawn").is_dir():
            draw_dataset(folder / "drawn", arguments.pictures, arguments.seed)
        print("| | mAP_50 (95 %) | mAP | processor time of training | an answer |\n|---|---|---|---|---|", flush=True)
        for arm in arguments.arms:
            place = folder / arm.replace(", ", "_").replace(" ", "_")
            make_workspace(place, folder / "drawn", params(arm, arguments.steps))
            result = measure(place, arm, arguments.steps)
            interval = f"{result['mAP_50']:.3f} ({result['low']:.3f} to {result['high']:.3f})"
            times = f"{result['training_s']:.0f} s | {1000 * result['answer_s']:.0f} ms"
            print(f"| {arm} | {interval} | {result['mAP']:.3f} | {times} |", flush=True)


if __name__ == "__main__":
    main()
