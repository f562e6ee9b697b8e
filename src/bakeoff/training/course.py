"""The legs of a run, one after the other, from wherever the run was interrupted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bakeoff.progress import Bar
from bakeoff.training.feed import Feed
from bakeoff.training.history import History
from bakeoff.training.learner import Learner
from bakeoff.training.loop import Best, Rhythm, fit
from bakeoff.training.phases import Leg
from bakeoff.training.work import Found, Position, Work


@dataclass(frozen=True)
class Outcome:
    bests: list[Best]  # of each leg
    seconds: float  # of training, interruptions apart
    resumed_at: list[int]  # steps

    @property
    def best_position(self) -> Position:
        """Of the best look of the run; the earlier of two that are equal."""
        best = 0
        for number, other in enumerate(self.bests):
            if self.bests[best].is_beaten_by(other.value):
                best = number
        return Position(best, self.bests[best].step)

    def summary(self, headline: str, legs: Sequence[Leg]) -> dict[str, Any]:
        """For `state.json`."""
        best = self.bests[self.best_position.leg]
        return {
            "best_metric": headline,
            "best_value": best.value,
            "best_step": best.step,
            "seconds": round(self.seconds, 1),
            "resumed_at_steps": self.resumed_at,
            "phases": [
                {
                    "name": leg.span.name,
                    "first_step": leg.span.first_step,
                    "steps": leg.span.steps,
                    "best_value": best.value,
                    "best_step": best.step,
                }
                for leg, best in zip(legs, self.bests, strict=True)
            ],
        }


def run_legs(
    legs: Sequence[Leg],
    learner: Learner,
    work: Work,
    *,
    found: Found,
    feed: Feed,
    rhythm: Rhythm,
    validate: Callable[[], dict[str, Any]],
    headline: str,
    history: History,
    send: Callable[[int, dict[str, float]], object],
    bar: Bar,
) -> Outcome:
    """Train what is not trained yet. `send` takes a copy of every line of the history."""
    started = time.monotonic()
    at, earlier, resumed = found.position, found.facts["seconds"], list(found.facts["resumed"])
    if 0 < at.step < legs[-1].span.end_step:
        resumed.append(at.step)
    bests = [Best(**best) for best in found.facts["bests"]]
    for leg in legs:
        learner.require_trainable(leg.trainable, _key(leg, legs))  # all of them, before the first step

    def log(step: int, values: dict[str, float]) -> None:
        history.add(step, values)
        work.send(history.lines, send)

    def checkpoint(done: int, best: Best) -> None:
        facts = {
            "bests": [asdict(one) for one in (*bests[:number], best)],
            "seconds": earlier + time.monotonic() - started,
            "resumed": resumed,
            "paths": learner.kept_in_state,
            "history": list(history.lines),  # as they are now: writing happens beside training
        }
        work.save(Position(number, done), facts, learner.state, now=done == leg.span.end_step)

    def keep_best(done: int) -> None:
        work.keep_best(Position(number, done), learner.kept_names, learner.kept_weights())

    for number, leg in enumerate(legs[at.leg :], start=at.leg):
        if number > at.leg and leg.start == "best":
            learner.start_from(work.best(Position(number - 1, bests[number - 1].step)))
        train_step = learner.begin(leg.trainable, _key(leg, legs))
        first, best = leg.span.first_step, Best()
        if found.arrays is not None and number == at.leg:
            learner.restore(found.arrays)
            first, best = at.step, bests[number]
        history.phase = leg.span.name if len(legs) > 1 else None
        steps = range(first, leg.span.end_step)
        best = fit(
            train_step,
            steps=steps,
            batches=feed.batches(leg, steps),
            together=feed.together,
            rate_of=leg.rate,
            rhythm=rhythm,
            validate=validate,
            headline=headline,
            log=log,
            best=best,
            keep_best=keep_best,
            checkpoint=checkpoint,
            bar=bar,
        )
        bests[number:] = [best]
    work.wait()
    now = time.monotonic() - started if at.step < legs[-1].span.end_step else 0.0
    return Outcome(bests, earlier + now, resumed)


def _key(leg: Leg, legs: Sequence[Leg]) -> str:
    return f"train.phases: trainable of {leg.span.name!r}" if len(legs) > 1 else "train.trainable"
