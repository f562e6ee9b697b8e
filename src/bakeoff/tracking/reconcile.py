"""Results that DVC restored -> runs. DVC runs no code then, so the next command that looks does this.

A result that comes back gets a run of its own, marked `bakeoff.reused`, with its numbers and the run that made it. A
result that was made elsewhere is told of from its files, marked `bakeoff.restored`.
"""

from dataclasses import fields

from bakeoff.run.options import Mlflow
from bakeoff.tracking import git, ledger
from bakeoff.tracking.dispatch import all_journals, is_running, start_sender, unsent
from bakeoff.tracking.interrupted import tell_interrupted
from bakeoff.tracking.journal import FILE, Journal
from bakeoff.tracking.restore import restore, tell
from bakeoff.tracking.result import Result, result_here, result_of
from bakeoff.tracking.target import Target, target_in
from bakeoff.tracking.tracker import POINT_OF_A_SWEEP, new_run_id
from bakeoff.workspace import journals

REUSED, MADE_BY, MADE_BY_IN_MLFLOW = "bakeoff.reused", "bakeoff.made_by", "bakeoff.made_by_mlflow_run"


def reconcile() -> None:
    """Tell of the results in the workspace and in DVC's experiments of which nobody told, and of killed runs."""
    tell_interrupted()
    here = result_here()
    if here.run_id and _target(here):
        journals().mkdir(parents=True, exist_ok=True)
    if not journals().is_dir():
        return
    with ledger.lock():
        told = [_tell_of_experiment(name) for name in git.experiments() if name not in ledger.experiments()]
        last, target = ledger.last_here(), _target(here)
        if not here.run_id or not target or last == here.run_id:
            return
        _restore_unknown(here, target)
        is_back = last is not None and here.run_id not in told and not ledger.is_of_an_experiment(here.run_id)
        if is_back:
            _tell_reused(here, target)
        ledger.note(here.run_id)


def send_beside() -> None:
    """Start what sends, for every store that lacks something."""
    targets = {target_in(folder) for folder in all_journals()}
    for target in filter(None, targets):
        if unsent(target) and not is_running(target.key):
            start_sender(target.key)


def _tell_of_experiment(name: str) -> str | None:
    """One that told nothing took everything from the cache. Returns the run that made its result."""
    result = result_of(name)
    target = _target(result)
    if result.run_id and target:
        if not _restore_unknown(result, target):
            _tell_reused(result, target)
    ledger.note(result.run_id or "", experiment=name, here=False)
    return result.run_id


def _restore_unknown(result: Result, target: Target) -> bool:
    """Whether the run that made it was told of only now."""
    assert result.run_id
    if (journals() / result.run_id / FILE).is_file():
        return False
    journal = Journal(result.run_id)
    target.write(journal.folder)
    restore(journal, result, _settings(result) or Mlflow())
    journal.close()
    return True


def _tell_reused(result: Result, target: Target) -> None:
    assert result.run_id
    journal = Journal(new_run_id())
    target.write(journal.folder)
    journal.run(f"{result.name} (reused)")
    if sweep := POINT_OF_A_SWEEP.fullmatch(result.experiment or ""):
        journal.parent(sweep[1])
    journal.tags({REUSED: "true", MADE_BY: result.run_id})
    journal.link(MADE_BY_IN_MLFLOW, result.run_id)
    tell(journal, result)
    journal.state("FINISHED")
    journal.close()


def _target(result: Result) -> Target | None:
    """None if the variant is not tracked."""
    settings = _settings(result)
    return Target.of(settings) if settings else None


def _settings(result: Result) -> Mlflow | None:
    """Those that another version of this program knows more or less of are left at their defaults."""
    track = dict(result.variant.get("track") or {})
    if track.pop("kind", None) != "mlflow":
        return None
    return Mlflow(**{field.name: track[field.name] for field in fields(Mlflow) if field.name in track})
