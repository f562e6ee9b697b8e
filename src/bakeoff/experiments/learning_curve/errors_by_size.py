"""A sweep over shares of the training set -> the error of every run, by the number of examples that it learned from."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.experiments.compare.load_runs import Gathered
from bakeoff.experiments.compare.run_row import SEED, SUCCEEDED, Contender, names_in
from bakeoff.experiments.compare.select_runs import select_sweep
from bakeoff.experiments.learning_curve.fit import Level
from bakeoff.experiments.sweep.sweep_manifest import SweepManifest
from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.learning.metrics.names import METRICS

SHARE = "train.share"


@dataclass(frozen=True)
class Measure:
    """A number of a run, and the error that it stands for: one minus a share, or a number that is better if lower."""

    name: str
    is_share: bool

    def error(self, value: float) -> float:
        return 1 - value if self.is_share else value

    def value(self, error: float) -> float:
        return 1 - error if self.is_share else error

    def gain(self, less_error: float) -> float:
        """Return by how much the number changes for the better, with its sign."""
        return less_error if self.is_share else -less_error


@dataclass(frozen=True)
class Point:
    """One run of the curve: its share of the training set, its seed and its number."""

    share: float
    seed: int
    examples: int
    value: float
    run: Contender


@dataclass(frozen=True)
class Measurements:
    """The points of a learning curve."""

    measure: Measure
    points: tuple[Point, ...]  # by share, then by seed
    validation: int  # validation examples
    unfinished: int  # runs of the sweep without a number

    @property
    def whole(self) -> list[Point]:
        """Return the points on the largest share."""
        return [point for point in self.points if point.share == self.points[-1].share]

    @property
    def seeds(self) -> list[int]:
        return sorted({point.seed for point in self.points})

    @property
    def levels(self) -> list[Level]:
        """Return a level for each share, with the errors of those seeds that every share has."""
        shares = sorted({point.share for point in self.points})
        by_share = {share: {one.seed: one for one in self.points if one.share == share} for share in shares}
        common = [seed for seed in self.seeds if all(seed in by_seed for by_seed in by_share.values())]
        return [
            Level(
                next(iter(by_seed.values())).examples, tuple(self.measure.error(by_seed[seed].value) for seed in common)
            )
            for by_seed in by_share.values()
        ]

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return a row of a table for each share: its examples, its seeds, the mean, and the ends of the seeds."""
        levels = [(one, [self.measure.value(error) for error in one.errors]) for one in self.levels if one.errors]
        return [
            (f"{level.examples:,}", str(len(values)), f"{self.measure.value(level.mean):.3f}",
             f"{min(values):.3f} to {max(values):.3f}" if len(values) > 1 else "–")
            for level, values in levels
        ]  # fmt: skip


def gather_measurements(manifest: SweepManifest, gathered: Gathered, metric: str | None) -> Measurements:
    """Return the numbers of the runs of a sweep over `train.share`.

    Raises WorkspaceError if the sweep varies something else, or if its runs have no such number.
    """
    if not all(SHARE in job.varied for job in manifest.jobs):
        raise WorkspaceError(
            f"{manifest.id}: must be a sweep over {SHARE}, got {' '.join(manifest.overrides)}; "
            "`bakeoff curve` begins one"
        )
    runs = [run for run in select_sweep(gathered, manifest.id) if run.state == SUCCEEDED]
    if not runs:
        raise WorkspaceError(f"{manifest.id}: no run has ended; `bakeoff curve --resume {manifest.id}` resumes it")
    measure = choose_measure(runs, metric or manifest.jobs[0].headline)
    points: dict[tuple[float, int], Point] = {}
    for run in runs:
        number = run.number(measure.name)
        if number is not None:
            share, seed = float(run.params[SHARE]), int(run.params[SEED])
            points[share, seed] = Point(share, seed, int(run.params["derived.train_examples"]), number.value, run)
    return Measurements(
        measure,
        tuple(points[key] for key in sorted(points)),
        int(runs[0].params["derived.validation_examples"]),
        len(manifest.jobs) - len(points),
    )


def choose_measure(runs: Sequence[Contender], metric: str) -> Measure:
    """Return how the metric becomes an error.

    Raises WorkspaceError if the runs do not have it, or if it is neither a share nor better when lower.
    """
    known = {name for run in runs for name in names_in(run.metrics)}
    values = [number.value for run in runs if (number := run.number(metric))]
    if not values:
        raise WorkspaceError(f"--metric: no run has {metric!r}; {choices(metric, known)}")
    is_higher = is_higher_better(metric)
    is_known_share = metric in METRICS and METRICS[metric].scale == "share"
    if is_higher and is_known_share and all(0 <= value <= 1 for value in values):
        return Measure(metric, is_share=True)
    if is_higher is False and min(values) >= 0:
        return Measure(metric, is_share=False)
    raise WorkspaceError(
        f"--metric: must be a share of 1, or a number from 0 that is better the lower it is, got {metric!r}; "
        "such as accuracy, mAP_50 or loss"
    )
