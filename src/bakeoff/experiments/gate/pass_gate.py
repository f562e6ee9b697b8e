"""The names of two runs and the rules -> the verdict of the gate."""

from pathlib import Path

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
from bakeoff.experiments.planning.stage_status import list_changes
from bakeoff.foundation import dvc, git
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.tracking.results.cached_outputs import LOCK

HERE = "."
NOT_IN_GIT = ("data/", "models/")  # of these a clone may have less than the run had


def pass_gate(
    gathered: Gathered, which: str, rules: GateRules, samples: int | None = None
) -> tuple[GateVerdict, MatchedExamples]:
    """Judge a run against the one that the rules name, with the examples that both answered."""
    if which == HERE:
        _require_run()
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


def _require_run() -> None:
    """Refuse a result that was made with other settings or code than those that are here: nobody ran the change."""
    if not Path(LOCK).is_file():
        return
    with dvc.asking_status() as status:
        changes = list_changes(status())
    for stage, paths in changes.items():
        for path, how in paths.items():
            if how != "deleted" and not path.startswith(NOT_IN_GIT):
                named = f"{', '.join(how)} of {path}" if isinstance(how, dict) else path
                raise WorkspaceError(
                    f"{LOCK}: {stage} was not run with the {named} that is here; run `bakeoff repro` and commit "
                    f"{LOCK}, or name the run to judge"
                )


def _select(against: str, gathered: Gathered) -> Contender:
    try:
        return select_one(against, gathered)
    except WorkspaceError as error:
        if git.is_shallow() and git.commit(against) is None:
            raise WorkspaceError(
                f"--against: {against!r} is not in this clone, which is shallow; "
                "`git fetch --unshallow` brings the rest (in a workflow: fetch-depth: 0)"
            ) from error
        if git.commit(against):
            raise WorkspaceError(
                f"--against: {against}: this commit holds no result; run `bakeoff repro` there and commit {LOCK}"
            ) from error
        if git.commit(f"origin/{against}"):
            raise WorkspaceError(
                f"--against: no run is known as {against!r}, and no branch of this clone; `--against origin/{against}` "
                "takes that of the remote"
            ) from error
        raise
