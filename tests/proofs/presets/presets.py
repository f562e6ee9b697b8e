"""A preset from its first command to its last, in a workspace of its own: what it is given, and what is measured.

Photographs and films are drawn, with a ball and a cube that move before a picture. Weights to start from are in the
files and under the names of the published ones, with values that are made up.
"""

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bakeoff.config.compose.compose import compose
from bakeoff.foundation import workspace as files
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.network import Network
from bakeoff.learning.pretrained.name_tables import KINDS
from bakeoff.learning.run_file.parse import parse_kind
from support.drawing import voc, write
from support.imports import ROOT
from support.moving_things import SIZE, draw, places, write_film
from support.workspace_copy import Workspace, environment, tiny_workspace

TF2, TF1 = KINDS
PATIENCE_S = 600.0
EVERY_STEP = {
    "log_every_steps": 1, "validate_every_steps": 1, "validate_every_epochs": None, "checkpoint_every_steps": 1,
    "steps_per_call": 1,
}  # fmt: skip


def take_photographs(folder: Path) -> None:
    """Pascal VOC: eight photographs, on which every box is known."""
    for number in range(8):
        folder.joinpath("images").mkdir(parents=True, exist_ok=True)
        draw(3.1 * number).save(folder / f"images/{number}.jpg", quality=92)
        boxes = [(name, *(round(side) for side in box)) for name, *box in places(3.1 * number)]
        write(folder / f"annotations/{number}.xml", voc(boxes, SIZE, f"{number}.jpg"))  # type: ignore[arg-type]


def cut_out_photographs(folder: Path) -> None:
    """A folder for each class: the surroundings of the ball and of the cube."""
    for number in range(8):
        picture, side = draw(3.1 * number), "validation" if number % 4 == 3 else "train"
        for name, left, top, right, bottom in places(3.1 * number):
            (folder / side / name).mkdir(parents=True, exist_ok=True)
            around = (round(left) - 60, round(top) - 45, round(right) + 60, round(bottom) + 45)
            picture.crop(around).save(folder / side / name / f"{number}.jpg", quality=92)


def film(folder: Path) -> None:
    """A folder for each class: films of seven seconds."""
    for number, (side, name) in enumerate(
        [("train", "early"), ("train", "early"), ("train", "late"), ("validation", "early"), ("validation", "late")]
    ):
        (folder / side / name).mkdir(parents=True, exist_ok=True)
        write_film(folder / side / name / f"{number}.mp4", seconds=7, first=number if name == "early" else 30 + number)


def take_nothing(folder: Path) -> None:
    """The demo draws its own."""


@dataclass(frozen=True)
class Given:
    """What a preset is given, and for how long it trains."""

    data: Mapping[str, Any]
    take: Callable[[Path], None] = take_nothing
    train: Mapping[str, Any] = field(default_factory=dict)  # beside EVERY_STEP
    weights: str | None = None  # the folder of data/weights/zoo that the preset names
    write_weights: Callable[[Network, Path], None] = lambda network, folder: None
    lr: Mapping[str, Any] = field(default_factory=dict)  # what so short a run needs
    steps: int = 3
    stopped_after: int = 1  # lines of the history, at the least


def arrays_by(keys: Mapping[str, str], network: Any) -> dict[str, np.ndarray]:
    from support.unfilled import draw_values

    values = draw_values({one.path: tuple(one.shape) for one in network.weights if one.path in keys})
    return {keys[path]: value for path, value in values.items()}


def as_detector_of(kind: Any, prefix: str, root: str) -> Callable[[Network, Path], None]:
    """Return what writes a detector of COCO's classes as the Object Detection API did."""

    def write_it(network: Network, folder: Path) -> None:
        from support.tf_checkpoints import keys_of, write_checkpoint
        from support.unfilled import unfilled

        built = unfilled(lambda: network.build(90))
        write_checkpoint(folder / prefix, arrays_by(keys_of(built, kind, root), built))

    return write_it


def as_keras_writes(network: Network, folder: Path) -> None:
    folder.mkdir(parents=True)
    network.build(1000).save_weights(folder / "imagenet.weights.h5")


def as_yolox(network: Network, folder: Path) -> None:
    from support.torch_archives import write_torch, yolox_arrays

    folder.mkdir(parents=True)
    write_torch(folder / "weights.pth", yolox_arrays(network.build(80)))


def as_our_own(network: Network, folder: Path) -> None:
    """D-FINE's names are compared with its own code by tests/proofs/official."""
    folder.mkdir(parents=True)
    network.build(80).save_weights(folder / "made.weights.h5")


def as_kinetics(network: Network, folder: Path) -> None:
    from support.tf_checkpoints import write_checkpoint
    from support.unfilled import unfilled

    lines = (ROOT / "data/weights/s3dg.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    built = unfilled(lambda: network.build(600))
    write_checkpoint(folder / "model.ckpt-0", arrays_by(dict(rows), built))  # type: ignore[arg-type]


RAW = "data/raw/things"
PHOTOGRAPHS = {"use": "pascal_voc", "path": RAW, "split": {"validation": 0.25}}
CUTOUTS = {"use": "image_folders", "path": RAW}
FILMS = {"use": "clips", "path": RAW}
COCO_TF2 = as_detector_of(TF2, "checkpoint/ckpt-0", TF2.roots[0])
COCO_TF1 = as_detector_of(TF1, "model.ckpt-0", TF1.roots[0])
FRC_WEIGHTS = "ssd_mobilenet_v2_coco_2018_03_29"


def ftc(model: str, batch_size: int) -> Given:
    return Given(PHOTOGRAPHS, take_photographs, {"steps": 3, "batch_size": batch_size}, model, COCO_TF2)


def phase(name: str, peak: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "steps": 2, "lr": {"kind": "constant", "peak": peak}, **more}


PHASES = [
    phase("logits", 0.1, steps=6, batch_size=2, trainable=["logits"]),
    phase("everything", 0.001), phase("slowly", 0.00001),
]  # fmt: skip
DEMO = {"train_examples": 24, "validation_examples": 8}
TWO = {"steps": 3, "batch_size": 2}
SHORT = {**TWO, "epochs": None, "validate_every_epochs": None}
PRESETS: dict[str, Given] = {
    "demo": Given({"use": "digits", **DEMO}, train={"steps": 3}),
    # enough steps for the queues to fill, which the estimate counts as full
    "demo_clips": Given({"use": "digits_motion", **DEMO}, train={"steps": 24, "epochs": None}, steps=24),
    "demo_images": Given({"use": "digits_single", **DEMO}, train={"steps": 3, "epochs": None}),
    "demo_points": Given({"use": "digits", **DEMO}, train={"steps": 3}),
    "frc_cosine": Given(PHOTOGRAPHS, take_photographs, TWO, FRC_WEIGHTS, COCO_TF1),
    "frc_exponential": Given(PHOTOGRAPHS, take_photographs, TWO, FRC_WEIGHTS, COCO_TF1),
    "ftc_ssd_mobilenet_v1_fpn_640": ftc("ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8", 1),
    "ftc_ssd_mobilenet_v2_320": ftc("ssd_mobilenet_v2_320x320_coco17_tpu-8", 2),
    "ftc_ssd_mobilenet_v2_fpnlite_320": ftc("ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8", 2),
    "ftc_ssd_mobilenet_v2_fpnlite_640": ftc("ssd_mobilenet_v2_fpnlite_640x640_coco17_tpu-8", 1),
    "inception_flowers": Given(CUTOUTS, cut_out_photographs, TWO, "keras_inception_v3", as_keras_writes),
    "inception_from_scratch": Given(CUTOUTS, cut_out_photographs, TWO),
    "photographs": Given(PHOTOGRAPHS, take_photographs, {"steps": 3, "epochs": None, "validate_every_epochs": None}),
    "photographs_from_scratch": Given(PHOTOGRAPHS, take_photographs, SHORT),
    "photographs_small": Given(PHOTOGRAPHS, take_photographs, SHORT, "yolox_nano_coco", as_yolox),
    "photographs_accurate": Given(
        PHOTOGRAPHS, take_photographs, SHORT, "dfine_s_coco", as_our_own, {"warmup_steps": 1}
    ),
    "photonvision_640": Given(PHOTOGRAPHS, take_photographs, SHORT, "drawn_point_nano", as_our_own),
    "s3dg_three_phases": Given(
        FILMS, film, {"phases": PHASES}, "s3dg_kinetics_600", as_kinetics, steps=10, stopped_after=7
    ),
}


def begin(preset: str, folder: Path) -> Workspace:
    """Return a workspace with the data and the weights of a preset, of which nothing has run."""
    given = PRESETS[preset]
    lines: dict[str, Any] = {key: {"use": "preset"} for key in ("model", "lr", "optimizer", "export")}
    lines["data"] = dict(given.data)
    lines["lr"] |= given.lr
    lines["train"] = {"use": "preset", **EVERY_STEP, **given.train}
    lines["track"] = {"use": "preset", "checkpoints": "all", "wait_s": 300}
    workspace = tiny_workspace(folder, {"experiment": f"experiment: {preset}"} | in_one_line(lines))
    given.take(folder / RAW)
    if given.weights:
        given.write_weights(network_of(workspace), folder / files.WEIGHTS / "zoo" / given.weights)
    return workspace


def in_one_line(lines: Mapping[str, Any]) -> dict[str, str]:
    """Return each key of params.yaml as the line that takes its place."""
    return {
        key: f"{key}: {yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).strip()}"
        for key, value in lines.items()
    }


def network_of(workspace: Workspace) -> Network:
    composed = compose(workspace.folder / files.PARAMS, workspace.folder / files.CONF)
    network: Network = parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)
    composed.problems.raise_any()
    return network


def train_until_stopped(workspace: Workspace, lines: int) -> None:
    """Train by `dvc repro`, and ask it to stop, as `bakeoff stop` does, once its history has so many lines."""
    process = subprocess.Popen(
        ["bakeoff", "repro", "train"], cwd=workspace.folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    history, end = workspace.folder / "models/train.partial/history.jsonl", time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        if history.is_file() and history.read_bytes().count(b'"train/loss"') >= lines:
            [folder] = (workspace.folder / ".bakeoff/runs").iterdir()
            (folder / files.STOP_FILE).touch()
            break
        time.sleep(0.005)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
