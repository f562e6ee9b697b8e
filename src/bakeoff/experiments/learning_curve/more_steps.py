"""The validation passes of the longest runs -> whether their number still rose at the end, by more than its noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from bakeoff.experiments.compare.run_row import VALIDATION
from bakeoff.experiments.learning_curve.errors_by_size import Measure, Measurements
from bakeoff.experiments.learning_curve.fit import Interval, find_mean
from bakeoff.foundation import workspace
from bakeoff.learning.plan.run_length import read_steps
from bakeoff.tracking.journal.entries import MetricsEntry
from bakeoff.tracking.journal.journal import entries_of

LEAST_PASSES = 4  # in the second half of a run
History = list[tuple[int, float]]  # step, value


@dataclass(frozen=True)
class Rise:
    """By how much the number rose over the second half of the runs, or why that is not known."""

    steps: int
    seeds: int
    change: Interval | None = None
    why_not: str = ""


def find_rise(measurements: Measurements) -> Rise:
    """Return the rise of the runs on the largest share that took the most steps."""
    steps = [read_steps(point.run.params["derived.steps"]) for point in measurements.whole]
    most = max(steps)
    longest = [point for point, taken in zip(measurements.whole, steps, strict=True) if taken == most]
    histories = [read_history(point.run.reused_from or point.run.run_id, measurements.measure) for point in longest]
    return measure_rise(histories, most, measurements.measure)


def read_history(run_id: str, measure: Measure) -> History:
    """Return the number of each validation pass in a run's journal."""
    name = f"{VALIDATION}{measure.name}"
    history = {
        entry.step: float(entry.values[name])
        for entry in entries_of(workspace.journals() / run_id, MetricsEntry)
        if name in entry.values
    }
    return sorted(history.items())


def measure_rise(histories: Sequence[History], steps: int, measure: Measure) -> Rise:
    """Fit a line to the second half of each run. Its noise comes from several seeds, or else from the passes."""
    seeds = len(histories)
    late = [[(step, value) for step, value in history if step > steps / 2] for history in histories]
    if not late or min(map(len, late)) < LEAST_PASSES:
        fewest = min(map(len, late), default=0)
        return Rise(
            steps,
            seeds,
            why_not=f"{fewest} validation passes in the second half of a run, {LEAST_PASSES} are needed "
            "(train.validate_every_steps)",
        )
    lines = [stats.linregress(*zip(*history, strict=True)) for history in late]
    sign = 1 if measure.is_share else -1
    slopes = [sign * line.slope * steps / 2 for line in lines]
    if seeds > 1:
        return Rise(steps, seeds, find_mean(slopes))
    half = float(stats.t.ppf(0.975, len(late[0]) - 2) * lines[0].stderr * steps / 2)
    return Rise(steps, seeds, Interval(slopes[0], slopes[0] - half, slopes[0] + half))
