"""Other runs of the project -> the other network that did best on the same data, against the runs of the curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from scipy.special import stdtrit

from bakeoff.compare.contender import SUCCEEDED, Contender
from bakeoff.compare.gather import Gathered
from bakeoff.learning_curve.fit import Interval
from bakeoff.learning_curve.points import SEED, SHARE, Point, Points

NEWEST = 300  # runs that are looked at
MODEL, STEPS = "model.", "derived.steps"
LEAST_SEEDS = 2
Values = dict[int, float]  # by seed


@dataclass(frozen=True)
class OtherNetwork:
    """A network with its number less that of the curve's, seed by seed."""

    name: str
    difference: Interval | None  # None: too few seeds in common
    seeds: int
    tried: int  # networks, which the interval is made wider for
    also_differs: tuple[str, ...]  # keys besides the network's own


def find_network(points: Points, gathered: Gathered) -> OtherNetwork | None:
    """Return the other network with the best mean over the seeds that both have; None if none was tried."""
    own, ids = points.whole, {point.run.run_id for point in points.points}
    runs = [run for run in gathered.project_runs() if run.run_id not in ids][:NEWEST]
    return choose_network(own, gathered.fill(runs), points)


def choose_network(own: Sequence[Point], others: Sequence[Contender], points: Points) -> OtherNetwork | None:
    by_network: dict[tuple[tuple[str, str], ...], list[Contender]] = {}
    for run in others:
        if _is_comparable(run, own[0]) and run.number(points.measure.name):
            by_network.setdefault(_network_of(run), []).append(run)
    by_network.pop(_network_of(own[0].run), None)
    if not by_network:
        return None
    mine = {point.seed: point.value for point in own}
    found = [_compare(runs, own[0].run, mine, points, len(by_network)) for runs in by_network.values()]
    return max(found, key=lambda one: (one.difference is not None, one.difference.middle if one.difference else 0.0))


def _compare(runs: Sequence[Contender], own: Contender, mine: Values, points: Points, tried: int) -> OtherNetwork:
    theirs: Values = {}
    for run in runs:  # the newest first
        if (number := run.number(points.measure.name)) is not None:
            theirs.setdefault(int(run.params[SEED]), number.value)
    both = sorted(mine.keys() & theirs.keys())
    differs = tuple(
        key for key in sorted(own.params.keys() & runs[0].params.keys())
        if own.params[key] != runs[0].params[key] and key.startswith(("lr.", "optimizer.", "train."))
        and key not in ("train.share", "lr.use", "train.use")
    )  # fmt: skip
    difference = None
    if len(both) >= LEAST_SEEDS:
        sign = 1 if points.measure.is_share else -1
        differences = [sign * (theirs[seed] - mine[seed]) for seed in both]
        middle = fmean(differences)
        # Of several networks the best is shown: chance has had as many tries.
        half = stdtrit(len(both) - 1, 1 - 0.025 / tried) * stdev(differences) / np.sqrt(len(both))
        difference = Interval(middle, float(middle - half), float(middle + half))
    return OtherNetwork(runs[0].params.get("model.use", "?"), difference, len(both), tried, differs)


def _is_comparable(run: Contender, own: Point) -> bool:
    same_share = float(run.params.get(SHARE, 1.0)) == own.share
    return run.state == SUCCEEDED and run.records == own.run.records and same_share and SEED in run.params


def _network_of(run: Contender) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in run.params.items() if key.startswith(MODEL)))
