"""A table as CSV, for spreadsheets and scripts, and as LaTeX with the rules of the package booktabs, for papers."""

import csv
import io
import re
from collections.abc import Iterator

from bakeoff.experiments.compare.comparison_table import COST, KEY, METRIC, Cell, Column, ComparisonTable

PARTS = ("low", "high", "spread")  # of a number, beside its value
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would run
SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "±": r"$\pm$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
UNITS = {"time": "_seconds", "memory": "_bytes", "size": "_bytes", "latency": "_ms"}  # of columns of cost
IN_PAPERS = ("run", "note")  # columns of links that a paper can use


def format_csv(table: ComparisonTable) -> str:
    """Return every column, a number as it is, its interval or spread over seeds in columns of its own."""
    columns = [pair for column in table.columns for pair in _split(column)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    writer.writerows(zip(*(values for _, values in columns), strict=True))
    return out.getvalue()


def _split(column: Column) -> Iterator[tuple[str, list[str]]]:
    if column.kind == METRIC:
        numbers = [cell.number for cell in column.cells]
        yield column.name, ["" if one is None else repr(one.value) for one in numbers]
        for part in PARTS:
            values = [None if one is None else getattr(one, part) for one in numbers]
            if any(value is not None for value in values):
                yield f"{column.name}_{part}", ["" if value is None else repr(value) for value in values]
    elif column.kind == COST:
        yield (
            f"{column.name}{UNITS.get(column.name, '')}",
            [repr(cell.value) if isinstance(cell.value, float | int) else "" for cell in column.cells],
        )
    else:
        yield column.name, [_harmless("" if cell.value is None else cell.text) for cell in column.cells]


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; a number may have its sign."""
    return f"'{text}" if text.startswith(FORMULA) and not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text) else text


def format_latex(table: ComparisonTable) -> list[str]:
    """Return a `tabular` of what runs differ in, how good they are and what they cost; the best is bold."""
    columns = [one for one in table.columns if one.kind in (KEY, METRIC, COST) or one.name in IN_PAPERS]
    kinds = "".join("r" if column.is_number else "l" for column in columns)
    heads = " & ".join(escape_latex(column.name) for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    return [
        "% \\usepackage{booktabs}; in brackets the 95 % interval over the examples, \\pm the deviation over seeds",
        f"\\begin{{tabular}}{{{kinds}}}",
        "\\toprule",
        f"{heads} \\\\",
        "\\midrule",
        *(f"{' & '.join(_in_latex(cell) for cell in row)} \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]


def _in_latex(cell: Cell) -> str:
    text = escape_latex(re.sub(r"\((\S+)\)$", r"[\1]", cell.text) if cell.number else cell.text)
    return f"\\textbf{{{text}}}" if cell.is_best else text


def escape_latex(text: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
