"""A comparison -> a figure for papers and slides: a metric with its intervals over runs, or over a key that was swept.

It is drawn as SVG. A converter that is on the machine makes PDF and PNG of it.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.experiments.compare.comparison_table import KEY, NONE, ComparisonTable
from bakeoff.experiments.compare.run_row import Contender, Number
from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.formatting import as_number, shorten
from bakeoff.foundation.html.svg import (
    Element,
    Frame,
    Scale,
    draw,
    draw_across,
    draw_below,
    draw_line,
    draw_polyline,
    draw_svg,
    draw_text,
)

FORMATS = (".svg", ".pdf", ".png")
WIDTH, HEIGHT, ROW = 640, 360, 30  # pixels; of a row of runs
LETTER = 6.3  # pixels of a letter, about
LONGEST = 44  # letters of a run's name
LEAST_VALUES = 3  # of a swept key: fewer are rows of runs
FAR_APART = 20  # the largest value is so many times the smallest: the axis is logarithmic
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito's
STYLE = (
    "text{font:12px sans-serif;fill:#222}.grid{stroke:#ddd}.range{stroke-width:2}.course{fill:none;stroke-width:1.5}"
    ".soft{fill:#666;font-size:11px}"
)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ROOM, APART = 0.04, 6  # beside the axis, as a share of it, and pixels between the intervals of two series
PIXELS = 2  # of a PNG for each one of the drawing


@dataclass(frozen=True)
class PlotPoint:
    place: float  # on the axis of the key
    number: Number
    series: str

    @property
    def ends(self) -> tuple[float, float]:
        one = self.number
        spread = one.spread or 0.0
        return (
            one.value - spread if one.low is None else one.low,
            one.value + spread if one.high is None else one.high,
        )


def write_plot(table: ComparisonTable, file: Path, over: str | None = None) -> None:
    """Write the figure of the first metric; the file's ending chooses the form. Raises WorkspaceError."""
    if file.suffix not in FORMATS:
        raise WorkspaceError(f"--plot: {file}: must end in {', '.join(FORMATS)}, got {file.suffix or 'no ending'!r}")
    drawing = draw_plot(table, over)
    if file.suffix == ".svg":
        write_whole(file, f"{drawing}\n")
    else:
        _convert(drawing, file)


def draw_plot(table: ComparisonTable, over: str | None = None) -> Element:
    """Draw over the key that is asked for, or over the one that was swept alone; else a row for each run."""
    if not table.metrics:
        raise WorkspaceError("--plot: must have a metric, got runs without a result; --metric names one")
    metric, known = table.metrics[0].name, [one for one in table.contenders if one.has_number(table.metrics[0].name)]
    keys = [column.name for column in table.columns if column.kind == KEY]
    if over is not None and over not in keys:
        raise WorkspaceError(f"--over: must be a key in which the runs differ, got {over!r}; {choices(over, keys)}")
    numeric = [key for key in keys if _is_swept(key, known)]
    if over is not None and over not in numeric:
        raise WorkspaceError(f"--over: {over} must have numbers in every run, two or more that differ")
    chosen = over or (numeric[0] if len(numeric) == 1 and _count(numeric[0], known) >= LEAST_VALUES else None)
    return _draw_course(known, metric, chosen, keys) if chosen else _draw_rows(known, metric, keys)


def _is_swept(key: str, contenders: Sequence[Contender]) -> bool:
    values = [as_number(one.params.get(key)) for one in contenders]
    return all(value is not None for value in values) and len({*values}) > 1


def _count(key: str, contenders: Sequence[Contender]) -> int:
    return len({one.params.get(key) for one in contenders})


def _draw_rows(contenders: Sequence[Contender], metric: str, keys: Sequence[str]) -> Element:
    names = [_name_run(one, keys) for one in contenders]
    left = 24 + LETTER * max(map(len, names))
    frame = Frame(left + WIDTH * 0.62, 62 + ROW * len(names), left=left, right=70, top=14, bottom=48)
    points = [PlotPoint(0.0, one.number(metric) or Number(0.0), "") for one in contenders]
    scale = _scale_around(points)
    parts = draw_below(frame, scale.ticks(), _describe_axis(metric, points), grid=True)
    for at, (name, point) in enumerate(zip(names, points, strict=True)):
        y = frame.y(1 - (at + 0.5) / len(names))
        parts += [draw_text(frame.left - 10, y + 4, name, anchor="end"), *_draw_range(frame, scale, point, y)]
        parts.append(draw_text(frame.x(1) + 10, y + 4, f"{point.number.value:.3f}", class_="soft"))
    return _finish(frame, parts, f"{metric} of {len(names)} runs")


def _draw_range(frame: Frame, scale: Scale, point: PlotPoint, y: float) -> Iterator[Element]:
    low, high = (frame.x(scale.share(end)) for end in point.ends)
    yield draw_line(low, y, high, y, class_="range", stroke=COLOURS[0])
    yield draw("circle", cx=frame.x(scale.share(point.number.value)), cy=y, r=4, fill=COLOURS[0])


def _draw_course(contenders: Sequence[Contender], metric: str, key: str, keys: Sequence[str]) -> Element:
    others = [other for other in keys if other != key]
    points = [
        PlotPoint(
            as_number(one.params[key]) or 0.0, one.number(metric) or Number(0.0),
            ", ".join(f"{other} {one.params.get(other, NONE)}" for other in others),
        )
        for one in contenders
    ]  # fmt: skip
    series = list(dict.fromkeys(point.series for point in points))
    frame = Frame(WIDTH, HEIGHT + 16 * len(series), left=64, right=24, top=18 + 16 * len(series), bottom=48)
    values = [point.place for point in points]
    is_logarithmic = min(values) > 0 and max(values) > FAR_APART * min(values)
    across, up = Scale(min(values), max(values), is_logarithmic), _scale_around(points)
    parts = [
        *draw_across(frame, up.ticks()),
        *draw_below(frame, [(_inside(share), text) for share, text in across.ticks()], key),
    ]
    parts.append(draw_text(frame.left, 14, _describe_axis(metric, points)))
    for number, name in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        own = sorted((point for point in points if point.series == name), key=lambda point: point.place)
        shift = APART * (number - (len(series) - 1) / 2)
        places = [
            (frame.x(_inside(across.share(one.place))) + shift, frame.y(up.share(one.number.value))) for one in own
        ]
        parts.append(draw_polyline(places, class_="course", stroke=colour))
        for (x, y), one in zip(places, own, strict=True):
            low, high = (frame.y(up.share(end)) for end in one.ends)
            parts.append(draw_line(x, low, x, high, class_="range", stroke=colour))
            parts.append(draw("circle", cx=x, cy=y, r=3.5, fill=colour))
        if name:
            parts.append(draw("rect", x=frame.left, y=23 + 16 * number, width=14, height=4, fill=colour))
            parts.append(draw_text(frame.left + 20, 29 + 16 * number, shorten(name, 2 * LONGEST)))
    return _finish(frame, parts, f"{metric} over {key}")


def _inside(share: float) -> float:
    return ROOM + (1 - 2 * ROOM) * share


def _scale_around(points: Sequence[PlotPoint]) -> Scale:
    """Leave a little room on both sides, so that no end lies on the frame."""
    ends = [end for point in points for end in (*point.ends, point.number.value)]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    return Scale(min(ends) - room, max(ends) + room)


def _describe_axis(metric: str, points: Sequence[PlotPoint]) -> str:
    if any(point.number.spread is not None for point in points):
        return f"{metric}, with the standard deviation over seeds"
    has_ends = any(point.number.low is not None for point in points)
    return f"{metric}, with its 95 % interval over the examples" if has_ends else metric


def _name_run(one: Contender, keys: Sequence[str]) -> str:
    values = ", ".join(one.params.get(key, NONE) for key in keys)
    return shorten(" ".join(filter(None, [one.short, values])), LONGEST)


def _finish(frame: Frame, parts: Sequence[Element], label: str) -> Element:
    paper = draw("rect", width=frame.width, height=frame.height, fill="white")
    return draw_svg(
        frame, draw("style", STYLE), paper, *parts, label=label, xmlns="http://www.w3.org/2000/svg",
        width=frame.width, height=frame.height,
    )  # fmt: skip


def _convert(drawing: Element, file: Path) -> None:
    """Make a PDF or a PNG by the first program that is there."""
    form = file.suffix[1:]
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with TemporaryDirectory() as folder:
        source, made = Path(folder, "plot.svg"), Path(folder, f"plot.{form}")
        source.write_text(f"{drawing}\n", encoding="utf-8")
        if program := shutil.which("rsvg-convert"):
            command = [
                program,
                f"--format={form}",
                f"--zoom={PIXELS if form == 'png' else 1}",
                f"--output={made}",
                str(source),
            ]
        elif program := shutil.which("inkscape"):
            command = [program, f"--export-filename={made}", str(source)]
        elif browser:
            command = _print_by_browser(browser, drawing, Path(folder), made)
        else:
            programs = "rsvg-convert (package librsvg2-bin), inkscape or chromium"
            raise WorkspaceError(
                f"--plot: {file}: needs one of {programs}, got none; a file that ends in .svg needs none"
            )
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode or not made.is_file():
            last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise WorkspaceError(f"--plot: {file}: {Path(command[0]).name} failed: {last}; write a .svg instead")
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"{file.name}.partial")
        shutil.copyfile(made, partial)
        partial.replace(file)


def _print_by_browser(browser: str, drawing: Element, folder: Path, made: Path) -> list[str]:
    sizes = re.findall(r' (?:width|height)="([\d.]+)"', drawing.text.partition("<style>")[0])
    width, height = (round(float(size) + 0.5) for size in sizes)
    page = folder / "plot.html"
    size = f"@page{{size:{width}px {height}px;margin:0}}body{{margin:0}}svg{{display:block}}"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{size}</style>{drawing}", encoding="utf-8")
    output = [f"--print-to-pdf={made}", "--no-pdf-header-footer"] if made.suffix == ".pdf" else [f"--screenshot={made}"]
    shape = [f"--window-size={width},{height}", f"--force-device-scale-factor={PIXELS}", "--hide-scrollbars"]
    return [browser, "--headless", "--no-sandbox", "--disable-gpu", *shape, *output, page.as_uri()]
