"""A finished run without a training: records that are built, and files of all stages that are written by hand."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bakeoff.dataset.building.build import build
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import Part
from bakeoff.foundation import workspace
from bakeoff.learning.checkpoints.trained_state import TrainedLineage, TrainedState, write_state
from support.drawing import encoded, write
from support.repository import git

METRICS = {
    "accuracy": 0.9, "macro_f1": 0.875, "loss": 0.25, "class_f1": {"cat": 0.95, "d|og": 0.8},
    "interval": {"accuracy": {"low": 0.61, "high": 0.98}},
}  # fmt: skip
WEAK = {"fact": "brightness", "slice": "under 63", "examples": 4, "value": 0.5, "rest": 0.9, "weakness": 2.0}
SLICES = {"metric": "accuracy", "statement": "no statement about slices", "slices": [WEAK]}
IGNORED = ".bakeoff/\n.dvc/\ndata/\nmodels/train/\nmodels/export/\nslices.json\n/here/\n/there/\n"


def write_tree(path: Path, tree: Any) -> None:
    write(path, json.dumps(tree))


def write_run() -> None:
    for number in range(20):
        label = ("cat", "d_og")[number % 2]
        write(Path(f"data/raw/set/{label}/{number}.jpg"), encoded(number))
    build([Part("", ImageFolders(path="data/raw/set"))], workspace.RECORDS, 1)
    variant = {
        "variant": {"model": "small", "lr": "cosine", "memory": "low"}, "seed": 3,
        "model": {"kind": "cnn", "input_size": 24}, "train": {"steps": 12, "batch_size": 8},
        "optimizer": {"kind": "adam"}, "lr": {"kind": "cosine", "peak": 0.02},
    }  # fmt: skip
    write(workspace.RUN, yaml.safe_dump(variant))
    start = {"name": "mobilenet", "licence": "Apache-2.0", "data": "ImageNet"}
    own = {"run": "ab12" * 4, "data": "16 examples of 2 classes"}
    workspace.TRAINED.mkdir(parents=True)
    lineage = TrainedLineage(fingerprint="ab12" * 4, starts=(start,), own=own)
    write_state(workspace.TRAINED, TrainedState("SUCCEEDED", "steps", 12, steps=12, parameters=4321, lineage=lineage))
    write_tree(workspace.EVALUATION / "metrics.json", METRICS)
    write_tree(workspace.EVALUATION / "slices.json", SLICES)
    for name in ("model.tflite", "README.md", "labels.txt"):
        write(workspace.EXPORTED / name, f"content of {name}")
    digests = {"model.tflite": hashlib.sha256(b"content of model.tflite").hexdigest()}
    files = {"dynamic": {"file": "model.tflite", "bytes": 23, "accuracy": 0.85, "drop": 0.05}}
    report = {"headline": "accuracy", "weights": "best", "files": files, "sha256": digests}
    write_tree(workspace.EXPORTED / "export.json", report | {"lineage": {"starts": [start], "own": own}})


def cache(file: Path, suffix: str = "") -> str:
    """Put a file where DVC's cache has it, and return its digest."""
    digest = hashlib.md5(file.read_bytes()).hexdigest() + suffix
    place = Path(".dvc/cache/files/md5", digest[:2], digest[2:])
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place)
    return digest


def cache_folder(folder: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    listing = [{"md5": cache(path), "relpath": path.relative_to(folder).as_posix()} for path in paths]
    write_tree(Path("listing"), listing)
    return cache(Path("listing"), ".dir")


def commit_run(deps: Mapping[str, Sequence[str]] | None = None) -> str:
    """Put all outputs into DVC's cache and commit the rest, with a dvc.lock that names it; return the commit.

    `deps` are what stages read besides, folders or files.
    """
    slices = workspace.EVALUATION / "slices.json"
    trained = cache_folder(workspace.TRAINED)
    outs = {
        "build_records": [("data/records", cache_folder(workspace.RECORDS))],
        "train": [("models/train", trained)],
        "evaluate": [(slices.as_posix(), cache(slices))],
        "export": [("models/export", cache_folder(workspace.EXPORTED))],
    }
    lock: dict[str, Any] = {}
    for stage, made in outs.items():
        read = [("models/train", trained)] if stage in ("evaluate", "export") else []
        for name in (deps or {}).get(stage, ()):
            read.append((name, cache_folder(Path(name)) if Path(name).is_dir() else cache(Path(name))))
        lock[stage] = {
            key: [{"path": path, "md5": md5} for path, md5 in some] for key, some in (("deps", read), ("outs", made))
        }
    write(Path("dvc.lock"), yaml.safe_dump({"stages": lock}))
    write(Path(".gitignore"), IGNORED)
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "run")
    return git("rev-parse", "HEAD")
