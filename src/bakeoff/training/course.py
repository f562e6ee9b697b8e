"""The legs of a run, one after the other, from wherever the run was interrupted."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from bakeoff.progress import Bar
from bakeoff.training.divergence import Diverged, require_numbers
from bakeoff.training.ending import End, Ends
from bakeoff.training.feed import Feed
from bakeoff.training.history import History
from bakeoff.training.learner import Learner
from bakeoff.training.loop import Best, Rhythm, Standing, fit
from bakeoff.training.phases import Leg
from bakeoff.training.work import Found, Position, Work


@dataclass(frozen=True)
class Outcome:
    standings: list[Standing]  # of each leg that was begun
    position: Position
    resumed_at: list[int]  # steps

    @property
    def ended_by(self) -> End:
        end = self.standings[-1].ended_by
        assert end is not None
        return end

    @property
    def bests(self) -> list[Best]:
        return [standing.best for standing in self.standings]

    @property
    def best_position(self) -> Position | None:
        """Of the best look of the run; the earlier of two that are equal. None if nobody looked."""
        best = 0
        for number, other in enumerate(self.bests):
            if self.bests[best].is_beaten_by(other.value):
                best = number
        return Position(best, self.bests[best].step) if self.bests[best].step else None

    def summary(self, headline: str, legs: Sequence[Leg]) -> dict[str, Any]:
        """For `state.json`. If nobody looked, the last weights are the best."""
        at = self.best_position
        best = self.bests[at.leg] if at else Best(self.position.step)
        return {
            "state": "STOPPED" if self.ended_by == "stop" else "SUCCEEDED",
            "ended_by": self.ended_by,
            "step": self.position.step,
            "best_metric": headline,
            "best_value": best.value,
            "best_step": best.step,
            "resumed_at_steps": self.resumed_at,
            "phases": [
                {
                    "name": leg.span.name,
                    "first_step": leg.span.first_step,
                    "steps": leg.span.steps,
                    "best_value": standing.best.value,
                    "best_step": standing.best.step,
                    "ended_by": standing.ended_by,
                }
                for leg, standing in zip(legs, self.standings, strict=False)  # all that were begun
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
    ends: Ends,
    validate: Callable[[], dict[str, Any] | None],
    headline: str,
    history: History,
    send: Callable[[int, dict[str, float]], object],
    bar: Bar,
    show: Callable[[int, dict[str, float], list[str]], object] = lambda *line: None,
    within_memory: Callable[[str, int], AbstractContextManager[None]] = lambda key, batch_size: nullcontext(),
) -> Outcome:
    """Train what is not trained yet. `send` takes a copy of every line of the history, `show` sees it as well."""
    at, resumed = found.position, list(found.facts["resumed"])
    standings = [Standing.of(facts) for facts in found.facts["legs"]]
    if not _is_over(standings, len(legs)):
        ends.limit.begin()
        resumed += [at.step] if at.step else []
    for leg in legs:
        learner.require_trainable(leg.trainable, _key(leg, legs, "trainable"))  # all of them, before the first step

    def log(step: int, values: dict[str, float]) -> None:
        history.add(step, values)
        work.send(history.lines, send)
        show(step, values, history.lines)

    def checkpoint(done: int, standing: Standing) -> None:
        nonlocal at
        at = Position(number, done)
        facts = {
            "legs": [asdict(one) for one in (*standings[:number], standing)],
            "seconds": ends.limit.clock.seconds,
            "resumed": resumed,
            "paths": learner.kept_in_state,
            "parents": found.facts["parents"],
            "history": list(history.lines),  # as they are now: writing happens beside training
        }
        work.save(
            at,
            facts,
            learner.state,
            now=standing.ended_by is not None or ends.stop.asked,
            check=partial(require_numbers, step=done, rate=legs[number].rate(done - 1)),
        )

    def keep_best(done: int) -> None:
        work.keep_best(Position(number, done), learner.kept_names, learner.kept_weights())

    for number, leg in enumerate(legs[at.leg :], start=at.leg):
        ends.stop.leave_if_asked()
        if number > at.leg and ends.stop.asked:
            standings[-1] = replace(standings[-1], ended_by="stop")
        if number > at.leg and standings[-1].ended_by in ("stop", "max_minutes"):
            break
        if number > at.leg and leg.start == "best":
            learner.start_from(work.best(Position(number - 1, standings[-1].best.step)))
        train_step = learner.begin(leg.trainable, _key(leg, legs, "trainable"))
        first, standing = leg.span.first_step, Standing()
        if found.arrays is not None and number == found.position.leg:
            learner.restore(found.arrays)
            first, standing = at.step, standings.pop()
        history.phase = leg.span.name if len(legs) > 1 else None
        steps = range(first, first if standing.ended_by else leg.span.end_step)
        try:
            with within_memory(_key(leg, legs, "batch_size"), leg.span.batch_size):
                standing = fit(
                    train_step,
                    steps=steps,
                    batches=feed.batches(leg, steps),
                    together=feed.together,
                    rate_of=leg.rate,
                    rhythm=rhythm.for_steps_of(leg.span.batch_size * feed.together),
                    validate=validate,
                    headline=headline,
                    log=log,
                    standing=standing,
                    keep_best=keep_best,
                    checkpoint=checkpoint,
                    examples_per_step=leg.span.batch_size * feed.together,
                    ends=ends,
                    bar=bar,
                )
        except Diverged as diverged:
            raise diverged.on(feed.names(leg, diverged.step)) from None
        standings.append(standing)
    work.wait()
    return Outcome(standings, at, resumed)


def _is_over(standings: Sequence[Standing], legs: int) -> bool:
    """Whether nothing is left to do of so many legs."""
    if not standings or standings[-1].ended_by is None:
        return False
    return len(standings) == legs or standings[-1].ended_by == "max_minutes"


def _key(leg: Leg, legs: Sequence[Leg], name: str) -> str:
    return f"train.phases: {name} of {leg.span.name!r}" if len(legs) > 1 else f"train.{name}"
