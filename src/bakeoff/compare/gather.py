"""Journals and the MLflow store -> every run that can be compared, each once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import yaml

from bakeoff.compare.contender import Contender
from bakeoff.compare.entering import contender_of, is_sweep
from bakeoff.errors import WorkspaceError, choices
from bakeoff.run.options import Mlflow
from bakeoff.runs.known import KnownRun, known_runs
from bakeoff.tracking import journaled
from bakeoff.tracking.dispatch import is_sent
from bakeoff.tracking.reading import Store, runs_in
from bakeoff.tracking.reconcile import reconcile
from bakeoff.tracking.stored_run import StoredRun
from bakeoff.tracking.target import Target
from bakeoff.workspace import RUN


@dataclass(frozen=True)
class Gathered:
    """What every run is; `filled` reads the params and numbers of those that are wanted."""

    runs: Sequence[StoredRun]
    target: Target
    remarks: Sequence[str] = ()
    store: Store | None = None
    in_store: frozenset[str] = frozenset()
    known: Mapping[str, KnownRun] = field(default_factory=dict)  # in flight, by our id
    has_local: bool = True  # whether what is in this clone counts, or one store alone

    def own(self) -> list[StoredRun]:
        """Of this project, without those that are nothing but the head of others, such as a sweep's."""
        heads = {run.parent for run in self.runs if run.parent}
        return [
            run for run in self.runs
            if run.mlflow_experiment == self.target.experiment and not run.is_deleted
            and run.run_id not in heads and not is_sweep(run.run_id)
        ]  # fmt: skip

    def filled(self, runs: Sequence[StoredRun], *, by_class: bool = False) -> list[Contender]:
        """In the same order. What the store has not whole is read from its journal."""
        folders = journaled.journal_folders() if self.has_local else {}
        runs = [replace(run, journal=folders[run.run_id]) if run.run_id in folders else run for run in runs]
        stored = [run for run in runs if self._is_in_store(run)]
        full = {run.run_id: run for run in self.store.filled(stored, by_class=by_class)} if self.store else {}
        for run in runs:
            if run.run_id not in full and run.journal:
                full[run.run_id] = journaled.journaled_in_full(run.journal)
        return [contender_of(full[run.run_id], self.known.get(run.run_id)) for run in runs]

    def _is_in_store(self, run: StoredRun) -> bool:
        return run.run_id in self.in_store and (run.journal is None or is_sent(run.journal, self.target))


def gather(uri: str | None = None, experiment: str | None = None) -> Gathered:
    """With `uri` or `experiment` of that store alone, else also of what was told of here and no store has yet.

    What is in the workspace and nobody told of is told of first.
    """
    reconcile()
    target, has_local = _own_target(uri, experiment), not (uri or experiment)
    remarks, found, trouble = [], None, None
    try:
        found = runs_in(target)
    except WorkspaceError as error:
        trouble = error
    if found is None and uri and not trouble:
        raise WorkspaceError(f"{target.shown}: must be a store, got no such file")
    store, stored = found or (None, [])
    in_store = frozenset(run.run_id for run in stored)
    told = journaled.journaled_runs(in_store) if has_local else []
    if trouble and not told:
        raise trouble
    if trouble:
        remarks.append(f"{trouble}; compared is what the journals of this clone hold")
    names = {str(run.mlflow_experiment) for run in stored}
    if experiment and experiment not in names:
        raise WorkspaceError(
            f"--experiment: must have runs in {target.shown}, got {experiment!r}; {choices(experiment, names)}"
        )
    # The newest first, of those that began at once the one that was told of last.
    runs = sorted(reversed([*stored, *told]), key=lambda run: -(run.began or 0))
    known = {run.said.run_id: run for run in known_runs() if run.said and run.said.run_id}
    return Gathered(runs, target, remarks, store, in_store, known, has_local)


def _own_target(uri: str | None, experiment: str | None) -> Target:
    try:
        track = (yaml.safe_load(_track_lines(RUN.read_text(encoding="utf-8"))) or {}).get("track") or {}
    except (OSError, ValueError, yaml.YAMLError, AttributeError):
        track = {}
    own = Mlflow(track.get("experiment") or Mlflow.experiment, uri or track.get("uri"))
    return Target.of(replace(own, experiment=experiment) if experiment else own)


def _track_lines(text: str) -> str:
    """The one group that is needed, of a file that takes long to read."""
    found = text.partition("\ntrack:")[2]
    lines = []
    for line in found.splitlines()[1:]:
        if not line.startswith(" "):
            break
        lines.append(line)
    return "\n".join(["track:", *lines])
