"""Results that DVC restored -> runs. DVC runs no code then, so the next command that looks does this.

A result that comes back gets a run of its own, marked `bakeoff.reused`, with its numbers and the run that made it. A
result that was made elsewhere is told of from its files, marked `bakeoff.restored`.
"""

import json
from pathlib import Path
from typing import Any

import yaml

from bakeoff.tracking import ledger
from bakeoff.tracking.dispatch import all_journals, is_running, start_sender, unsent
from bakeoff.tracking.journal import FILE, Journal
from bakeoff.tracking.restore import restore, run_name, tell_results
from bakeoff.tracking.settings import Mlflow
from bakeoff.tracking.target import Target, target_in
from bakeoff.tracking.tracker import new_run_id
from bakeoff.workspace import RUN, TRAINED, journals

REUSED, MADE_BY, MADE_BY_IN_MLFLOW = "bakeoff.reused", "bakeoff.made_by", "bakeoff.made_by_mlflow_run"


def reconcile() -> None:
    """Tell of the result in the workspace if nobody told of it."""
    current, target = _trained_run(), _target()
    if current is None or target is None:
        return
    journals().mkdir(parents=True, exist_ok=True)
    with ledger.lock():
        last = ledger.last_here()
        if last == current:
            return
        if not (journals() / current / FILE).is_file():
            journal = Journal(current)
            target.write(journal.folder)
            restore(journal)
            journal.close()
        if last is not None and not ledger.is_of_an_experiment(current):
            _tell_reused(current, target)
        ledger.note(current)


def send_beside() -> None:
    """Start what sends, for every store that lacks something."""
    targets = {target_in(folder) for folder in all_journals()}
    for target in filter(None, targets):
        if unsent(target) and not is_running(target.key):
            start_sender(target.key)


def _tell_reused(made_by: str, target: Target) -> None:
    journal = Journal(new_run_id())
    target.write(journal.folder)
    journal.run(f"{run_name()} (reused)")
    journal.tags({REUSED: "true", MADE_BY: made_by})
    journal.link(MADE_BY_IN_MLFLOW, made_by)
    tell_results(journal)
    if RUN.is_file():
        journal.file(RUN, f"config/{RUN.name}")
    journal.state("FINISHED")
    journal.close()


def _trained_run() -> str | None:
    return _read(TRAINED / "state.json", json.loads).get("run_id")


def _target() -> Target | None:
    """Of the variant in the workspace; None if it is not tracked."""
    track = _read(RUN, yaml.safe_load).get("track") or {}
    if track.get("kind") != "mlflow":
        return None
    return Target.of(Mlflow(experiment=str(track.get("experiment")), uri=track.get("uri")))


def _read(path: Path, parse: Any) -> dict[str, Any]:
    try:
        return parse(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError):
        return {}
