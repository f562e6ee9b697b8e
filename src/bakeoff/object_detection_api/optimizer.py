"""`optimizer { … }` <-> settings of an optimizer; the schedule of the rate stands inside it."""

from typing import Any

from bakeoff.object_detection_api import schedule_reader
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field
from bakeoff.training.optimizers import Adam, Momentum, Optimizer, RmsProp

ADAM_BETAS = (0.9, 0.999)  # fixed there
TF2_RMSPROP = (
    "Under TensorFlow 2 that API hands `decay` to Keras, which divides the rate by 1 + decay * step. Under "
    "TensorFlow 1 it is the memory of the mean square, as in bakeoff."
)


def written(optimizer: Optimizer, learning_rate: Lines, *, ema_decay: float) -> Lines:
    averaging = [field("use_moving_average", ema_decay > 0)]
    if ema_decay:
        averaging.append(field("moving_average_decay", ema_decay))
    missing = _missing(optimizer)
    said = comment(f"That API cannot say {', '.join(missing)}.") if missing else []
    return block("optimizer", said, _kind(optimizer, learning_rate), *averaging)


def _kind(optimizer: Optimizer, learning_rate: Lines) -> Lines:
    if isinstance(optimizer, Momentum):
        return block("momentum_optimizer", learning_rate, field("momentum_optimizer_value", optimizer.momentum))
    if isinstance(optimizer, RmsProp):
        return block(
            "rms_prop_optimizer",
            learning_rate,
            field("momentum_optimizer_value", optimizer.momentum),
            comment(TF2_RMSPROP),
            field("decay", optimizer.rho),
            field("epsilon", optimizer.epsilon),
        )
    assert isinstance(optimizer, Adam), type(optimizer)
    return block("adam_optimizer", learning_rate, field("epsilon", optimizer.epsilon))


def written_clipping(optimizer: Optimizer) -> Lines:
    """Stands beside the optimizer's block; of all gradients together, as here."""
    assert isinstance(optimizer, Momentum | RmsProp | Adam), type(optimizer)
    return field("gradient_clipping_by_norm", optimizer.clip_norm) if optimizer.clip_norm else []


def _missing(optimizer: Optimizer) -> list[str]:
    """What of the variant the block does not hold."""
    assert isinstance(optimizer, Momentum | RmsProp | Adam), type(optimizer)
    missing = []
    if isinstance(optimizer, Momentum) and optimizer.nesterov:
        missing.append("nesterov: true (its momentum is the plain one)")
    if isinstance(optimizer, Adam) and (optimizer.beta_1, optimizer.beta_2) != ADAM_BETAS:
        missing.append(f"beta_1: {optimizer.beta_1:g}, beta_2: {optimizer.beta_2:g} (its are 0.9 and 0.999)")
    if decay := optimizer.weight_decay:
        missing.append(f"weight_decay: {decay:g}, apart from the gradients (only an l2_regularizer, inside them)")
    return missing


def read(train: Block, report: Report) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Settings of the groups `optimizer` and `lr`, and of `train.ema_decay`."""
    said = train.inner("optimizer")
    chosen = said.chosen("optimizer")
    if chosen is None:
        report.changed(train, "optimizer", "the file says none, and that API would refuse it; momentum here")
        lr: dict[str, Any] = {"kind": "constant", "peak": 0.002}
        return {"kind": "momentum", "nesterov": False}, lr, _averaging(said, report)
    inner = said.inner(chosen)
    settings: dict[str, Any]
    if chosen == "momentum_optimizer":
        settings = {"kind": "momentum", "momentum": inner.number("momentum_optimizer_value"), "nesterov": False}
    elif chosen == "rms_prop_optimizer":
        settings = {
            "kind": "rmsprop",
            "momentum": inner.number("momentum_optimizer_value"),
            "rho": inner.number("decay"),
            "epsilon": inner.number("epsilon"),
        }
    else:
        settings = {"kind": "adam", "beta_1": ADAM_BETAS[0], "beta_2": ADAM_BETAS[1]}
        settings["epsilon"] = inner.number("epsilon")
    settings["clip_norm"] = train.number("gradient_clipping_by_norm")
    return settings, schedule_reader.read(inner, report), _averaging(said, report)


def _averaging(said: Block, report: Report) -> float:
    """That API averages unless told not to."""
    decay = said.number("moving_average_decay")
    if not said.has("use_moving_average"):
        text = f"is not there, which means true there; train.ema_decay: {decay:g}"
        report.changed(said, "use_moving_average", text)
    return decay if said.flag("use_moving_average") else 0.0
