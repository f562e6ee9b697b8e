"""One run as it is compared, or several that differ only in their seed; and its numbers by their names.

mAP_50 stands for evaluation/mAP_50, its interval for evaluation/interval.mAP_50.low and .high
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import dist, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import unquote, urlsplit

from bakeoff.learning.metrics.names import BY_HEADLINE
from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from bakeoff.tracking.store.mlflow_names import INTERVAL

EVALUATION, VALIDATION = "evaluation/", "validation/"
OTHER_EVALUATION = "evaluation_"  # and a name: a result of `bakeoff evaluate`
DERIVED, SEED = "derived.", "seed"
SUCCEEDED = "SUCCEEDED"  # the state of what ended well


@dataclass(frozen=True)
class Number:
    value: float
    low: float | None = None  # of the interval, where there is one
    high: float | None = None
    spread: float | None = None  # of several seeds, where there are several


@dataclass(frozen=True)
class Cost:
    seconds: float | None = None  # of training
    memory_bytes: float | None = None  # the peak
    size_bytes: float | None = None  # of what is exported
    latency_ms: float | None = None  # of an example, where somebody measured it
    drop: float | None = None  # of the headline metric, from the network to the exported file that lost most

    @property
    def tree(self) -> dict[str, float | None]:
        return dict(vars(self))  # asdict copies each number, at ten times the price


@dataclass(frozen=True)
class Contender:
    run_id: str
    name: str
    state: str  # nothing if only its numbers are known
    params: Mapping[str, str]  # `lr.use` is the option, `lr.peak` a value
    metrics: Mapping[str, float]
    cost: Cost = field(default_factory=Cost)
    began: int | None = None  # milliseconds since 1970
    experiment: str | None = None  # DVC's
    sweep: str | None = None
    commit: str | None = None
    is_dirty: bool = False
    records: str | None = None  # the digest of what it was trained and judged on
    judged_on: Mapping[str, str] = field(default_factory=dict)  # evaluation -> the digest of its split: test, …
    reused_from: str | None = None  # the run whose result DVC's cache gave it
    mlflow_id: str | None = None
    mlflow_experiment: str | None = None
    artifacts: str | None = None
    page: str | None = None  # of MLflow's UI, on a server
    journal: Path | None = None
    files: Path | None = None  # a workspace that holds it, if it is known from there alone
    revision: str | None = None  # of git, if it is known from there alone
    seeds: tuple["Contender", ...] = ()  # the runs over seeds that this row summarises
    note: str | None = None
    is_planned: bool = False  # no run of it is known; `params` has only the requested values

    @property
    def short(self) -> str:
        return self.run_id if self.run_id == self.revision else self.run_id[:SHOWN_OF_ID]

    @property
    def label(self) -> str:
        return f"{self.short} ({self.experiment or self.name})"

    @property
    def variant(self) -> str:
        return self.name.removesuffix(f" ({self.experiment})")

    @property
    def headline(self) -> str | None:
        """The metric by which its task is judged; None if nothing was measured yet."""
        numbers = (
            (name, number_of(self.metrics, f"{place}{name}")) for place in ("", VALIDATION) for name in BY_HEADLINE
        )
        return next((name for name, number in numbers if number), None)

    def artifact(self, name: str) -> Path | None:
        """The file that MLflow keeps under this name, if it is on this machine."""
        place = urlsplit(self.artifacts or "")
        file = Path(unquote(place.path)) / name
        return file if place.scheme in ("", "file") and place.path and file.is_file() else None

    def number(self, name: str) -> Number | None:
        if not self.seeds:
            return number_of(self.metrics, name)
        values = self._values(name)
        if not values:
            return None
        mean = fmean(values)
        return Number(mean, spread=_deviation(values, mean) if len(values) > 1 else None)

    def has_number(self, name: str) -> bool:
        """Return whether it has the number, without working out mean and spread over seeds."""
        return bool(self._values(name)) if self.seeds else number_of(self.metrics, name) is not None

    def _values(self, name: str) -> list[float]:
        return [one.value for seed in self.seeds if (one := number_of(seed.metrics, name))]

    def facts(self) -> dict[str, Any]:
        """What is neither a param nor a metric, by the names that --filter and --sort know."""
        return {
            "run": self.run_id, "name": self.name, "state": self.state or None, "began": self.began,
            "experiment": self.experiment, "sweep": self.sweep, "commit": self.commit, "records": self.records,
            "mlflow": self.mlflow_id, **self.cost.tree,
        }  # fmt: skip

    def value(self, key: str) -> Any:
        """Look up a fact, a param or a metric; None if it has none."""
        for known in (self.facts(), self.params):
            if key in known:
                return known[key]
        if self.seeds:
            return fmean(values) if (values := self._values(key)) else None
        return number.value if (number := number_of(self.metrics, key)) else None


def choose_evaluation(contender: Contender, name: str) -> Contender:
    """Put the numbers of another evaluation, such as that of the test, in the place of the validation's."""
    place = f"{OTHER_EVALUATION}{name}/"
    others = {key: value for key, value in contender.metrics.items() if not key.startswith((EVALUATION, place))}
    chosen = {key.replace(place, EVALUATION, 1): number for key, number in contender.metrics.items() if place in key}
    return replace(contender, metrics=others | chosen, records=contender.judged_on.get(name))


def number_of(metrics: Mapping[str, float], name: str) -> Number | None:
    """Look up a number; `name` is in full, or as metrics.json has it."""
    for full in (name, f"{EVALUATION}{name}"):
        value = metrics.get(full)
        if value is not None and value == value:
            ends = f"{EVALUATION}{INTERVAL}{full.removeprefix(EVALUATION)}"
            return Number(value, metrics.get(f"{ends}.low"), metrics.get(f"{ends}.high"))
    return None


def names_in(metrics: Mapping[str, float]) -> list[str]:
    """List the numbers as a user writes them: those of the evaluation by their short names."""
    own = (name for name in metrics if f"/{INTERVAL}" not in name and not name.startswith("system/"))
    return [name.removeprefix(EVALUATION) for name in own]


def _deviation(values: Sequence[float], mean: float) -> float:
    """The standard deviation of a sample. Python's own counts in fractions, at ten times the price."""
    return dist(values, [mean] * len(values)) / sqrt(len(values) - 1)
