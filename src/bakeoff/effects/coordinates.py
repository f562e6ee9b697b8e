"""Parallel coordinates: an upright axis for each key, the number last, and a line for each trial, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from bakeoff.effects.axis import ABSENT, Axis, metric_axis, shown
from bakeoff.effects.effect import figure
from bakeoff.effects.trial import Question, Trial

HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 400, 64, 26, 40, 96
CROWD = 150  # lines from which they are drawn finer
NARROWEST, WIDEST, LETTER = 104, 200, 7.4  # pixels between axes, and of a letter
LONGEST_TICK, LONGEST_NAME = 18, 26
SHADES = 8  # --k0, the worst, to --k7
BAND = 13  # pixels to both sides over which lines that meet in a place are spread
GRIP = 15  # pixels to both sides of an axis in which it can be taken hold of


@dataclass(frozen=True)
class Scale:
    """What a number looks like."""

    low: float
    high: float
    is_higher_better: bool

    @classmethod
    def of(cls, trials: Sequence[Trial], question: Question) -> "Scale":
        numbers = [trial.number for trial in trials if trial.number is not None]
        return cls(min(numbers), max(numbers), question.is_higher_better is not False)

    def shade(self, number: float) -> int:
        share = (number - self.low) / (self.high - self.low) if self.high > self.low else 1.0
        return min(SHADES - 1, int((share if self.is_higher_better else 1 - share) * SHADES))


def coordinates(trials: Sequence[Trial], keys: Sequence[str], question: Question, scale: Scale) -> str:
    """Each line has what is to be said of it in its title. The best is drawn last, on top."""
    axes = [Axis.of(key, [trial.values.get(key) for trial in trials]) for key in keys]
    left, step = max(LEFT, len(_cut(keys[0].rpartition(".")[2], LONGEST_NAME)) * 4.2 + 4), _step(axes)
    across = [left + step * x for x in range(len(axes) + 1)]
    width = across[-1] + RIGHT
    numbers = [trial.number for trial in trials if trial.number is not None]
    place, ticks = metric_axis(question.metric, numbers)
    some_missing = len(numbers) < len(trials)
    up = (lambda share: share * 0.88 + 0.12) if some_missing else (lambda share: share)
    columns = [_spread([axis.place(trial.values.get(axis.key)) for trial in trials], trials) for axis in axes]
    ends = [_y(0.0 if trial.number is None else up(place(trial.number))) for trial in trials]
    best = question.best(trials)
    rows = [
        f"<svg class='lines{' crowded' if len(trials) > CROWD else ''}' viewBox='0 0 {width:.0f} {HEIGHT}' "
        f"style='min-width:{width * 0.9:.0f}px;"
        f"max-width:{width * 1.5:.0f}px' role=img aria-label='{escape(question.metric, quote=True)} of "
        f"{len(trials)} trials over {len(keys)} keys'>"
    ]
    for number in sorted(range(len(trials)), key=lambda at: _rank(trials[at], best, scale)):
        trial = trials[number]
        points = " ".join(f"{x:.0f},{column[number]:.1f}" for x, column in zip(across, [*columns, ends], strict=False))
        rows.append(
            f"<polyline points='{points}' class='{_look(trial, best, scale)}' data-at={number}>"
            f"<title>{escape(told(trial, question))}</title></polyline>"
        )
    rows.append("<polyline class='trial above' points=''/>")
    for x, axis in zip(across, axes, strict=False):
        kind = "logarithmic" if axis.is_logarithmic else ""
        rows += _axis(x, axis.key, [(_y(where), word) for where, word in axis.ticks], kind)
    marks = [(_y(up(where)), word) for where, word in ticks]
    marks += [(_y(0.0), "no result")] if some_missing else []
    rows += _axis(across[-1], question.metric, marks, _better(question), is_last=True)
    return "".join([*rows, "</svg>"])


def told(trial: Trial, question: Question) -> str:
    """A line each: which it is, the number, the state, the keys."""
    number = f"{question.metric} {figure(trial.number)}" if trial.number is not None else "no result"
    spread = f" ± {figure(trial.spread)} over {len(trial.numbers)} seeds" if trial.spread is not None else ""
    keys = [f"{key} {shown(trial.values.get(key, ABSENT))}" for key in question.keys if key in trial.values]
    return "\n".join(filter(None, [trial.name, f"{number}{spread}", trial.state, *keys]))


def legend(scale: Scale, question: Question, trials: Sequence[Trial]) -> str:
    """From the worst to the best, and what else lines can be."""
    ends = (scale.low, scale.high) if scale.is_higher_better else (scale.high, scale.low)
    blocks = "".join(f"<i style='background:var(--k{shade})'></i>" for shade in range(SHADES))
    said = [f"<span class=shades>{escape(question.metric)} {figure(ends[0])} {blocks} {figure(ends[1])}</span>"]
    best = question.best(trials)
    if best is not None:
        said.append(f"<span><i class=best-key></i>the best: {escape(best.name)}, {figure(best.number or 0.0)}</span>")
    undone = sum(not trial.is_done or trial.number is None for trial in trials)
    if undone:
        said.append(f"<span><i class=undone-key></i>not done, or without a result: {undone}</span>")
    return f"<div class=legend>{''.join(said)}<button class=all hidden>show all</button><output></output></div>"


def _axis(x: float, name: str, marks: Sequence[tuple[float, str]], note: str, *, is_last: bool = False) -> list[str]:
    group, dot, last = name.rpartition(".")
    bottom, top = _y(0.0), _y(1.0)
    rows = [
        f"<g class=axis><title>{escape(name)}</title>"
        f"<line x1='{x:.0f}' x2='{x:.0f}' y1='{top:.0f}' y2='{bottom:.0f}'/>",
        _name("name", x, TOP - 32, group + dot),
        _name("'name own'", x, TOP - 17, last),
    ]
    if note:
        rows.append(f"<text class=note x='{x:.0f}' y='{HEIGHT - 4}' text-anchor=middle>{note}</text>")
    for y, word in marks:
        rows.append(
            f"<text x='{x + 7:.0f}' y='{y:.1f}' dy=4>{escape(_cut(word, LONGEST_TICK))}"
            f"{f'<title>{escape(word)}</title>' if len(word) > LONGEST_TICK else ''}</text>"
            f"<path class=tick d='M{x - 3:.0f} {y:.1f}h6'/>"
        )
    rows.append(
        f"<rect class=grip x='{x - GRIP:.0f}' y='{top - 8:.0f}' width='{2 * GRIP}' height='{bottom - top + 16:.0f}'/>"
        f"<rect class=brush x='{x - 8:.0f}' width=16 y=0 height=0 /></g>"
    )
    return rows


def _name(kind: str, x: float, y: float, text: str) -> str:
    return f"<text class={kind} x='{x:.0f}' y='{y}' text-anchor=middle>{escape(_cut(text, LONGEST_NAME))}</text>"


def _step(axes: Sequence[Axis]) -> float:
    """So wide that names and ticks do not meet."""
    names = [part for axis in axes for part in (axis.key.rpartition(".")[0], axis.key.rpartition(".")[2])]
    ticks = [_cut(word, LONGEST_TICK) for axis in axes for _, word in axis.ticks]
    longest = max(max(map(len, names)), max(map(len, ticks)) + 3)
    widest = WIDEST if len(axes) > 4 else WIDEST * 1.3
    least = NARROWEST if len(axes) > 4 else 620 / len(axes)
    return min(widest, max(least, longest * LETTER))


def _spread(places: Sequence[float], trials: Sequence[Trial]) -> list[float]:
    """Heights. Trials of one value stand a little apart, by what came of them, so that lines can be followed."""
    together: dict[float, list[int]] = {}
    for at, place in enumerate(places):
        together.setdefault(place, []).append(at)
    heights = sorted(together)
    gaps = [_y(low) - _y(high) for low, high in pairwise(heights)]
    band = min([BAND, *(gap * 0.35 for gap in gaps)])
    found = [0.0] * len(places)
    for place, own in together.items():
        own.sort(key=lambda at: float("-inf") if trials[at].number is None else trials[at].number or 0.0)
        for rank, at in enumerate(own):
            found[at] = _y(place) - (band * (2 * rank / (len(own) - 1) - 1) if len(own) > 1 else 0.0)
    return found


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - BAND - (HEIGHT - TOP - BOTTOM - 2 * BAND) * share


def _rank(trial: Trial, best: Trial | None, scale: Scale) -> tuple[bool, bool, float]:
    number = trial.number if trial.number is not None else scale.low
    return trial is best, trial.is_done and bool(trial.numbers), number if scale.is_higher_better else -number


def _look(trial: Trial, best: Trial | None, scale: Scale) -> str:
    if not trial.is_done or trial.number is None:
        return "trial undone"
    return "trial best" if trial is best else f"trial k{scale.shade(trial.number)}"


def _better(question: Question) -> str:
    return {True: "higher is better", False: "lower is better", None: ""}[question.is_higher_better]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
