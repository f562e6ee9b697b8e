"""Which runs are asked for -> the rows of a comparison, in their order: for `bakeoff compare` and for Python alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.shipped import find_conf

if TYPE_CHECKING:
    from bakeoff.experiments.compare.load_runs import Gathered
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.tracking.store.read_runs import Wanted

NEWEST = 20  # runs, where none are named


@dataclass(frozen=True)
class RunQuery:
    which: tuple[str, ...] = ()
    recent: int | None = None
    sweep: str | None = None
    on: str | None = None
    metric: tuple[str, ...] = ()
    filter: tuple[str, ...] = ()
    sort: str | None = None
    top: int | None = None
    no_fold: bool = False
    uri: str | None = None
    experiment: str | None = None
    needs_all: bool = False  # every number of all examples, not only those that a table shows by itself


def choose_rows(asked: RunQuery) -> tuple["Gathered", list["Contender"]]:
    """Return what all runs are, and those that are asked for."""
    from bakeoff.experiments.compare import select_runs
    from bakeoff.experiments.compare.group_seeds import fold_seeds, put_done_first
    from bakeoff.experiments.compare.load_runs import gather

    asked = _name_a_sweep(asked)
    conditions = [select_runs.Condition.parse(text) for text in asked.filter]
    gathered = gather(asked.uri, asked.experiment)
    keys = [*asked.metric, *(condition.key for condition in conditions), *filter(None, [asked.sort])]
    contenders, sought = _select(asked, gathered, keys)
    if asked.on:
        contenders = select_runs.choose_evaluations(contenders, asked.on)
    for condition in conditions:
        select_runs.require_known("--filter", condition.key, contenders)
    for name in asked.metric:
        select_runs.require_metric(name, contenders)
    contenders = [one for one in contenders if all(condition.holds(one) for condition in conditions)]
    if not contenders:
        raise WorkspaceError(f"--filter: no run has {' and '.join(asked.filter)}")
    rows = contenders if asked.no_fold else fold_seeds(contenders)
    if asked.sort:
        select_runs.require_known("--sort", asked.sort, rows)
    headline = next((one.headline for one in rows if one.headline), None)
    order = asked.sort or next(iter(asked.metric), sought or headline)
    rows = select_runs.sort_best_first(rows, order) if order else rows
    rows = put_done_first(rows) if asked.sweep and not asked.sort else rows
    return gathered, rows[: asked.top]


def describe_setbacks(asked: RunQuery, gathered: "Gathered", contenders: Sequence["Contender"]) -> list[str]:
    """Say of two runs that were named on which slices the better one is worse; nothing without their examples."""
    if len(asked.which) != 2 or len(contenders) != 2 or any(one.seeds for one in contenders):
        return []
    from bakeoff.experiments.compare.comparison_verdict import describe_setbacks
    from bakeoff.experiments.compare.examples import find_examples

    on, address = asked.on, gathered.target.address
    try:
        files = [find_examples(one if on else gathered.maker_of(one), address, on) for one in contenders]
        return describe_setbacks(contenders[0], contenders[1], files)
    except (DataError, WorkspaceError):
        return []


def _select(asked: RunQuery, gathered: "Gathered", keys: list[str]) -> tuple[list["Contender"], str | None]:
    """Return the runs that are named, those of a sweep, or the newest; and what a search sought."""
    from bakeoff.experiments.compare import select_runs
    from bakeoff.experiments.compare.comparison_table import may_be_shown

    wanted = _choose_numbers(keys)
    if asked.which:
        return select_runs.select_named(gathered, asked.which, wanted), None
    if asked.sweep:
        configurations, sought = _list_configurations(asked.sweep)
        return select_runs.select_sweep(gathered, asked.sweep, configurations, wanted), sought
    number = asked.recent or (None if asked.filter or asked.top else NEWEST)
    is_plain = not (keys or asked.on or asked.needs_all)
    return select_runs.select_recent(gathered, number, may_be_shown if is_plain else wanted), None


def _choose_numbers(asked: list[str]) -> "Wanted":
    """Choose all numbers if one of a class was asked for, as AP_50.cat is; reading those of classes takes long."""
    from bakeoff.tracking.store.mlflow_names import is_of_all_classes

    return (lambda name: True) if any("." in key for key in asked) else is_of_all_classes


def _name_a_sweep(asked: RunQuery) -> RunQuery:
    """`compare sweep-20260102-030405` is `compare --sweep sweep-20260102-030405`."""
    from bakeoff.experiments.sweep.sweep_manifest import all_ids

    is_sweep = len(asked.which) == 1 and asked.which[0] in all_ids()
    return replace(asked, which=(), sweep=asked.which[0]) if is_sweep else asked


def _list_configurations(sweep: str) -> tuple[list["Contender"], str | None]:
    """Return a sweep's configurations as its manifest plans them, and what its search was asked to make better.

    There are none of a sweep of another workspace.
    """
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.experiments.sweep.sweep_manifest import JobState, all_ids, load_manifest

    if sweep not in all_ids():
        return [], None
    manifest, configurations = load_manifest(workspace.sweeps() / sweep), []
    states = {JobState.WAITING: "QUEUED", JobState.DONE: ""}  # the others are called what runs are called
    for job in manifest.jobs:
        values = {
            f"{key}.use" if find_conf(workspace.CONF, key).is_dir() else key: value.strip("'\"")
            for key, value in job.varied.items()
        }
        configurations.append(
            Contender(
                job.run_id or "", job.variant, states.get(job.state, job.state.upper()), values, {},
                experiment=job.experiment, sweep=sweep, is_planned=True,
            )
        )  # fmt: skip
    return configurations, manifest.search.metric if manifest.search else None
