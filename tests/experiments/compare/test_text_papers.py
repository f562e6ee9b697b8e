"""A table for spreadsheets and for papers, read back as these read it."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bakeoff.experiments.compare.comparison_table import ComparisonTable, make_table
from bakeoff.experiments.compare.group_seeds import fold_seeds
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.compare.text_papers import escape_latex, format_csv, format_latex

ODD = "50 % of {a_b} & $x~^\\ #1"


def table_of(*notes: str) -> ComparisonTable:
    rows = [
        Contender(
            f"{at}aaa1111", "run", "SUCCEEDED", {"lr.peak": f"0.{at + 1}", "model.use": "ssd_small"},
            {
                "evaluation/mAP_50": 0.5 + at / 10, "evaluation/interval.mAP_50.low": 0.4 + at / 10,
                "evaluation/interval.mAP_50.high": 0.61 + at / 10,
            },
            note=note,
        )
        for at, note in enumerate(notes)
    ]  # fmt: skip
    return make_table(rows, ["mAP_50"])


def test_csv_has_every_number_whole_and_the_ends_of_its_interval() -> None:
    rows = list(csv.DictReader(io.StringIO(format_csv(table_of(ODD, 'two\nlines, "quoted"')))))
    assert [float(row["mAP_50"]) for row in rows] == [0.5, 0.6]
    assert [(float(row["mAP_50_low"]), float(row["mAP_50_high"])) for row in rows] == [
        (0.4, 0.61), (0.4 + 1 / 10, 0.61 + 1 / 10),
    ]  # fmt: skip
    assert [row["lr.peak"] for row in rows] == ["0.1", "0.2"] and "model.use" not in rows[0]
    assert [row["note"] for row in rows] == [ODD, 'two lines, "quoted"']


def test_csv_has_the_deviation_over_seeds() -> None:
    seeds = [
        Contender(f"{at}b", "run", "SUCCEEDED", {"seed": str(at)}, {"evaluation/mAP_50": 0.5 + at / 10})
        for at in (0, 2)
    ]
    [row] = csv.DictReader(io.StringIO(format_csv(make_table(fold_seeds(seeds), ["mAP_50"]))))
    assert float(row["mAP_50_spread"]) == pytest.approx(0.2 / 2**0.5) and "mAP_50_low" not in row


@pytest.mark.parametrize("note", ["=HYPERLINK(1)", "@SUM(1)", "+cmd", "-1+2"])
def test_no_spreadsheet_runs_a_cell(note: str) -> None:
    [row] = csv.DictReader(io.StringIO(format_csv(table_of(note))))
    assert row["note"] == f"'{note}"


def test_latex_marks_the_best_and_keeps_the_rules_of_booktabs() -> None:
    lines = format_latex(table_of("first", ODD))
    assert [line for line in lines if re.match(r"\\\w+rule$", line)] == ["\\toprule", "\\midrule", "\\bottomrule"]
    head, first, best = (line.removesuffix(" \\\\").split(" & ") for line in lines if line.endswith(" \\\\"))
    assert head[:3] == ["run", "mAP\\_50", "lr.peak"] and len(head) == len(first)
    assert first[1] == "0.500 [0.400--0.610]" and best[1] == "\\textbf{0.600 [0.500--0.710]}"
    assert lines[-2:] == ["\\bottomrule", "\\end{tabular}"]


def test_no_letter_of_a_note_is_a_command() -> None:
    escaped = escape_latex(ODD)
    assert escaped == "50 \\% of \\{a\\_b\\} \\& \\$x\\textasciitilde{}\\textasciicircum{}\\textbackslash{} \\#1"
    assert not re.search(r"(?<!\\)[&%$#_]", escaped)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path: Path) -> None:
    begin = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}"
    page = "\n".join([begin, *format_latex(table_of("first", ODD)), "\\end{document}"])
    (tmp_path / "table.tex").write_text(page, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=batchmode", "table.tex"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0 and (tmp_path / "table.pdf").is_file(), done.stdout
