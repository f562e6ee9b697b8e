"""`bakeoff compare`: runs side by side, by what they differ in and how good they are; `bakeoff better`: two of them."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import terminal_width
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.shipped import find_conf

if TYPE_CHECKING:
    from bakeoff.experiments.compare.load_runs import Gathered
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.tracking.store.read_runs import Wanted

NEWEST = 20


@dataclass(frozen=True)
class CompareCommand(Command):
    which: tuple[str, ...] = argument(
        f"{RUN}; or a sweep, or a workspace's folder; default: the {NEWEST} newest", "RUN"
    )
    recent: int | None = option(f"show the N newest runs ({NEWEST}; all with --filter or --top)", "N", least=1)
    sweep: str | None = option("show the runs of this sweep", "ID")
    on: str | None = option("use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data", "NAME")
    metric: tuple[str, ...] = option("show this metric; give it again for more", "NAME")
    filter: tuple[str, ...] = option(
        "show only runs that match: lr.use=cosine, 'mAP_50>0.5', state!=FAILED; if given again, all must match",
        "CONDITION",
    )
    sort: str | None = option("sort by this metric, the best first (default: the metric of the task)", "KEY")
    top: int | None = option("show the best K rows only", "K", least=1)
    no_fold: bool = flag("show runs that differ only in their seed one by one")
    all_keys: bool = flag("also show keys that only follow from others, such as derived ones")
    html: Path | None = option("write a page, which needs no network", "FILE")
    json: bool = flag("print everything as JSON, for scripts")
    md: bool = flag("print a Markdown table")
    csv: bool = flag("print every column as CSV, with the ends of intervals in columns of their own")
    latex: bool = flag("print a LaTeX table with intervals, in the rules of booktabs")
    uri: str | None = option("read this MLflow store, such as http://server:5000 or sqlite:///other.db")
    experiment: str | None = option("read this MLflow experiment", "NAME")

    def run(self) -> None:
        from bakeoff.experiments.compare.comparison_table import make_table
        from bakeoff.experiments.compare.text_json import as_tree, format_lines, format_markdown
        from bakeoff.experiments.compare.text_papers import format_csv, format_latex

        given = {"RUN": self.which, "--sweep": self.sweep, "--recent": self.recent}
        if len(ways := [name for name, value in given.items() if value]) > 1:
            raise WorkspaceError(f"compare: must be given either runs, a sweep or how many, got {' and '.join(ways)}")
        formats = {"--json": self.json, "--md": self.md, "--csv": self.csv, "--latex": self.latex}
        if len(named := [name for name, is_given in formats.items() if is_given]) > 1:
            raise WorkspaceError(f"compare: must be given one form of its table, got {' and '.join(named)}")
        gathered, contenders = _choose_rows(_name_a_sweep(self))
        table = make_table(contenders, self.metric, all_keys=self.all_keys)
        setbacks = _describe_setbacks(self, gathered, contenders)
        if self.html:
            from bakeoff.experiments.compare.comparison_report import write_page

            write_page(self.html, table, setbacks)
            print_line(f"{len(contenders)} runs: {self.html}")
        if self.json:
            print(json.dumps(as_tree(table) | {"slices": setbacks}, indent=1, ensure_ascii=False))
        elif self.md:
            print_line("\n".join(format_markdown(table)))
        elif self.csv:
            print(format_csv(table), end="")
        elif self.latex:
            print_line("\n".join(format_latex(table)))
        elif not self.html:
            for line in (*format_lines(table, terminal_width(), all_keys=self.all_keys), *setbacks):
                print_line(line)


def _describe_setbacks(asked: CompareCommand, gathered: "Gathered", contenders: list["Contender"]) -> list[str]:
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


def _choose_rows(asked: CompareCommand) -> tuple["Gathered", list["Contender"]]:
    from bakeoff.experiments.compare import select_runs
    from bakeoff.experiments.compare.group_seeds import fold_seeds, put_done_first
    from bakeoff.experiments.compare.load_runs import gather

    conditions = [select_runs.Condition.parse(text) for text in asked.filter]
    gathered = gather(asked.uri, asked.experiment)
    for remark in gathered.remarks:
        print(f"warning: {remark}", file=sys.stderr)
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


def _select(asked: CompareCommand, gathered: "Gathered", keys: list[str]) -> tuple[list["Contender"], str | None]:
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
    is_plain = not (keys or asked.on or asked.json)
    return select_runs.select_recent(gathered, number, may_be_shown if is_plain else wanted), None


def _choose_numbers(asked: list[str]) -> "Wanted":
    """Choose all numbers if one of a class was asked for, as AP_50.cat is; reading those of classes takes long."""
    from bakeoff.tracking.store.mlflow_names import is_of_all_classes

    return (lambda name: True) if any("." in key for key in asked) else is_of_all_classes


def _name_a_sweep(asked: CompareCommand) -> CompareCommand:
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


@dataclass(frozen=True)
class BetterCommand(Command):
    a: str = argument(RUN, "A")
    b: str = argument(RUN, "B")
    on: str | None = option("use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data", "NAME")
    metric: str | None = option("judge by this metric (default: the metric of the task)", "NAME")
    group: str | None = option(
        "sample examples together whose names match in (brackets); default: evaluate.group", "PATTERN"
    )
    samples: int | None = option("number of bootstrap samples (2,000)", "N", least=100, most=100_000)
    json: bool = flag("print JSON, for scripts")
    uri: str | None = option("read this MLflow store")
    experiment: str | None = option("read this MLflow experiment", "NAME")

    def run(self) -> None:
        from bakeoff.experiments.compare.load_runs import gather
        from bakeoff.experiments.compare.verdict_text import describe_verdict, judge_named

        gathered = gather(self.uri, self.experiment)
        for remark in gathered.remarks:
            print(f"warning: {remark}", file=sys.stderr)
        verdict = judge_named(
            gathered, (self.a, self.b), self.on, metric=self.metric, group=self.group, samples=self.samples
        )
        if self.json:
            print(json.dumps(verdict.tree, indent=1, ensure_ascii=False))
            return
        for line in describe_verdict(verdict, self.on):
            print_line(line)
