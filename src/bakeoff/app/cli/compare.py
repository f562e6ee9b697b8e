"""`bakeoff compare`: runs side by side, by what they differ in and how good they are."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import terminal_width
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError, choices
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.compare.comparison_table import ComparisonTable
    from bakeoff.experiments.compare.load_runs import Gathered
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.tracking.store.read_runs import Wanted

NEWEST = 20


def add_to(commands: Any) -> None:
    compare = commands.add_parser("compare")
    add = compare.add_argument
    add(
        "which",
        nargs="*",
        metavar="RUN",
        help=f"{RUN}; or a sweep, or a workspace's folder; default: the {NEWEST} newest",
    )
    add("--recent", type=int, metavar="N", help=f"show the N newest runs ({NEWEST}; all with --filter or --top)")
    add("--sweep", metavar="ID", help="show the runs of this sweep")
    add("--on", metavar="NAME", help="use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data")
    add("--metric", action="append", default=[], metavar="NAME", help="show this metric; give it again for more")
    add(
        "--filter",
        action="append",
        default=[],
        metavar="CONDITION",
        help="show only runs that match: lr.use=cosine, 'mAP_50>0.5', state!=FAILED; if given again, all must match",
    )
    add("--sort", metavar="KEY", help="sort by this metric, the best first (default: the metric of the task)")
    add("--top", type=int, metavar="K", help="show the best K rows only")
    add("--no-fold", action="store_true", help="show runs that differ only in their seed one by one")
    add(
        "--all-keys",
        action="store_true",
        help="also show keys that only follow from others, such as derived ones",
    )
    compare.add_path("--html", metavar="FILE", type=Path, help="write a page, which needs no network")
    add("--json", action="store_true", help="print everything as JSON, for scripts")
    add("--md", action="store_true", help="print a Markdown table")
    add("--uri", help="read this MLflow store, such as http://server:5000 or sqlite:///other.db")
    add("--experiment", metavar="NAME", help="read this MLflow experiment")
    compare.set_defaults(run=show_comparison)


def show_comparison(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.compare.comparison_table import make_table
    from bakeoff.experiments.compare.text_json import as_tree, format_lines, format_markdown, wrap

    _require_sense(arguments)
    gathered, contenders = _contenders(arguments)
    table = make_table(contenders, arguments.metric, all_keys=arguments.all_keys)
    setbacks = _describe_setbacks(arguments, gathered, contenders)
    if arguments.html:
        from bakeoff.experiments.compare.comparison_report import write_page

        write_page(arguments.html, table, setbacks)
        print_line(f"{len(contenders)} runs: {arguments.html}")
    if arguments.json:
        print(json.dumps(as_tree(table) | {"slices": setbacks}, indent=1, ensure_ascii=False))
    elif arguments.md:
        print_line("\n".join(format_markdown(table)))
    elif not arguments.html:
        width = terminal_width()
        for line in format_lines(table, width):
            print_line(line)
        for remark in _remarks(table, all_keys=arguments.all_keys):
            print_line("\n".join(wrap(remark, width)))
        for line in setbacks:
            print_line(line)


def _describe_setbacks(arguments: argparse.Namespace, gathered: "Gathered", contenders: list["Contender"]) -> list[str]:
    """Say of two runs that were named on which slices the better one is worse; nothing without their examples."""
    if len(arguments.which) != 2 or len(contenders) != 2 or any(one.seeds for one in contenders):
        return []
    from bakeoff.app.cli.better import find_maker
    from bakeoff.experiments.compare.comparison_verdict import describe_setbacks
    from bakeoff.experiments.compare.examples import find_examples

    on, address = arguments.on, gathered.target.address
    try:
        files = [find_examples(one if on else find_maker(one, gathered), address, on) for one in contenders]
        return describe_setbacks(contenders[0], contenders[1], files)
    except (DataError, WorkspaceError):
        return []


def _require_sense(arguments: argparse.Namespace) -> None:
    for option in ("recent", "top"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise WorkspaceError(f"--{option}: must be 1 or more, got {value}")
    given = [
        options
        for options, there in (("RUN", arguments.which), ("--sweep", arguments.sweep), ("--recent", arguments.recent))
        if there
    ]
    if len(given) > 1:
        raise WorkspaceError(f"compare: must be given either runs, a sweep or how many, got {' and '.join(given)}")


def _contenders(arguments: argparse.Namespace) -> tuple["Gathered", list["Contender"]]:
    from bakeoff.experiments.compare import select_runs
    from bakeoff.experiments.compare.group_seeds import fold_seeds, put_done_first
    from bakeoff.experiments.compare.load_runs import gather

    _name_a_sweep(arguments)
    conditions = [select_runs.Condition.parse(text) for text in arguments.filter]
    gathered = gather(arguments.uri, arguments.experiment)
    for remark in gathered.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    asked = [*arguments.metric, *(condition.key for condition in conditions), *filter(None, [arguments.sort])]
    contenders, sought = _select(arguments, gathered, asked)
    if arguments.on:
        contenders = select_runs.choose_evaluations(contenders, arguments.on)
    for condition in conditions:
        select_runs.require_known("--filter", condition.key, contenders)
    for name in arguments.metric:
        require_metric(name, contenders)
    contenders = [one for one in contenders if all(condition.holds(one) for condition in conditions)]
    if not contenders:
        raise WorkspaceError(f"--filter: no run has {' and '.join(arguments.filter)}")
    rows = contenders if arguments.no_fold else fold_seeds(contenders)
    if arguments.sort:
        select_runs.require_known("--sort", arguments.sort, rows)
    headline = next((one.headline for one in rows if one.headline), None)
    order = arguments.sort or next(iter(arguments.metric), sought or headline)
    rows = select_runs.sort_best_first(rows, order) if order else rows
    rows = put_done_first(rows) if arguments.sweep and not arguments.sort else rows
    return gathered, rows[: arguments.top]


def _select(
    arguments: argparse.Namespace, gathered: "Gathered", asked: list[str]
) -> tuple[list["Contender"], str | None]:
    """Return the runs that are named, those of a sweep, or the newest; and what a search sought."""
    from bakeoff.experiments.compare import select_runs
    from bakeoff.experiments.compare.comparison_table import may_be_shown

    wanted = _choose_numbers(asked)
    if arguments.which:
        return select_runs.select_named(gathered, arguments.which, wanted), None
    if arguments.sweep:
        configurations, sought = _list_configurations(arguments.sweep)
        return select_runs.select_sweep(gathered, arguments.sweep, configurations, wanted), sought
    number = arguments.recent or (None if arguments.filter or arguments.top else NEWEST)
    is_plain = not (asked or arguments.on or arguments.json)
    return select_runs.select_recent(gathered, number, may_be_shown if is_plain else wanted), None


def _choose_numbers(asked: list[str]) -> "Wanted":
    """Choose all numbers if one of a class was asked for, as AP_50.cat is; reading those of classes takes long."""
    from bakeoff.tracking.store.mlflow_names import is_of_all_classes

    return (lambda name: True) if any("." in key for key in asked) else is_of_all_classes


def _name_a_sweep(arguments: argparse.Namespace) -> None:
    """`compare sweep-20260102-030405` is `compare --sweep sweep-20260102-030405`."""
    if len(arguments.which) != 1:
        return
    from bakeoff.experiments.sweep.sweep_manifest import all_ids

    if arguments.which[0] in all_ids():
        [arguments.sweep] = arguments.which
        arguments.which = []


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
            f"{key}.use" if (workspace.CONF / key).is_dir() else key: value.strip("'\"")
            for key, value in job.varied.items()
        }
        configurations.append(
            Contender(
                job.run_id or "", job.variant, states.get(job.state, job.state.upper()), values, {},
                experiment=job.experiment, sweep=sweep, is_planned=True,
            )
        )  # fmt: skip
    return configurations, manifest.search.metric if manifest.search else None


def require_metric(name: str, contenders: list["Contender"]) -> None:
    from bakeoff.experiments.compare.run_row import names_in

    if not any(one.has_number(name) for one in contenders):
        known = {known for one in contenders for known in names_in(one.metrics)}
        raise WorkspaceError(f"--metric: no run has {name!r}; {choices(name, known)}")


def _remarks(table: "ComparisonTable", *, all_keys: bool) -> list[str]:
    marks = []
    if any(cell.is_best for column in table.columns for cell in column.cells):
        marks.append("* the best")
    numbers = [cell.number for column in table.metrics for cell in column.cells if cell.number]
    if any(number.low is not None for number in numbers):
        marks.append("(low–high) 95 % interval over the examples")
    if any(number.spread is not None for number in numbers):
        marks.append("± standard deviation over seeds")
    notes = ["; ".join(marks)] if marks else []
    if _overlap(table):
        first, second = (one.short for one in table.contenders[:2])
        notes.append(f"intervals of the first two overlap; `bakeoff better {second} {first}` tells whether they differ")
    if table.other_keys and not all_keys:
        notes.append(f"{len(table.other_keys)} more keys differ with these: --all-keys shows them")
    return notes


def _overlap(table: "ComparisonTable") -> bool:
    """The intervals of the first two, of the metric that stands first."""
    numbers = [cell.number for cell in table.metrics[0].cells[:2]] if table.metrics else []
    ends = [(one.low, one.high) for one in numbers if one and one.low is not None and one.high is not None]
    if len(ends) < 2:
        return False
    (low, high), (other_low, other_high) = ends
    return low <= other_high and other_low <= high
