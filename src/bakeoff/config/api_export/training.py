"""The groups `train`, `lr` and `optimizer` -> `train_config`."""

import re

from bakeoff.config.api_export.augmentation import describe_augmentation, explain_augmentation
from bakeoff.config.api_export.learning_rate import describe_schedule
from bakeoff.config.api_export.messages import Noted, Tree, fill, keys
from bakeoff.config.compose.whole_run import Run
from bakeoff.learning.plan.optimizers import Adam, Momentum, Optimizer, RmsProp
from bakeoff.learning.plan.phases import TrainingPhase, plan_phases
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.learning.plan.train_settings import Init

VALIDATE_EVERY = "bakeoff: train.validate_every_steps"  # a comment's words: that API evaluates by the clock
LENGTH = "The run's length is for the command line (--num_train_steps); export.num_steps: true says it here."
Known = Momentum | RmsProp | Adam  # optimizers that the API has, too
ADAM_BETAS = (0.9, 0.999)  # that API fixes them
TF2_RMSPROP = (
    "Under TensorFlow 2 that API hands `decay` to Keras, which divides the rate by 1 + decay * step. Under "
    "TensorFlow 1 it is the memory of the mean square, as in bakeoff."
)
RMSPROP = keys("", momentum_optimizer_value="momentum", decay="rho", epsilon="epsilon")
OPTIMIZERS: dict[type[Optimizer], tuple[str, str, Tree]] = {  # the kind here, the block there and its fields
    Momentum: ("momentum", "momentum_optimizer", keys("", momentum_optimizer_value="momentum")),
    RmsProp: ("rmsprop", "rms_prop_optimizer", RMSPROP),
    Adam: ("adam", "adam_optimizer", keys("", "epsilon")),
}
CHECKPOINT = re.compile(r"^zoo/|ckpt(-\d+)?(\.index)?$")
CHECKPOINT_PARTS = {
    "classification": ("backbone",),
    "detection": ("backbone", "neck"),
    "full": ("backbone", "neck", "head"),
}
IMAGENET = (
    "The variant's backbone starts from ImageNet's weights of keras.applications. That API wants a checkpoint of its "
    'own: set fine_tune_checkpoint to one, with fine_tune_checkpoint_type: "classification".'
)


def describe_training(run: Run) -> Tree:
    """Describe the whole run, or of a run with phases the first one."""
    first, *later = plan_phases(run)
    train, optimizer, steps = run.train, run.optimizer, first.span.steps
    rate = describe_schedule(first.schedule, first.shown_steps, first.span.rate_factor)
    validate_every = f"{VALIDATE_EVERY}: {train.validate_every_steps}" if train.validate_every_steps else ""
    return {
        "batch_size": Noted("\n".join(_explain_run(run, first) + _explain_phases(first, later)), first.span.batch_size),
        "num_steps": _describe_length(steps, is_here=run.export.num_steps),
        "data_augmentation_options": Noted(
            "\n".join([validate_every, *explain_augmentation(train.augment)]),
            describe_augmentation(train.augment, run.model.input_size),
        ),
        "optimizer": _describe_optimizer(optimizer, rate, ema_decay=train.ema_decay),
        "gradient_clipping_by_norm": optimizer.clip_norm or None if isinstance(optimizer, Known) else None,
        **_describe_start(train.init),
    }


def _describe_length(steps: int, *, is_here: bool) -> int | Noted | None:
    """Describe a run's length; without the field that API trains until it is stopped."""
    if is_endless(steps):
        return None
    return steps if is_here else Noted(f"{LENGTH}\nnum_steps: {steps}")


def _explain_run(run: Run, first: TrainingPhase) -> list[str]:
    """Return comments about settings of the variant for which the block has no field."""
    train = run.train
    missing = []
    if first.trainable:
        named = ", ".join(first.trainable)
        missing.append(
            f"train only {named} (its update_trainable_variables goes by its own names, and only under TensorFlow 1)"
        )
    if train.accumulate_batches > 1:
        together = first.span.batch_size * train.accumulate_batches
        missing.append(f"add up the gradients of {train.accumulate_batches} batches before a step (of {together})")
    if train.mixed_precision:
        missing.append("compute in float16 (its use_bfloat16 is for TPUs)")
    return [f"That API cannot {'; cannot '.join(missing)}."] if missing else []


def _explain_phases(first: TrainingPhase, later: list[TrainingPhase]) -> list[str]:
    if not later:
        return []
    following = "; ".join(
        f"{span.name!r}, {span.steps} steps of {span.batch_size}, rate {phase.rate(span.first_step):g}"
        for phase in later
        for span in [phase.span]
    )
    return [
        f"That API knows no phases. This is the first one, {first.span.name!r}. After it come {following}: a copy of "
        'this file each, with fine_tune_checkpoint at the result before and fine_tune_checkpoint_type: "full".'
    ]


def _describe_optimizer(optimizer: Optimizer, rate: Tree, *, ema_decay: float) -> Tree:
    averaging: Tree = {"use_moving_average": ema_decay > 0, "moving_average_decay": ema_decay or None}
    if not isinstance(optimizer, Known):
        return {"momentum_optimizer": Noted(f"That API has no optimizer like {type(optimizer).__name__}.")} | averaging
    _, name, table = next(entry for kind, entry in OPTIMIZERS.items() if isinstance(optimizer, kind))
    inner: Tree = {"learning_rate": rate} | fill(table, optimizer)
    if "decay" in inner:
        inner["decay"] = Noted(TF2_RMSPROP, inner["decay"])
    return {name: Noted(_explain_optimizer(optimizer), inner)} | averaging


def _explain_optimizer(optimizer: Known) -> str:
    missing = []
    if isinstance(optimizer, Momentum) and optimizer.nesterov:
        missing.append("nesterov: true (its momentum is the plain one)")
    if isinstance(optimizer, Adam) and (optimizer.beta_1, optimizer.beta_2) != ADAM_BETAS:
        missing.append(f"beta_1: {optimizer.beta_1:g}, beta_2: {optimizer.beta_2:g} (its are 0.9 and 0.999)")
    if decay := optimizer.weight_decay:
        missing.append(f"weight_decay: {decay:g}, apart from the gradients (only an l2_regularizer, inside them)")
    return f"That API cannot say {', '.join(missing)}." if missing else ""


def _describe_start(init: Init) -> Tree:
    if init.weights == "none":
        return {}
    if init.weights == "imagenet":
        return {"fine_tune_checkpoint": Noted(IMAGENET)}
    if not CHECKPOINT.search(init.weights):
        note = (
            f"The variant starts from {init.weights!r}, which is no TensorFlow checkpoint; that API reads only those."
        )
        return {"fine_tune_checkpoint": Noted(note)}
    kind = next((kind for kind, parts in CHECKPOINT_PARTS.items() if set(parts) == set(init.warm_start)), None)
    note = ""
    if not kind:
        wanted = f"by pattern ({', '.join(init.warm_start)})" if init.warm_start else "whatever fits"
        note = f"That API cannot load {wanted}; all is loaded."
    return {
        "fine_tune_checkpoint": Noted(note, init.weights.removesuffix(".index")),
        "fine_tune_checkpoint_type": kind or "full",
        "fine_tune_checkpoint_version": "V2",
    }
