"""Trials -> the part of a page that shows what moved the number: parallel coordinates, and a card for each key."""

from collections.abc import Iterator, Sequence
from html import escape

from bakeoff.effects.coordinates import Scale, coordinates, legend
from bakeoff.effects.effect import Effect, effects, figure, sentences
from bakeoff.effects.panel import panel
from bakeoff.effects.trial import SEED, Question, Trial, counted, seed_deviation, without_seeds

LEAST = 2  # trials with a number
MOST_AXES = 24


def section(trials: Sequence[Trial], question: Question) -> Iterator[str]:
    """Nothing if there is nothing to compare."""
    keys = [key for key in question.keys if len({trial.values.get(key) for trial in trials}) > 1]
    if not keys or sum(trial.number is not None for trial in trials) < LEAST:
        return
    points = without_seeds(trials)
    found = effects(points, question)
    judged = [trial for trial in trials if trial.number is not None]
    scale = Scale.of(counted(trials) or judged, question)
    yield f"<h2>All at once</h2>{_read(trials, question)}"
    yield legend(scale, question, trials)
    yield f"<div class=wide>{coordinates(trials, _axes(keys, found), question, scale)}</div>"
    if found:
        yield f"<h2>What each key did to {escape(question.metric)}</h2>{_about(points, found)}"
        deviation = seed_deviation(points)
        yield "<div class=effects>"
        yield from (_card(effect, question, deviation) for effect in found)
        yield "</div>"
    yield "<div class=tip hidden></div>"


def _axes(keys: Sequence[str], found: Sequence[Effect]) -> list[str]:
    """What explains most stands next to the number."""
    order = [effect.key for effect in found][::-1]
    return [*(key for key in keys if key not in order), *order][-MOST_AXES:]


def _read(trials: Sequence[Trial], question: Question) -> str:
    keys = len(question.keys)
    left = f" The {keys - MOST_AXES} keys that explain least are left out." if keys > MOST_AXES else ""
    return (
        "<p class=soft>A line for each run, through its values; the keys that explain most stand next to "
        f"{escape(question.metric)}. Lines that meet in a value are spread a little, the higher number above. "
        f"<span class=scripted>Rest the pointer on a line to see which run it is; draw along an axis to see only "
        f"those that pass there.</span>{left}</p>"
    )


def _about(points: Sequence[Trial], found: Sequence[Effect]) -> str:
    deviation = seed_deviation(points)
    said = [
        f"A dot for each of {len(points)} points; the bar is the mean of a value, the line through it one standard "
        "deviation. Sorted by the share of the variation between points that is explained by the key: one minus the "
        "variance among points with the same value over the variance of all (adjusted R²; numbers of more than six "
        "values are put together in up to five ranges). Shares need not add up to 100 %: what keys do only together "
        "is in none of them."
    ]
    if len(found) > 1:
        said.append(
            f"With {len(found)} keys looked at, one counts as shown if chance would do as much in less than "
            f"{5 / len(found):.2g} % of sweeps (5 % for all together)."
        )
    if deviation is not None:
        said.append(
            f"Points are means over their seeds; the seed alone moves a single run by ± {figure(deviation)} "
            "(one standard deviation)."
        )
    elif any(SEED in point.values for point in points):
        said.append("No point has several seeds, so what the seed alone does is not known.")
    return f"<p class=soft>{' '.join(said)}</p>"


def _card(effect: Effect, question: Question, deviation: float | None) -> str:
    share = effect.share.explained
    words = "–" if share is None else f"{share * 100:.0f} %"
    width = 0.0 if share is None else share * 100
    shown = "" if effect.is_shown else " unsure"
    text = " ".join(sentences(effect, question, deviation))
    return (
        f"<div class='card{shown}'><h3>{escape(effect.key)}<span class=share>{words}</span></h3>"
        f"<div class=scale aria-hidden=true><span class=range style='left:0;width:{width:.1f}%'></span></div>"
        f"{panel(effect, question)}<p>{escape(text)}</p></div>"
    )
