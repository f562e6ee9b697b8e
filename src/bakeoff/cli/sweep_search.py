"""`bakeoff sweep --search tpe`: what the next job tries is drawn from what earlier ones came to."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.cli.columns import say_columns
from bakeoff.errors import ConfigError
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.planning.estimate import Estimate
    from bakeoff.sweep.manifest import Manifest
    from bakeoff.sweep.preflight import Job
    from bakeoff.sweep.search.settings import Search
    from bakeoff.sweep.search.space import Space

TRIALS = 20
EVALUATION = "evaluation/"  # as MLflow has the numbers of metrics.json
SHOWN = 10  # suggestions
ONLY_OF_A_SEARCH = ("--trials", "--metric", "--direction", "--search-seed", "--no-pruning")


def add_options(sweep: argparse.ArgumentParser) -> None:
    search = sweep.add_argument_group("search", "draw points instead of running all; an interval is then a word, too")
    search.add_argument("--search", metavar="KIND", help="tpe, random, or asha: random with successive halving")
    search.add_argument("--trials", type=int, metavar="N", help=f"so many points ({TRIALS})")
    search.add_argument(
        "--metric", metavar="NAME",
        help="of metrics.json, such as mAP_50; validation/mAP_50 is the best that training saw (the task's headline)",
    )  # fmt: skip
    search.add_argument("--direction", metavar="WAY", help="max or min: which is better (as the metric is)")
    search.add_argument("--search-seed", type=int, metavar="N", help="another one draws others (0)")
    search.add_argument("--no-pruning", action="store_true", default=None, help="run each to its end")


def require_search(arguments: argparse.Namespace) -> None:
    """Options that say how to search, without a search, are a mistake."""
    values = (getattr(arguments, option[2:].replace("-", "_")) for option in ONLY_OF_A_SEARCH)
    said = [option for option, value in zip(ONLY_OF_A_SEARCH, values, strict=True) if value is not None]
    if said and arguments.search is None:
        alone = ", ".join(said)
        raise ConfigError(f"{alone}: must stand with --search, got none; add --search tpe, random or asha")


class Asked:
    """A search that may begin: its corners are right."""

    def __init__(self, arguments: argparse.Namespace, words: Sequence[str], until: str | None) -> None:
        from bakeoff.sweep.planned import headline_name, stages_of
        from bakeoff.sweep.points import MOST_AT_ALL, MOST_POINTS
        from bakeoff.sweep.preflight import preflight
        from bakeoff.sweep.search.settings import Search
        from bakeoff.sweep.search.space import space_of

        # What costs nothing to know is said first.
        trials = TRIALS if arguments.trials is None else arguments.trials
        given = Search(
            arguments.search, trials, (arguments.metric or "").removeprefix(EVALUATION), arguments.direction or "max",
            arguments.search_seed or 0, not arguments.no_pruning,
        )  # fmt: skip
        most = MOST_AT_ALL if arguments.yes else MOST_POINTS
        if trials > most:
            raise ConfigError(f"--trials: must be at most {most:,}, got {trials:,}")
        self.space: Space = space_of(words, workspace.CONF)
        self.corners: list[Job] = preflight(self.space.corners(), until=until)
        middle = self.corners[0]
        metric = given.metric or headline_name(middle.derived)
        direction = arguments.direction or _direction_of(metric)
        self.search: Search = replace(
            given,
            metric=metric,
            direction=direction,
            stages=stages_of(middle),
            trials=int(min(trials, self.space.size)),
        )
        self.asked_for = trials
        self._require_metric(headline_name(middle.derived))

    def _require_metric(self, headline: str) -> None:
        from bakeoff.sweep.search.metric import is_looked_at, require_metric

        search, middle = self.search, self.corners[0]
        require_metric(search.metric, headline)
        needed = "train" if search.is_of_training else "evaluate"
        if needed not in search.stages:
            raise ConfigError(f"--until: must reach {needed}, which writes {search.metric}, got {search.stages[-1]}")
        self.is_watched = is_looked_at(search.short, headline) and _looks_on_its_way(middle)
        if search.kind == "asha" and not self.is_watched:
            raise ConfigError(
                f"--search asha: must have looks at {search.watched} while it trains, got none; "
                "set train.validate_every_steps, or --search random"
            )

    def show(self) -> None:
        search, rows = self.search, [(axis.key, str(axis)) for axis in self.space.axes]
        prunes = search.prunes and self.is_watched and search.kind != "asha"
        pruning = ", median pruning" if prunes else ""
        say_columns([*rows, ("search", f"{in_words(search)}{pruning}")])
        if search.trials < self.asked_for:
            say(f"there are no more than {search.trials} points, so these are all, instead of {self.asked_for}")
        if search.prunes and not self.is_watched:
            say(f"warning: nothing is pruned, for training has no looks at {search.watched} on its way")
        for warning in dict.fromkeys(warning for job in self.corners for warning in job.warnings):
            say(f"warning: {warning}")

    def estimates(self) -> "list[Estimate]":
        """Of trials as long as the one in the middle, and as large as the largest of the corners."""
        from bakeoff.planning.ahead import RUNS
        from bakeoff.planning.estimate import TRAIN, Estimate

        stages = {TRAIN: RUNS} if TRAIN in self.search.stages else {}
        each = [Estimate.of(job.run, stages) for job in self.corners]
        largest = replace(each[0], memory_bytes=max(estimate.memory_bytes for estimate in each))
        return [largest] * self.search.trials

    def show_first(self) -> None:
        """Suggestions that wait for no result: TPE's own first ones are drawn at random."""
        from bakeoff.sweep.manifest import SweepJob
        from bakeoff.sweep.search.suggest import suggestion

        jobs: list[SweepJob] = []
        for number in range(1, min(SHOWN, self.search.trials) + 1):
            point = self.space.point(suggestion(self.space, self.search, jobs))
            jobs.append(SweepJob(number, "", "", (point.varied,), (), (), 0, 0, self.search.metric, ""))
        say_columns([("", "point"), *((str(job.number), job.name) for job in jobs)])


def ask_again(arguments: argparse.Namespace, search: "Search | None") -> None:
    """For what this search was asked for."""
    if search is not None:
        arguments.search, arguments.trials, arguments.metric = search.kind, search.trials, search.metric
        arguments.direction, arguments.search_seed = search.direction, search.seed
        arguments.no_pruning = True if not search.prunes else None


def in_words(search: "Search") -> str:
    best = "most" if search.direction == "max" else "least"
    return f"{search.kind}, {search.trials} trials for the {best} {search.metric}, seed {search.seed}"


def say_how_it_ended(manifest: "Manifest") -> None:
    """The best of a search, and why it ended if that was before all its trials."""
    if manifest.search is None:
        return
    from bakeoff.sweep.launching import trials_left
    from bakeoff.sweep.standing import best

    if (first := best(manifest)) is not None:
        say(f"the best is {first.number} of {len(manifest.jobs)}: {first.name}, {first.metric}")
    if not trials_left(manifest) and len(manifest.jobs) < manifest.expected:
        say(f"the first {len(manifest.jobs)} trials came to nothing, so no other begins; `bakeoff sweep show` says why")


def _direction_of(metric: str) -> str:
    from bakeoff.compare.metric import is_higher_better

    higher = is_higher_better(metric)
    if higher is None:
        raise ConfigError(f"--direction: must be said, for {metric} is neither good nor bad; max or min")
    return "max" if higher else "min"


def _looks_on_its_way(job: Any) -> bool:
    train = job.run.train
    return bool(train.validate_every_epochs) or 0 < train.validate_every_steps < job.derived.steps
