"""A training: its parts by name, and its phases one after the other, from wherever the run was interrupted.

What decides is here and in the step loop (`loop.py`): when to validate, what is best, when to end. Callbacks observe.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import RunFolder, SavedState
from bakeoff.learning.checkpoints.run_state import Best, End, PhaseState, Position, RunState
from bakeoff.learning.checkpoints.trained_state import STOPPED, SUCCEEDED, TrainedPhase, TrainedState
from bakeoff.learning.plan.phases import TrainingPhase, plan_phases
from bakeoff.learning.training.accelerators import threads_in_use
from bakeoff.learning.training.callbacks import Callback, CallbackList
from bakeoff.learning.training.loop import Diverged, Rhythm, fit, require_numbers
from bakeoff.learning.training.setup import Feed, Pictures, Setup
from bakeoff.learning.training.step import Calls, Step
from bakeoff.learning.training.stopping import Clock, Ends, Stop, TimeLimit
from bakeoff.learning.training.trainer_state import Learner
from bakeoff.learning.training.workers import Alone, WorkerGroup

CALIBRATED = 128  # pictures, about, from which ranges of eight bits start
CHECKPOINTS_AT_THE_END = 3  # in time: a checkpoint, and the final and the best weights


@dataclass(frozen=True)
class TrainingResult:
    standings: list[PhaseState]  # of each phase that has started
    position: Position
    resumed_at: list[int]  # steps
    judged_from: int = 0  # the first phase whose validations count for the best weights, once it has one

    @property
    def ended_by(self) -> End:
        end = self.standings[-1].ended_by
        assert end is not None
        return end

    @property
    def best_position(self) -> Position | None:
        """The step of the best validation of the run, the earlier of two that are equal; None if there was none."""
        bests = [standing.best for standing in self.standings]
        best = self.judged_from if any(one.step for one in bests[self.judged_from :]) else 0
        for number, other in enumerate(bests[best:], start=best):
            if bests[best].is_beaten_by(other.value):
                best = number
        return Position(best, bests[best].step) if bests[best].step else None

    def summary(self, headline: str, phases: Sequence[TrainingPhase]) -> TrainedState:
        """Return how it ended, without what its setup says. If nobody validated, the last weights are the best."""
        best = self.standings[at.phase].best if (at := self.best_position) else Best(self.position.step)
        return TrainedState(
            state=STOPPED if self.ended_by == "stop" else SUCCEEDED,
            ended_by=self.ended_by,
            step=self.position.step,
            best_metric=headline,
            best_value=best.number(headline),
            best_step=best.step,
            phases=tuple(
                TrainedPhase(
                    name=phase.span.name,
                    first_step=phase.span.first_step,
                    steps=phase.span.steps,
                    best_value=standing.best.number(headline),
                    best_step=standing.best.step,
                    ended_by=standing.ended_by,
                )
                for phase, standing in zip(phases, self.standings, strict=False)  # all that have started
            ),
        )


@dataclass
class Training:
    """What a training is made of, and what it has reached."""

    learner: Learner  # the network, its average and its optimizer
    feed: Feed  # batches of training examples
    validation: Callable[[], dict[str, Any] | None]  # the numbers of held-out examples; None if a stop broke it off
    headline: str  # the number of a validation by which the best weights are chosen
    phases: Sequence[TrainingPhase]
    rhythm: Rhythm  # when something is due
    ends: Ends  # what may end it before its last step
    work: RunFolder  # checkpoints
    workers: WorkerGroup = field(default_factory=Alone)
    pictures: Pictures = field(default_factory=Pictures)  # the few examples that validation showed
    callbacks: CallbackList = field(default_factory=CallbackList)
    history: list[LogLine] = field(default_factory=list)
    position: Position = field(default=Position(0, 0))  # of the newest checkpoint
    saved: SavedState = field(default_factory=SavedState)  # what this process began with

    @classmethod
    def of(cls, setup: Setup, work: RunFolder, stop: Stop, saved: SavedState, workers: WorkerGroup) -> "Training":
        """Return the training of a rendered variant."""
        run, validation = setup.run, setup.validation(lambda: stop.asked)
        limit = TimeLimit(
            run.train.max_minutes,
            Clock(saved.state.seconds),
            validation.seconds,
            lambda: CHECKPOINTS_AT_THE_END * work.slowest_write,
        )
        return cls(
            setup.learner,
            setup.feed(),
            validation,
            setup.headline,
            plan_phases(run),
            Rhythm.of(run.train, run.derived.train_examples),
            Ends(stop, limit, run.train.early_stopping),
            work,
            workers=workers,
            pictures=validation.pictures,
        )

    @property
    def is_over(self) -> bool:
        """Tell whether no step was left when this process began."""
        return self.saved.is_over

    def run(self, saved: SavedState, callbacks: Sequence[Callback] = ()) -> TrainingResult:
        """Take the steps that are left after a checkpoint, and release the other workers."""
        self.callbacks = CallbackList(callbacks)
        self.history, self.position = list(saved.state.history), saved.position
        self.saved, self._standings = saved, list(saved.state.phases)
        self._resumed = list(saved.state.resumed)
        try:
            with self.work.followed(self.callbacks.on_checkpoint_start, self.callbacks.on_checkpoint):
                self.callbacks.on_start(self)
                self._train_phases()
                # What a network in floats scores is no answer of a file of eight bits.
                eight = next((number for number, phase in enumerate(self.phases) if phase.quantize), 0)
                outcome = TrainingResult(self._standings, self.position, self._resumed, eight)
                self.callbacks.on_end(outcome)
                return outcome
        finally:
            self.callbacks.close()

    def _train_phases(self) -> None:
        at = self.position
        if not self.saved.is_over:
            self.ends.limit.begin()
            self._resumed += [at.step] if at.step else []
        for phase in self.phases:  # all of them, before the first step
            self.learner.require_trainable(phase.trainable, self._key(phase, "trainable"))
        with self.workers.leading():
            for number in range(at.phase, len(self.phases)):
                self.ends.stop.leave_if_asked()
                if number == at.phase:
                    self._train_phase(number, self.saved if self.saved.arrays is not None else None)
                elif not self._begin_next_phase(number):
                    break
        self.work.wait()

    def _begin_next_phase(self, number: int) -> bool:
        """Train a phase from its first step, after the one before; return whether the run goes on at all."""
        last = self._standings[-1]
        if self.ends.stop.asked:
            self._standings[-1] = last = replace(last, ended_by="stop")
        if last.ended_by in ("stop", "max_minutes"):
            return False
        if self.phases[number].start == "best":
            self.learner.start_from(self.work.best(Position(number - 1, last.best.step)))
        self._train_phase(number, None)
        return True

    def _train_phase(self, number: int, saved: SavedState | None) -> None:
        """Take the steps of a phase that are left, after those of a checkpoint that was `saved` in it."""
        self._number, phase = number, self.phases[number]
        first = saved.position.step if saved else phase.span.first_step
        standing = self._standings[number] if saved else PhaseState()
        self.workers.begin_phase(number, first)
        if phase.quantize and saved is None:
            self.learner.begin_eight_bits(self.feed.images(phase, CALIBRATED))
        self._step: Step = self.learner.begin(phase.trainable, self._key(phase, "trainable"), phase.ranges_learn)
        if saved is not None:
            self.learner.restore(saved.hand_over())
        self.workers.give(self.learner.state)
        steps = range(first, first if standing.ended_by else phase.span.end_step)
        self._standings[number:] = [self._fit(phase, steps, standing)]

    def _fit(self, phase: TrainingPhase, steps: range, standing: PhaseState) -> PhaseState:
        rhythm = self.rhythm.for_steps_of(phase.span.batch_size * self.feed.together)
        try:
            calls = Calls(
                self._step,
                self.feed.batches(phase, steps),
                together=self.feed.together,
                at_once=rhythm.steps_per_call,
                taking=self.workers.taking,
            )
            return fit(calls, steps, phase.rate, rhythm=rhythm, keeper=self, ends=self.ends, standing=standing)
        except Diverged as diverged:
            raise diverged.with_examples(self.feed.names(phase, diverged.step)) from None
        except Exception as error:
            self.callbacks.on_error(error, self._key(phase, "batch_size"), phase.span.batch_size)
            raise

    # What the loop calls.

    def advance(self, count: int) -> None:
        self.callbacks.on_steps(count)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.callbacks.on_log(self._add_line(step, values))

    def validate(self, step: int) -> dict[str, Any] | None:
        self.callbacks.on_validation_start(step)
        with self.learner.kept():
            return self.validation()

    def log_validation(self, step: int, values: Mapping[str, float], seconds: float) -> None:
        self.callbacks.on_validation(self._add_line(step, values), seconds)

    def keep_best(self, step: int) -> None:
        self.work.keep_best(Position(self._number, step), self.learner.kept_names, self.learner.kept_weights())

    def checkpoint(self, step: int, standing: PhaseState) -> None:
        self.position = Position(self._number, step)
        self.workers.require_equal(self.learner.state)
        before = self.saved.state
        state = RunState(
            phases=(*self._standings[: self._number], standing),
            history=tuple(self.history),  # as they are now: writing happens beside training
            seconds=self.ends.limit.clock.seconds,
            resumed=tuple(self._resumed),
            parents=before.parents,
            lent=before.lent,
            threads=threads_in_use(),
            paths=self.learner.kept_in_state,
        )
        self.work.save(
            self.position,
            state,
            self.learner.state,
            now=standing.ended_by is not None or self.ends.stop.asked,
            check=partial(require_numbers, step=step, rate=self.phases[self._number].rate(step - 1)),
        )

    # What callbacks may ask.

    def count_gradients(self, done: int) -> Mapping[str, np.ndarray]:
        """Count gradients at the weights after so many steps, on the examples of the last of these, or their first
        batch; by the paths of the weights.
        """
        batch = next(iter(self.feed.batches(self.phases[self._number], range(done - 1, done))))
        return self.learner.count_gradients(self._step, batch)

    def _add_line(self, step: int, values: Mapping[str, float]) -> LogLine:
        name = self.phases[self._number].span.name if len(self.phases) > 1 else None
        self.history.append(LogLine.of(step, values, name))
        return self.history[-1]

    def _key(self, phase: TrainingPhase, name: str) -> str:
        return f"train.phases: {name} of {phase.span.name!r}" if len(self.phases) > 1 else f"train.{name}"
