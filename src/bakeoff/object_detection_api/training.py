"""`train_config` <-> the groups `train`, `lr` and `optimizer`."""

import re
from typing import Any

from bakeoff.object_detection_api import augmentation, optimizer, schedule, start
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field
from bakeoff.run.settings import Run
from bakeoff.training.variant import TrainingPhase, plan_phases

OWN_WORDS = re.compile(r"^ *# bakeoff: train\.validate_every_steps: ([0-9]{1,9})$", re.MULTILINE)


def written(run: Run) -> Lines:
    """Of a run with phases the first one."""
    leg, *later = plan_phases(run)
    rate = schedule.written(leg.schedule, leg.span.steps, leg.span.rate_factor)
    return block(
        "train_config",
        _unsaid(run, leg),
        _phases(leg, later),
        field("batch_size", leg.span.batch_size),
        _length(leg.span.steps, said=run.export.num_steps),
        _looks(run.train.validate_every_steps),
        augmentation.unsaid(run.train.augment),
        augmentation.written(run.train.augment, run.model.input_size),
        optimizer.written(run.optimizer, rate, ema_decay=run.train.ema_decay),
        optimizer.written_clipping(run.optimizer),
        start.written(run.train.init),
    )


def _length(steps: int, *, said: bool) -> Lines:
    if said:
        return field("num_steps", steps)
    return [
        *comment("The run's length is for the command line (--num_train_steps); export.num_steps: true says it here."),
        f"# num_steps: {steps}",
    ]


def _looks(every: int) -> Lines:
    """That API evaluates by the clock; the comment is for `own_words`."""
    return [f"# bakeoff: train.validate_every_steps: {every}"] if every else []


def own_words(text: str) -> dict[str, int]:
    """What a file that was written here says of `train` in a comment, for want of a field."""
    said = OWN_WORDS.search(text)
    return {"validate_every_steps": int(said[1])} if said else {}


def _phases(first: TrainingPhase, later: list[TrainingPhase]) -> Lines:
    if not later:
        return []
    following = "; ".join(
        f"{leg.span.name!r}, {leg.span.steps} steps of {leg.span.batch_size}, rate {leg.rate(leg.span.first_step):g}"
        for leg in later
    )
    return comment(
        f"That API knows no phases. This is the first one, {first.span.name!r}. After it come {following}: a copy of "
        'this file each, with fine_tune_checkpoint at the result before and fine_tune_checkpoint_type: "full".'
    )


def _unsaid(run: Run, leg: TrainingPhase) -> Lines:
    """What of the variant the block has no word for."""
    train = run.train
    unsaid = []
    if leg.trainable:
        named = ", ".join(leg.trainable)
        unsaid.append(
            f"train only {named} (its update_trainable_variables goes by its own names, and only under TensorFlow 1)"
        )
    if train.accumulate_batches > 1:
        together = leg.span.batch_size * train.accumulate_batches
        unsaid.append(f"add up the gradients of {train.accumulate_batches} batches before a step (of {together})")
    if train.mixed_precision:
        unsaid.append("compute in float16 (its use_bfloat16 is for TPUs)")
    return comment(f"That API cannot {'; cannot '.join(unsaid)}.") if unsaid else []


def read(train: Block, report: Report) -> dict[str, dict[str, Any]]:
    """Settings of the groups `optimizer`, `lr` and `train`."""
    of_optimizer, lr, ema_decay = optimizer.read(train, report)
    settings: dict[str, Any] = {
        "batch_size": train.whole("batch_size"),
        "ema_decay": ema_decay,
        "init": start.read(train, report),
        "augment": augmentation.read(train, report),
    }
    steps = train.whole("num_steps")
    if not steps and lr["kind"] == "cosine":
        steps = lr["total_steps"]
        report.general(f"train_config.num_steps: is not there; train.steps: {steps}, where the cosine ends")
    if steps:
        settings["steps"] = steps
        if (lr.get("total_steps") or steps) < steps:
            ends = lr["total_steps"]
            report.changed(train, "num_steps", f"the rate would be 0 from step {ends} on; lower train.steps to that")
        if lr.get("total_steps") == steps:
            lr["total_steps"] = None  # which means the run's length, whatever it becomes
    else:
        report.general("train_config.num_steps: is not there; say train.steps or train.epochs in params.yaml")
    return {"optimizer": of_optimizer, "lr": lr, "train": settings}
