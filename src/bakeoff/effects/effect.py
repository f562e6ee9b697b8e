"""What a key did to the number, in figures and in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.effects.axis import Axis, Group, as_number, group_points
from bakeoff.effects.share import Share, find_shares, rank_correlation
from bakeoff.effects.trial import SEED, Question, Trial

LEAST_POINTS = 2
SURE = 0.05  # of chance, all keys together
STEADY = 0.3  # rank correlations nearer to 0 are no trend
OFTEN, ALWAYS = 0.5, 0.995  # associations


@dataclass(frozen=True)
class Effect:
    key: str
    axis: Axis
    points: tuple[Trial, ...]
    groups: tuple[Group, ...]
    share: Share
    trend: float | None  # rank correlation of a number
    is_shown: bool  # more than chance would do

    @property
    def reach(self) -> float:
        """From the lowest mean to the highest."""
        means = [group.mean for group in self.groups]
        return max(means) - min(means)


def find_effects(points: Sequence[Trial], question: Question) -> list[Effect]:
    """Find what each key but the seed did, the largest share first. Of equals, and where no share can be told, what
    moved the number furthest comes first."""
    keys = [key for key in question.keys if key != SEED and len({point.values.get(key) for point in points}) > 1]
    if len(points) < LEAST_POINTS or not keys:
        return []
    axes = {key: Axis.of(key, [point.values.get(key) for point in points]) for key in keys}
    groups = {key: group_points(axes[key], points) for key in keys}
    found = find_shares(points, groups)
    several = [
        Effect(
            key, axes[key], tuple(points), tuple(groups[key]), found[key], _trend(key, axes[key], points),
            (chance := found[key].chance) is not None and chance * len(keys) <= SURE,
        )
        for key in keys
    ]  # fmt: skip
    return sorted(several, key=lambda one: (-(one.share.explained or 0.0), one.share.explained is None, -one.reach))


def _trend(key: str, axis: Axis, points: Sequence[Trial]) -> float | None:
    pairs = [
        (number, point.number) for point in points
        if (number := as_number(point.values.get(key, ""))) is not None and point.number is not None
    ]  # fmt: skip
    if not axis.is_numeric or len({number for number, _ in pairs}) < 3:
        return None
    return rank_correlation([number for number, _ in pairs], [number for _, number in pairs])


def describe_effect(effect: Effect, question: Question, deviation: float | None) -> list[str]:
    """Say what a key did; `deviation` is that of a point by its seed alone."""
    return [*_describe_move(effect, question, deviation), *_describe_share(effect), *_describe_company(effect)]


def _describe_move(effect: Effect, question: Question, deviation: float | None) -> list[str]:
    low, high = (choose(effect.groups, key=lambda group: group.mean) for choose in (min, max))
    words = ("highest", "lowest") if question.is_higher_better is None else ("best", "worst")
    first, last = (low, high) if question.is_higher_better is False else (high, low)
    apart = format_figure(abs(first.mean - last.mean))
    several = len(effect.groups) > 2
    missing = sum(effect.key not in point.values for point in effect.points)
    sentences = [
        f"{words[0].capitalize()} with {first.name}: {format_figure(first.mean)} {_over(first)}, "
        f"{f'{words[1]} with ' if several else ''}{last.name}: {format_figure(last.mean)} {_over(last)}; {apart} apart."
    ]
    if missing:
        sentences.append(f"{missing} of {len(effect.points)} points have no such key.")
    if deviation is not None and abs(first.mean - last.mean) < 2 * deviation:
        sentences.append(f"That is not much beside what the seed alone does (± {format_figure(deviation)}).")
    if effect.trend is not None:
        direction = "higher" if effect.trend > 0 else "lower"
        trend = f"rank correlation {effect.trend:+.2f}"
        is_steady = abs(effect.trend) >= STEADY
        sentences.append(
            f"The larger, the {direction} ({trend})." if is_steady else f"No steady rise or fall ({trend})."
        )
    return sentences


def _over(group: Group) -> str:
    return f"on average over {len(group.members)} points" if len(group.members) > 1 else "at one point"


def _describe_share(effect: Effect) -> list[str]:
    share, number = effect.share, len(effect.points)
    explained = "" if share.explained is None else f"It explains {share.explained * 100:.0f} % of the variation"
    if share.chance is None:
        few = f"{number} points are too few to tell that from chance."
        return [f"{explained}; {few}" if explained else few]
    often = "less than 0.1 %" if share.chance < 0.001 else f"{share.chance * 100:.2g} %"
    alone = " (by itself: the points are too few to allow for the other keys)" if share.is_alone else ""
    verdict = "" if effect.is_shown else ", so nothing is shown"
    by_chance = f"chance alone would do as much in {often} of such sweeps{alone}{verdict}."
    return [f"{explained}; {by_chance}" if explained else by_chance.capitalize()]


def _describe_company(effect: Effect) -> list[str]:
    share = effect.share
    same = [key for key, together in share.others if together >= ALWAYS]
    often = [(key, together) for key, together in share.others if OFTEN <= together < ALWAYS]
    if same:
        return [f"It changes only together with {_join(same)}: their effects cannot be told apart."]
    if often:
        those = _join([f"{key} ({together:.2f} of 1)" for key, together in often[:3]])
        return [f"It often changes together with {those}, so part of this may be theirs."]
    if not share.is_separable:
        return ["It follows from the other keys: its effect cannot be told from theirs."]
    return []


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def format_figure(value: float) -> str:
    """As tables have it; small ones with what they have."""
    if value and abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
