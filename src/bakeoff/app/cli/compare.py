"""`bakeoff compare`: runs side by side, by what they differ in and how good they are; `bakeoff better`: two of them."""

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from bakeoff.app.api.choose_runs import NEWEST, RunQuery, choose_rows, describe_setbacks
from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import terminal_width
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line


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
    plot: Path | None = option(
        "draw the first metric with its intervals as .svg, .pdf or .png; the last two need rsvg-convert, inkscape or "
        "chromium",
        "FILE",
    )
    over: str | None = option("draw it over this key, such as lr.peak (the one numeric key that was swept)", "KEY")
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
        query = self._query
        gathered, contenders = choose_rows(query)
        for remark in gathered.remarks:
            print(f"warning: {remark}", file=sys.stderr)
        table = make_table(contenders, self.metric, all_keys=self.all_keys)
        setbacks = describe_setbacks(query, gathered, contenders)
        if self.html:
            from bakeoff.experiments.compare.comparison_report import write_page

            write_page(self.html, table, setbacks)
            print_line(f"{len(contenders)} runs: {self.html}")
        if self.plot:
            from bakeoff.experiments.compare.interval_plot import write_plot

            write_plot(table, self.plot, self.over)
            print_line(f"{len(contenders)} runs: {self.plot}")
        if self.json:
            print(json.dumps(as_tree(table) | {"slices": setbacks}, indent=1, ensure_ascii=False))
        elif self.md:
            print_line("\n".join(format_markdown(table)))
        elif self.csv:
            print(format_csv(table), end="")
        elif self.latex:
            print_line("\n".join(format_latex(table)))
        elif not (self.html or self.plot):
            for line in (*format_lines(table, terminal_width(), all_keys=self.all_keys), *setbacks):
                print_line(line)

    @property
    def _query(self) -> RunQuery:
        same = {one.name: getattr(self, one.name) for one in fields(RunQuery) if hasattr(self, one.name)}
        return RunQuery(**same, needs_all=self.json)


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
