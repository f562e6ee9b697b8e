"""What a sweep or a search is about to do, shown and confirmed before it begins."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.app.cli.command_options import flag, option
from bakeoff.app.cli.terminal import confirm, print_columns
from bakeoff.app.cli.terminal_table import print_fitted, print_wrapped
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.formatting import format_count, format_duration, format_size
from bakeoff.foundation.progress import print_line
from bakeoff.learning.plan.run_length import format_steps

if TYPE_CHECKING:
    from bakeoff.app.cli.sweep import SweepQuestion
    from bakeoff.experiments.planning.estimate import Estimate, Together
    from bakeoff.experiments.sweep.plan_jobs import PlannedJob
    from bakeoff.experiments.sweep.search.search_settings import Search
    from bakeoff.experiments.sweep.search.space import Space
    from bakeoff.experiments.sweep.sweep_manifest import SweepManifest

SECONDS_UNASKED = 3600.0
TRIALS = 20
EVALUATION = "evaluation/"  # as MLflow has the numbers of metrics.json
SHOWN = 10  # suggestions


@dataclass(frozen=True)
class SearchOptions:
    """How a search draws configurations; of a sweep without one all are None."""

    title: ClassVar = ("search", "draw configurations instead of running all; an interval is then an override, too")
    kind: str | None = option("tpe, random, or asha: random with successive halving", "KIND", flags="--search")
    trials: int | None = option(f"number of trials ({TRIALS})", "N")
    metric: str | None = option(
        "metric of metrics.json, or validation/mAP_50 for the best of training (the task's headline)", "NAME"
    )
    direction: str | None = option("direction: max or min (the metric's own)", "WAY")
    search_seed: int | None = option("seed of the search (0)", "N")
    no_pruning: bool = flag("run each trial to its end")

    @classmethod
    def of(cls, search: "Search | None") -> "SearchOptions":
        """Return the options that ask for a search once more."""
        if search is None:
            return cls()
        return cls(search.kind, search.trials, search.metric, search.direction, search.seed, not search.prunes)

    def require_search(self) -> None:
        """Refuse options that say how to search, without a search."""
        given = [name for name, value in vars(self).items() if value is not None and value is not False]
        if given and self.kind is None:
            alone = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ConfigError(f"{alone}: must stand with --search, got none; add --search tpe, random or asha")


def plan_search(
    asked: SearchOptions, overrides: Sequence[str], question: "SweepQuestion", *, jobs: int, yes: bool
) -> "SweepManifest | None":
    """Return a search that was shown, confirmed and written down; None if no more than that is wanted."""
    from bakeoff.experiments.sweep.plan_jobs import begin, minutes_of
    from bakeoff.experiments.sweep.team_quota import require_minutes
    from bakeoff.tracking.notes import require_note

    note = None if question.note is None else require_note(question.note)
    plan = SearchPlan(asked, overrides, question.until, side_by_side=jobs, unlimited=yes)
    require_minutes(minutes_of(plan.corners)[:1] * plan.search.trials, question.person)
    plan.show()
    sum_of_all = show_sum(plan.estimates(), jobs)
    if question.dry_run:
        plan.show_first()
        return None
    require_yes(sum_of_all, sure=yes)
    return begin(plan.corners, overrides, question.until, plan.search, note, question.person)


def show_sum(estimates: "Sequence[Estimate]", side_by_side: int) -> "Together":
    from bakeoff.experiments.planning.estimate import together
    from bakeoff.foundation import machine

    at_a_time = min(side_by_side, len(estimates))
    sum_of_all = together(estimates, at_a_time, machine.available_memory())
    _show_sum(sum_of_all, at_a_time, max((estimate.known_from for estimate in estimates), key=len))
    return sum_of_all


def require_yes(sum_of_all: "Together", *, sure: bool) -> None:
    """Ask, if it takes long."""
    if sum_of_all.seconds > SECONDS_UNASKED and not sure:
        about = format_duration(sum_of_all.seconds)
        if not confirm(f"begin what takes about {about}? (yes/no) "):
            raise WorkspaceError(f"sweep: takes about {about}, so it must be confirmed; --yes begins it")


def show_jobs(jobs: Sequence["PlannedJob"], configurations: int) -> None:
    rows = [("", "configuration", "variant", "steps", "time", "stages")]
    for job in jobs:
        seconds = job.estimate.seconds
        time = f"over {format_duration(job.estimate.at_least)}" if seconds is None else format_duration(seconds)
        stages = ", ".join(f"{stage} {outcome}" for stage, outcome in job.stages.items())
        name, steps = job.configurations[0].name, format_steps(job.derived.steps)
        rows.append((str(job.number), name, job.run.name, steps, time, stages))
        rows += [
            ("", configuration.name, f"the same variant as {job.number}", "", "", "")
            for configuration in job.configurations[1:]
        ]
    print_fitted(rows, less=("variant",), narrow="configuration")
    _show_warnings(jobs)
    merged = f" of {configurations} configurations" if len(jobs) != configurations else ""
    print_line(f"{format_count(len(jobs), 'job')}{merged}")


def _show_warnings(jobs: Iterable["PlannedJob"]) -> None:
    for warning in dict.fromkeys(warning for job in jobs for warning in job.warnings):
        print_wrapped(f"warning: {warning}")


def _show_sum(sum_of_all: "Together", side_by_side: int, known_from: str) -> None:
    from bakeoff.foundation.machine import total_memory

    seats = f", {side_by_side} side by side" if side_by_side > 1 else ""
    unknown = f"; the steps of {sum_of_all.unknown} are not known yet" if sum_of_all.unknown else ""
    about = f"{'at least' if unknown else 'about'} {format_duration(sum_of_all.seconds)} for all stages{seats}{unknown}"
    time = f"{about} ({known_from})" if known_from else about
    together = f" for {side_by_side} side by side" if side_by_side > 1 else ""
    memory = f"up to {format_size(sum_of_all.memory_bytes)}{together} of {format_size(total_memory())}"
    print_columns([("time", time), ("memory", memory), ("disk", f"about {format_size(sum_of_all.disk_bytes)}")])


class SearchPlan:
    """A search that may begin: its corners are right."""

    def __init__(
        self, asked: SearchOptions, overrides: Sequence[str], until: str | None, *, side_by_side: int, unlimited: bool
    ) -> None:
        from dataclasses import replace

        from bakeoff.experiments.sweep.configurations import MOST_AT_ALL, MOST_CONFIGURATIONS
        from bakeoff.experiments.sweep.plan_jobs import headline_name, preflight, stages_of
        from bakeoff.experiments.sweep.search.search_settings import Search
        from bakeoff.experiments.sweep.search.space import parse_space

        # What costs nothing to know is checked first.
        trials = TRIALS if asked.trials is None else asked.trials
        given = Search(
            asked.kind or "", trials, (asked.metric or "").removeprefix(EVALUATION), asked.direction or "max",
            asked.search_seed or 0, not asked.no_pruning,
        )  # fmt: skip
        most = MOST_AT_ALL if unlimited else MOST_CONFIGURATIONS
        if trials > most:
            raise ConfigError(f"--trials: must be at most {most:,}, got {trials:,}")
        self.space: Space = parse_space(overrides, workspace.CONF)
        self.corners: list[PlannedJob] = preflight(self.space.corners(), until=until)
        middle = self.corners[0]
        headline = headline_name(middle.derived)
        metric = given.metric or headline
        self.search: Search = replace(
            given,
            metric=metric,
            direction=asked.direction or _direction_of(metric),
            stages=stages_of(middle),
            trials=int(min(trials, self.space.size)),
        )
        self.asked_for, self.side_by_side = trials, side_by_side
        self._require_metric(headline)

    def _require_metric(self, headline: str) -> None:
        from bakeoff.experiments.sweep.search.search_settings import require_metric

        search, middle = self.search, self.corners[0]
        require_metric(search.metric, headline)
        needed = "train" if search.is_of_training else "evaluate"
        if needed not in search.stages:
            raise ConfigError(f"--until: must reach {needed}, which writes {search.metric}, got {search.stages[-1]}")
        train = middle.run.train
        by_steps = 0 < train.validate_every_steps < middle.derived.steps
        self.is_watched = by_steps or bool(train.validate_every_epochs)
        if search.kind == "asha" and not self.is_watched:
            raise ConfigError(
                f"--search asha: must have validation passes on {search.watched} while it trains, got none; "
                "set train.validate_every_steps, or --search random"
            )

    def show(self) -> None:
        search, rows = self.search, [(axis.key, str(axis)) for axis in self.space.axes]
        prunes = search.prunes and self.is_watched and search.kind != "asha"
        print_columns([*rows, ("search", f"{search}{', median pruning' if prunes else ''}")])
        if search.trials < self.asked_for:
            print_line(
                f"there are no more than {search.trials} configurations, so these are all, instead of {self.asked_for}"
            )
        if search.prunes and not self.is_watched:
            print_line(
                f"warning: nothing is pruned, for training has no validation passes on {search.watched} on its way"
            )
        _show_warnings(self.corners)

    def estimates(self) -> "list[Estimate]":
        """Of trials as long as the one in the middle, and as large as the largest of the corners."""
        from dataclasses import replace

        from bakeoff.experiments.planning.estimate import Estimate, cores_of_each
        from bakeoff.experiments.planning.stage_status import RUNS

        stages, cores = dict.fromkeys(self.search.stages, RUNS), cores_of_each(self.side_by_side)
        each = [Estimate.of(job.run, stages, cores=cores) for job in self.corners]
        largest = replace(each[0], memory_bytes=max(estimate.memory_bytes for estimate in each))
        return [largest] * self.search.trials

    def show_first(self) -> None:
        """Suggestions that wait for no result: TPE's own first ones are drawn at random."""
        from bakeoff.experiments.sweep.search.study import suggest
        from bakeoff.experiments.sweep.sweep_manifest import SweepJob

        jobs: list[SweepJob] = []
        for number in range(1, min(SHOWN, self.search.trials) + 1):
            configuration = self.space.make_configuration(suggest(self.space, self.search, jobs))
            jobs.append(SweepJob(number, "", "", (configuration.varied,), (), (), 0, 0, self.search.metric, ""))
        print_columns([("", "configuration"), *((str(job.number), job.name) for job in jobs)])


def _direction_of(metric: str) -> str:
    from bakeoff.evaluation.metric_meanings import is_higher_better

    higher = is_higher_better(metric)
    if higher is None:
        raise ConfigError(f"--direction: must be given, for {metric} is neither good nor bad; max or min")
    return "max" if higher else "min"
