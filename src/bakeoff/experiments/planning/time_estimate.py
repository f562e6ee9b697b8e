"""How long a training's steps take, and a command or a job as a whole: each stage that runs, TensorFlow's start in it,
and what DVC does.

What was measured on this machine counts first: of a stage like it, then of the same stage of other variants. Where
there is none, `ROUGH` stands for it: what the stages of the demo took on two cores of an ordinary machine.
"""

import hashlib
import itertools
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bakeoff.config.compose.read_once import read_once
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.planning.stage_status import RUNS
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.foundation.timings import DVC, JOB, STEP, Duration, Measured, keep_duration, seconds_here
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.plan.phases import TrainingPhase, Variant, plan_phases
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.training.callbacks import Callback

if TYPE_CHECKING:
    from bakeoff.learning.training.setup import Feed
    from bakeoff.learning.training.step import Step

TRAIN = "train"
WARM_UP_STEPS = 3  # the first compiles, the next fill the buffers
MOST_SECONDS = 8.0  # of measuring, for each phase
MOST_STEPS = 50
BEFORE = "as such steps took here before"
# Seconds; of train what is no step and no validation pass.
ROUGH = {"build_records": 8.0, "render_config": 4.0, TRAIN: 20.0, "evaluate": 15.0, "export": 25.0, DVC: 5.0, JOB: 10.0}
ROUGH_OF_ANY_OTHER, ROUGH_VALIDATION = 10.0, 2.0
HERE, OTHERS, BY_RULE = "as measured here", "as others took here", "by rule of thumb"
NAMES = {DVC: "DVC", JOB: "the job itself"}


@dataclass(frozen=True)
class Pace:
    """How fast this machine goes through a variant, and how one knows."""

    seconds_per_step: Mapping[str, float]  # by phase
    known_from: str


def seconds_of(run: Variant, pace: Pace | None, validation_seconds: float = 0.0) -> float | None:
    """Return how long a training's steps and its validation passes take, which its own limit may cut short; None
    where neither is known, and of a run without an end."""
    limit = None if run.train.max_minutes is None else 60 * run.train.max_minutes
    if pace is None or is_endless(run.derived.steps):
        return limit
    whole = sum(pace.seconds_per_step[span.name] * span.steps for span in run.derived.phases) + validation_seconds
    return whole if limit is None else min(whole, limit)


def step_seconds(run: Variant, cores: int | None = None) -> dict[str, float | None]:
    """Return how long steps like those of each phase took here, by so many cores or by all; None if there were none."""
    measured = read_once(Measured.here, cores)
    return {phase.span.name: measured.typical(STEP, pace_key(run, phase)) for phase in plan_phases(run)}


def known_pace(run: Variant, cores: int | None = None) -> Pace | None:
    """Return None unless steps like those of all its phases were measured here before."""
    seconds = step_seconds(run, cores)
    known = {name: taken for name, taken in seconds.items() if taken is not None}
    return Pace(known, BEFORE) if known.keys() == seconds.keys() else None


def measure_pace(run: Variant, manifest: Manifest, records: Path) -> Pace:
    """Take a few real steps of each phase on real batches, with random weights: they change the loss, not the time."""
    load_tensorflow()
    from bakeoff.learning.training.accelerators import use_threads
    from bakeoff.learning.training.setup import Setup

    use_threads(run.derived.threads)
    setup, seconds = Setup.of(run, manifest, records), {}
    feed = setup.feed()
    for phase in plan_phases(run):
        if phase.quantize:
            setup.learner.begin_eight_bits(feed.images(phase, 1))
        step = setup.learner.begin(phase.trainable, "train", phase.ranges_learn)
        seconds[phase.span.name] = _measure_step(phase, step, feed)
        keep_duration(STEP, pace_key(run, phase), seconds[phase.span.name])
    return Pace(seconds, "measured just now")


def pace_key(run: Variant, phase: TrainingPhase) -> str:
    """Return a key that is equal for steps that take equally long on one machine. Which patterns are trained counts,
    the rate does not."""
    train = run.train
    return _digest(
        platform.node(), repr(run.model), run.derived.num_classes, phase.span.batch_size, sorted(phase.trainable),
        train.accumulate_batches, train.mixed_precision, train.devices, train.workers, train.ema_decay > 0,
        run.derived.threads, repr(train.augment), *(["quantize"] if phase.quantize else []),
    )  # fmt: skip


def pace_of(phase: TrainingPhase, history: Sequence[LogLine], examples_a_step: int) -> float | None:
    """Return a phase's seconds per step from the lines of its history; None if it logged too little to tell."""
    speeds = [
        line.values["examples_per_second"]
        for line in history
        if "examples_per_second" in line.values and phase.span.first_step < line.step <= phase.span.end_step
    ]
    return examples_a_step / median(speeds[1:]) if len(speeds) > 2 else None  # the first holds the compilation


def _measure_step(phase: TrainingPhase, step: "Step", feed: "Feed") -> float:
    import tensorflow as tf

    first = phase.span.first_step
    length = min(phase.span.steps, WARM_UP_STEPS + MOST_STEPS)
    upcoming = iter(feed.batches(phase, range(first, first + length)))
    steps, start = 0, time.monotonic()
    for number in range(length):
        if number == min(WARM_UP_STEPS, length - 1):
            steps, start = 0, time.monotonic()
        rate = tf.constant(phase.rate(first + number), tf.float32)
        losses = step(list(itertools.islice(upcoming, feed.together)), rate)
        float(losses["train/loss"])  # waits until the step is done
        steps += 1
        if number > WARM_UP_STEPS and time.monotonic() - start > MOST_SECONDS:
            break
    return (time.monotonic() - start) / steps


@dataclass(frozen=True)
class Whole:
    """Seconds of each stage that runs and of what runs them, and what they are known from."""

    parts: Mapping[str, tuple[float, str]]
    has_steps: bool  # False: the time besides the steps, whose pace is not known

    @property
    def stages(self) -> dict[str, float]:
        return {name: seconds for name, (seconds, _) in self.parts.items()}

    @property
    def at_least(self) -> float:
        return sum(self.stages.values())

    @property
    def seconds(self) -> float | None:
        return self.at_least if self.has_steps else None

    @property
    def known_from(self) -> str:
        """What the parts are known from."""
        by_kind = {
            kind: [NAMES.get(name, name) for name, (_, its) in self.parts.items() if its == kind]
            for kind in (HERE, OTHERS, BY_RULE)
        }
        kinds = [kind for kind, names in by_kind.items() if names]
        return kinds[0] if len(kinds) == 1 else "; ".join(f"{', '.join(by_kind[kind])} {kind}" for kind in kinds)

    @classmethod
    def of(
        cls, run: Run, ahead: Mapping[str, str], pace: Pace | None, *, by: str = DVC, cores: int | None = None
    ) -> "Whole":
        """Return it for a variant whose stages are to do this, each by so many cores; by `dvc repro`, or as a job."""
        measured = read_once(Measured.here, cores)
        running, has_steps = [name for name, outcome in ahead.items() if outcome == RUNS], True
        parts = {name: _find_seconds(measured, name, stage_key(name, run)) for name in running}
        if TRAIN in parts:
            parts[TRAIN], has_steps = _training(run, pace, measured)
        return cls(parts | {by: _besides(measured, by, len(running))}, has_steps)


def _find_seconds(
    measured: Measured, what: str, key: str, part: Callable[[Duration], float] = lambda row: row.seconds
) -> tuple[float, str]:
    """Return seconds, and what they are known from."""
    for its_key, known_from in ((key, HERE), (None, OTHERS)):
        if (seconds := measured.typical(what, its_key, part)) is not None:
            return seconds, known_from
    return ROUGH.get(what, ROUGH_OF_ANY_OTHER), BY_RULE


def _besides(measured: Measured, by: str, stages: int) -> tuple[float, str]:
    """Return what a command takes besides so many stages; rather than none, one with another number of them."""
    counts = {row.key for row in measured.rows if row.what == by and row.key.isdecimal()}
    nearest = min(counts, key=lambda count: abs(int(count) - stages), default="")
    seconds, known_from = _find_seconds(measured, by, nearest)
    return seconds, OTHERS if counts and nearest != str(stages) else known_from


def stage_key(stage: str, run: LearningRun, settings: Any = None) -> str:
    """Return a key that is equal for variants of which the stage takes equally long; `settings` are the stage's own."""
    if stage == TRAIN:
        return _digest(*(pace_key(run, phase) for phase in plan_phases(run)))
    if stage not in ("evaluate", "export"):
        return ""
    settings = settings or getattr(run, stage, None)
    return _digest(run.model, run.derived.num_classes, run.derived.validation_examples, settings)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(list(parts)).encode()).hexdigest()[:16]


def steps_between_validations(run: Run, batch_size: int) -> int:
    """Return after how many steps with such batches a validation pass comes; 0: only a phase's last step has one."""
    train = run.train
    if not train.validate_every_epochs:
        return train.validate_every_steps
    examples = train.validate_every_epochs * run.derived.train_examples
    return max(1, math.ceil(round(examples / (batch_size * train.accumulate_batches), 6)))


def count_validations(run: Run) -> int:
    """Return how many validation passes a training to its end takes; the last step of a phase has one always.

    Of a run without an end nobody knows more than this one.
    """
    if is_endless(run.derived.steps):
        return 1
    spans = [(span, steps_between_validations(run, span.batch_size)) for span in run.derived.phases]
    return sum(math.ceil(span.steps / every) if every else 1 for span, every in spans)


def keep_stage(
    stage: str,
    run: LearningRun | None = None,
    settings: Any = None,
    *,
    key: str = "",
    state: TrainedState | None = None,
) -> None:
    """Note how long this process has run as a stage, and for which result; the last thing that a stage does."""
    more = {"run": state.lineage.fingerprint} if state else {}
    keep_duration(stage, stage_key(stage, run, settings) if run else key, seconds_here(), **more)


class TrainingTimes(Callback):
    """How long steps and validation passes take while a stage trains."""

    def __init__(self) -> None:
        self._lines: list[LogLine] = []
        self._seconds: list[float] = []

    def on_log(self, line: LogLine) -> None:
        self._lines.append(line)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self._seconds.append(seconds)

    def keep(self, run: LearningRun, state: TrainedState, measured: Mapping[str, Any]) -> None:
        """Note how long the training took: its steps, its validation passes, and what was neither. One that this
        process did not begin and end tells of its steps alone."""
        for phase in plan_phases(run):
            examples_a_step = phase.span.batch_size * run.train.accumulate_batches
            if (step := pace_of(phase, self._lines, examples_a_step)) is not None:
                keep_duration(STEP, pace_key(run, phase), step)
        is_part = not self._seconds or state.is_stopped or measured["resumed_at_steps"]
        if is_part or state.lineage.parents:
            keep_stage(TRAIN, key="in part", state=state)
            return
        pace, done, more = known_pace(run), state.last_step, dict[str, Any]()
        seconds, pass_seconds = seconds_here(), median(self._seconds) if self._seconds else 0.0
        if pace is not None:
            steps = sum(
                pace.seconds_per_step[span.name] * max(0, min(done, span.end_step) - span.first_step)
                for span in run.derived.phases
            )
            more = {
                "rest": round(max(0.0, seconds - steps - pass_seconds * len(self._seconds)), 3),
                "look": round(pass_seconds, 3),
            }
        more |= {"steps": done, "run": state.lineage.fingerprint}
        keep_duration(TRAIN, stage_key(TRAIN, run), seconds, **more)


def _training(run: Run, pace: Pace | None, measured: Measured) -> tuple[tuple[float, str], bool]:
    """Return the time of steps by their pace, of validation passes and of the rest by an earlier training, and whether
    the steps are in it. Of a variant that logs too little to tell its pace, an earlier one stands for all, if it was as
    long."""
    key = stage_key(TRAIN, run)
    as_long = replace(measured, rows=[row for row in measured.rows if row.steps >= run.derived.steps])
    if pace is None and (whole := as_long.typical(TRAIN, key)) is not None:
        return (whole, HERE), True
    split = replace(measured, rows=[row for row in measured.rows if row.rest is not None])
    rest, known_from = _find_seconds(split, TRAIN, key, lambda row: row.rest or 0.0)
    pass_seconds, source = _find_seconds(split, TRAIN, key, lambda row: row.validation)
    if source == BY_RULE:
        pass_seconds = ROUGH_VALIDATION
    validation_seconds = count_validations(run) * pass_seconds
    steps = seconds_of(run, pace, validation_seconds)
    return (rest + (validation_seconds if steps is None else steps), known_from), steps is not None
