"""Tiny data of three splits, and the stages run on them while nobody can read the test."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.whole_run import load
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.foundation import workspace
from bakeoff.stages.build_records import build_records
from bakeoff.stages.render_config import render_config
from support.stage_calls import evaluate, export, train
from support.workspace_copy import TINY

COUNTS = {"train": 12, "validation": 6, "test": 10}
LABELS = ("bright", "dark")
VARIANTS = {
    "classification": {
        "data": "data: {use: image_folders, path: data/raw/set}",
        "model": "model: {use: cnn_small, input_size: 24, width: 0.25}",
        "optimizer": "optimizer: {use: adam}",
        "lr": "lr: {use: constant, peak: 0.02}",
        "train": "train: {use: smoke, steps: 12, batch_size: 8}",
        "export": "export: {use: saved_model, formats: [saved_model, float32], latency_calls: 1}",
    },
    "detection": {
        "data": "data: {use: box_csv, path: data/raw/set, annotations: train.csv, validation_annotations: val.csv, "
        "test_annotations: test.csv}",
        "train": "train: {use: smoke, steps: 12, batch_size: 4}",
    },
    "video": {
        "data": "data: {use: clips, path: data/raw/set}",
        "model": "model: {use: clip_small, input_size: 16, frames: 4, width: 0.25}",
        "optimizer": "optimizer: {use: adam}",
        "lr": "lr: {use: constant, peak: 0.02}",
        "train": "train: {use: smoke, steps: 12, batch_size: 8}",
    },
}
VARIANTS["several labels"] = VARIANTS["video"] | {
    "data": "data: {use: clips, path: data/raw/set, table: clips.csv, multi_label: true}"
}
SEVERAL = (("bright",), ("dark",), ("bright", "dark"), ())  # labels of a clip: of which kind its frames are
FRAMES = 3
REST = ("memory: medium", "evaluate: {use: standard, pictures: 2, interval_samples: 100}", "track: none", "seed: 0")
Enter = Callable[[str], Path]


def draw_image(path: Path, seed: int, label: str) -> None:
    """A patch on a grey ground, of pixels like no other image's."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(90, 140, (48, 64, 3), np.uint8)
    shades = {"bright": (180, 250), "dark": (5, 70), "grey": (90, 140)}
    pixels[8:40, 12:52] = draw.integers(*shades[label], (32, 40, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def draw_clips(root: Path) -> None:
    """Three splits of clips with a label each, in folders of frames; every third of the test has the wrong one."""
    for split, count in COUNTS.items():
        for number in range(count):
            printed = LABELS[(number + (split == "test" and number % 3 == 0)) % 2]
            draw_clip(root / split / printed / f"{number}", (split, number), [LABELS[number % 2]])


def draw_labelled_clips(root: Path) -> None:
    """Three splits of clips with none, one or two labels, in a table."""
    rows = ["path,labels,split"]
    for split, count in COUNTS.items():
        for number in range(count):
            draw_clip(root / f"{split}/{number}", (split, number), SEVERAL[number % 4] or ("grey",))
            printed = SEVERAL[(number + (split == "test" and number % 5 == 0)) % 4]
            rows.append(f"{split}/{number},{'|'.join(printed)},{split}")
    (root / "clips.csv").write_text("\n".join(rows) + "\n")


def draw_clip(folder: Path, place: tuple[str, int], labels: Sequence[str]) -> None:
    seed = FRAMES * (sum(list(COUNTS.values())[: list(COUNTS).index(place[0])]) + place[1])
    for frame in range(FRAMES):
        draw_image(folder / f"{frame}.png", seed + frame, labels[frame % len(labels)])


def draw_dataset(task: str, root: Path) -> None:
    """Three splits; every third example of the test has the other label, so that no model is right everywhere."""
    if task in ("video", "several labels"):
        (draw_clips if task == "video" else draw_labelled_clips)(root)
        return
    seed = 0
    for split, count in COUNTS.items():
        rows = ["filename,width,height,class,xmin,ymin,xmax,ymax"]
        for number in range(count):
            label = LABELS[number % 2]
            printed = LABELS[(number + (split == "test" and number % 3 == 0)) % 2]
            inside = f"{split}/{printed}" if task == "classification" else f"images/{split}"
            draw_image(root / inside / f"{number}.png", seed, label)
            rows.append(f"{number}.png,64,48,{printed},12,8,52,40")
            seed += 1
        if task == "detection":
            (root / f"{split[:3] if split == 'validation' else split}.csv").write_text("\n".join(rows) + "\n")


def build() -> None:
    chosen = choose_source(workspace.PARAMS, workspace.CONF)
    build_records(chosen.source, workspace.RECORDS, source_digest=chosen.digest, workers=1)


def run_stages(task: str) -> None:
    """All stages for one task, and training for the others, while the test's shards are no shards."""
    lines = {**TINY, **VARIANTS[task]}.values()
    workspace.PARAMS.write_text("\n".join([*lines, *REST]) + "\n", encoding="utf-8")
    build()
    kept = {file: file.read_bytes() for file in workspace.RECORDS.glob("*test-*")}
    assert len(kept) == 2  # a shard and its index
    for file in kept:
        file.write_bytes(b"nobody may read this")
    render_config(workspace.PARAMS, workspace.CONF, workspace.RECORDS, workspace.RUN, facts=Path("networks"))
    run = load(workspace.RUN)
    train(run, workspace.RECORDS, workspace.TRAINED)
    if task == "classification":
        evaluate(run, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        export(run, workspace.RECORDS, workspace.TRAINED, workspace.EXPORTED)
    for file, content in kept.items():
        file.write_bytes(content)
    params = {"data/records/manifest.json": {"digest": read_manifest(workspace.RECORDS).digest}}
    lock = {"stages": {"train": {"params": params}}}  # as DVC writes it
    Path("dvc.lock").write_text(yaml.safe_dump(lock), encoding="utf-8")
