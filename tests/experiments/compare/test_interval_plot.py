"""`bakeoff compare --plot`: the drawing is read back, where each number and each end of an interval stands."""

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bakeoff.experiments.compare.comparison_table import make_table
from bakeoff.experiments.compare.interval_plot import COLOURS, draw_plot, write_plot
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.foundation.errors import WorkspaceError
from support.commands import Bakeoff
from support.messages import missing_in
from support.run_journals import scores, write_run

SVG = "{http://www.w3.org/2000/svg}"


def run(name: str, value: float, **params: str) -> Contender:
    metrics = {"evaluation/mAP_50": value, "evaluation/interval.mAP_50.low": value - 0.1}
    metrics["evaluation/interval.mAP_50.high"] = value + 0.05
    keys = {key.replace("__", "."): text for key, text in params.items()}
    return Contender(f"{name}{name}{name}{name}1111", "run", "SUCCEEDED", keys, metrics)


def drawn(*runs: Contender, over: str | None = None) -> ET.Element:
    return ET.fromstring(str(draw_plot(make_table(runs, ["mAP_50"]), over)))


def texts(drawing: ET.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter(f"{SVG}text")]


def ranges(drawing: ET.Element) -> list[dict[str, float]]:
    lines = [line for line in drawing.iter(f"{SVG}line") if line.get("class") == "range"]
    return [{key: float(line.attrib[key]) for key in ("x1", "x2", "y1", "y2")} for line in lines]


def test_runs_are_rows_and_an_interval_is_as_long_as_it_is() -> None:
    drawing = drawn(run("a", 0.5, model__use="ssd_small"), run("b", 0.7, model__use="ssd_tiny"))
    assert missing_in(" ".join(texts(drawing)), "mAP_50", "95 %", "aaaa1111 ssd_small", "bbbb1111 ssd_tiny") == []
    first, second = ranges(drawing)
    assert first["y1"] == first["y2"] < second["y1"]
    length = first["x2"] - first["x1"]
    assert second["x2"] - second["x1"] == pytest.approx(length, abs=0.2)
    assert (second["x1"] - first["x1"]) / length == pytest.approx(0.2 / 0.15, abs=0.01)
    dots = [float(circle.attrib["cx"]) for circle in drawing.iter(f"{SVG}circle")]
    assert (dots[0] - first["x1"]) / length == pytest.approx(0.1 / 0.15, abs=0.01)


def test_one_key_with_three_numbers_is_the_axis_and_the_others_are_series() -> None:
    values = [("a", "0.001", "s"), ("b", "0.01", "s"), ("c", "0.1", "s"), ("d", "0.001", "t"), ("e", "0.1", "t")]
    drawing = drawn(*(run(name, 0.5, lr__peak=peak, model__use=model) for name, peak, model in values))
    lines = list(drawing.iter(f"{SVG}polyline"))
    assert [(len(line.attrib["points"].split()), line.get("stroke")) for line in lines] == [
        (3, COLOURS[0]),
        (2, COLOURS[1]),
    ]
    across = [float(point.split(",")[0]) for point in lines[0].attrib["points"].split()]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)  # by its logarithm
    assert {"lr.peak", "0.001", "0.01", "0.1", "model.use s", "model.use t"} <= {*texts(drawing)}


def test_two_values_are_an_axis_only_if_that_is_asked_for() -> None:
    pair = (run("a", 0.5, lr__peak="0.001"), run("b", 0.6, lr__peak="0.002"))
    assert list(drawn(*pair).iter(f"{SVG}polyline")) == []
    assert len(list(drawn(*pair, over="lr.peak").iter(f"{SVG}polyline"))) == 1


@pytest.mark.parametrize(
    "file, over, parts",
    [
        ("plot.gif", None, ("--plot", "plot.gif", ".svg, .pdf, .png", ".gif")),
        ("plot", None, ("--plot", "no ending")),
        ("plot.svg", "lr.peek", ("--over", "lr.peek", "did you mean 'lr.peak'")),
        ("plot.svg", "model.use", ("--over", "model.use", "numbers")),
    ],
)
def test_what_cannot_be_drawn_is_refused(file: str, over: str | None, parts: tuple[str, ...], tmp_path: Path) -> None:
    table = make_table(
        [run("a", 0.5, lr__peak="1", model__use="s"), run("b", 0.5, lr__peak="2", model__use="t")], ["mAP_50"]
    )
    with pytest.raises(WorkspaceError) as raised:
        write_plot(table, tmp_path / file, over)
    assert missing_in(str(raised.value), *parts) == [] and [*tmp_path.iterdir()] == []


def test_runs_without_a_result_have_no_plot(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError) as raised:
        write_plot(make_table([Contender("a", "run", "RUNNING", {}, {})]), tmp_path / "a.svg")
    assert missing_in(str(raised.value), "--plot", "metric") == []


@pytest.mark.skipif(os.name != "posix", reason="the programs here are scripts of a shell")
@pytest.mark.parametrize("form", ["pdf", "png"])
def test_a_program_that_is_there_makes_pdf_and_png(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, table = tmp_path / "bin", make_table([run("a", 0.5)], ["mAP_50"])
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    file = tmp_path / f"plot.{form}"
    with pytest.raises(WorkspaceError) as raised:
        write_plot(table, file)
    assert missing_in(str(raised.value), "rsvg-convert", "inkscape", "chromium", ".svg") == []
    converter = programs / "rsvg-convert"
    converter.write_text('#!/bin/sh\nfor last; do :; done\necho "$1" > "${3#--output=}"\n', encoding="utf-8")
    converter.chmod(0o755)
    write_plot(table, file)
    assert file.read_text(encoding="utf-8") == f"--format={form}\n"
    converter.write_text("#!/bin/sh\necho no font >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(WorkspaceError) as raised:
        write_plot(table, file)
    assert missing_in(str(raised.value), "rsvg-convert failed", "no font") == []
    assert file.read_text(encoding="utf-8") == f"--format={form}\n"


def test_the_command_writes_the_file_in_the_place_of_the_table(here: Path, bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", scores(0.8))
    write_run("bbbb2222", scores(0.7), lr__peak="0.01")
    output = bakeoff("compare", "--plot", "plot.svg", "--over", "lr.peak")
    assert output.out == "2 runs: plot.svg\n" and len(ranges(ET.parse(here / "plot.svg").getroot())) == 2
