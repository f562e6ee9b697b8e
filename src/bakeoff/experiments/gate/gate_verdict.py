"""Two runs and the rules -> whether the second may replace the first: it is not worse, it is, or nobody can tell.

A metric may lose `allowed`. Its difference has a deviation, which the paired bootstrap gives. B is *not worse* where
the lower end of a one-sided 95 % interval is above -allowed: a test of non-inferiority. B is *worse* where the upper
end is below -allowed. In between nobody can tell, and the deviation tells how many more examples would.
A change passes only if all rules pass, so that passing needs no correction for their number. One rule is enough to
block it, so that blocking does: 5 % is the chance that any of them blocks a change that costs just what is allowed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from statistics import NormalDist
from typing import Any

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.evaluation.slice_significance import CHANCE
from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict
from bakeoff.experiments.compare.paired_bootstrap import Differences, PairedDifference
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.compare.slice_setbacks import Setbacks
from bakeoff.experiments.gate.gate_rules import GateRules
from bakeoff.foundation.errors import WorkspaceError, choices

ERROR = 0.05  # the chance to block what costs just what is allowed; and to let it through
POWER = 0.8  # the share of changes like this one that get a verdict with the examples that are asked for
FEWEST = 30  # groups of examples: the deviation of fewer is itself unsure
MOST = 1_000_000  # examples that anybody is asked for
VERSION = 1


class Outcome(Enum):
    NOT_WORSE = "not worse"
    WORSE = "worse"
    UNDECIDED = "cannot tell"


@dataclass(frozen=True)
class Check:
    """One rule, and what became of it."""

    name: str  # mAP_50, slices, size of dynamic
    outcome: Outcome
    a: float | None
    b: float | None
    allowed: float
    low: float | None = None  # of B less A; the ends are those of one-sided 95 % intervals
    high: float | None = None
    more_examples: int | None = None  # with which four of five changes like this one get a verdict
    note: str = ""

    @property
    def is_share(self) -> bool:
        """Tell whether `allowed` is a share by which it may grow: of a size or of a time."""
        return self.name.startswith(("size", "latency"))


@dataclass(frozen=True)
class GateVerdict:
    a: Contender
    b: Contender
    checks: Sequence[Check]
    differences: Differences
    setbacks: Setbacks | None

    @property
    def outcome(self) -> Outcome:
        outcomes = {one.outcome for one in self.checks}
        return next((one for one in (Outcome.WORSE, Outcome.UNDECIDED) if one in outcomes), Outcome.NOT_WORSE)

    @property
    def comparisons(self) -> int:
        """Count the statistical ones, each of which may be wrong."""
        return sum(one.low is not None for one in self.checks) + (self.setbacks.comparisons if self.setbacks else 0)

    @property
    def tree(self) -> dict[str, Any]:
        return {
            "version": VERSION, "verdict": self.outcome.value, "a": self.a.run_id, "b": self.b.run_id,
            "checks": [asdict(one) | {"outcome": one.outcome.value} for one in self.checks],
            "comparisons": self.comparisons, "examples": self.differences.examples,
            "groups": self.differences.groups, "error": ERROR,
        }  # fmt: skip


def check_numbers(verdict: ComparisonVerdict, rules: GateRules) -> list[Check]:
    """Check the metrics, of which the headline comes first."""
    asked = {verdict.metric: rules.worse_by} | {one.name: one.worse_by for one in rules.metrics}
    error = (ERROR if rules.slices is None else ERROR - CHANCE) / len(asked)
    groups, examples = verdict.differences.groups, verdict.differences.examples
    return [
        check_metric(name, _find(verdict, name), allowed, (groups, examples), error) for name, allowed in asked.items()
    ]


def _find(verdict: ComparisonVerdict, name: str) -> PairedDifference:
    known = dict(verdict.differences.numbers)
    for metric, by_class in verdict.differences.by_class.items():
        known |= {f"{metric}.{label}": one for label, one in by_class.items()}
    if name not in known:
        raise WorkspaceError(f"conf/gate.yaml: metrics: must be numbers of both, got {name!r}; {choices(name, known)}")
    return known[name]


def check_metric(
    name: str, difference: PairedDifference, allowed: float, counts: tuple[int, int], error: float = ERROR
) -> Check:
    """`counts` are the groups of examples and the examples; `error` is the chance to block wrongly."""
    sign = -1.0 if is_higher_better(name) is False else 1.0
    gain, deviation = sign * difference.value, difference.deviation * (counts[0] / max(1, counts[0] - 1)) ** 0.5
    passing, blocking = (NormalDist().inv_cdf(1 - one) for one in (ERROR, error))
    low, high = (difference.value + side * passing * deviation for side in (-1, 1))
    known = Check(name, Outcome.UNDECIDED, difference.a, difference.b, allowed, low, high)
    margin = gain + allowed
    if counts[0] < FEWEST and deviation:
        outcome, more = Outcome.UNDECIDED, _scale(FEWEST - counts[0], counts)
    elif margin >= 0 and (margin > passing * deviation or not deviation):
        outcome, more = Outcome.NOT_WORSE, None
    elif margin < -blocking * deviation:
        outcome, more = Outcome.WORSE, None
    else:
        outcome, more = Outcome.UNDECIDED, count_more(margin, deviation, passing if margin > 0 else blocking, counts)
    return Check(**{**vars(known), "outcome": outcome, "more_examples": more})


def count_more(margin: float, deviation: float, reach: float, counts: tuple[int, int]) -> int | None:
    """Return how many more examples a verdict needs, if the difference stays as it is; None if more than anybody has.

    The deviation falls with the root of their number, and the margin must be `reach` deviations away from 0 in so many
    of ten times as POWER says.
    """
    if not margin:
        return None
    times = ((reach + NormalDist().inv_cdf(POWER)) * deviation / margin) ** 2
    more = _scale(counts[0] * (times - 1), counts)
    return more if more <= MOST else None


def _scale(groups: float, counts: tuple[int, int]) -> int:
    return max(1, round(groups * counts[1] / max(1, counts[0])))


def check_slices(setbacks: Setbacks | None, allowed: float) -> Check | None:
    """Check that no slice surely lost more than is allowed; nothing if no facts of examples are known."""
    if setbacks is None or not setbacks.comparisons:
        return None
    lost = [row for row in setbacks.worse if row.other - row.better > allowed]
    if not lost:
        note = f"none of {setbacks.comparisons:,} slices is surely worse by more than {allowed:g}"
        return Check("slices", Outcome.NOT_WORSE, None, None, allowed, note=note)
    row = lost[0]
    note = f"{setbacks.metric} where {row.fact} is {row.slice}, {row.examples:,} examples"
    return Check("slices", Outcome.WORSE, row.other, row.better, allowed, note=note)


def check_sizes(a: Mapping[str, float], b: Mapping[str, float], allowed: float) -> list[Check]:
    """Check how much the exported files grew, which is exact; those that only one run exported are not compared."""
    checks = []
    for name in a:
        if name in b:
            outcome = Outcome.WORSE if b[name] > a[name] * (1 + allowed) else Outcome.NOT_WORSE
            checks.append(Check(f"size of {name}", outcome, a[name], b[name], allowed))
    if not checks:
        note = "no exported file is known of both: `dvc repro export`, or `dvc pull export`"
        checks.append(Check("size", Outcome.UNDECIDED, None, None, allowed, note=note))
    return checks
