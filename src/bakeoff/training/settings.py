"""How long, how much at once, how often to look, from which weights: `conf/train/`."""

from dataclasses import dataclass, field
from typing import Literal

from bakeoff.errors import require
from bakeoff.input.augment import Augment
from bakeoff.training.early_stopping import EarlyStopping
from bakeoff.training.length import require_length
from bakeoff.training.phases import Phase


@dataclass(frozen=True)
class Init:
    """The weights that training starts from."""

    weights: str = "none"  # none, imagenet, a weights file, a folder of another run, an MLflow run id, a TF checkpoint
    warm_start: tuple[str, ...] = ()  # patterns or part names of what is loaded; none: whatever fits
    names: str | None = None  # a table `variable<TAB>name in the checkpoint`, for checkpoints of other programs

    def __post_init__(self) -> None:
        require(bool(self.weights.strip()), "weights", self.weights, "none, imagenet, a path or a run")
        loads = self.weights != "none"
        require(loads or not self.warm_start, "warm_start", list(self.warm_start), "empty while init.weights is none")
        require(loads or self.names is None, "names", self.names, "null while init.weights is none")


@dataclass(frozen=True)
class Train:
    batch_size: int
    steps: int | None = None  # either these
    epochs: float | None = None  # or these
    phases: tuple[Phase, ...] = ()  # legs, each with its own length or an equal share of the run's
    init: Init = field(default_factory=Init)
    trainable: tuple[str, ...] = ()  # patterns or part names; none: everything
    ema_decay: float = 0.0  # of the averaged weights that are validated and kept; 0: no averaging
    accumulate_batches: int = 1  # gradients of so many batches make one step
    mixed_precision: bool = False
    devices: int | Literal["all"] = 1  # a batch is split over them
    checkpoint_every_steps: int = 100
    round_up_steps: bool = False  # to a whole number of checkpoint intervals
    checkpoint_every_seconds: float | None = None  # also if so much time went by
    keep_every_steps: int = 0  # the checkpoints of these steps stay, beside the newest; 0: none
    continue_from: str | None = None  # another run, whose last checkpoint is the first of this one
    fresh: bool = False  # start over, also if this very variant was interrupted or is finished
    log_every_steps: int = 10
    steps_per_call: int | Literal["auto"] = "auto"  # of a compiled graph, at most; auto: as many as half a second holds
    validate_every_steps: int = 0  # 0: only at the end of each phase
    validate_every_epochs: float | None = None  # or so often
    validate_examples: int | None = None  # of the validation set, evenly spread; None: all
    samples: int = 8  # of them, drawn at each look with what was found
    tensorboard: bool = False
    best_by: str | None = None  # the metric of validation that says which weights are best; None: the task's headline
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    max_minutes: float | None = None  # of training; what comes after the last step fits in
    deterministic: bool = True  # the same variant gives the same weights, to the bit
    augment: Augment = field(default_factory=Augment)

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        if self.phases:
            own = [phase.has_length for phase in self.phases]
            require(all(own) or not any(own), "phases", own, "phases that all have a length, or none")
            for key in ("steps", "epochs") if any(own) else ():
                require(getattr(self, key) is None, key, getattr(self, key), "null when each phase has its own length")
            names = [phase.name for phase in self.phases]
            require(len(set(names)) == len(names), "phases", names, "a list of phases with different names")
            first = self.phases[0].start
            require(first == "last", "phases", first, "without `start` in the first phase; init.weights says its start")
        if not self.phases or not any(own):
            require_length(self.steps, self.epochs)
        require(0 <= self.ema_decay < 1, "ema_decay", self.ema_decay, "at least 0 and under 1")
        for key in ("accumulate_batches", "checkpoint_every_steps", "log_every_steps"):
            require(getattr(self, key) >= 1, key, getattr(self, key), "1 or more")
        seconds = self.checkpoint_every_seconds
        require(seconds is None or seconds > 0, "checkpoint_every_seconds", seconds, "above 0, or null")
        kept, written = self.keep_every_steps, self.checkpoint_every_steps
        rule = f"0 or a multiple of checkpoint_every_steps={written}"
        require(kept >= 0 and kept % written == 0, "keep_every_steps", kept, rule)
        parent = self.continue_from
        require(parent is None or bool(parent.strip()), "continue_from", parent, "a run, or null")
        require(self.devices == "all" or self.devices >= 1, "devices", self.devices, "1 or more, or all")
        at_once = self.steps_per_call
        require(at_once == "auto" or at_once >= 1, "steps_per_call", at_once, "1 or more, or auto")
        require(self.validate_every_steps >= 0, "validate_every_steps", self.validate_every_steps, "0 or more")
        epochs = self.validate_every_epochs
        require(epochs is None or epochs > 0, "validate_every_epochs", epochs, "above 0, or null")
        once = epochs is None or not self.validate_every_steps
        require(once, "validate_every_steps", self.validate_every_steps, "0 beside validate_every_epochs")
        looks = self.validate_every_steps > 0 or epochs is not None or self.early_stopping.patience == 0
        require(looks, "validate_every_steps", 0, "1 or more for early_stopping, which counts looks at validation")
        examples = self.validate_examples
        require(examples is None or examples >= 1, "validate_examples", examples, "1 or more, or null")
        require(0 <= self.samples <= 64, "samples", self.samples, "between 0 and 64")
        require(self.max_minutes is None or self.max_minutes > 0, "max_minutes", self.max_minutes, "above 0, or null")
