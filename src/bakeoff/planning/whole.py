"""How long a command or a job takes as a whole: each stage that runs, TensorFlow's start in it, and what DVC does.

What was measured on this machine counts first: of a stage like it, then of the same stage of other variants. Where
there is neither, `ROUGH` stands for it: what the stages of the demo took on two cores of an ordinary machine.
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, TypeVar

from bakeoff import machine
from bakeoff.durations import DVC, JOB, Duration, keep_duration, read_durations, seconds_here
from bakeoff.planning.ahead import RUNS
from bakeoff.planning.pace import Pace, keys_of, known_pace, seconds_of
from bakeoff.run.settings import Run

TRAIN = "train"
# Seconds; of train what is no step and no look at validation.
ROUGH = {"build_records": 8.0, "render_config": 4.0, TRAIN: 20.0, "evaluate": 15.0, "export": 25.0, DVC: 5.0, JOB: 7.0}
ROUGH_OF_ANY_OTHER, ROUGH_LOOK = 10.0, 2.0
HERE, OTHERS, BY_RULE = "as measured here", "as other variants took here", "by rule of thumb"
Result = TypeVar("Result")


@dataclass(frozen=True)
class Whole:
    """Seconds of each stage that runs and of what runs them; None where nothing tells."""

    stages: Mapping[str, float | None]
    known_from: Mapping[str, str]

    @property
    def seconds(self) -> float | None:
        known = [seconds for seconds in self.stages.values() if seconds is not None]
        return sum(known) if len(known) == len(self.stages) else None

    @property
    def said(self) -> str:
        """What each is known from, the stages of one kind together."""
        kinds = [kind for kind in (HERE, OTHERS, BY_RULE) if kind in self.known_from.values()]
        if len(kinds) == 1 and len(self.known_from) == len(self.stages):
            return kinds[0]
        return "; ".join(
            f"{', '.join(name for name, its in self.known_from.items() if its == kind)} {kind}" for kind in kinds
        )

    @classmethod
    def of(
        cls, run: Run, ahead: Mapping[str, str], pace: Pace | None, *, by: str = DVC, cores: int | None = None
    ) -> "Whole":
        """Return it for a variant whose stages are to do this, each by so many cores; by `dvc repro`, or as a job."""
        told = Told(read_durations(), cores or machine.cores())
        running = [name for name, outcome in ahead.items() if outcome == RUNS]
        found: dict[str, tuple[float | None, str]] = {
            name: _training(run, pace, told) if name == TRAIN else told.seconds(name, stage_key(name, run))
            for name in running
        }
        found[by] = told.seconds(by, str(len(running)))
        return cls(
            {name: one[0] for name, one in found.items()}, {name: one[1] for name, one in found.items() if one[1]}
        )


@dataclass(frozen=True)
class Told:
    rows: Sequence[Duration]
    cores: int  # that what is asked for may use

    def latest(self, what: str, key: str | None = None) -> Duration | None:
        """Return the last of this kind; rather one that had as many cores."""
        rows = [row for row in self.rows if row.what == what and key in (None, row.key)]
        return next(iter([row for row in rows if row.cores == self.cores][-1:] or rows[-1:]), None)

    def seconds(
        self, what: str, key: str, part: Callable[[Duration], float] = lambda row: row.seconds
    ) -> tuple[float, str]:
        for row, known_from in ((self.latest(what, key), HERE), (self.latest(what), OTHERS)):
            if row is not None:
                return part(row), known_from
        return ROUGH.get(what, ROUGH_OF_ANY_OTHER), BY_RULE


def stage_key(stage: str, run: Run) -> str:
    """Return a key that is equal for variants of which the stage takes equally long."""
    parts: dict[str, list[object]] = {
        TRAIN: list(keys_of(run)),
        "evaluate": [run.model, run.derived.num_classes, run.derived.validation_examples, run.evaluate],
        "export": [run.model, run.derived.num_classes, run.derived.validation_examples, run.export],
    }
    return hashlib.sha256(repr(parts[stage]).encode()).hexdigest()[:16] if stage in parts else ""


def looks_of(run: Run) -> int:
    """Return how many looks at validation a training to its end takes; the last step of a phase has one always."""
    train, looks = run.train, 0
    for span in run.derived.phases:
        every = train.validate_every_steps
        if train.validate_every_epochs:
            examples = train.validate_every_epochs * run.derived.train_examples
            every = max(1, math.ceil(round(examples / (span.batch_size * train.accumulate_batches), 6)))
        looks += math.ceil(span.steps / every) if every else 1
    return looks


def keep_stage(stage: str, run: Run | None = None, *, key: str = "", state: Mapping[str, Any] | None = None) -> None:
    """Note how long this process has run as a stage, and for which result; the last thing that a stage does."""
    more = {"run": (state.get("lineage") or {}).get("fingerprint")} if state else {}
    keep_duration(stage, stage_key(stage, run) if run else key, seconds_here(), **more)


class Looks:
    """How long looks at validation take while a stage trains."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def timed(self, look: Callable[[], Result]) -> Callable[[], Result]:
        def timed() -> Result:
            began = time.monotonic()
            result = look()
            self._seconds.append(time.monotonic() - began)
            return result

        return timed

    def keep(self, run: Run, state: Mapping[str, Any], measured: Mapping[str, Any]) -> None:
        """Note how long the training took: what of it were steps and looks, and what was neither. One that this process
        did not begin and end tells that of no other."""
        lineage = state["lineage"]
        is_part = not self._seconds or state["state"] == "STOPPED" or measured["resumed_at_steps"]
        if is_part or lineage["parents"]:
            keep_stage(TRAIN, key="in part", state=state)
            return
        pace, done, more = known_pace(run), state["step"], dict[str, Any]()
        seconds, look = seconds_here(), median(self._seconds) if self._seconds else 0.0
        if pace is not None:
            steps = sum(
                pace.seconds_per_step[span.name] * max(0, min(done, span.end_step) - span.first_step)
                for span in run.derived.phases
            )
            more = {"rest": round(max(0.0, seconds - steps - look * len(self._seconds)), 3), "look": round(look, 3)}
        more |= {"steps": done, "run": lineage["fingerprint"]}
        keep_duration(TRAIN, stage_key(TRAIN, run), seconds, **more)


def _training(run: Run, pace: Pace | None, told: Told) -> tuple[float | None, str]:
    """Steps by their pace, looks and the rest by an earlier training; of a variant that logs too little to tell its
    pace, an earlier one as a whole, if that was no shorter."""
    key = stage_key(TRAIN, run)
    if pace is None and run.train.max_minutes is None:
        same = told.latest(TRAIN, key)
        was_as_long = same is not None and same.more.get("steps", 0) >= run.derived.steps
        return (same.seconds, HERE) if same is not None and was_as_long else (None, "")
    split = replace(told, rows=[row for row in told.rows if "rest" in row.more])
    rest, known_from = split.seconds(TRAIN, key, lambda row: float(row.more["rest"]))
    look = split.latest(TRAIN, key) or split.latest(TRAIN)
    besides = looks_of(run) * (float(look.more["look"]) if look else ROUGH_LOOK)
    steps = seconds_of(run, pace, besides)
    return (None, "") if steps is None else (rest + steps, known_from)
