"""One key: the number over its values, a dot for each point, mean and spread of each value, as SVG."""

import random
from collections.abc import Callable
from html import escape

from bakeoff.effects.axis import metric_axis
from bakeoff.effects.effect import Effect, figure
from bakeoff.effects.groups import Group
from bakeoff.effects.trial import Question

WIDTH, HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 440, 250, 14, 44, 52, 22
LETTER = 6.2  # pixels of a letter
LONGEST_TICK = 22
MARK = 17  # pixels to both sides of a mean
SCATTER = 9  # pixels to both sides over which dots of a value lie


def panel(effect: Effect, question: Question) -> str:
    """Dots are in the order of the points; the best point's is drawn once more, on top."""
    numbers = [point.number or 0.0 for point in effect.points]
    ends = [group.mean + side * (group.spread or 0.0) for group in effect.groups for side in (-1, 1)]
    place, ticks = metric_axis(question.metric, [*numbers, *ends])

    def y(number: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * place(number)

    chance = random.Random(effect.key)
    xs = [
        _x(effect.axis.place(point.values.get(effect.key)), effect) + _scatter(effect, chance)
        for point in effect.points
    ]
    rows = [
        f"<svg class=effect viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{escape(question.metric, quote=True)} "
        f"by {escape(effect.key, quote=True)}'>"
    ]
    for where, word in ticks:
        at = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * where
        rows.append(
            f"<line class=grid x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{at:.1f}' y2='{at:.1f}'/>"
            f"<text x='{LEFT - 7}' y='{at:.1f}' dy=4 text-anchor=end>{word}</text>"
        )
    rows += _values(effect)
    dots = "".join(f"M{x:.1f} {y(number):.1f}h0" for x, number in zip(xs, numbers, strict=True))
    crowded = " crowded" if len(numbers) > 150 else ""
    rows.append(f"<path class='dots{crowded}' d='{dots}'/>")
    best = question.best(effect.points)
    if best is not None:
        at = next(at for at, point in enumerate(effect.points) if point is best)
        rows.append(f"<path class='dots first' d='M{xs[at]:.1f} {y(numbers[at]):.1f}h0'/>")
    rows += _means(effect, y)
    return "".join([*rows, "</svg>"])


def _values(effect: Effect) -> list[str]:
    """Beneath: in two rows where one would be too narrow, and left out where two would be."""
    ticks = sorted((_x(where, effect), word) for where, word in effect.axis.ticks)
    rows, ends = [], [float("-inf")] * 2
    for x, word in ticks:
        text = word if len(word) <= LONGEST_TICK else f"{word[: LONGEST_TICK - 1]}…"
        half = len(text) * LETTER / 2
        line = next((line for line in (0, 1) if ends[line] < x - half), None)
        if line is None:
            continue
        ends[line] = x + half + LETTER
        x = min(max(x, half + 2), WIDTH - half - 2)
        rows.append(
            f"<text x='{x:.1f}' y='{HEIGHT - BOTTOM + 18 + 14 * line}' text-anchor=middle>{escape(text)}"
            f"<title>{escape(word)}</title></text>"
        )
    kind = "logarithmic" if effect.axis.is_logarithmic else ""
    if kind and ends[1] < 0:
        rows.append(f"<text class=note x='{WIDTH - RIGHT}' y='{HEIGHT - 6}' text-anchor=end>{kind}</text>")
    return rows


def _means(effect: Effect, y: Callable[[float], float]) -> list[str]:
    """Joined by a line if the values are numbers."""
    at = [(_x(group.place, effect), group) for group in effect.groups]
    rows = []
    if effect.axis.is_numeric and len(at) > 1:
        path = " ".join(f"{x:.1f},{y(group.mean):.1f}" for x, group in at if group.name not in ("without", "none"))
        rows.append(f"<polyline class=trend points='{path}'/>")
    for x, group in at:
        if group.spread is not None:
            rows.append(
                f"<line class=spread x1='{x:.1f}' x2='{x:.1f}' y1='{y(group.mean - group.spread):.1f}' "
                f"y2='{y(group.mean + group.spread):.1f}'/>"
            )
        title = f"<title>{escape(_said(group))}</title>"
        rows.append(f"<path class=mean d='M{x - MARK:.1f} {y(group.mean):.1f}h{2 * MARK}'>{title}</path>")
    return rows


def _said(group: Group) -> str:
    spread = f", standard deviation {figure(group.spread)}" if group.spread is not None else ""
    points = f"{len(group.members)} points" if len(group.members) > 1 else "1 point"
    return f"{group.name}: mean {figure(group.mean)} of {points}{spread}"


def _x(share: float, effect: Effect) -> float:
    """Named values have half of their room on both sides, as numbers have a little."""
    room = 0.5 / max(1, len(effect.axis.places)) if not effect.axis.is_numeric else 0.06
    share = 1 - share if not effect.axis.is_numeric else share  # the first, which is on top upright, is on the left
    return LEFT + (WIDTH - LEFT - RIGHT) * (room + (1 - 2 * room) * share)


def _scatter(effect: Effect, chance: random.Random) -> float:
    """The same every time."""
    return chance.uniform(-SCATTER, SCATTER) if len(effect.axis.places) < len(effect.points) / 2 else 0.0
