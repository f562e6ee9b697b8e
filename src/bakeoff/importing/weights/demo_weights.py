"""Weights that nobody publishes and that are made here: networks trained on scenes that the project draws.

What that brings is measured in docs/transfer.md, by `benchmarks/fine_tuning.py`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bakeoff.config.weight_card import CARD, FILES
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building, hash_file

BEST = "best.weights.h5"
FIRST = "data/weights/first.weights.h5"  # the run before, in the workspace of the next
STAGES = ("build_records", "render_config", "train")
COMMON = {"lr": {"use": "cosine", "peak": 0.003}, "track": {"use": "none"}}
SCENES = {
    "use": "digits", "train_examples": 3000, "validation_examples": 200, "max_side": 224, "max_digits": 8,
    "min_digit": 20, "max_digit": 150,
}  # fmt: skip


@dataclass(frozen=True)
class DemoWeights:
    name: str
    model: str
    minutes: int  # that it takes on two cores, about
    runs: tuple[Mapping[str, Any], ...]  # params.yaml of each; a run starts from the one before
    data: str = "drawn scenes of scikit-learn's digits and photographs"
    licence: str = "Apache-2.0"


DETECTOR = DemoWeights(
    "drawn_ssd_small", "ssd_small", 3,
    ({
        "experiment": "demo", "seed": 0, "data": SCENES, "lr": "cosine", "optimizer": "adam",
        "train": {"use": "demo", "steps": 2500, "validate_every_steps": 1250}
        | {"augment": {"crop": {"kind": "ssd"}, "turn": {"mirror": 0.5}}},
    },),
)  # fmt: skip
POINTS = DemoWeights(
    "drawn_point_nano", "point_nano", 8,
    ({**DETECTOR.runs[0], "model": {"use": "point_nano", "input_size": 192}},),  # weights fit every side
)  # fmt: skip
DRAWN = {drawn.name: drawn for drawn in (DETECTOR, POINTS)}


def make_drawn(drawn: DemoWeights, zoo: Path) -> Path | None:
    """Train it by the code of this workspace, into a folder of `zoo`; None if the folder is there."""
    folder = zoo / drawn.name
    if folder.is_dir():
        return None
    with TemporaryDirectory() as place:
        weights = train_on_drawings(drawn.runs, Path(place))
        with building(folder) as partial:
            shutil.copy(weights, partial / BEST)
            (partial / CARD).write_text(_card(drawn, partial / BEST), encoding="utf-8")
    return folder


def train_on_drawings(
    runs: Sequence[Mapping[str, Any]], place: Path, *, code: Path = Path(), environment: Mapping[str, str] | None = None
) -> Path:
    """Return the best weights of the last run. Each has a workspace of its own below `place`, with `code`'s code."""
    best = None
    for number, params in enumerate(runs):
        best = _train(place / str(number), code, COMMON | dict(params), best, environment or {})
    assert best is not None
    return best


def _train(place: Path, code: Path, params: Mapping[str, Any], first: Path | None, more: Mapping[str, str]) -> Path:
    for name in ("src", "conf") if (code / "src").is_dir() else ("conf",):
        shutil.copytree(code / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(code / "dvc.yaml", place)
    (place / "params.yaml").write_text(yaml.safe_dump(dict(params)), encoding="utf-8")
    if first:
        (place / FIRST).parent.mkdir(parents=True)
        shutil.copy(first, place / FIRST)
    environment = os.environ | more | {"PYTHONPATH": str(place.resolve() / "src")}
    for stage in STAGES:
        done = subprocess.run([sys.executable, "-m", f"bakeoff.stages.{stage}"], cwd=place, env=environment)
        if done.returncode:
            raise WorkspaceError(f"{stage}: ended with exit code {done.returncode}; nothing is kept")
    return place / "models/train" / BEST


def _card(drawn: DemoWeights, weights: Path) -> str:
    card = {"name": drawn.name, "source": "made here", "licence": drawn.licence, "data": drawn.data}
    digest = hash_file(weights)
    return yaml.safe_dump(card | {"sha256": digest, "verified": True, FILES: {BEST: digest}}, sort_keys=False)
