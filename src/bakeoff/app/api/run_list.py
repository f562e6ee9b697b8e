"""Several runs side by side: a table for people, a tree for scripts, and the runs themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.api.choose_runs import RunQuery, choose_rows, describe_setbacks
from bakeoff.app.api.in_workspace import absolute
from bakeoff.app.api.run_handle import RunHandle

if TYPE_CHECKING:
    import os

    from bakeoff.experiments.compare.comparison_table import ComparisonTable

WIDTH = 120  # characters of a line, where no terminal says how wide it is


@dataclass(frozen=True, repr=False)
class RunList(Sequence[RunHandle]):
    """Runs side by side: it can be indexed and looped over, and prints as the table of `bakeoff compare`."""

    runs: tuple[RunHandle, ...]
    table: "ComparisonTable"
    setbacks: tuple[str, ...] = ()  # slices on which the better of two runs is worse

    def __getitem__(self, at: Any) -> Any:
        return self.runs[at]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def tree(self) -> dict[str, Any]:
        """What `bakeoff compare --json` prints."""
        from bakeoff.experiments.compare.text_json import as_tree

        return as_tree(self.table) | {"slices": list(self.setbacks)}

    def to_pandas(self) -> Any:
        """Return the table, each number as it is, with the columns of `bakeoff compare --csv`."""
        import io

        import pandas

        return pandas.read_csv(io.StringIO(self.to_csv()))

    def to_csv(self) -> str:
        from bakeoff.experiments.compare.text_papers import format_csv

        return format_csv(self.table)

    def to_latex(self) -> str:
        """Return a LaTeX table with intervals, in the rules of booktabs."""
        from bakeoff.experiments.compare.text_papers import format_latex

        return "\n".join(format_latex(self.table)) + "\n"

    def to_html(self, file: "str | os.PathLike[str]") -> None:
        """Write the page of `bakeoff compare --html`."""
        from bakeoff.experiments.compare.comparison_report import write_page

        write_page(Path(absolute(file)), self.table, self.setbacks)

    def plot(self, file: "str | os.PathLike[str]", over: str | None = None) -> None:
        """Write the figure of `bakeoff compare --plot`: a .svg, .pdf or .png."""
        from bakeoff.experiments.compare.interval_plot import write_plot

        write_plot(self.table, Path(absolute(file)), over)

    def __repr__(self) -> str:
        from bakeoff.experiments.compare.text_json import format_lines

        return "\n".join([*format_lines(self.table, WIDTH, all_keys=False), *self.setbacks])

    def _repr_html_(self) -> str:
        from bakeoff.experiments.compare.text_json import list_remarks
        from bakeoff.foundation.html import template

        rows = list(zip(*(column.cells for column in self.table.columns), strict=True))
        remarks = [*list_remarks(self.table, all_keys=False), *self.setbacks]
        return template.render("notebook_table.html.jinja", columns=self.table.columns, rows=rows, remarks=remarks)


def list_runs(asked: RunQuery) -> RunList:
    """Return the runs that are asked for, as `bakeoff compare` lays them out."""
    import warnings

    from bakeoff.experiments.compare.comparison_table import make_table

    gathered, contenders = choose_rows(asked)
    for remark in gathered.remarks:
        warnings.warn(remark, stacklevel=2)
    setbacks = describe_setbacks(asked, gathered, contenders)
    handles = tuple(RunHandle(one, gathered, Path.cwd()) for one in contenders)
    return RunList(handles, make_table(contenders, asked.metric), tuple(setbacks))
