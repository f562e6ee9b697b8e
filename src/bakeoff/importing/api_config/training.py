"""`train_config` -> settings of the groups `train`, `lr` and `optimizer`."""

import math
import re

from bakeoff.config.api_export.learning_rate import COSINE, EXPONENTIAL
from bakeoff.config.api_export.training import ADAM_BETAS, CHECKPOINT_PARTS, OPTIMIZERS, VALIDATE_EVERY
from bakeoff.foundation.workspace import WEIGHTS
from bakeoff.importing.api_config.augmentation import read_augmentation
from bakeoff.importing.api_config.fields import Block, ConversionReport, Settings
from bakeoff.learning.plan.run_length import UNLIMITED

VALIDATE_EVERY_LINE = re.compile(rf"^ *# {re.escape(VALIDATE_EVERY)}: ([0-9]{{1,9}})$", re.MULTILINE)
PLACEHOLDER = "TO_BE_CONFIGURED"
NEARLY = 1e-6  # relative; what a float32 may be off
FIXED: dict[str, Settings] = {  # of an optimizer, by its kind here
    "momentum": {"nesterov": False},
    "adam": {"beta_1": ADAM_BETAS[0], "beta_2": ADAM_BETAS[1]},
}


def read_training(train: Block, text: str, report: ConversionReport) -> dict[str, Settings]:
    """Return settings of the three groups; `text` is the whole file, one of whose comments may hold a setting."""
    optimizer, lr, ema_decay = _read_optimizer(train, report)
    settings: Settings = {
        "batch_size": train.get("batch_size"),
        "ema_decay": ema_decay,
        "init": _read_start(train, report),
        "augment": read_augmentation(train, report),
    }
    steps = train.get("num_steps")
    if not steps and lr["kind"] == "cosine":
        steps = lr["total_steps"]
        report.add(f"train_config.num_steps: is not there; train.steps: {steps}, where the cosine ends")
    if steps:
        settings["steps"] = steps
        if (lr.get("total_steps") or steps) < steps:
            ends = lr["total_steps"]
            report.change(train, "num_steps", f"the rate would be 0 from step {ends} on; lower train.steps to that")
        if lr.get("total_steps") == steps:
            lr["total_steps"] = None  # which means the run's length, whatever it becomes
    else:
        settings["steps"] = UNLIMITED
        report.add(f"train_config.num_steps: is not there; train.steps: {UNLIMITED}, or set a number in params.yaml")
    if validate_every := VALIDATE_EVERY_LINE.search(text):
        settings["validate_every_steps"] = int(validate_every[1])
    return {"lr": lr, "optimizer": optimizer, "train": settings}


def _read_start(train: Block, report: ConversionReport) -> Settings:
    path, kind = train.get("fine_tune_checkpoint"), train.get("fine_tune_checkpoint_type")
    if not path:
        return {}
    train.pass_over("fine_tune_checkpoint_version", "from_detection_checkpoint")
    if not kind:  # files from before the field existed
        kind = "detection" if train.get("from_detection_checkpoint") else "classification"
    if PLACEHOLDER in path:
        train.pass_over("load_all_detection_checkpoint_vars")
        if kind == "classification":
            report.change(train, "fine_tune_checkpoint", "a placeholder; train.init.weights: imagenet in its place")
            return {"weights": "imagenet"}
        report.drop(train, "fine_tune_checkpoint", "a placeholder; say train.init.weights where the checkpoint is")
        return {}
    parts = CHECKPOINT_PARTS.get(kind, ())
    if not parts:
        report.change(train, "fine_tune_checkpoint_type", f"no such type {kind!r} here; whatever fits is loaded")
    elif kind == "detection" and train.get("load_all_detection_checkpoint_vars"):
        parts = ()
        for name in ("load_all_detection_checkpoint_vars", "fine_tune_checkpoint_type"):
            report.change(train, name, "whatever fits is loaded, heads too: train.init.warm_start is left out")
    if train.has("from_detection_checkpoint"):
        report.change(train, "from_detection_checkpoint", f"means fine_tune_checkpoint_type: {kind!r}")
    if train.get("fine_tune_checkpoint_version") != "V2":
        report.change(train, "fine_tune_checkpoint_version", "the files of both versions of TensorFlow are read here")
    weights = _place_here(path)
    if weights != path:
        folder = WEIGHTS / weights
        text = f"becomes {weights}: `cp -r` the folder of {path} to {folder.as_posix()}"
        report.change(train, "fine_tune_checkpoint", text)
    return {"weights": weights, "warm_start": list(parts)}


def _place_here(path: str) -> str:
    """Return what `train.init.weights` calls a checkpoint, whose path is one of the machine that the file is from."""
    if path.startswith((f"{WEIGHTS.as_posix()}/", "zoo/")):
        return path
    folders = [part for part in path.split("/")[:-1] if part not in ("", ".", "..", "checkpoint")]
    return f"zoo/{folders[-1] if folders else path.rpartition('/')[2]}"


def _read_optimizer(train: Block, report: ConversionReport) -> tuple[Settings, Settings, float]:
    """Return settings of the groups `optimizer` and `lr`, and `train.ema_decay`."""
    block = train.inner("optimizer")
    chosen = block.chosen()
    if chosen is None:
        report.change(train, "optimizer", "the file says none, and that API would refuse it; momentum here")
        lr = {"kind": "constant", "peak": 0.002}
        return {"kind": "momentum", "nesterov": False}, lr, _read_averaging(block, report)
    inner = block.inner(chosen)
    kind, table = next((kind, table) for kind, there, table in OPTIMIZERS.values() if there == chosen)
    settings = {"kind": kind} | FIXED.get(kind, {}) | inner.take(table)
    settings["clip_norm"] = train.get("gradient_clipping_by_norm")
    return settings, read_schedule(inner, report), _read_averaging(block, report)


def _read_averaging(optimizer: Block, report: ConversionReport) -> float:
    """Return the averages' decay: that API averages unless told not to."""
    decay: float = optimizer.get("moving_average_decay")
    if not optimizer.has("use_moving_average"):
        text = f"is not there, which means true there; train.ema_decay: {decay:g}"
        report.change(optimizer, "use_moving_average", text)
    if optimizer.get("use_moving_average"):
        return decay
    if optimizer.has("moving_average_decay"):
        report.drop(optimizer, "moving_average_decay", "without use_moving_average nothing is averaged")
    return 0.0


def read_schedule(optimizer: Block, report: ConversionReport) -> Settings:
    """Return settings of the group `lr`, with the `kind`."""
    rate = optimizer.inner("learning_rate")
    chosen = rate.chosen()
    if chosen is None:
        report.change(optimizer, "learning_rate", "the file says none, and that API would refuse it; 0.002 here")
        return {"kind": "constant", "peak": 0.002}
    block = rate.inner(chosen)
    if chosen == "constant_learning_rate":
        return {"kind": "constant", "peak": block.get("learning_rate")}
    if chosen == "exponential_decay_learning_rate":
        return _read_exponential(block, report)
    if chosen == "cosine_decay_learning_rate":
        return _read_cosine(block, report)
    return _read_manual(block, report)


def _read_exponential(block: Block, report: ConversionReport) -> Settings:
    schedule: Settings = {"kind": "exponential"} | block.take(EXPONENTIAL)
    burn_in, rate = block.get("burnin_steps"), block.get("burnin_learning_rate")
    if burn_in:
        schedule |= {"burn_in_steps": burn_in, "burn_in_rate": rate or None}
    elif rate:
        report.drop(block, "burnin_learning_rate", "without burnin_steps there is none")
    return schedule


def _read_cosine(block: Block, report: ConversionReport) -> Settings:
    schedule: Settings = {"kind": "cosine"} | block.take(COSINE)
    start, steps = block.get("warmup_learning_rate"), block.get("warmup_steps")
    if start and not steps:
        report.drop(block, "warmup_learning_rate", "with warmup_steps: 0 there is no warm-up")
    return schedule | _read_warmup(schedule["peak"], start, steps)


def _read_manual(block: Block, report: ConversionReport) -> Settings:
    steps = [(entry.get("step"), entry.get("learning_rate")) for entry in block.inners("schedule")]
    first, warmup = block.get("initial_learning_rate"), block.get("warmup")
    if not steps:
        report.change(block, "", "becomes a constant rate: it has no steps")
        return {"kind": "constant", "peak": first}
    boundaries, rates = [step for step, _ in steps], [first, *(rate for _, rate in steps)]
    rises = warmup and rates[0] <= rates[1]
    if rises and len(steps) == 1:
        return {"kind": "constant", "peak": rates[1]} | _read_warmup(rates[1], first, boundaries[0])
    if rises and (stairs := _find_regular_stairs(boundaries, rates[1:])):
        return {"kind": "exponential", "peak": rates[1]} | stairs | _read_warmup(rates[1], first, boundaries[0])
    return {"kind": "manual", "boundaries": boundaries, "rates": rates, "warmup": warmup}


def _read_warmup(peak: float, start: float, steps: int) -> Settings:
    """A start of peak / (steps + 1) is what `warmup_from: null` means."""
    if steps == 0:
        return {}
    usual = math.isclose(start, peak / (steps + 1), rel_tol=NEARLY)
    return {"warmup_steps": steps, "warmup_from": None if usual else start}


def _find_regular_stairs(boundaries: list[int], rates: list[float]) -> Settings | None:
    """Return stairs of equal length that fall by an equal factor, which is a staircase after a warm-up."""
    if len(boundaries) < 3 or not all(rate > 0 for rate in rates):
        return None
    length, factor = boundaries[1] - boundaries[0], rates[1] / rates[0]
    regular = all(place == boundaries[0] + number * length for number, place in enumerate(boundaries))
    falling = all(math.isclose(rate, rates[0] * factor**number, rel_tol=NEARLY) for number, rate in enumerate(rates))
    if not (regular and falling and 0 < factor <= 1):
        return None
    for digits in range(1, 9):  # the factor that was meant, without the noise of the division
        short = float(f"{factor:.{digits}g}")
        if math.isclose(short, factor, rel_tol=NEARLY):
            return {"decay_factor": short, "decay_steps": length}
    return None
