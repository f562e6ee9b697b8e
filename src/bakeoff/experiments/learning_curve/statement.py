"""The points of a curve -> a sentence each on twice the data, on more steps and on another network."""

from dataclasses import dataclass

from bakeoff.experiments.learning_curve.errors_by_size import Measure, Measurements
from bakeoff.experiments.learning_curve.fit import LEAST_LEVELS, Curves, Interval, fit
from bakeoff.experiments.learning_curve.more_steps import Rise
from bakeoff.experiments.learning_curve.networks import OtherNetwork

LEAST_VALIDATION, LEAST_SEEDS = 30, 2
NO_STATEMENT = "no statement"


@dataclass(frozen=True)
class Statement:
    """Three sentences, and the curves behind them. `curves` is None if the points are too few for a curve."""

    curves: Curves | None
    predicted: Interval | None  # error at the largest size, by the smaller ones alone
    more_data: str
    more_steps: str
    another_network: str

    @property
    def sentences(self) -> list[str]:
        return [self.more_data, self.more_steps, self.another_network]


def make_statement(measurements: Measurements, rise: Rise, other: OtherNetwork | None) -> Statement:
    """Return sentences that claim only what chance does not explain, and name the reason where nothing is claimed."""
    why_not = find_obstacle(measurements)
    curves = fit(measurements.levels) if not why_not else None
    before = fit(measurements.levels[:-1]) if curves and len(measurements.levels) > LEAST_LEVELS else None
    last = measurements.levels[-1]
    predicted = before.predict(last.examples, len(last.errors)) if before else None
    return Statement(
        curves,
        predicted,
        f"More data: {_describe_data(measurements, curves, predicted) if curves else f'{NO_STATEMENT}, {why_not}'}.",
        f"More steps: {_describe_steps(measurements, rise)}.",
        f"Another network: {_describe_network(measurements.measure, other)}.",
    )


def find_obstacle(measurements: Measurements) -> str:
    """Return why no curve can be fitted to the points, or an empty text if one can."""
    levels, seeds = measurements.levels, len(measurements.levels[0].errors)
    if len(levels) < LEAST_LEVELS:
        return f"{len(levels)} shares have a run, {LEAST_LEVELS} are needed"
    if seeds == 0:
        return "no seed has a run on every share"
    if seeds < LEAST_SEEDS:
        return "one seed only, which shows nothing about chance, so there is no interval; --seeds 3 gives one"
    if measurements.validation < LEAST_VALIDATION:
        return f"{measurements.validation} validation images, {LEAST_VALIDATION} are needed"
    return ""


def _describe_data(measurements: Measurements, curves: Curves, predicted: Interval | None) -> str:
    measure, last = measurements.measure, measurements.levels[-1]
    twice = 2 * last.examples
    gain, then = curves.gain(twice), curves.predict(twice)
    if predicted and not predicted.low <= last.mean <= predicted.high:
        return (
            f"{NO_STATEMENT}, the smaller shares predicted {measure.name} {format_range(predicted, measure)} of "
            f"{last.examples:,} examples, which gave {measure.value(last.mean):.3f}"
        )
    text = f"{format_change(gain, measure)} of {measure.name} with {twice:,} training examples, twice as many"
    if gain.low <= 0:
        return f"{NO_STATEMENT}, the curve says {text}, which chance explains"
    return f"{text}, to {format_range(then, measure)}"


def _describe_steps(measurements: Measurements, rise: Rise) -> str:
    measure = measurements.measure
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
    """Return the number that stands for an error, with its interval: `0.953 (0.941 to 0.962)`."""
    ends = sorted((measure.value(error.low), measure.value(error.high)))
    return f"{measure.value(error.middle):.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def format_change(better: Interval, measure: Measure) -> str:
    """Return by how much the number changes, with an interval: `+0.012 (+0.003 to +0.021)`."""
    ends = sorted((measure.gain(better.low), measure.gain(better.high)))
    return f"{measure.gain(better.middle):+.3f} ({ends[0]:+.3f} to {ends[1]:+.3f})"


def describe_limits(measurements: Measurements) -> list[str]:
    """Return sentences on what the curve leaves open for these data."""
    limits = []
    params = measurements.whole[0].run.params
    if params.get("data.split.group") not in (None, "None"):
        limits.append(
            "data.split.group puts examples together, and a share takes some of every group: the curve is about more "
            "examples of these groups, and other groups would bring less than it predicts"
        )
    if measurements.unfinished:
        limits.append(f"{measurements.unfinished} runs of the sweep have no number yet")
    return limits
