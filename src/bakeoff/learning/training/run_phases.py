"""The phases of a run, one after the other, from wherever the run was interrupted."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from bakeoff.foundation.progress import Bar
from bakeoff.learning.checkpoints.history import History
from bakeoff.learning.checkpoints.run_folder import Position, SavedState, Work
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.training.loop import Best, Diverged, Rhythm, Standing, fit, require_numbers
from bakeoff.learning.training.setup import Feed
from bakeoff.learning.training.step import Calls, Step
from bakeoff.learning.training.stopping import End, Ends
from bakeoff.learning.training.trainer_state import Learner
from bakeoff.learning.training.workers import Alone, Workers

CountGradients = Callable[[], Mapping[str, np.ndarray]]  # of the last step's examples, by the paths of the weights


class Audience(Protocol):
    """Who follows a training; nobody in it decides anything."""

    def send(self, step: int, values: dict[str, float]) -> None:
        """Take a copy of a line of the history."""

    def show(self, step: int, values: dict[str, float], history: list[str], gradients: CountGradients) -> None:
        """See a line that was just logged, and all of them; who calls `gradients` has them counted."""

    def within_memory(self, key: str, batch_size: int) -> AbstractContextManager[None]:
        """Say of memory that runs out in the block which key is to blame."""


class Nobody:
    """An audience that is not there."""

    def send(self, step: int, values: dict[str, float]) -> None: ...

    def show(self, step: int, values: dict[str, float], history: list[str], gradients: CountGradients) -> None: ...

    def within_memory(self, key: str, batch_size: int) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(frozen=True)
class Course:
    """What the phases of a run share."""

    learner: Learner
    feed: Feed
    validate: Callable[[], dict[str, Any] | None]  # None if a stop broke it off
    headline: str
    rhythm: Rhythm
    ends: Ends
    work: Work
    history: History
    bar: Bar
    audience: Audience = field(default_factory=Nobody)
    workers: Workers = field(default_factory=Alone)


@dataclass(frozen=True)
class Outcome:
    standings: list[Standing]  # of each phase that has started
    position: Position
    resumed_at: list[int]  # steps

    @property
    def ended_by(self) -> End:
        end = self.standings[-1].ended_by
        assert end is not None
        return end

    @property
    def best_position(self) -> Position | None:
        """The step of the best validation of the run, the earlier of two that are equal; None if there was none."""
        bests, best = [standing.best for standing in self.standings], 0
        for number, other in enumerate(bests):
            if bests[best].is_beaten_by(other.value):
                best = number
        return Position(best, bests[best].step) if bests[best].step else None

    def summary(self, headline: str, phases: Sequence[TrainingPhase]) -> dict[str, Any]:
        """Return what `state.json` holds of it. If nobody validated, the last weights are the best."""
        best = self.standings[at.phase].best if (at := self.best_position) else Best(self.position.step)
        return {
            "state": "STOPPED" if self.ended_by == "stop" else "SUCCEEDED",
            "ended_by": self.ended_by,
            "step": self.position.step,
            "best_metric": headline,
            "best_value": best.number(headline),
            "best_step": best.step,
            "phases": [
                {
                    "name": phase.span.name,
                    "first_step": phase.span.first_step,
                    "steps": phase.span.steps,
                    "best_value": standing.best.number(headline),
                    "best_step": standing.best.step,
                    "ended_by": standing.ended_by,
                }
                for phase, standing in zip(phases, self.standings, strict=False)  # all that have started
            ],
        }


def run_phases(course: Course, phases: Sequence[TrainingPhase], saved: SavedState) -> Outcome:
    """Train what is not trained yet, and release the other workers."""
    at, ends = saved.position, course.ends
    standings = [Standing.of(facts) for facts in saved.facts["phases"]]
    resumed = list(saved.facts["resumed"])
    if not saved.is_over:
        ends.limit.begin()
        resumed += [at.step] if at.step else []
    for phase in phases:  # all of them, before the first step
        course.learner.require_trainable(phase.trainable, _key(phase, phases, "trainable"))
    position = at
    with course.workers.leading():
        for number, phase in enumerate(phases[at.phase :], start=at.phase):
            ends.stop.leave_if_asked()
            is_first = number == at.phase
            if not is_first and ends.stop.asked:
                standings[-1] = replace(standings[-1], ended_by="stop")
            if not is_first and standings[-1].ended_by in ("stop", "max_minutes"):
                break
            earlier = standings[:number]
            if not is_first and phase.start == "best":
                course.learner.start_from(course.work.best(Position(number - 1, earlier[-1].best.step)))
            kept = {"resumed": resumed, "parents": saved.facts["parents"], "lent": saved.facts.get("lent", [])}
            keeper = PhaseKeeper(course, phases, number, earlier, kept)
            resumed_from = saved if is_first and saved.arrays is not None else None
            standings = [*earlier, keeper.train(resumed_from, standings[number] if resumed_from else Standing())]
            position = keeper.position or position
    course.work.wait()
    return Outcome(standings, position, resumed)


class PhaseKeeper:
    """Trains one phase, and keeps what must outlast the process."""

    def __init__(
        self,
        course: Course,
        phases: Sequence[TrainingPhase],
        number: int,
        earlier: Sequence[Standing],
        facts: dict[str, Any],
    ) -> None:
        """`facts` is what else a checkpoint holds, the same for all phases of this process."""
        self.position: Position | None = None  # of the newest checkpoint
        self.headline = course.headline
        self._course, self._phases, self._number, self._phase = course, phases, number, phases[number]
        self._earlier, self._facts = earlier, facts
        self._step: Step | None = None

    def train(self, saved: SavedState | None, standing: Standing) -> Standing:
        """Take the steps of the phase that are left, after those of a checkpoint that was `saved`."""
        course, phase, span = self._course, self._phase, self._phase.span
        first = saved.position.step if saved else span.first_step
        course.workers.begin_phase(self._number, first)
        step = self._step = course.learner.begin(phase.trainable, _key(phase, self._phases, "trainable"))
        if saved is not None:
            assert saved.arrays is not None
            course.learner.restore(saved.arrays)
        course.workers.give(course.learner.state)
        course.history.phase = span.name if len(self._phases) > 1 else None
        steps = range(first, first if standing.ended_by else span.end_step)
        rhythm = course.rhythm.for_steps_of(span.batch_size * course.feed.together)
        try:
            with course.audience.within_memory(_key(phase, self._phases, "batch_size"), span.batch_size):
                batches = course.feed.batches(phase, steps)
                calls = Calls(
                    step, batches, together=course.feed.together, at_once=rhythm.steps_per_call,
                    taking=course.workers.taking,
                )  # fmt: skip
                return fit(
                    calls, steps, phase.rate,
                    rhythm=rhythm, keeper=self, ends=course.ends, standing=standing, bar=course.bar,
                )  # fmt: skip
        except Diverged as diverged:
            raise diverged.with_examples(course.feed.names(phase, diverged.step)) from None

    def validate(self) -> dict[str, Any] | None:
        return self._course.validate()

    def log(self, step: int, values: dict[str, float]) -> None:
        course = self._course
        course.history.add(step, values)
        course.work.send(course.history.lines, course.audience.send)
        course.audience.show(step, values, course.history.lines, partial(self._gradients, step))

    def _gradients(self, done: int) -> Mapping[str, np.ndarray]:
        """Count them at the weights after so many steps, on the examples of the last of these, or their first batch."""
        assert self._step is not None
        batch = next(iter(self._course.feed.batches(self._phase, range(done - 1, done))))
        return self._course.learner.count_gradients(self._step, batch)

    def keep_best(self, step: int) -> None:
        learner = self._course.learner
        self._course.work.keep_best(Position(self._number, step), learner.kept_names, learner.kept_weights())

    def checkpoint(self, step: int, standing: Standing) -> None:
        course, self.position = self._course, Position(self._number, step)
        course.workers.require_equal(course.learner.state)
        facts = self._facts | {
            "phases": [asdict(one) for one in (*self._earlier, standing)],
            "seconds": course.ends.limit.clock.seconds,
            "paths": course.learner.kept_in_state,
            "history": list(course.history.lines),  # as they are now: writing happens beside training
        }
        course.work.save(
            self.position,
            facts,
            course.learner.state,
            now=standing.ended_by is not None or course.ends.stop.asked,
            check=partial(require_numbers, step=step, rate=self._phase.rate(step - 1)),
        )


def _key(phase: TrainingPhase, phases: Sequence[TrainingPhase], name: str) -> str:
    return f"train.phases: {name} of {phase.span.name!r}" if len(phases) > 1 else f"train.{name}"
