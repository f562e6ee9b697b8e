"""How long a command or a job takes as a whole: each stage that runs, TensorFlow's start in it, and what DVC does.

What was measured on this machine counts first: of a stage like it, then of the same stage of other variants. The median
of the last few measurements counts, because other work on the machine makes single ones too long. Where there is none,
`ROUGH` stands for it: what the stages of the demo took on two cores of an ordinary machine.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bakeoff.config.compose.whole_run import Run
from bakeoff.experiments.planning.stage_status import RUNS
from bakeoff.experiments.planning.step_time import NEWEST, Pace, keys_of, known_pace, seconds_of
from bakeoff.foundation import machine
from bakeoff.foundation.timings import DVC, JOB, Duration, keep_duration, read_durations, seconds_here
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.training.callbacks import Callback

TRAIN = "train"
# Seconds; of train what is no step and no validation pass.
ROUGH = {"build_records": 8.0, "render_config": 4.0, TRAIN: 20.0, "evaluate": 15.0, "export": 25.0, DVC: 5.0, JOB: 10.0}
ROUGH_OF_ANY_OTHER, ROUGH_VALIDATION = 10.0, 2.0
HERE, OTHERS, BY_RULE = "as measured here", "as others took here", "by rule of thumb"
NAMES = {DVC: "DVC", JOB: "the job itself"}


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
        measured = Measured(read_durations(), cores or machine.cores())
        running, has_steps = [name for name, outcome in ahead.items() if outcome == RUNS], True
        parts = {name: measured.seconds(name, stage_key(name, run)) for name in running}
        if TRAIN in parts:
            parts[TRAIN], has_steps = _training(run, pace, measured)
        return cls(parts | {by: measured.besides(by, len(running))}, has_steps)


@dataclass(frozen=True)
class Measured:
    rows: Sequence[Duration]
    cores: int  # that what is asked for may use

    def newest(self, what: str, key: str | None = None) -> list[Duration]:
        """Return the newest measurements of this kind, all by one number of cores: if there are any, by as many."""
        rows = [row for row in self.rows if row.what == what and key in (None, row.key)]
        cores = self.cores if any(row.cores == self.cores for row in rows) else rows[-1].cores if rows else 0
        return [row for row in rows if row.cores == cores][-NEWEST:]

    def seconds(
        self, what: str, key: str, part: Callable[[Duration], float] = lambda row: row.seconds
    ) -> tuple[float, str]:
        for rows, known_from in ((self.newest(what, key), HERE), (self.newest(what), OTHERS)):
            if rows:
                return median(part(row) for row in rows) * self._slower(rows[0]), known_from
        return ROUGH.get(what, ROUGH_OF_ANY_OTHER), BY_RULE

    def _slower(self, row: Duration) -> float:
        """Fewer cores take as much longer as they are fewer, until something by so few is measured."""
        return max(1.0, row.cores / self.cores)

    def besides(self, by: str, stages: int) -> tuple[float, str]:
        """Return what a command takes besides so many stages; rather than none, one with another number of them."""
        counts = {row.key for row in self.rows if row.what == by and row.key.isdigit()}
        nearest = min(counts, key=lambda count: abs(int(count) - stages), default="")
        seconds, known_from = self.seconds(by, nearest)
        return seconds, OTHERS if counts and nearest != str(stages) else known_from


def stage_key(stage: str, run: LearningRun, settings: Any = None) -> str:
    """Return a key that is equal for variants of which the stage takes equally long; `settings` are the stage's own."""
    parts: list[object]
    settings = settings or getattr(run, stage, None)
    match stage:
        case "train":
            parts = [*keys_of(run)]
        case "evaluate":
            parts = [run.model, run.derived.num_classes, run.derived.validation_examples, settings]
        case "export":
            parts = [run.model, run.derived.num_classes, run.derived.validation_examples, settings]
        case _:
            return ""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def count_validations(run: Run) -> int:
    """Return how many validation passes a training to its end takes; the last step of a phase has one always."""
    train, passes = run.train, 0
    for span in run.derived.phases:
        every = train.validate_every_steps
        if train.validate_every_epochs:
            examples = train.validate_every_epochs * run.derived.train_examples
            every = max(1, math.ceil(round(examples / (span.batch_size * train.accumulate_batches), 6)))
        passes += math.ceil(span.steps / every) if every else 1
    return passes


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


class ValidationTimes(Callback):
    """How long validation passes take while a stage trains."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self._seconds.append(seconds)

    def keep(self, run: LearningRun, state: TrainedState, measured: Mapping[str, Any]) -> None:
        """Note how long the training took: its steps, its validation passes, and what was neither. One that this
        process did not begin and end tells that of no other."""
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
    if pace is None and as_long.newest(TRAIN, key):
        return as_long.seconds(TRAIN, key), True
    split = replace(measured, rows=[row for row in measured.rows if row.rest is not None])
    rest, known_from = split.seconds(TRAIN, key, lambda row: row.rest or 0.0)
    has_validation = bool(split.newest(TRAIN))
    pass_seconds = split.seconds(TRAIN, key, lambda row: row.validation)[0] if has_validation else ROUGH_VALIDATION
    validation_seconds = count_validations(run) * pass_seconds
    steps = seconds_of(run, pace, validation_seconds)
    return (rest + (validation_seconds if steps is None else steps), known_from), steps is not None
