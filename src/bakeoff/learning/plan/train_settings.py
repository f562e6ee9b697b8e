"""How long, how much at once, how often to validate, from which weights: `conf/train/`."""

import math
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.foundation.errors import require, require_at_most
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.lr import SCHEDULES
from bakeoff.learning.lr.schedule import ENDLESS, MOST_STEPS, Schedule
from bakeoff.learning.tasks.teacher import Teacher

LONGEST_MEANT = 200
MOST_EPOCHS, MOST_PHASES, MOST_BATCH, MOST_BATCHES, MOST_THREADS = 1_000_000, 100, 1_000_000, 10_000, 256


def require_length(steps: int | Literal["unlimited"] | None, epochs: float | None) -> None:
    either = "set exactly one of steps and epochs"
    require(steps is None or epochs is None, "steps", steps, f"null, for epochs is {epochs}; {either}")
    require(steps is not None or epochs is not None, "steps", steps, f"a number, for epochs is null; {either}")
    require(epochs is None or epochs > 0, "epochs", epochs, "above 0")
    if isinstance(steps, int):
        require(steps >= 1, "steps", steps, "1 or more")
        require(steps <= MOST_STEPS, "steps", steps, f"at most {MOST_STEPS:,}")
    require(epochs is None or epochs <= MOST_EPOCHS, "epochs", epochs, f"at most {MOST_EPOCHS:,}")


def steps_for(steps: int | Literal["unlimited"] | None, epochs: float | None, *, examples: int, batch_size: int) -> int:
    if steps is not None:
        return steps if isinstance(steps, int) else ENDLESS
    assert epochs is not None
    return max(1, math.ceil(round(epochs * examples / batch_size, 6)))  # 1.1 * 50 is 55, not a little more


@dataclass(frozen=True)
class Init:
    """The weights that training starts from."""

    weights: str = "none"  # none, imagenet, a weights file, a folder of another run, an MLflow run id, a TF checkpoint
    warm_start: tuple[str, ...] = ()  # patterns or part names of what is loaded, if anything is; none: whatever fits
    names: str | None = None  # a table `variable<TAB>name in the checkpoint`, for checkpoints of other programs
    # What the recipe was made to start from; it decides nothing, and is said where weights are random.
    meant: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        require(bool(self.weights.strip()), "weights", self.weights, "none, imagenet, a path or a run")
        is_fitting = self.meant is None or (bool(self.meant.strip()) and len(self.meant) <= LONGEST_MEANT)
        require(is_fitting, "meant", self.meant, f"a text of at most {LONGEST_MEANT} letters, or null")

    @property
    def lacks(self) -> str | None:
        """What the recipe was made to start from, if it starts from random weights instead."""
        return self.meant if self.weights == "none" else None


@dataclass(frozen=True)
class Phase:
    """What a phase does otherwise than the run's `train` and `lr` groups say."""

    name: str
    steps: int | None = None  # either these
    epochs: float | None = None  # or these, or an equal share of train.steps or train.epochs
    batch_size: int | None = None  # None: train.batch_size
    lr: Schedule | None = field(default=None, metadata={"kinds": SCHEDULES})  # None: the group `lr`
    trainable: tuple[str, ...] = ()  # patterns or part names; none: train.trainable
    start: Literal["last", "best"] = "last"  # from which weights of the phase before
    quantize: bool = field(default=False, metadata={"left_out": False})  # learn in eight bits, as int8 files compute

    def __post_init__(self) -> None:
        plain = self.name.replace("_", "").replace("-", "")
        require(plain.isascii() and plain.isalnum(), "name", self.name, "made of letters, digits, - and _")
        if self.has_length:
            require_length(self.steps, self.epochs)
        require(self.batch_size is None or self.batch_size >= 1, "batch_size", self.batch_size, "1 or more, or null")
        require_at_most(self, batch_size=MOST_BATCH)

    @property
    def has_length(self) -> bool:
        return self.steps is not None or self.epochs is not None


@dataclass(frozen=True)
class Patience:
    """How early stopping stands, after some validation passes."""

    reference: float | None = None  # the last value that was an improvement; None: there was none
    waited: int = 0  # validation passes since


@dataclass(frozen=True)
class EarlyStopping:
    """A phase ends when `patience` validation passes in a row brought nothing better, by more than `min_change`."""

    patience: int = 0  # validation passes; 0: it never ends a phase
    min_change: float = 0.0

    def __post_init__(self) -> None:
        require(self.patience >= 0, "patience", self.patience, "0 or more")
        require(self.min_change >= 0, "min_change", self.min_change, "0 or more")
        require_at_most(self, patience=MOST_STEPS, min_change=1_000_000)

    def after(self, before: Patience, value: float | None) -> Patience:
        """None, a score that there is nothing to count on, is no improvement."""
        if value is not None and (before.reference is None or value > before.reference + self.min_change):
            return Patience(value)
        return Patience(before.reference, before.waited + 1)

    def is_over(self, patience: Patience) -> bool:
        return 0 < self.patience <= patience.waited


@dataclass(frozen=True)
class Train:
    batch_size: int | Literal["auto"]  # auto: the largest that fits memory.budget, found by trying
    steps: int | Literal["unlimited"] | None = None  # unlimited: until a stop, max_minutes or early_stopping
    epochs: float | None = None  # or these
    share: float = 1.0  # of the training examples that it learns from; a larger share holds a smaller one of its seed
    phases: tuple[Phase, ...] = ()  # each with its own length or an equal share of the run's
    init: Init = field(default_factory=Init)
    teacher: Teacher = field(
        default_factory=Teacher, metadata={"left_out": Teacher()}
    )  # another run that it learns from
    trainable: tuple[str, ...] = ()  # patterns or part names; none: everything
    slow: tuple[str, ...] = field(
        default=(), metadata={"left_out": ()}
    )  # patterns or part names, of a rate of their own
    slow_rate: float = field(default=0.5, metadata={"left_out": 0.5})  # of `slow`, as a share of the rate
    ema_decay: float = 0.0  # of the averaged weights that are validated and kept; 0: no averaging
    accumulate_batches: int = 1  # gradients of so many batches make one step
    mixed_precision: bool = False
    devices: int | Literal["all", "gpu", "cpu"] = 1  # a batch is split over them; `gpu`: all GPUs, at least one
    threads: int | Literal["auto"] = "auto"  # in one operation; auto: 1 for a small network, else one for each core
    workers: int = 1  # processes, one a machine, that each take an equal part of every batch
    checkpoint_every_steps: int = 100
    round_up_steps: bool = False  # to a whole number of checkpoint intervals
    checkpoint_every_seconds: float | None = None  # also if so much time went by
    continue_from: str | None = None  # another run, whose last checkpoint is the first of this one
    keep_every_steps: int = 0  # the checkpoints of these steps stay, beside the newest; 0: none
    fresh: bool = False  # start over, also if this very variant was interrupted or is finished
    log_every_steps: int = 10
    steps_per_call: int | Literal["auto"] = "auto"  # of a compiled graph, at most; auto: as many as half a second holds
    validate_every_steps: int = 0  # 0: only at the end of each phase
    validate_every_epochs: float | None = None  # or so often
    validate_examples: int | None = None  # of the validation set, evenly spread; None: all
    samples: int = 8  # of them, drawn at each validation pass with the predictions
    samples_mb: float = 20.0  # of pictures that are kept, at most
    tensorboard: bool = False
    gradient_histograms: bool = False  # for TensorBoard, of gradients counted once more at each validation pass
    best_by: str | None = None  # the metric of validation that says which weights are best; None: the task's headline
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    max_minutes: float | None = None  # of training; what comes after the last step fits in
    deterministic: bool = True  # the same variant gives the same weights, to the bit
    augment: Augment = field(default_factory=Augment)

    def __post_init__(self) -> None:
        require(self.batch_size == "auto" or self.batch_size >= 1, "batch_size", self.batch_size, "1 or more, or auto")
        split_by_number = self.batch_size != "auto" or self.device_number is not None
        require(split_by_number, "devices", self.devices, "a number or cpu while batch_size is auto")
        self._require_phases()
        require(0 < self.share <= 1, "share", self.share, "above 0 and at most 1")
        require(0 < self.slow_rate < 1, "slow_rate", self.slow_rate, "above 0 and under 1")
        require(0 <= self.ema_decay < 1, "ema_decay", self.ema_decay, "at least 0 and under 1")
        for key in ("accumulate_batches", "checkpoint_every_steps", "log_every_steps"):
            require(getattr(self, key) >= 1, key, getattr(self, key), "1 or more")
        seconds = self.checkpoint_every_seconds
        require(seconds is None or seconds > 0, "checkpoint_every_seconds", seconds, "above 0, or null")
        parent = self.continue_from
        require(parent is None or bool(parent.strip()), "continue_from", parent, "a run, or null")
        kept, written = self.keep_every_steps, self.checkpoint_every_steps
        rule = f"0 or a multiple of checkpoint_every_steps={written}"
        require(kept >= 0 and kept % written == 0, "keep_every_steps", kept, rule)
        number = self.device_number
        require(number is None or number >= 1, "devices", self.devices, "1 or more, all, gpu or cpu")
        require(self.threads == "auto" or self.threads >= 1, "threads", self.threads, "1 or more, or auto")
        self._require_workers()
        at_once = self.steps_per_call
        require(at_once == "auto" or at_once >= 1, "steps_per_call", at_once, "1 or more, or auto")
        require(self.validate_every_steps >= 0, "validate_every_steps", self.validate_every_steps, "0 or more")
        epochs = self.validate_every_epochs
        require(epochs is None or epochs > 0, "validate_every_epochs", epochs, "above 0, or null")
        once = epochs is None or not self.validate_every_steps
        require(once, "validate_every_steps", self.validate_every_steps, "0 beside validate_every_epochs")
        validates = self.validate_every_steps > 0 or epochs is not None or self.early_stopping.patience == 0
        require(validates, "validate_every_steps", 0, "1 or more for early_stopping, which counts validation passes")
        examples = self.validate_examples
        require(examples is None or examples >= 1, "validate_examples", examples, "1 or more, or null")
        require(0 <= self.samples <= 64, "samples", self.samples, "between 0 and 64")
        require(0 < self.samples_mb <= 10**6, "samples_mb", self.samples_mb, "above 0 and at most 1000000")
        shown = self.tensorboard or not self.gradient_histograms
        require(shown, "gradient_histograms", True, "false without tensorboard: true, which shows them")
        require(self.max_minutes is None or self.max_minutes > 0, "max_minutes", self.max_minutes, "above 0, or null")
        rhythm = ("checkpoint_every_steps", "keep_every_steps", "log_every_steps", "validate_every_steps")
        require_at_most(self, **dict.fromkeys((*rhythm, "steps_per_call"), MOST_STEPS))
        require_at_most(
            self,
            batch_size=MOST_BATCH,
            accumulate_batches=MOST_BATCHES,
            devices=10_000,
            threads=MOST_THREADS,
            workers=10_000,
            max_minutes=10**7,
        )
        require_at_most(
            self, checkpoint_every_seconds=10**8, validate_every_epochs=MOST_EPOCHS, validate_examples=10**9
        )

    def _require_phases(self) -> None:
        own = [phase.has_length for phase in self.phases]
        if not any(own):
            require_length(self.steps, self.epochs)
        if not self.phases:
            return
        require(all(own) or not any(own), "phases", own, "phases that all have a length, or none")
        for key in ("steps", "epochs") if any(own) else ():
            require(getattr(self, key) is None, key, getattr(self, key), "null when each phase has its own length")
        require(not self.is_unlimited, "steps", self.steps, "a number that the phases can share")
        require(len(self.phases) <= MOST_PHASES, "phases", len(self.phases), f"at most {MOST_PHASES} phases")
        names = [phase.name for phase in self.phases]
        require(len(set(names)) == len(names), "phases", names, "a list of phases with different names")
        first = self.phases[0].start
        require(first == "last", "phases", first, "without `start` in the first phase; init.weights says its start")
        for place, phase in enumerate(self.phases[:-1]):
            rule = f"false, for {names[-1]} comes after {phase.name}; only the last phase can learn in eight bits"
            require(not phase.quantize, f"phases[{place}].quantize", True, rule)
        is_exact = not (self.quantizes and self.mixed_precision)
        require(is_exact, "mixed_precision", True, "false with a phase that has quantize: true")

    def _require_workers(self) -> None:
        require(self.workers >= 1, "workers", self.workers, "1 or more")
        is_one_device = self.workers == 1 or self.device_number == 1
        require(is_one_device, "devices", self.devices, "1 or cpu with several workers, each of which takes one")
        is_taught_here = self.workers == 1 or not self.teacher.is_there
        require(is_taught_here, "teacher", self.teacher.run, "none with several workers")
        is_counted_here = self.workers == 1 or not self.gradient_histograms
        require(is_counted_here, "gradient_histograms", True, "false with several workers")

    @property
    def quantizes(self) -> bool:
        """Tell whether the network has ranges of eight bits, from the first phase on."""
        return any(phase.quantize for phase in self.phases)

    @property
    def is_unlimited(self) -> bool:
        return self.steps == "unlimited"

    @property
    def device_number(self) -> int | None:
        """How many devices a batch is split over; None if only the machine knows."""
        if self.devices == "cpu":
            return 1
        return self.devices if isinstance(self.devices, int) else None

    @property
    def batch(self) -> int:
        """The batch size, once render_config has put a number in the place of `auto`."""
        assert self.batch_size != "auto"
        return self.batch_size
