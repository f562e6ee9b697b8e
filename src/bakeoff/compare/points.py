"""Points of a sweep as its manifest has them, beside what runs told: also those that never came to a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.compare.contender import Contender
from bakeoff.compare.folded import FINISHED


@dataclass(frozen=True)
class Point:
    experiment: str
    variant: str
    state: str  # nothing if its run says it better
    values: Mapping[str, str]  # that were asked for, by the names that params have
    run_id: str | None = None


def with_points(contenders: Sequence[Contender], points: Sequence[Point], sweep: str) -> list[Contender]:
    """Each point once: its last attempt, with the state that the sweep has it in. Done ones first."""
    by_experiment: dict[str | None, list[Contender]] = {}
    for contender in contenders:
        by_experiment.setdefault(contender.experiment, []).append(contender)
    found = []
    for point in points:
        own = by_experiment.pop(point.experiment, [])
        last = max(own, key=lambda one: (one.run_id == point.run_id, one.began or 0), default=None)
        if last is None:
            last = Contender(
                "", point.variant, point.state, point.values, {}, experiment=point.experiment, sweep=sweep,
                is_planned=True,
            )  # fmt: skip
        found.append(replace(last, state=point.state or last.state))
    found += [contender for own in by_experiment.values() for contender in own]
    return done_first(found)


def done_first(contenders: Sequence[Contender]) -> list[Contender]:
    """Otherwise in the order that they have."""
    return sorted(contenders, key=lambda one: one.state != FINISHED)
