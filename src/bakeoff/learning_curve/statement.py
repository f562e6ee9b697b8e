"""Points of a curve -> what they say of twice the data, of more steps and of another network: a sentence each."""

from dataclasses import dataclass

from bakeoff.learning_curve.fit import LEAST_LEVELS, Curves, Interval, fit
from bakeoff.learning_curve.more_steps import Rise
from bakeoff.learning_curve.networks import OtherNetwork
from bakeoff.learning_curve.points import Measure, Points

LEAST_VALIDATION, LEAST_SEEDS = 30, 2
NO_STATEMENT = "no statement"


@dataclass(frozen=True)
class Statement:
    """`curves` is None where the points tell too little."""

    curves: Curves | None
    foretold: Interval | None  # error at the largest size, by the smaller ones alone
    more_data: str
    more_steps: str
    another_network: str

    @property
    def sentences(self) -> list[str]:
        return [self.more_data, self.more_steps, self.another_network]


def state(points: Points, rise: Rise, other: OtherNetwork | None) -> Statement:
    """Say what is more than chance, and name what is not."""
    why_not = find_obstacle(points)
    curves = fit(points.levels) if not why_not else None
    before = fit(points.levels[:-1]) if curves and len(points.levels) > LEAST_LEVELS else None
    last = points.levels[-1]
    foretold = before.foretell(last.examples, len(last.errors)) if before else None
    return Statement(
        curves, foretold,
        f"More data: {_describe_data(points, curves, foretold) if curves else f'{NO_STATEMENT}, {why_not}'}.",
        f"More steps: {_describe_steps(points, rise)}.",
        f"Another network: {_describe_network(points.measure, other)}.",
    )  # fmt: skip


def find_obstacle(points: Points) -> str:
    """Return why no curve can be told from the points; nothing if one can."""
    levels, seeds = points.levels, len(points.levels[0].errors)
    if len(levels) < LEAST_LEVELS:
        return f"{len(levels)} shares have a run, {LEAST_LEVELS} are needed"
    if seeds == 0:
        return "no seed has a run on every share"
    if seeds < LEAST_SEEDS:
        return "one seed only, which tells nothing of chance, so there is no interval; --seeds 3 gives one"
    if points.validation < LEAST_VALIDATION:
        return f"{points.validation} validation images, {LEAST_VALIDATION} are needed"
    return ""


def _describe_data(points: Points, curves: Curves, foretold: Interval | None) -> str:
    measure, last = points.measure, points.levels[-1]
    twice = 2 * last.examples
    gain, then = curves.gain(twice), curves.foretell(twice)
    if foretold and not foretold.low <= last.mean <= foretold.high:
        return (
            f"{NO_STATEMENT}, the smaller shares foretold {measure.name} {format_range(foretold, measure)} of "
            f"{last.examples:,} examples, which gave {measure.value(last.mean):.3f}"
        )
    text = f"{format_change(gain, measure)} of {measure.name} with {twice:,} training examples, twice as many"
    if gain.low <= 0:
        return f"{NO_STATEMENT}, the curve says {text}, which chance explains"
    return f"{text}, to {format_range(then, measure)}"


def _describe_steps(points: Points, rise: Rise) -> str:
    measure = points.measure
    if rise.change is None:
        return f"{NO_STATEMENT}, {rise.why_not}"
    change = f"{measure.name} changed by {format_change(rise.change, measure)} over the last {rise.steps // 2:,} steps"
    if rise.change.low > 0:
        return f"{change} of {rise.steps:,}, so it still rose" if measure.is_share else f"{change}, so it still fell"
    return f"{change} of {rise.steps:,}, which chance explains; a longer schedule was not tried"


def _describe_network(measure: Measure, other: OtherNetwork | None) -> str:
    if other is None:
        return "not tried on these records; `bakeoff sweep model=… 'seed=range(0,3)'` tries it"
    among = f", the best of {other.tried} tried" if other.tried > 1 else ""
    if other.difference is None:
        return (
            f"{NO_STATEMENT}, {other.name} has {other.seeds} seeds in common with the curve, {LEAST_SEEDS} are needed"
        )
    text = f"{format_change(other.difference, measure)} of {measure.name} with {other.name}{among}, {other.seeds} seeds"
    if other.also_differs:
        text += f", where {', '.join(other.also_differs[:3])} differs, too"
    return f"{NO_STATEMENT}, {text}, which chance explains" if other.difference.holds_zero else text


def format_range(error: Interval, measure: Measure) -> str:
    """`0.953 (0.941 to 0.962)`, of the number itself."""
    ends = sorted((measure.value(error.low), measure.value(error.high)))
    return f"{measure.value(error.middle):.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def format_change(better: Interval, measure: Measure) -> str:
    """`+0.012 (+0.003 to +0.021)`: by how much the number changes, where it gets better by `better`."""
    ends = sorted((measure.gain(better.low), measure.gain(better.high)))
    return f"{measure.gain(better.middle):+.3f} ({ends[0]:+.3f} to {ends[1]:+.3f})"


def describe_limits(points: Points) -> list[str]:
    """Return what the curve does not say of these data."""
    found = []
    params = points.whole[0].run.params
    if params.get("data.split.group") not in (None, "None"):
        found.append(
            "data.split.group puts examples together, and a share takes some of every group: the curve tells of more "
            "examples of these groups, and of other groups less than it says"
        )
    if points.unfinished:
        found.append(f"{points.unfinished} runs of the sweep have no number yet")
    return found
