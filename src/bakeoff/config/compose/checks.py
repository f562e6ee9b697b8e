"""What is wrong, or odd, only when several keys, the network and the records are seen together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.config.compose.allowed_paths import require_in
from bakeoff.config.compose.anchor_fit import advise
from bakeoff.config.compose.letterbox_cost import LetterboxCost, find_too_small, place_boxes
from bakeoff.config.compose.network_facts import Facts
from bakeoff.config.compose.schedule_length import SetByWhom
from bakeoff.config.compose.tile_cost import check_tiles, enlarge_boxes
from bakeoff.config.compose.whole_run import Draft
from bakeoff.config.weight_card import require_licence
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.export import hailo
from bakeoff.export.devices import DETECTION, DEVICES, OWN_LAYOUT, VIDEO, layouts_of, nearest_device
from bakeoff.export.settings import INT8, ONNX, RKNN, SAVED_MODEL, Export
from bakeoff.foundation.errors import ConfigError, DataError, show
from bakeoff.foundation.workspace import RAW, WEIGHTS
from bakeoff.learning.checkpoints.trained_state import STATE, read_state
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.lr.schedule import MOST_STEPS
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.letterbox import LETTERBOX, fit_of
from bakeoff.learning.networks.network import Network, Pretrained, select, unmatched
from bakeoff.learning.networks.tiles import tiles_of
from bakeoff.learning.plan.phases import Span
from bakeoff.learning.plan.train_settings import Init, Train
from bakeoff.learning.pretrained.weight_source import BUILT_IN, KEY, RUN_ID, find_place, origin_of
from bakeoff.learning.run_file.parse import Problems

NAMED = 5  # files in a message


@dataclass(frozen=True)
class Records:
    """What is known of the records; nothing where there are none."""

    manifest: Manifest | None
    boxes: np.ndarray | None = None  # (n, 4) of the training split, for detection
    sizes: np.ndarray | None = None  # (n, 2) of some pictures, where the network tiles or letterboxes them


def check(
    draft: Draft,
    records: Records,
    facts: Facts | None,
    spans: Sequence[Span],
    problems: Problems,
    set_by: SetByWhom,
) -> None:
    """Note every mistake that shows in what could be read of the variant; `set_by` tells whose value it is."""
    manifest, model, train = records.manifest, draft.model, draft.train
    if model and manifest:
        _check_task(model, manifest, problems)
    if model and draft.export:
        _check_formats(draft.export, model, problems)
        _check_device(draft.export, model, manifest, problems)
        _check_fit(draft.export, model, problems)
    if model and fit_of(model) == LETTERBOX and draft.data and draft.data.get("square"):
        rule = "must be stretch with data.square: true, whose records are stretched already, got letterbox"
        problems.add("model.fit", f"{rule}; or set data.square: false")
    if train and spans:
        _check_rhythm(train, spans, problems, set_by)
        _check_batches(train, spans, manifest, problems)
        _check_shuffle(train, draft.memory, problems)
    if train:
        _check_mixes(train, model, problems)
        if manifest:
            _check_teacher(train, manifest, problems)
        _check_recipe(train.init, problems, set_by)
    if draft.evaluate and draft.evaluate.slices.table is not None:
        _check_table(Path(draft.evaluate.slices.table), problems)
    if train and model and facts:
        _check_patterns(train, model, facts, problems)
        _check_eight_bits(train, draft.export, model, facts, problems)
        if manifest:
            _check_start(train.init, model, facts, manifest, problems)
    if model and records.boxes is not None:
        _check_boxes(model, records.boxes, records.sizes, problems)


def _check_shuffle(train: Train, memory: Memory | None, problems: Problems) -> None:
    if train.workers > 1 and memory and memory.shuffle != "global":
        rule = f"must be global with train.workers={train.workers}, got {memory.shuffle!r}"
        problems.add("memory.shuffle", f"{rule}; a buffer reads every example on each machine")


def _check_mixes(train: Train, model: Network | None, problems: Problems) -> None:
    if model and model.task != DETECTION:
        for name in train.augment.mixes:
            problems.add(f"train.augment.{name}", f"must be null for {model.task}; it mixes pictures with boxes")


def _check_teacher(train: Train, manifest: Manifest, problems: Problems) -> None:
    taught = manifest.taught
    if taught and not train.teacher.is_there:
        rule = f"must be a run, for {taught:,} training examples have no label (data.unlabelled: taught), got none"
        problems.add("train.teacher.run", rule)
    elif taught and train.teacher.added_from == 1:
        problems.add("train.teacher.added_from", "must be below 1, or examples without a label teach nothing, got 1")
    if train.teacher.is_there and manifest.multi_label:
        problems.add("train.teacher.run", "must be none where an example may have several labels")


def _check_boxes(model: Network, boxes: np.ndarray, sizes: np.ndarray | None, problems: Problems) -> None:
    if (tiles := tiles_of(model)) and sizes is not None:
        check_tiles(tiles, sizes, problems.warn)
        boxes = enlarge_boxes(boxes, tiles, sizes)
    elif fit_of(model) == LETTERBOX and sizes is not None:
        if too_small := find_too_small(LetterboxCost.of(sizes, model.input_size, boxes)):
            problems.warn("model.fit", too_small)
        boxes = place_boxes(boxes, sizes, model.input_size)
    if advice := advise(model, boxes):
        problems.warn("model.anchors", advice)


def _check_recipe(init: Init, problems: Problems, set_by: SetByWhom) -> None:
    """Who says `weights: none` means it, whatever the recipe would load; who says nothing may have forgotten them."""
    if init.lacks:
        rule = f"is none, so the network starts from random weights; this recipe was made to start from {init.lacks}"
        problems.warn("train.init.weights", rule)
    if init.weights != "none" or set_by("train.init.weights"):
        return
    if init.warm_start:
        problems.add(
            "train.init.warm_start", f"must be empty while init.weights is none, got {show(list(init.warm_start))}"
        )
    if init.names is not None:
        problems.add("train.init.names", f"must be null while init.weights is none, got {show(init.names)}")


def _check_task(model: Network, manifest: Manifest, problems: Problems) -> None:
    if model.task != manifest.task:
        fitting = ", ".join(sorted(kind for kind, cls in NETWORKS.items() if cls.task == manifest.task))
        tasks = f"is for {model.task}, the records are for {manifest.task}"
        problems.add("model", f"{tasks}; choose an option of kind {fitting}")
    if manifest.multi_label and getattr(model, "background", False):
        rule = "must be false where examples have several labels: one without any is background"
        problems.add("model.background", rule)


def _check_formats(export: Export, model: Network, problems: Problems) -> None:
    """Training may take days, and export comes after it."""
    lacking = getattr(model, "beyond_lite", ())
    if lacking and export.lite_formats:
        rule = f"must be {SAVED_MODEL}, {ONNX} or both for {type(model).__name__}, got {show(list(export.formats))}"
        problems.add("export.formats", f"{rule}; TensorFlow Lite has no {', '.join(lacking)}")
    if INT8 in export.formats and (lost := getattr(model, "lost_in_int8", "")):
        rule = f"must not hold {INT8} for {type(model).__name__}, whose {lost} need more than 256 values"
        problems.add("export.formats", f"{rule}; float16 has them")
    if RKNN in export.formats and model.task == VIDEO:
        problems.add("export.formats", f"must not hold {RKNN} for clips, which {type(model).__name__} takes")
    is_refused = export.device is not None and DEVICES[export.device].find_obstacle(model)
    if export.layout not in layouts_of(model) and not is_refused:
        kinds = ", ".join(kind for kind, other in NETWORKS.items() if export.layout in layouts_of(other))
        nearest_size = max(32, round(model.input_size / 32) * 32)
        problems.add(
            "export.layout",
            f"must be {OWN_LAYOUT} for {type(model).__name__}, got {export.layout!r}; only networks of kind {kinds} "
            f"have it, the nearest that can is model: {{use: point_nano, input_size: {nearest_size}}}",
        )


def _check_device(export: Export, model: Network, manifest: Manifest | None, problems: Problems) -> None:
    """A network that the device cannot run is named now, with the nearest that can."""
    if export.device is None:
        return
    device = DEVICES[export.device]
    if not (obstacle := device.find_obstacle(model)):
        if model.task == DETECTION and export.layout not in device.layouts:
            rule = f"must be {' or '.join(device.layouts)} for {export.device}, got {export.layout!r}"
            problems.add("export.layout", rule)
        if device.is_hailo and manifest and (why := hailo.find_obstacle(manifest.splits[TRAIN], manifest.classes)):
            problems.add("export.device", f"{export.device} {why}; {hailo.REMEDY}")
        return
    kinds = ", ".join(sorted(kind for kind, cls in NETWORKS.items() if device.takes_kind(cls)))
    lacks_layout = model.task in device.tasks and not device.takes_kind(model)
    fitting = f"choose an option of kind {kinds}; " if kinds and lacks_layout else ""
    nearest = f"the nearest device that takes this network is {nearest_device(model)}"
    problems.add("export.device", f"{export.device} {obstacle}; {fitting}{nearest}")


def _check_fit(export: Export, model: Network, problems: Problems) -> None:
    """Frames of a device may have other proportions than in training: nothing fails then, and less is found."""
    trained = fit_of(model)
    if (fit := export.fit_for(trained)) != trained:
        rule = f"is {trained}, but {export.device} feeds its network by {fit}, and files are judged so"
        problems.warn("model.fit", f"{rule}; train on such images: model.fit: {fit}")


def _check_rhythm(train: Train, spans: Sequence[Span], problems: Problems, set_by: SetByWhom) -> None:
    steps, key = spans[-1].end_step, "train.checkpoint_every_steps"
    if train.is_unlimited:
        _check_unlimited(train, problems)
    elif steps > MOST_STEPS:
        problems.add("train", f"must be at most {MOST_STEPS:,} steps, got {steps:,}; choose fewer epochs")
    if train.checkpoint_every_steps > steps and set_by(key):
        problems.add(key, f"must be at most the run's {steps} steps, got {train.checkpoint_every_steps}")


def _check_unlimited(train: Train, problems: Problems) -> None:
    """Note what follows from the end of a run that has none."""
    if train.augment.mixes and train.augment.until < 1:
        rule = f"must be 1 while train.steps is unlimited, got {train.augment.until:g}: a share of the run's steps"
        problems.add("train.augment.until", f"{rule}; or take {', '.join(train.augment.mixes)} out")
    if train.max_minutes is None and not train.early_stopping.patience:
        ends = "train.max_minutes and train.early_stopping.patience end it by themselves"
        problems.warn("train.steps", f"is unlimited, so only a stop ends this run; {ends}")
    if not train.validate_every_steps and not train.validate_every_epochs:
        rule = "is 0, so a run without an end is not validated on its way and knows no best weights"
        problems.warn("train.validate_every_steps", rule)


def _check_batches(train: Train, spans: Sequence[Span], manifest: Manifest | None, problems: Problems) -> None:
    for place, span in enumerate(spans):
        own = bool(train.phases) and train.phases[place].batch_size is not None
        key = f"train.phases[{place}].batch_size" if own else "train.batch_size"
        if train.device_number is not None and span.batch_size % train.device_number:
            problems.add(key, f"must be divisible by train.devices={train.devices}, got {span.batch_size}")
        if span.batch_size % train.workers:
            problems.add(key, f"must be divisible by train.workers={train.workers}, got {span.batch_size}")
        examples = manifest.splits[TRAIN].examples if manifest else span.batch_size
        if span.batch_size > examples:
            problems.add(key, f"must be at most the {examples} training examples, got {span.batch_size}")


def _check_eight_bits(train: Train, export: Export | None, model: Network, facts: Facts, problems: Problems) -> None:
    why = f"for {type(model).__name__}, whose layer {facts.without_eight_bits} has no form in eight bits here"
    if train.quantizes and facts.without_eight_bits:
        key = f"train.phases[{len(train.phases) - 1}].quantize"
        problems.add(key, f"must be false {why}, got true; int8 files are made without it, too")
    if export and export.needs_eight_bits and facts.without_eight_bits:
        problems.add("export.ranges", f"must be extremes {why}, got means")


def _check_patterns(train: Train, model: Network, facts: Facts, problems: Problems) -> None:
    every = [variable.path for variable in facts.variables]
    learned = [variable.path for variable in facts.variables if variable.trainable]
    lists = {"train.init.warm_start": (every, train.init.warm_start), "train.trainable": (learned, train.trainable)}
    lists["train.slow"] = (learned, train.slow)
    lists |= {
        f"train.phases[{place}].trainable": (learned, phase.trainable) for place, phase in enumerate(train.phases)
    }
    for key, (paths, patterns) in lists.items():
        for pattern, near in unmatched(paths, patterns, model.parts).items():
            nearest = f"nearest: {', '.join(near)}; " if near else ""
            problems.add(key, f"{pattern!r} matches no variable; {nearest}parts: {', '.join(model.parts)}")


def _check_start(init: Init, model: Network, facts: Facts, manifest: Manifest, problems: Problems) -> None:
    """Weights have to be there; those of another run know its classes, and a head for others cannot be carried over."""
    if init.weights == "imagenet" and not isinstance(model, Pretrained):
        problems.add("train.init.weights", "must be another start, for this network has no weights of ImageNet")
    if not RUN_ID.fullmatch(init.weights):  # the store is asked when the run starts
        try:
            if (path := origin_of(init, Path).path) is not None:
                require_licence(path, KEY)
        except ConfigError as error:
            key, _, rule = str(error).partition(": ")
            problems.add(key, rule)
            return
        _check_first_weights(init, problems)
    start = find_place(init.weights)
    state = (start if start.is_dir() else start.parent) / STATE
    if not state.is_file():
        return
    try:
        classes = read_state(state.parent).classes
    except DataError:
        problems.add("train.init.weights", f"{state.as_posix()} cannot be read")
        return
    loaded = select([variable.path for variable in facts.variables], init.warm_start or ("*",), model.parts)
    head = set(select(loaded, ("head",), model.parts))
    if head and classes and classes != tuple(manifest.classes):
        rest = ", ".join(part for part in model.parts if part != "head" and "." not in part)
        problems.add(
            "train.init.weights",
            f"was trained for the classes {', '.join(classes)}, the records have {', '.join(manifest.classes)}; "
            f"leave the head out: init.warm_start: [{rest}]",
        )


def _check_first_weights(init: Init, problems: Problems) -> None:
    """Note files of first weights of which DVC would see no edit; runs and ImageNet's are known by what they hold."""
    path = find_place(init.weights)
    is_run = RUN_ID.fullmatch(init.weights) and not path.exists()
    if init.weights not in BUILT_IN and not is_run:
        require_in(WEIGHTS, path, "train.init.weights", "a file or folder", problems)
    if init.names is not None:
        require_in(WEIGHTS, Path(init.names).expanduser(), "train.init.names", "a file", problems)


def _check_table(path: Path, problems: Problems) -> None:
    """Evaluation comes after a training of hours, and reads the columns then."""
    if path.is_file():
        require_in(RAW, path, "evaluate.slices.table", "a file", problems)
    else:
        there = ", ".join(sorted(other.as_posix() for other in RAW.rglob("*.csv"))[:NAMED]) or "none"
        problems.add("evaluate.slices.table", f"no such file {path.as_posix()!r}; CSV files in data/raw/: {there}")
