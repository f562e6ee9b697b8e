"""Trials -> the part of a page that shows what moved the number: parallel coordinates, and a card for each key."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bakeoff.experiments.importance.axis import ABSENT, Axis, name_value
from bakeoff.experiments.importance.describe import Effect, describe_effect, find_effects, format_figure
from bakeoff.experiments.importance.trial import SEED, Question, Trial, merge_seeds, seed_deviation, select_judged
from bakeoff.foundation.formatting import shorten
from bakeoff.foundation.html import svg
from bakeoff.foundation.html.svg import Element, Frame, Scale, Tick, draw, draw_line, draw_polyline, draw_text
from bakeoff.foundation.html.template import render

if TYPE_CHECKING:
    from markupsafe import Markup

LEAST = 2  # trials with a number
MOST_AXES = 24

BAND = 13  # pixels above and below a place over which lines that meet there are spread
UPRIGHT = Frame(0, 400, left=40, right=96, top=64 + BAND, bottom=26 + BAND)
CROWD = 150  # lines, or dots, from which they are drawn finer
NARROWEST, WIDEST, LETTER = 104, 200, 7.4  # pixels: least and most between axes, and the width of a letter
LONGEST_TICK, LONGEST_NAME = 18, 26
SHADES = 8  # colours of the stylesheet, from --k0, the worst, to --k7
MISSING = 0.12  # the share of the last axis, at its lower end, in which trials without a result stand
GRIP = 15  # pixels to both sides of an axis in which the pointer can take hold of it

PANEL = Frame(440, 250, left=52, right=22, top=14, bottom=44)
PANEL_LETTER, LONGEST_VALUE = 6.2, 22
MARK = 17  # pixels that the bar of a mean reaches to both sides
SCATTER = 9.0  # pixels to both sides of a value over which its dots lie


def draw_section(trials: Sequence[Trial], question: Question) -> "Markup | str":
    """Return the part of the page, or an empty text if there is nothing to compare."""
    keys = [key for key in question.keys if len({trial.values.get(key) for trial in trials}) > 1]
    judged = [trial for trial in trials if trial.number is not None]
    if not keys or len(judged) < LEAST:
        return ""
    configurations = merge_seeds(trials)
    effects = find_effects(configurations, question)
    deviation = seed_deviation(configurations)
    shades = Shades.from_trials(select_judged(trials) or judged, question)
    ends = (shades.low, shades.high) if shades.is_higher_better else (shades.high, shades.low)
    return render(
        "effects.html.jinja",
        metric=question.metric,
        left_out=max(0, len(question.keys) - MOST_AXES),
        ends=[format_figure(end) for end in ends],
        shades=SHADES,
        best=question.best(trials),
        undone=sum(not trial.is_done or trial.number is None for trial in trials),
        coordinates=draw_coordinates(trials, _choose_axes(keys, effects), question, shades),
        configurations=len(configurations), deviation=deviation,
        has_seeds=any(SEED in configuration.values for configuration in configurations),
        cards=[
            (effect, " ".join(describe_effect(effect, question, deviation)), draw_panel(effect, question))
            for effect in effects
        ],
        figure=format_figure,
    )  # fmt: skip


def _choose_axes(keys: Sequence[str], effects: Sequence[Effect]) -> list[str]:
    """Return the keys in the order of their axes: the one that explains most stands next to the number."""
    order = [effect.key for effect in effects][::-1]
    return [*(key for key in keys if key not in order), *order][-MOST_AXES:]


@dataclass(frozen=True)
class Shades:
    """Decides how dark a trial is drawn, and which is on top, by its number."""

    low: float
    high: float
    is_higher_better: bool

    @classmethod
    def from_trials(cls, trials: Sequence[Trial], question: Question) -> "Shades":
        numbers = [trial.number for trial in trials if trial.number is not None]
        return cls(min(numbers), max(numbers), question.is_higher_better is not False)

    def shade(self, number: float) -> int:
        share = (number - self.low) / (self.high - self.low) if self.high > self.low else 1.0
        return min(SHADES - 1, int((share if self.is_higher_better else 1 - share) * SHADES))

    def choose_class(self, trial: Trial, best: Trial | None) -> str:
        if not trial.is_done or trial.number is None:
            return "trial undone"
        return "trial best" if trial is best else f"trial k{self.shade(trial.number)}"

    def rank(self, trial: Trial, best: Trial | None) -> tuple[bool, bool, float]:
        """Return a key to sort by: the best trial is drawn last, on top."""
        number = trial.number if trial.number is not None else self.low
        return trial is best, trial.is_done and bool(trial.numbers), number if self.is_higher_better else -number


def draw_coordinates(trials: Sequence[Trial], keys: Sequence[str], question: Question, shades: Shades) -> Element:
    """Draw an upright axis for each key, one for the number on the right, and a line for each trial.

    The title of a line describes the trial.
    """
    axes = [Axis.from_values(key, [trial.values.get(key) for trial in trials]) for key in keys]
    left, step = max(UPRIGHT.left, len(shorten(_last_part(keys[0]), LONGEST_NAME)) * 4.2 + 4), _measure_step(axes)
    across = [left + step * at for at in range(len(axes) + 1)]
    frame = Frame(across[-1] + UPRIGHT.right, UPRIGHT.height, left, UPRIGHT.right, UPRIGHT.top, UPRIGHT.bottom)
    # A trial that was cut short, with a number far from the others', does not stretch their scale.
    judged = [trial.number for trial in select_judged(trials) if trial.number is not None]
    scale = Scale.around(judged or [trial.number for trial in trials if trial.number is not None])
    floor = MISSING if any(trial.number is None for trial in trials) else 0.0
    shares = [None if trial.number is None else min(1.0, max(0.0, scale.share(trial.number))) for trial in trials]
    ends = [0.0 if share is None else floor + (1 - floor) * share for share in shares]
    columns = [_spread([axis.place(trial.values.get(axis.key)) for trial in trials], trials) for axis in axes]
    heights = [*columns, [frame.y(end) for end in ends]]
    best = question.best(trials)
    lines = [
        draw_polyline(
            [(round(x), column[number]) for x, column in zip(across, heights, strict=True)],
            draw("title", describe_trial(trials[number], question)),
            class_=shades.choose_class(trials[number], best),
            data_at=number,
        )
        for number in sorted(range(len(trials)), key=lambda at: shades.rank(trials[at], best))
    ]
    upright = [
        _draw_axis(x, axis.key, axis.ticks, "logarithmic" if axis.is_logarithmic else "")
        for x, axis in zip(across, axes, strict=False)
    ]
    ticks = [(floor + (1 - floor) * share, text) for share, text in scale.ticks()]
    ticks += [(0.0, "no result")] if floor else []
    better = {True: "higher is better", False: "lower is better", None: ""}[question.is_higher_better]
    return svg.draw_svg(
        frame,
        *lines,
        draw("polyline", class_="trial above", points=""),
        *upright,
        _draw_axis(across[-1], question.metric, ticks, better),
        class_="lines crowded" if len(trials) > CROWD else "lines",
        style=f"min-width:{frame.width * 0.9:.0f}px;max-width:{frame.width * 1.5:.0f}px",
        label=f"{question.metric} of {len(trials)} trials over {len(keys)} keys",
    )


def describe_trial(trial: Trial, question: Question) -> str:
    """Return the lines of a trial's title: its name, its number, its state and its keys."""
    number = f"{question.metric} {format_figure(trial.number)}" if trial.number is not None else "no result"
    spread = f" ± {format_figure(trial.spread)} over {len(trial.numbers)} seeds" if trial.spread is not None else ""
    keys = [f"{key} {name_value(trial.values.get(key, ABSENT))}" for key in question.keys if key in trial.values]
    return "\n".join(filter(None, [trial.name, f"{number}{spread}", trial.state, *keys]))


def _draw_axis(x: float, name: str, ticks: Sequence[Tick], note: str) -> Element:
    last, bottom, top = _last_part(name), UPRIGHT.y(0), UPRIGHT.y(1)
    x, above = round(x), UPRIGHT.top - BAND
    parts = [
        draw("title", name),
        draw_line(x, top, x, bottom),
        draw_text(x, above - 32, shorten(name.removesuffix(last), LONGEST_NAME), anchor="middle", class_="name"),
        draw_text(x, above - 17, shorten(last, LONGEST_NAME), anchor="middle", class_="name own"),
    ]
    if note:
        parts.append(draw_text(x, UPRIGHT.height - 4, note, anchor="middle", class_="note"))
    for share, text in ticks:
        y = UPRIGHT.y(share)
        title = text if len(text) > LONGEST_TICK else ""
        parts.append(draw_text(x + 7, y, shorten(text, LONGEST_TICK), title=title, dy=4))
        parts.append(draw_line(x - 3, y, x + 3, y, class_="tick"))
    grip = draw("rect", class_="grip", x=x - GRIP, y=top - 8, width=2 * GRIP, height=bottom - top + 16)
    return draw("g", *parts, grip, draw("rect", class_="brush", x=x - 8, width=16, y=0, height=0), class_="axis")


def _last_part(key: str) -> str:
    return key.rpartition(".")[2]


def _measure_step(axes: Sequence[Axis]) -> float:
    """Return the distance between axes at which names and ticks do not meet."""
    names = [part for axis in axes for part in (axis.key.rpartition(".")[0], _last_part(axis.key))]
    ticks = [shorten(text, LONGEST_TICK) for axis in axes for _, text in axis.ticks]
    longest = max(max(map(len, names)), max(map(len, ticks)) + 3)
    widest = WIDEST if len(axes) > 4 else WIDEST * 1.3
    least = NARROWEST if len(axes) > 4 else 620 / len(axes)
    return min(widest, max(least, longest * LETTER))


def _spread(places: Sequence[float], trials: Sequence[Trial]) -> list[float]:
    """Return a height for each trial. Those of one value stand a little apart, by their numbers, so that a reader can
    follow a line."""
    together: dict[float, list[int]] = {}
    for index, place in enumerate(places):
        together.setdefault(place, []).append(index)
    gaps = [UPRIGHT.y(low) - UPRIGHT.y(high) for low, high in pairwise(sorted(together))]
    band = min([BAND, *(gap * 0.35 for gap in gaps)])
    heights = [0.0] * len(places)
    for place, indices in together.items():
        indices.sort(key=lambda index: float("-inf") if trials[index].number is None else trials[index].number or 0.0)
        for rank, index in enumerate(indices):
            heights[index] = UPRIGHT.y(place) - (
                band * (2 * rank / (len(indices) - 1) - 1) if len(indices) > 1 else 0.0
            )
    return heights


def draw_panel(effect: Effect, question: Question) -> Element:
    """Draw a dot for each configuration, and mean and spread of each value. The best is drawn once more, on top."""
    numbers = [configuration.number or 0.0 for configuration in effect.configurations]
    ends = [group.mean + side * (group.spread or 0.0) for group in effect.groups for side in (-1, 1)]
    scale, chance = Scale.around([*numbers, *ends]), random.Random(effect.key)
    scatter = SCATTER if len(effect.axis.places) < len(effect.configurations) / 2 else 0.0
    dots = [
        (
            _x(effect.axis.place(configuration.values.get(effect.key)), effect) + chance.uniform(-scatter, scatter),
            PANEL.y(scale.share(number)),
        )
        for configuration, number in zip(effect.configurations, numbers, strict=True)
    ]
    best = question.best(effect.configurations)
    on_top = [dot for configuration, dot in zip(effect.configurations, dots, strict=True) if configuration is best]
    return svg.draw_svg(
        PANEL,
        *svg.draw_across(PANEL, scale.ticks()),
        *_draw_values(effect),
        svg.draw_dots(dots, class_="dots crowded" if len(dots) > CROWD else "dots"),
        *([svg.draw_dots(on_top, class_="dots first")] if on_top else []),
        *_draw_means(effect, scale),
        class_="effect",
        label=f"{question.metric} by {effect.key}",
    )


def _draw_values(effect: Effect) -> list[Element]:
    """Draw the values beneath the panel, in two rows where one is too narrow, and only those that fit in two."""
    ticks = sorted((_x(share, effect), text) for share, text in effect.axis.ticks)
    texts = [shorten(text, LONGEST_VALUE) for _, text in ticks]
    halves = [len(text) * PANEL_LETTER / 2 for text in texts]
    starts = [max(2.0, x - half) for (x, _), half in zip(ticks, halves, strict=True)]
    placed = list(svg.fit_labels(list(zip(starts, texts, strict=True)), width=PANEL.width - 2, letter=PANEL_LETTER))
    rows = [
        draw_text(start + halves[at], PANEL.y(0) + 18 + 14 * row, texts[at], anchor="middle", title=ticks[at][1])
        for at, start, row in placed
    ]
    if effect.axis.is_logarithmic and not any(row for _, _, row in placed):
        rows.append(draw_text(PANEL.x(1), PANEL.height - 6, "logarithmic", anchor="end", class_="note"))
    return rows


def _draw_means(effect: Effect, scale: Scale) -> list[Element]:
    """Draw a bar for each mean, and a line that joins them if the values are numbers."""
    means = [(_x(group.place, effect), PANEL.y(scale.share(group.mean)), group) for group in effect.groups]
    rows = []
    if effect.axis.is_numeric and len(means) > 1:
        trend = [(x, y) for x, y, group in means if group.name not in ("without", "none")]
        rows.append(draw_polyline(trend, class_="trend"))
    for x, y, group in means:
        counted = f"{len(group.members)} configurations" if len(group.members) > 1 else "1 configuration"
        title = f"{group.name}: mean {format_figure(group.mean)} of {counted}"
        if group.spread is not None:
            low, high = (PANEL.y(scale.share(group.mean + side * group.spread)) for side in (-1, 1))
            rows.append(draw_line(x, low, x, high, class_="spread"))
            title += f", standard deviation {format_figure(group.spread)}"
        rows.append(draw("path", draw("title", title), class_="mean", d=f"M{x - MARK:.1f} {y:.1f}h{2 * MARK}"))
    return rows


def _x(share: float, effect: Effect) -> float:
    """Return the pixel of a place on the axis. Names keep half of their room free on both sides, numbers a little."""
    room = 0.5 / max(1, len(effect.axis.places)) if not effect.axis.is_numeric else 0.06
    # The first name is on top of an upright axis, and on the left here.
    share = 1 - share if not effect.axis.is_numeric else share
    return PANEL.x(room + (1 - 2 * room) * share)
