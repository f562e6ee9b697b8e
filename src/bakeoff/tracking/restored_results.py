"""Results that DVC restored -> runs. DVC runs no code then, so the next command that lists runs does this.

A result that comes back gets a run of its own, marked `bakeoff.reused`, with its numbers and the run that made it. A
result that was made elsewhere is written from its files, marked `bakeoff.restored`.
"""

from dataclasses import fields

from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation import git
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.notes import report_notes_here
from bakeoff.tracking.results.results import (
    Result,
    last_here,
    note_result,
    read_ledger,
    result_here,
    result_of,
)
from bakeoff.tracking.results.run_id import SWEEP_EXPERIMENT
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.sync.sync_status import report_interrupted, where_allowed

REUSED, MADE_BY, MADE_BY_IN_MLFLOW = "bakeoff.reused", "bakeoff.made_by", "bakeoff.made_by_mlflow_run"


@where_allowed()
def reconcile() -> None:
    """Write journals for results of the workspace and of DVC's experiments that have none, and report killed runs."""
    report_interrupted()
    here = result_here()
    if here.run_id and _target_of(here):
        journals().mkdir(parents=True, exist_ok=True)
    if not journals().is_dir():
        return
    from filelock import FileLock

    with FileLock(journals() / "ledger.lock"):
        noted = {row.get("experiment") for row in read_ledger()}
        reported = [_report_experiment(name) for name in dict.fromkeys(git.experiments()) if name not in noted]
        last, target = last_here(), _target_of(here)
        if target:
            report_notes_here()
        if not here.run_id or not target or last == here.run_id:
            return
        _restore_unknown(here, target)
        was_here = [row["here"] for row in read_ledger() if row["run"] == here.run_id]
        is_of_an_experiment = bool(was_here) and not any(was_here)  # made in a copy of the workspace, and never here
        if last is not None and here.run_id not in reported and not is_of_an_experiment:
            _report_reused(here, target)
        note_result(here.run_id)


def _report_experiment(name: str) -> str | None:
    """Write the journal of an experiment that wrote none, because DVC took everything from its cache. Return the run
    that made its result.
    """
    result = result_of(name)
    target = _target_of(result)
    if result.run_id and target and not _restore_unknown(result, target):
        _report_reused(result, target)
    note_result(result.run_id or "", experiment=name, here=False)
    return result.run_id


def _restore_unknown(result: Result, target: Target) -> bool:
    """Return whether the run that made the result got its journal only now."""
    from bakeoff.tracking.tracker import restore

    assert result.run_id
    if (journals() / result.run_id / FILE).is_file():
        return False
    journal = Journal(result.run_id)
    target.write(journal.folder)
    restore(journal, result, _settings_of(result) or Mlflow())
    journal.close()
    return True


def _report_reused(result: Result, target: Target) -> None:
    from bakeoff.tracking.tracker import new_run_id, report_result

    assert result.run_id
    journal = Journal(new_run_id())
    target.write(journal.folder)
    journal.run(f"{result.name} (reused)")
    if sweep := SWEEP_EXPERIMENT.fullmatch(result.experiment or ""):
        journal.parent(sweep[1])
    journal.tags({REUSED: "true", MADE_BY: result.run_id})
    journal.link(MADE_BY_IN_MLFLOW, result.run_id)
    report_result(journal, result)
    journal.state("FINISHED")
    journal.close()


def _target_of(result: Result) -> Target | None:
    """Return None if the variant is not tracked."""
    settings = _settings_of(result)
    return Target.from_settings(settings) if settings else None


def _settings_of(result: Result) -> Mlflow | None:
    """Read them; those that another version of this program knows more or less of are left at their defaults."""
    track = dict(result.variant.get("track") or {})
    if track.pop("kind", None) != "mlflow":
        return None
    return Mlflow(**{field.name: track[field.name] for field in fields(Mlflow) if field.name in track})
