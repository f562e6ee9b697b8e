"""A trial: which values were chosen, and which number came out.

Trial("sweep-20260102-030405-7", {"lr.use": "cosine", "lr.peak": "0.05"}, (0.41, 0.44)) has the numbers of two seeds.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

SEED = "seed"


@dataclass(frozen=True)
class Trial:
    name: str
    values: Mapping[str, str]  # by key; a key that its kind does not have is not in it
    numbers: tuple[float, ...] = ()  # one of each seed; none if it was not judged
    state: str = ""
    is_done: bool = True  # a trial that is not done is drawn, and has no part in any mean

    @property
    def number(self) -> float | None:
        return statistics.fmean(self.numbers) if self.numbers else None

    @property
    def spread(self) -> float | None:
        return statistics.stdev(self.numbers) if len(self.numbers) > 1 else None


@dataclass(frozen=True)
class Question:
    """Which keys differ, and which number they may have moved."""

    keys: tuple[str, ...]
    metric: str
    is_higher_better: bool | None = True  # None for a number that is neither good nor bad

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the best trial, the first of equals, or None where no number is better than another."""
        judged = select_judged(trials)
        if not judged or self.is_higher_better is None:
            return None
        return max(judged, key=lambda trial: (trial.number or 0.0) * (1 if self.is_higher_better else -1))


def select_judged(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.is_done and trial.numbers]


def merge_seeds(trials: Sequence[Trial]) -> list[Trial]:
    """Return one trial, a configuration, for those that differ only in their seed.

    So a configuration with more seeds does not count more often than others.
    """
    together: dict[frozenset[tuple[str, str]], list[Trial]] = {}
    for trial in select_judged(trials):
        together.setdefault(frozenset(_chosen(trial).items()), []).append(trial)
    groups = ((group[0], tuple(number for trial in group for number in trial.numbers)) for group in together.values())
    return [replace(first, values=_chosen(first), numbers=numbers) for first, numbers in groups]


def seed_deviation(configurations: Sequence[Trial]) -> float | None:
    """Return how far a seed alone moves the number: one standard deviation, over all that have several seeds."""
    several = [configuration.numbers for configuration in configurations if len(configuration.numbers) > 1]
    freedom = sum(len(numbers) - 1 for numbers in several)
    if not freedom:
        return None
    return (sum(statistics.variance(numbers) * (len(numbers) - 1) for numbers in several) / freedom) ** 0.5


def _chosen(trial: Trial) -> dict[str, str]:
    return {key: value for key, value in trial.values.items() if key != SEED}
