"""Other runs of the project -> the other network that did best on the same data, compared with the curve's runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.experiments.compare.load_runs import Gathered
from bakeoff.experiments.compare.run_row import SEED, SUCCEEDED, Contender
from bakeoff.experiments.learning_curve.errors_by_size import SHARE, Measurements, Point
from bakeoff.experiments.learning_curve.fit import Interval, find_mean

NEWEST = 300  # runs that are read
MODEL = "model."
LEAST_SEEDS = 2
ValuesBySeed = dict[int, float]  # by seed


@dataclass(frozen=True)
class OtherNetwork:
    """A network, and how far its number lies above that of the curve's network, seed by seed."""

    name: str
    difference: Interval | None  # None: too few seeds in common
    seeds: int
    tried: int  # networks that were tried; the more, the wider the interval
    also_differs: tuple[str, ...]  # keys besides the network's own


def find_network(measurements: Measurements, gathered: Gathered) -> OtherNetwork | None:
    """Return the other network with the best mean over the seeds that both have; None if none was tried."""
    whole, ids = measurements.whole, {point.run.run_id for point in measurements.points}
    runs = [run for run in gathered.project_runs() if run.run_id not in ids][:NEWEST]
    return choose_network(whole, gathered.fill(runs), measurements)


def choose_network(
    whole: Sequence[Point], others: Sequence[Contender], measurements: Measurements
) -> OtherNetwork | None:
    """Return the best of the networks among `others`. `whole` are the points of the curve on the largest share."""
    by_network: dict[tuple[tuple[str, str], ...], list[Contender]] = {}
    for run in others:
        if _is_comparable(run, whole[0]) and run.number(measurements.measure.name):
            by_network.setdefault(_identify_network(run), []).append(run)
    by_network.pop(_identify_network(whole[0].run), None)
    if not by_network:
        return None
    compared = [_compare(runs, whole, measurements, len(by_network)) for runs in by_network.values()]
    return max(compared, key=lambda one: (one.difference is not None, one.difference.middle if one.difference else 0.0))


def _compare(runs: Sequence[Contender], whole: Sequence[Point], measurements: Measurements, tried: int) -> OtherNetwork:
    """Compare the runs of a network, the newest first, with the curve's runs of the same seeds."""
    ours: ValuesBySeed = {point.seed: point.value for point in whole}
    theirs: ValuesBySeed = {}
    for run in runs:
        if (number := run.number(measurements.measure.name)) is not None:
            theirs.setdefault(int(run.params[SEED]), number.value)
    both = sorted(ours.keys() & theirs.keys())
    params = whole[0].run.params
    differs = tuple(
        key
        for key in sorted(params.keys() & runs[0].params.keys())
        if params[key] != runs[0].params[key]
        and key.startswith(("lr.", "optimizer.", "train."))
        and key not in ("train.share", "lr.use", "train.use")
    )
    difference = None
    if len(both) >= LEAST_SEEDS:
        sign = 1 if measurements.measure.is_share else -1
        # Only the best network is shown. Among many networks, chance makes one look good, so the interval is wider.
        difference = find_mean([sign * (theirs[seed] - ours[seed]) for seed in both], tried)
    return OtherNetwork(runs[0].params.get("model.use", "?"), difference, len(both), tried, differs)


def _is_comparable(run: Contender, point: Point) -> bool:
    same_share = float(run.params.get(SHARE, 1.0)) == point.share
    return run.state == SUCCEEDED and run.records == point.run.records and same_share and SEED in run.params


def _identify_network(run: Contender) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in run.params.items() if key.startswith(MODEL)))
