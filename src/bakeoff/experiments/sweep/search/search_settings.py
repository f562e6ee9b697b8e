"""The settings of a search. The sweep's manifest holds them; with the trials so far they decide the next suggestion."""

from collections.abc import Iterable
from dataclasses import dataclass

from bakeoff.foundation.errors import ConfigError, choices
from bakeoff.learning.metrics.names import BY_HEADLINE

KINDS = ("asha", "random", "tpe")
DIRECTIONS = ("max", "min")
VALIDATION = "validation/"


@dataclass(frozen=True)
class Search:
    kind: str
    trials: int
    metric: str  # mAP_50 is that of metrics.json, validation/mAP_50 the best validation pass
    direction: str = "max"
    seed: int = 0
    prunes: bool = True
    stages: tuple[str, ...] = ()  # those that each trial runs

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"--search: no such kind {self.kind!r}; {choices(self.kind, KINDS)}")
        if self.trials < 1:
            raise ConfigError(f"--trials: must be 1 or more, got {self.trials}")
        if self.direction not in DIRECTIONS:
            raise ConfigError(f"--direction: must be max or min, got {self.direction!r}")
        if self.seed < 0:
            raise ConfigError(f"--search-seed: must be 0 or more, got {self.seed}")
        if self.kind == "asha" and not self.prunes:
            raise ConfigError("--no-pruning: must stand without --search asha, which is a way of pruning; use random")

    def __str__(self) -> str:
        best = "most" if self.direction == "max" else "least"
        return f"{self.kind}, {self.trials} trials for the {best} {self.metric}, seed {self.seed}"

    @property
    def watched(self) -> str:
        """Return the metric's name in validation passes."""
        return f"{VALIDATION}{self.short}"

    @property
    def short(self) -> str:
        return self.metric.removeprefix(VALIDATION)

    @property
    def is_of_training(self) -> bool:
        """Return whether training alone gives the metric."""
        return self.metric.startswith(VALIDATION)

    def best(self, values: Iterable[float]) -> float | None:
        return (max if self.direction == "max" else min)(values, default=None)


def require_metric(name: str, headline: str) -> None:
    """Raise ConfigError for a metric that no stage of a task with that headline writes."""
    written = BY_HEADLINE[headline].numbers
    watched = [f"{VALIDATION}{one}" for one in written]
    if name not in (*written, *watched):
        allowed = watched if name.startswith(VALIDATION) else written
        raise ConfigError(f"--metric: no stage writes {name!r}; {choices(name, allowed)}")
