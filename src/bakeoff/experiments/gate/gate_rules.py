"""`conf/gate.yaml`: how much a change may cost, and what it is compared with.

{against: main, worse_by: 0.02, metrics: [{name: AP_50.ball, worse_by: 0.1}], slices: 0.1, size: 0.1, undecided: block}
"""

from dataclasses import dataclass, replace
from typing import Literal

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import require_between
from bakeoff.learning.run_file.parse import Problems, parse
from bakeoff.learning.run_file.yaml_file import read_document

FILE = workspace.CONF / "gate.yaml"
Undecided = Literal["block", "pass"]


@dataclass(frozen=True)
class MetricRule:
    name: str
    worse_by: float

    def __post_init__(self) -> None:
        require_between(self, worse_by=(0, 1000))


@dataclass(frozen=True)
class GateRules:
    against: str = "main"  # a revision of git, or a run
    worse_by: float = 0.02  # the headline metric may lose so much
    metrics: tuple[MetricRule, ...] = ()  # others that may lose no more than theirs
    slices: float | None = 0.1  # no slice may surely lose, and by more than this
    size: float | None = None  # an exported file may grow by this share
    latency: float | None = None  # its answer may take longer by this share, timed here in turn
    judged_on: str | None = None  # by a result of `bakeoff evaluate`, such as test
    undecided: Undecided = "block"

    def __post_init__(self) -> None:
        limits = {"slices": (0, 1), "size": (0, 100), "latency": (0, 100)}
        given = {key: ends for key, ends in limits.items() if getattr(self, key) is not None}
        require_between(self, worse_by=(0, 1), **given)


def load_rules() -> GateRules:
    """Return what conf/gate.yaml says; the defaults where there is no such file."""
    if not FILE.is_file():
        return GateRules()
    document = read_document(FILE)
    problems = Problems(lambda key: f"{FILE.as_posix()}:{document.lines.get((key.partition('.')[0],), 1)}")
    rules = parse(GateRules, document.values, "", problems)
    problems.raise_any()
    assert isinstance(rules, GateRules)
    return rules


def change_rules(rules: GateRules, *, against: str | None, worse_by: float | None, on: str | None) -> GateRules:
    """Put what the command line says in the place of the file's."""
    given = {"against": against, "worse_by": worse_by, "judged_on": on}
    return replace(rules, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
