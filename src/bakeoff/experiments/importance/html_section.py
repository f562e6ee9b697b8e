"""Trials -> the part of a page that shows what moved the number: parallel coordinates, and a card for each key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.experiments.importance.describe import Effect, describe_effect, find_effects, format_figure
from bakeoff.experiments.importance.plots import SHADES, Shades, draw_coordinates, draw_panel
from bakeoff.experiments.importance.trial import SEED, Question, Trial, merge_seeds, seed_deviation, select_judged
from bakeoff.foundation.html.template import render

if TYPE_CHECKING:
    from markupsafe import Markup

LEAST = 2  # trials with a number
MOST_AXES = 24


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
