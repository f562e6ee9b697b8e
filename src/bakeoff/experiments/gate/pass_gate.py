"""The names of two runs and the rules -> the verdict of the gate."""

from bakeoff.experiments.compare.comparison_verdict import MatchedExamples, judge, match_runs
from bakeoff.experiments.compare.examples import find_examples
from bakeoff.experiments.compare.load_runs import Gathered
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.compare.select_runs import require_judged, select_one
from bakeoff.experiments.compare.verdict_text import SAMPLES
from bakeoff.experiments.gate.answer_times import check_times
from bakeoff.experiments.gate.exported_files import read_sizes
from bakeoff.experiments.gate.gate_rules import GateRules
from bakeoff.experiments.gate.gate_verdict import GateVerdict, check_numbers, check_sizes, check_slices
from bakeoff.foundation import git
from bakeoff.foundation.errors import DataError, WorkspaceError

HERE = "."


def pass_gate(
    gathered: Gathered, which: str, rules: GateRules, samples: int | None = None
) -> tuple[GateVerdict, MatchedExamples]:
    """Judge a run against the one that the rules name, with the examples that both answered."""
    a, b = _select(rules.against, gathered), select_one(which, gathered)
    if rules.judged_on is not None:
        require_judged([a, b], rules.judged_on)
    address = gathered.target.address
    files = [
        find_examples(run if rules.judged_on else gathered.maker_of(run), address, rules.judged_on) for run in (a, b)
    ]
    try:
        matched = match_runs(a, b, files)
    except DataError as error:
        both = f"`bakeoff evaluate {a.short} {b.short}` judges both on one test, which `--on test` compares"
        raise DataError(f"{error}; {both}") from None
    compared = judge(a, b, matched, metric=None, samples=samples or SAMPLES)
    setbacks = None
    if rules.slices is not None:  # the comparison has looked at the slices of the better one already
        setbacks = compared.setbacks if compared.difference.value > 0 else matched.find_setbacks("B")
    checks = check_numbers(compared, rules)
    if rules.slices is not None and (check := check_slices(setbacks, rules.slices)):
        checks.append(check)
    if rules.size is not None:
        checks += check_sizes(read_sizes(a), read_sizes(b), rules.size)
    if rules.latency is not None:
        checks.append(check_times(a, b, rules.latency))
    return GateVerdict(a, b, checks, compared.differences, setbacks), matched


def _select(against: str, gathered: Gathered) -> Contender:
    try:
        return select_one(against, gathered)
    except WorkspaceError as error:
        if git.is_shallow() and git.commit(against) is None:
            raise WorkspaceError(
                f"--against: {against!r} is not in this clone, which is shallow; "
                "`git fetch --unshallow` brings the rest (in a workflow: fetch-depth: 0)"
            ) from error
        raise
