"""What the user names -> runs: ids, experiments, sweeps, paths, git's revisions; and `lr.use=cosine`,
`validation/mAP_50>0.5` -> which of them are meant, in the order that `--sort` asks for."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.experiments.compare.group_seeds import add_configurations
from bakeoff.experiments.compare.load_runs import Gathered, contender_of_result, sweep_in
from bakeoff.experiments.compare.run_row import Contender, choose_evaluation, names_in
from bakeoff.foundation import git
from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.foundation.formatting import as_number
from bakeoff.foundation.workspace import DVC_EXPERIMENT, RUN
from bakeoff.tracking.resolve_name import candidates, require_one, unknown
from bakeoff.tracking.results.results import result_here, result_of
from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from bakeoff.tracking.store.mlflow_names import is_of_all_classes
from bakeoff.tracking.store.read_runs import Wanted
from bakeoff.tracking.store.stored_run import StoredRun

NOTHING = "no run is known here yet; `dvc repro` makes one"
FORM = re.compile(r"\s*([^=<>!\s]+)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*")
ORDERED: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def select_named(gathered: Gathered, names: Sequence[str], wanted: Wanted = is_of_all_classes) -> list[Contender]:
    """Find what the user names, each run once, in the order of the names."""
    matches = [one for name in names for one in _find(name, gathered)]
    stored = [one for one in matches if isinstance(one, StoredRun)]
    filled = {one.run_id: one for one in gathered.fill(stored, wanted)}
    contenders = [filled[one.run_id] if isinstance(one, StoredRun) else one for one in matches]
    return list({one.run_id: one for one in contenders}.values())


def select_one(name: str, gathered: Gathered) -> Contender:
    matching = select_named(gathered, [name])
    if len(matching) != 1:
        raise WorkspaceError(f"{name}: must name one run, got the {len(matching)} of a sweep")
    return matching[0]


def select_sweep(
    gathered: Gathered, name: str, planned: Sequence[Contender] = (), wanted: Wanted = is_of_all_classes
) -> list[Contender]:
    """Find the runs of a sweep, those that DVC's cache gave, and those of the `planned` ones without a run."""
    own = gathered.project_runs()
    runs = [run for run in own if sweep_in(run) == name]
    if not runs and not planned:
        sweeps = {sweep for run in own if (sweep := sweep_in(run))}
        raise WorkspaceError(f"--sweep: no sweep {name!r} has runs; {choices(name, sweeps)}")
    return add_configurations(gathered.fill(runs[::-1], wanted), planned)


def select_recent(gathered: Gathered, number: int | None, wanted: Wanted = is_of_all_classes) -> list[Contender]:
    """Find the newest; a result that DVC's cache gave again is no other than the one that it was."""
    own, untracked = gathered.project_runs(), _find_untracked(gathered)
    if not own and not untracked:
        _require_no_others(gathered)
        raise WorkspaceError(NOTHING)
    ids = {run.run_id for run in own}
    once = [run for run in own if run.tags.get("bakeoff.made_by") not in ids]
    return [*gathered.fill(once[:number], wanted), *untracked][:number]


def _find_untracked(gathered: Gathered) -> list[Contender]:
    """Results of variants that are not tracked: the workspace's, and those of DVC's experiments."""
    if not gathered.has_local:
        return []
    known = {run.run_id for run in gathered.runs}
    known_experiments = {run.tags.get(DVC_EXPERIMENT) for run in gathered.runs}
    results = [
        (result_here(), None, Path()),
        *((result_of(name), name, None) for name in git.experiments() if name not in known_experiments),
    ]
    contenders = [
        contender_of_result(result, name or result.name, folder)
        for result, name, folder in results
        if result.run_id and result.run_id not in known
    ]
    return list({contender.run_id: contender for contender in contenders}.values())


def _require_no_others(gathered: Gathered) -> None:
    if others := sorted({str(run.mlflow_experiment) for run in gathered.runs if not run.is_deleted}):
        raise WorkspaceError(
            f"experiment {gathered.target.experiment!r} has no runs in {gathered.target.shown}; "
            f"--experiment chooses another: {', '.join(others)}"
        )


def _find(name: str, gathered: Gathered) -> list[StoredRun | Contender]:
    own = gathered.project_runs()
    if of_sweep := [run for run in own if sweep_in(run) == name]:
        return list(of_sweep[::-1])
    if matches := candidates(name, own):
        return [require_one(name, matches)]
    _require_own(name, gathered)
    if elsewhere := _from_files(name, gathered):
        return [elsewhere]
    raise unknown(name, own, " or a sweep or a workspace's folder")


def _require_own(name: str, gathered: Gathered) -> None:
    """Refuse a run that is there, but cannot be compared, with the reason."""
    for run in candidates(name, gathered.runs):
        if run.is_deleted:
            back = f"`mlflow runs restore --run-id {run.mlflow_id}` brings it back"
            raise WorkspaceError(f"{name}: this run was deleted in MLflow; {back}")
        if run.mlflow_experiment != gathered.target.experiment:
            raise WorkspaceError(
                f"{name}: must be a run of experiment {gathered.target.experiment!r}, got one of "
                f"{run.mlflow_experiment!r}; --experiment {run.mlflow_experiment} compares those"
            )


def _from_files(name: str, gathered: Gathered) -> StoredRun | Contender | None:
    folder = Path(name)
    if folder.exists():
        root = next((place for place in (folder, *folder.resolve().parents) if (place / RUN).is_file()), None)
        if root is None:
            raise WorkspaceError(f"{name}: must be in a folder with {RUN.as_posix()}, got one without")
        result, files = result_here(root), root
    else:
        result, files = result_of(name), None
    if not result.run_yaml:
        return None
    known = next((run for run in gathered.project_runs() if run.run_id == result.run_id), None)
    if known:
        return known
    contender = contender_of_result(replace(result, experiment=None), name, files)
    if not contender.metrics:
        raise WorkspaceError(f"{name}: has no results: {RUN.as_posix()} is there, but nothing was trained of it")
    return contender


@dataclass(frozen=True)
class Condition:
    key: str
    sign: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "Condition":
        match = FORM.fullmatch(text)
        if not match or not match[3]:
            raise WorkspaceError(
                f"--filter: must be a key, one of = != > >= < <= and a value, such as lr.use=cosine or mAP_50>0.5, "
                f"got {text!r}"
            )
        condition = cls(*match.groups())
        if condition.sign in ORDERED and as_number(condition.value) is None:
            raise WorkspaceError(f"--filter: must compare with a number after {condition.sign}, got {text!r}")
        return condition

    def holds(self, contender: Contender) -> bool:
        """It never holds of a run that has no such value."""
        value = contender.value(self.key)
        if value is None:
            return False
        one, other = as_number(value), as_number(self.value)
        if self.sign in ORDERED:
            return one is not None and other is not None and ORDERED[self.sign](one, other)
        same = one == other if one is not None and other is not None else str(value) == self.value
        return same == (self.sign == "=")


def choose_evaluations(contenders: Sequence[Contender], name: str) -> list[Contender]:
    """Compare runs by the results of `bakeoff evaluate`, of which one at least was judged so."""
    if not any(name in one.judged_on for one in contenders):
        known = {known for one in contenders for known in one.judged_on}
        judged = "`bakeoff evaluate RUN` judges runs on the test"
        raise WorkspaceError(f"--on: no run was judged on {name!r}; {choices(name, known)}; {judged}")
    return [choose_evaluation(one, name) for one in contenders]


def require_judged(contenders: Sequence[Contender], name: str) -> None:
    """Refuse an evaluation that one of them lacks."""
    for one in contenders:
        if name not in one.judged_on:
            raise WorkspaceError(
                f"--on: {one.label} was not judged on {name!r}; {choices(name, set(one.judged_on))}; "
                f"`bakeoff evaluate {one.run_id[:SHOWN_OF_ID]}` judges it on the test"
            )


def require_known(option: str, key: str, contenders: Sequence[Contender]) -> None:
    """Refuse a key that no run has: it is a slip."""
    if not any(contender.value(key) is not None for contender in contenders):
        known = {name for one in contenders for name in (*one.facts(), *one.params, *names_in(one.metrics))}
        raise WorkspaceError(f"{option}: no run has {key!r}; {choices(key, known)}")


def require_metric(name: str, contenders: Sequence[Contender]) -> None:
    if not any(one.has_number(name) for one in contenders):
        known = {known for one in contenders for known in names_in(one.metrics)}
        raise WorkspaceError(f"--metric: no run has {name!r}; {choices(name, known)}")


def sort_best_first(contenders: Sequence[Contender], key: str) -> list[Contender]:
    """Put the best first, of what is neither good nor bad the highest, and those without a value last."""
    values = [contender.value(key) for contender in contenders]
    numbers = [as_number(value) for value in values]
    if all(number is not None for number, value in zip(numbers, values, strict=True) if value is not None):
        sign = 1.0 if is_higher_better(key) is False else -1.0
        ranks: list[tuple[bool, Any]] = [(number is None, sign * (number or 0.0)) for number in numbers]
    else:
        ranks = [(value is None, str(value)) for value in values]
    return [contenders[at] for at in sorted(range(len(values)), key=ranks.__getitem__)]
