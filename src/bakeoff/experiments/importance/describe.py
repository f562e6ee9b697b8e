"""What a key did to the number, in figures and in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.experiments.importance.axis import Axis, Group, find_number, group_configurations
from bakeoff.experiments.importance.trial import SEED, Question, Trial
from bakeoff.experiments.importance.variance_explained import Share, find_shares

LEAST_CONFIGURATIONS = 2
SURE = 0.05  # the chance, for all keys together, below which an effect counts as shown
STEADY = 0.3  # rank correlations nearer to 0 are no trend
OFTEN, ALWAYS = 0.5, 0.995  # associations from which two keys often, or always, change together


@dataclass(frozen=True)
class Effect:
    key: str
    axis: Axis
    configurations: tuple[Trial, ...]
    groups: tuple[Group, ...]
    share: Share
    trend: float | None  # the rank correlation, if the key's values are numbers
    is_shown: bool  # whether the effect is larger than chance explains

    @property
    def reach(self) -> float:
        """Return how far the highest mean lies above the lowest."""
        means = [group.mean for group in self.groups]
        return max(means) - min(means)


def find_effects(configurations: Sequence[Trial], question: Question) -> list[Effect]:
    """Return the effect of each key but the seed, the largest share first.

    Among equal shares, and where no share is known, the key that moved the number furthest comes first.
    """
    values = {key: [configuration.values.get(key) for configuration in configurations] for key in question.keys}
    keys = [key for key in question.keys if key != SEED and len(set(values[key])) > 1]
    if len(configurations) < LEAST_CONFIGURATIONS or not keys:
        return []
    axes = {key: Axis.from_values(key, values[key]) for key in keys}
    groups = {key: group_configurations(axes[key], configurations) for key in keys}
    shares = find_shares(configurations, groups)
    effects = [
        Effect(
            key, axes[key], tuple(configurations), tuple(groups[key]), shares[key],
            trend=_find_trend(key, axes[key], configurations),
            is_shown=(chance := shares[key].chance) is not None and chance * len(keys) <= SURE,
        )
        for key in keys
    ]  # fmt: skip
    return sorted(effects, key=lambda one: (-(one.share.explained or 0.0), one.share.explained is None, -one.reach))


def _find_trend(key: str, axis: Axis, configurations: Sequence[Trial]) -> float | None:
    from scipy.stats import spearmanr  # takes half a second to load

    pairs = [
        (number, configuration.number)
        for configuration in configurations
        if (number := find_number(configuration.values.get(key, ""))) is not None
    ]
    if not axis.is_numeric or len({value for value, _ in pairs}) < 3 or len({number for _, number in pairs}) < 2:
        return None
    return float(spearmanr(pairs).statistic)


def describe_effect(effect: Effect, question: Question, deviation: float | None) -> list[str]:
    """Return sentences on what a key did. `deviation` is how far the seed alone moves a configuration."""
    return [*_describe_move(effect, question, deviation), *_describe_share(effect), *_describe_company(effect)]


def _describe_move(effect: Effect, question: Question, deviation: float | None) -> list[str]:
    low, high = (choose(effect.groups, key=lambda group: group.mean) for choose in (min, max))
    ends = ("highest", "lowest") if question.is_higher_better is None else ("best", "worst")
    first, last = (low, high) if question.is_higher_better is False else (high, low)
    apart = format_figure(abs(first.mean - last.mean))
    several = len(effect.groups) > 2
    missing = sum(effect.key not in configuration.values for configuration in effect.configurations)
    sentences = [
        f"{ends[0].capitalize()} with {first.name}: {format_figure(first.mean)} {_count_members(first)}, "
        f"{f'{ends[1]} with ' if several else ''}{last.name}: {format_figure(last.mean)} {_count_members(last)}; "
        f"{apart} apart."
    ]
    if missing:
        sentences.append(f"{missing} of {len(effect.configurations)} configurations have no such key.")
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


def _count_members(group: Group) -> str:
    return f"on average over {len(group.members)} configurations" if len(group.members) > 1 else "in one configuration"


def _describe_share(effect: Effect) -> list[str]:
    share, number = effect.share, len(effect.configurations)
    explained = "" if share.explained is None else f"It explains {share.explained * 100:.0f} % of the variation"
    if share.chance is None:
        few = f"{number} configurations are too few to tell that from chance."
        return [f"{explained}; {few}" if explained else few]
    often = "less than 0.1 %" if share.chance < 0.001 else f"{share.chance * 100:.2g} %"
    alone = " (by itself: the configurations are too few to allow for the other keys)" if share.is_alone else ""
    verdict = "" if effect.is_shown else ", so nothing is shown"
    by_chance = f"chance alone would do as much in {often} of such sweeps{alone}{verdict}."
    return [f"{explained}; {by_chance}" if explained else by_chance.capitalize()]


def _describe_company(effect: Effect) -> list[str]:
    share = effect.share
    same = [key for key, together in share.others if together >= ALWAYS]
    often = [(key, together) for key, together in share.others if OFTEN <= together < ALWAYS]
    if same:
        return [f"It changes only together with {' and '.join(same)}: their effects cannot be told apart."]
    if often:
        those = " and ".join(f"{key} ({together:.2f} of 1)" for key, together in often[:3])
        return [f"It often changes together with {those}, so part of this may be theirs."]
    if not share.is_separable:
        return ["It follows from the other keys: its effect cannot be told from theirs."]
    return []


def format_figure(value: float) -> str:
    """Return three decimals, as tables have it, or two digits of a number below 0.01."""
    if value and abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
