"""A robot, some data and how long one will wait -> a training: network, size, first weights, steps, augmentation.

What it chooses are overrides, as one would type them. The pace is that of earlier runs of this machine, else that of
docs/performance.md.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from bakeoff.app.web.datasets import chosen_data, option_of
from bakeoff.app.web.network_options import list_networks, read_network
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.training_progress import find_source, read_params
from bakeoff.app.web.work_steps import ANNOTATIONS, VOC, count_folder
from bakeoff.dataset.records.manifest import Manifest, read_boxes, read_manifest
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.dataset.sources import SOURCES
from bakeoff.dataset.sources.voc import read_voc
from bakeoff.experiments.runs.curve_drawings import HeadlineEstimate, read_estimate
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import machine, workspace
from bakeoff.foundation.errors import BakeoffError
from bakeoff.foundation.formatting import format_duration
from bakeoff.importing.weights.weights_catalogue import read_catalogue
from bakeoff.learning.networks.letterbox import fit_of

Pairs = tuple[tuple[str, str], ...]  # keys and values of overrides
DETECTION = "detection"
DRAWN = "digit_scenes"  # the demo's data, which have a recipe of their own
PRESETS = {DETECTION: "photographs", "classification": "demo_images", "video": "demo_clips"}
FIRST_CHOICE = {DETECTION: ("ssd_small", "point_nano"), "classification": ("cnn_small",), "video": ("clip_small",)}
FROM_RANDOM: Mapping[str, Pairs] = {  # what networks want that start from random weights
    "ssd_small": (("lr.peak", "0.003"),),
    **dict.fromkeys(("point_nano_128", "point_nano", "point_small"), (("lr.peak", "0.008"), ("optimizer", "adam"))),
}
FROM_COCO = "ssd_mobilenet_v2_fpnlite_320"  # better than a small network, if its weights are here and time allows
OWN_START = "drawn_ssd_small"  # that `bakeoff weights get` makes
ZOO = workspace.WEIGHTS / "zoo"
BATCH, TRAIN_SHARE = 8, 0.8
LEAST_PIXELS = 16  # of a small box's side in the network's picture, from which on it is found well
SMALL = 25  # percent of the boxes that are smaller
MOST_LABELS = 200  # files that are read for that
STAGES_S, START_S = 80.0, 200.0  # of all that is no step; of making weights
FEWEST_STEPS_WITH_COCO = 500
LEAST_MEASURED_S = 20.0  # of a run, from which a pace is told
# Images a second that two cores train (docs/performance.md), at the network's own size.
PACES = {
    "clip_small": 15.4, "cnn_small": 361.0, "efficientnet_v2_b0": 12.9, "frc_ssd_512_focal": 3.08,
    "frc_ssd_mobilenet_v2": 5.89, "inception_v3": 3.25, "mobilenet_v2": 20.0, "mobilenet_v2_035_96": 165.0,
    "mobilenet_v3_large": 23.2, "mobilenet_v3_small": 55.4, "point_nano": 5.01, "point_nano_128": 113.0,
    "point_small": 1.85, "s3d": 0.067, "s3dg": 0.063, "s3dg_small": 11.9, "ssd_mobilenet_v1_fpn_640": 0.336,
    "ssd_mobilenet_v2_300": 8.47, "ssd_mobilenet_v2_320": 6.48, "ssd_mobilenet_v2_fpnlite_320": 5.73,
    "ssd_mobilenet_v2_fpnlite_640": 1.41, "ssd_resnet50_fpn_640": 0.244, "ssd_small": 169.0, "ssd_tiny": 253.0,
}  # fmt: skip
SLOWEST = 1.0  # of a network that is not in the table
MOST_CORES, GPU_FACTOR = 8, 8.0  # that a pace grows with; of a GPU beside two cores, by rule of thumb


@dataclass(frozen=True)
class Recipe:
    name: str
    title: str
    sentence: str
    budget_s: float  # that it may take in all
    epochs: int  # at most; more passes over the same photos bring little
    least_steps: int
    sides: tuple[int, ...]  # of the picture, the finest last


QUICK = Recipe(
    "quick", "Quick look", "At most 5 minutes. Shows whether photos and labels are right.", 300, 40, 300, (128,)
)
GOOD = Recipe("good", "Good", "At most 40 minutes. What a robot can drive with.", 2400, 150, 1000, (128, 192, 256))
BEST = Recipe(
    "best", "Best", "Over night, if the photos ask for it. As good as they allow.", 28800, 400, 3000,
    (128, 192, 256, 320),
)  # fmt: skip
RECIPES = {recipe.name: recipe for recipe in (QUICK, GOOD, BEST)}


@dataclass(frozen=True)
class TrainingData:
    """What is known of a dataset before it is trained on."""

    name: str
    task: str
    train: int  # examples
    validation: int
    is_drawn: bool = False
    manifest: Manifest | None = None  # of records that were built of it

    folder: Path | None = None  # with labels that the page wrote

    @cached_property
    def small_side(self) -> float | None:
        """Return the shorter side of a small box, as a share of the picture; None where no boxes are known."""
        if self.manifest is not None and self.manifest.boxes_sha256:
            boxes = read_boxes(workspace.RECORDS, self.manifest)
            sides = [float(side) for side in (boxes[:, 2:] - boxes[:, :2]).min(axis=1)]
        else:
            sides = [*_list_sides(self.folder)] if self.folder else []
        return sorted(sides)[len(sides) * SMALL // 100] if sides else None


@dataclass(frozen=True)
class Choice:
    """What a recipe chooses."""

    recipe: Recipe
    network: str
    side: int  # of the picture, in pixels
    steps: int
    batch: int
    examples: int
    start: str  # the weights' name in data/weights/zoo/; "": random ones
    makes_start: bool  # which are not there yet
    seconds: float
    pace_from: str
    overrides: Pairs

    @property
    def epochs(self) -> float:
        return self.steps * self.batch / max(1, self.examples)

    @property
    def duration(self) -> str:
        return format_duration(self.seconds)

    @property
    def start_overrides(self) -> Pairs:
        """Return the changes that name the first weights, which a plan cannot have before they are made."""
        if not self.start:
            return FROM_RANDOM.get(self.network, ()) if "experiment" in dict(self.overrides) else ()
        return (("train.init.weights", f"zoo/{self.start}"), ("train.init.warm_start", "[backbone,neck]"))


def describe_data(name: str) -> TrainingData:
    """Return what is known of an option of conf/data/: by its records, if they are built, else by its files."""
    name = name or chosen_data()
    try:
        option = option_of(name)
    except NotFound:
        return TrainingData(name, DETECTION, 0, 0)
    kind = option.get("kind")
    if name == chosen_data() and (manifest := _find_manifest(name)) is not None:
        counts = {split: content.examples for split, content in manifest.splits.items()}
        return TrainingData(
            name, manifest.task, counts.get(TRAIN, 0), counts.get(VALIDATION, 0), kind == DRAWN, manifest
        )
    task = getattr(SOURCES.get(str(kind)), "task", DETECTION)
    photos = _count_labelled(option)
    train = round(TRAIN_SHARE * photos)
    labels = Path(str(option.get("path"))) / ANNOTATIONS if kind == VOC else None
    task = task if isinstance(task, str) else DETECTION
    return TrainingData(name, task, train, photos - train, kind == DRAWN, folder=labels)


def _list_sides(folder: Path) -> Iterator[float]:
    """Yield the shorter side of boxes of some labelled photos, as a share of the picture."""
    for file in islice(sorted(folder.glob("*.xml")), MOST_LABELS):
        try:
            _, size, boxes = read_voc(file.read_bytes())
        except (OSError, ValueError):
            continue
        width, height = size or (0, 0)
        for xmin, ymin, xmax, ymax, _ in boxes if width and height else ():
            yield min((xmax - xmin) / width, (ymax - ymin) / height)


def _find_manifest(name: str) -> Manifest | None:
    from bakeoff.config.compose.data_source import digest_settings, parse_source
    from bakeoff.learning.run_file.parse import Problems
    from bakeoff.learning.run_file.settings import settings_tree

    try:
        manifest = read_manifest(workspace.RECORDS)
        source = parse_source(option_of(name), Problems(lambda key: key))
    except (BakeoffError, OSError):
        return None
    if source is None or not manifest.source_digest:
        return None
    return manifest if manifest.source_digest == digest_settings([settings_tree(source, SOURCES)]) else None


def _count_labelled(option: Mapping[str, Any]) -> int:
    path, raw = option.get("path"), workspace.RAW.as_posix()
    if not isinstance(path, str) or not path.startswith(f"{raw}/"):
        return 0
    name = path.removeprefix(f"{raw}/").partition("/")[0]
    if not (workspace.RAW / name).is_dir():
        return 0
    return count_folder(name, is_labelled=option.get("kind") != VOC).labelled


def choose(
    recipe: Recipe, robot: str, data: TrainingData, runs: Sequence[KnownRun], network: str = ""
) -> Choice | None:
    """Return the training of a recipe; None where no network fits the robot and the task, or there are no examples."""
    allowed = ROBOTS[robot].list_networks(data.task) if robot in ROBOTS else [*list_networks(data.task)]
    if network:
        names = [network]
    else:
        names = [name for name in FIRST_CHOICE.get(data.task, ()) if name in allowed][:1] or allowed[:1]
        if recipe.name != "quick" and FROM_COCO in allowed and _find_weights(FROM_COCO):
            names = [FROM_COCO, *names]
    choices = [_fit(recipe, name, data, runs, robot) for name in names if data.train and read_network(name)]
    enough = (one for one in choices if one.network != FROM_COCO or one.steps >= FEWEST_STEPS_WITH_COCO)
    return next(enough, None)


def _fit(recipe: Recipe, name: str, data: TrainingData, runs: Sequence[KnownRun], robot: str) -> Choice:
    """Return the longest training of a network that the recipe's time allows, at the side that the objects ask for."""
    network, batch = read_network(name), min(BATCH, max(1, data.train))
    start = _find_weights(name)
    makes = not start and name == FIRST_CHOICE[DETECTION][0] and recipe.name != "quick"
    rest = STAGES_S + (START_S if makes else 0.0)
    wanted = max(recipe.least_steps, math.ceil(recipe.epochs * data.train / batch))
    for side in _list_picture_sides(recipe, name, network, data):
        pace, pace_from = find_pace(name, side, runs)
        possible = int((recipe.budget_s - rest) * pace / batch)
        if possible >= min(wanted, recipe.least_steps):
            break
    steps = max(50, min(wanted, possible))
    preset = [] if data.is_drawn else [("experiment", PRESETS[data.task])]
    resized = [("model.input_size", str(side))] if side != network.input_size else []
    fit = ROBOTS[robot].fit if robot in ROBOTS else None
    fitted = [("model.fit", fit)] if fit is not None and fit != fit_of(network) else []
    validate = max(1, steps // 8)
    overrides = [
        *preset, ("model", name), *resized, *fitted, ("train.batch_size", str(batch)), ("train.steps", str(steps)),
        ("train.validate_every_epochs", "null"), ("train.validate_every_steps", str(validate)),
        *([("export", robot)] if robot in ROBOTS else []),
    ]  # fmt: skip
    return Choice(
        recipe, name, side, steps, batch, data.train, OWN_START if makes else start, makes,
        rest + steps * batch / pace, pace_from, tuple(overrides),
    )  # fmt: skip


def _list_picture_sides(recipe: Recipe, name: str, network: Any, data: TrainingData) -> Iterator[int]:
    """Yield the sides to try, the one that the objects ask for first; of most networks that is their own."""
    if name != FIRST_CHOICE[DETECTION][0]:
        yield network.input_size
        return
    small = data.small_side
    enough = (side for side in recipe.sides if small is not None and side * small >= LEAST_PIXELS)
    first = next(enough, recipe.sides[-1])
    yield from sorted((side for side in recipe.sides if side <= first), reverse=True)


def _find_weights(network: str) -> str:
    """Return the weights for a network that are here; "" where there are none."""
    entries = [entry.name for entry in read_catalogue().values() if network in entry.models]
    names = [*([OWN_START] if network == FIRST_CHOICE[DETECTION][0] else []), *entries]
    return next((name for name in names if (ZOO / name).is_dir()), "")


def find_pace(network: str, side: int, runs: Sequence[KnownRun]) -> tuple[float, str]:
    """Return how many examples a second a network trains on this machine at such a side, and how that is known."""
    measured = [*_list_paces(network, side, runs)][:3]
    if measured:
        return median(measured), "as earlier runs here"
    settings = read_network(network)
    own = settings.input_size if settings is not None else side
    return PACES.get(network, SLOWEST) * _machine_factor() * (own / side) ** 2, "by rule of thumb"


@cache
def _machine_factor() -> float:
    return GPU_FACTOR if machine.list_gpus() else min(machine.cores(), MOST_CORES) / 2


def _list_paces(network: str, side: int, runs: Sequence[KnownRun]) -> Iterator[float]:
    for run in runs:
        status = run.status
        if status is None or status.training_seconds < LEAST_MEASURED_S or find_source(run).network != network:
            continue
        params = read_params(run.run_id)
        batch, own = params.get("train.batch_size", ""), params.get("model.input_size", "")
        if batch.isdecimal() and own.isdecimal():
            yield status.steps_done * int(batch) / status.training_seconds * (int(own) / side) ** 2


@dataclass(frozen=True)
class EarlierResult:
    """How good a finished training on the same data was."""

    run: KnownRun
    estimate: HeadlineEstimate
    same_network: bool


def find_earlier_result(data: str, network: str, runs: Sequence[KnownRun]) -> EarlierResult | None:
    """Return the newest finished training on the same data: with the same network, else with another."""
    sources = [(run, find_source(run)) for run in runs if run.state == State.SUCCEEDED]
    found = [(run, source) for run, source in sources if source.data == data]
    for same in (True, False):
        for run, source in found:
            if (source.network == network) == same and (estimate := read_estimate(run.run_id)) is not None:
                return EarlierResult(run, estimate, same)
    return None
