"""Journals, the MLflow store and result folders -> every run that can be compared, each once, as contenders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bakeoff.experiments.compare.run_row import Contender, Cost
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.foundation.formatting import as_number
from bakeoff.foundation.workspace import DVC_EXPERIMENT
from bakeoff.learning.checkpoints.trained_state import SUCCEEDED
from bakeoff.tracking.find_run import target_here
from bakeoff.tracking.journal.journal_folder import NOTE
from bakeoff.tracking.restored_results import MADE_BY, REUSED, reconcile
from bakeoff.tracking.results.measurements import measured_of
from bakeoff.tracking.results.results import Result
from bakeoff.tracking.results.run_id import RESTORED, SWEEP_EXPERIMENT
from bakeoff.tracking.store import stored_run
from bakeoff.tracking.store.mlflow_names import is_of_all_classes, option_in_params
from bakeoff.tracking.store.read_runs import RunStore, Wanted, runs_in
from bakeoff.tracking.store.stored_run import StoredRun
from bakeoff.tracking.store.target import Target, is_sent

STATES = {"FINISHED": "SUCCEEDED", "KILLED": "STOPPED"}  # MLflow's states in ours; the others are the same
CHANGED = "changed."
JUDGED_ON = "bakeoff.judged_on."  # before the name of an evaluation: a tag with the digest of its split
LATENCY = "export/saved_model.latency_ms"  # the one form that every run is exported in


@dataclass(frozen=True)
class Gathered:
    """What every run is; `fill` reads the params and numbers of those that are wanted."""

    runs: Sequence[StoredRun]
    target: Target
    remarks: Sequence[str] = ()
    store: RunStore | None = None
    in_store: frozenset[str] = frozenset()
    known: Mapping[str, KnownRun] = field(default_factory=dict)  # in flight, by our id
    has_local: bool = True  # whether what is in this clone counts, or one store alone

    def project_runs(self) -> list[StoredRun]:
        """List those of this project, without the heads of others, such as a sweep's own run."""
        heads = {run.parent for run in self.runs if run.parent}
        return [
            run
            for run in self.runs
            if run.mlflow_experiment == self.target.experiment
            and not run.is_deleted
            and run.run_id not in heads
            and not is_sweep(run.run_id)
        ]

    def fill(self, runs: Sequence[StoredRun], wanted: Wanted = is_of_all_classes) -> list[Contender]:
        """Read these runs with the numbers that are wanted, in the same order. A journal has what the store lacks."""
        folders = stored_run.journal_folders() if self.has_local else {}
        runs = [replace(run, journal=folders[run.run_id]) if run.run_id in folders else run for run in runs]
        stored = [run for run in runs if self._is_in_store(run)]
        full = {run.run_id: run for run in self.store.filled(stored, wanted)} if self.store else {}
        for run in runs:
            if run.run_id not in full and run.journal:
                full[run.run_id] = stored_run.journaled_in_full(run.journal)
        return [contender_of(full[run.run_id], self.known.get(run.run_id)) for run in runs]

    def maker_of(self, contender: Contender) -> Contender:
        """Return the run whose result DVC's cache gave to this one, for it has the files; else this one itself."""
        made = [run for run in self.project_runs() if run.run_id == contender.reused_from]
        return self.fill(made)[0] if made else contender

    def _is_in_store(self, run: StoredRun) -> bool:
        return run.run_id in self.in_store and (run.journal is None or is_sent(run.journal, self.target))


def gather(uri: str | None = None, experiment: str | None = None) -> Gathered:
    """Read which runs there are: with `uri` or `experiment` those of that store alone, else also those whose journal is
    here and which no store has yet. What is in the workspace and has no journal gets one first."""
    reconcile()
    target, has_local = target_here(uri, experiment), not (uri or experiment)
    remarks, stored_runs, trouble = [], None, None
    try:
        stored_runs = runs_in(target)
    except WorkspaceError as error:
        trouble = error
    if stored_runs is None and uri and not trouble:
        raise WorkspaceError(f"{target.shown}: must be a store, got no such file")
    store, stored = stored_runs or (None, [])
    in_store = frozenset(run.run_id for run in stored)
    journaled = stored_run.journaled_runs(in_store) if has_local else []
    if trouble and not journaled:
        raise trouble
    if trouble:
        remarks.append(f"{trouble}; compared is what the journals of this clone hold")
    names = {str(run.mlflow_experiment) for run in stored}
    if experiment and experiment not in names:
        raise WorkspaceError(
            f"--experiment: must have runs in {target.shown}, got {experiment!r}; {choices(experiment, names)}"
        )
    # The newest first, of those that began at once the one that was journaled last.
    runs = sorted(reversed([*stored, *journaled]), key=lambda run: -(run.began or 0))
    known = {run.status.run_id: run for run in known_runs() if run.status and run.status.run_id}
    return Gathered(runs, target, remarks, store, in_store, known, has_local)


def contender_of(run: StoredRun, known: KnownRun | None) -> Contender:
    """Turn what a store or a journal holds into a contender; `known` is what its process reports, on this machine."""
    tags = run.tags
    state = tags.get("bakeoff.state") or STATES.get(run.status, run.status)
    changed = {key.removeprefix(CHANGED): value for key, value in tags.items() if key.startswith(CHANGED)}
    return Contender(
        run.run_id, run.name, known.state.value if known else state, name_as_in_params({**run.params, **changed}),
        run.metrics, _cost(run, known), began=run.began, experiment=tags.get(DVC_EXPERIMENT) or None,
        sweep=sweep_in(run), commit=tags.get("bakeoff.git_commit") or tags.get("mlflow.source.git.commit"),
        is_dirty=tags.get("bakeoff.git_dirty") == "true", records=tags.get("bakeoff.records_digest"),
        judged_on={key.removeprefix(JUDGED_ON): digest for key, digest in tags.items() if key.startswith(JUDGED_ON)},
        reused_from=tags.get(MADE_BY) if tags.get(REUSED) else None, mlflow_id=run.mlflow_id,
        mlflow_experiment=run.mlflow_experiment, artifacts=run.artifacts, page=run.page, journal=run.journal,
        note=tags.get(NOTE),
    )  # fmt: skip


def contender_of_result(result: Result, name: str, files: Path | None) -> Contender:
    """Turn a result that no store knows into a contender; `name` is what the user called it."""
    metrics = {key: value for _, values in result.points() for key, value in values.items()}
    state, measured = result.state, measured_of(result.state)
    return Contender(
        result.run_id or name, result.name, state.state or (SUCCEEDED if state.is_known else ""),
        name_as_in_params(result.params), metrics, Cost(measured.get("seconds"), measured.get("peak_memory_bytes")),
        experiment=result.experiment, sweep=sweep_of(result.experiment), files=files, revision=None if files else name,
        note=result.variant.get("note"),
    )  # fmt: skip


def name_as_in_params(params: Mapping[str, str]) -> dict[str, str]:
    """Call options by the names that params.yaml has for them."""
    return {option_in_params(key): value for key, value in params.items()}


def sweep_in(run: StoredRun) -> str | None:
    """Return the sweep of a run. One that DVC's cache gave has no sweep in MLflow; its experiment's name has it."""
    return run.tags.get("bakeoff.sweep") or run.parent or sweep_of(run.tags.get(DVC_EXPERIMENT))


def sweep_of(experiment: str | None) -> str | None:
    match = SWEEP_EXPERIMENT.fullmatch(experiment or "")
    return match[1] if match else None


def is_sweep(run_id: str) -> bool:
    """A sweep's own run has the sweep's name for an id."""
    return sweep_of(f"{run_id}-1") is not None


def _cost(run: StoredRun, known: KnownRun | None) -> Cost:
    tags = run.tags
    seconds = as_number(tags.get("bakeoff.seconds"))
    if seconds is None and known and known.status:
        seconds = known.status.training_seconds or None
    if seconds is None and run.began and run.ended and not (tags.get(REUSED) or tags.get(RESTORED)):
        seconds = (run.ended - run.began) / 1000  # with what was before and after the steps
    drops = [value for name, value in run.metrics.items() if name.startswith("export/") and name.endswith(".drop")]
    return Cost(
        seconds,
        as_number(tags.get("bakeoff.peak_memory_bytes")),
        run.metrics.get("export/bytes"),
        run.metrics.get(LATENCY),
        max(drops, default=None),
    )
