"""A run's name -> what is to be made again, and what came of it the first time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.foundation import git
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import parse_json
from bakeoff.foundation.workspace import DVC_EXPERIMENT
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.find_run import TrackedRun, find_run, target_here
from bakeoff.tracking.resolve_name import find_tracked
from bakeoff.tracking.restored_results import MADE_BY, REUSED
from bakeoff.tracking.results.measurements import run_id_of
from bakeoff.tracking.results.results import name_of, parse_yaml, result_of
from bakeoff.tracking.tracker import CHANGES, CHANGES_TAG

NO_COMMIT = "none"


@dataclass(frozen=True)
class Recorded:
    """What is not known is None or empty."""

    called: str  # the name by which the user asked for the run
    commit: str | None
    patch: bytes | None = None  # what was not committed
    patch_sha256: str | None = None  # as the run said; `none` if it had none
    is_dirty: bool = False
    run_yaml: Mapping[str, Any] = field(default_factory=dict)
    records_digest: str | None = None
    state: TrainedState = field(default_factory=TrainedState)
    history: tuple[Mapping[str, Any], ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    experiment: str | None = None  # DVC's, whose commit holds the changes as well
    tracked: TrackedRun | None = None
    remarks: tuple[str, ...] = ()

    @property
    def run_id(self) -> str | None:
        return (self.tracked.run_id if self.tracked else None) or run_id_of(self.state)

    @property
    def variant(self) -> str:
        return name_of(self.run_yaml)


def recorded(name: str) -> Recorded:
    """Find a run by any of its names; a DVC experiment is its own commit."""
    if name in git.experiments():
        return _of_revision(name)
    names = find_tracked(name, target_here())
    if names.revision:
        return _of_revision(name)
    run = find_run(names.run_id)
    if run is None:  # the workspace has the result, and no store has the run
        raise WorkspaceError(f"{name}: was not tracked, so its commit is not known; name the commit that holds it")
    return _of_tracked(name, run)


def _of_tracked(name: str, run: TrackedRun) -> Recorded:
    remarks: tuple[str, ...] = ()
    if run.tags.get(REUSED):  # DVC took it from its cache; there is nothing in it to make again
        made_by = run.tags.get(MADE_BY, "")
        maker = find_run(made_by) if made_by else None
        if maker is None:
            raise WorkspaceError(f"{name}: was restored by DVC, and the run that made it ({made_by}) is not known here")
        remarks, run = (f"DVC restored it; what is made again is the run that made it, {made_by}",), maker
    commit, experiment = run.tags.get("bakeoff.git_commit", NO_COMMIT), run.tags.get(DVC_EXPERIMENT)
    patch = run.read(CHANGES) if run.tags.get(CHANGES_TAG) != NO_COMMIT else None
    if commit == NO_COMMIT and experiment in git.experiments():
        return _of_revision(experiment)
    return Recorded(
        name, None if commit == NO_COMMIT else commit, patch, run.tags.get(CHANGES_TAG),
        run.tags.get("bakeoff.git_dirty") == "true", parse_yaml(run.read("config/run.yaml")),
        run.tags.get("bakeoff.records_digest"), _state_of(run),
        read_lines(run.read("train/history.jsonl")), parse_json(run.read("evaluation/metrics.json")), run.tags, None,
        run, remarks,
    )  # fmt: skip


def _of_revision(name: str) -> Recorded:
    """A DVC experiment's commit holds code, params.yaml and conf/ as they were run with, committed or not."""
    result = result_of(name)
    run = find_run(result.run_id) if result.run_id else None
    tags = run.tags if run else {}
    state, history = result.state, read_lines(result.history.encode())
    if run and not state.is_known:
        state, history = _state_of(run), read_lines(run.read("train/history.jsonl"))
    return Recorded(
        name, git.commit_of(name) or git.commit(name), None, NO_COMMIT, False, result.variant,
        tags.get("bakeoff.records_digest"), state, history, result.metrics, tags, name, run,
    )  # fmt: skip


def _state_of(run: TrackedRun) -> TrainedState:
    return TrainedState.from_tree(parse_json(run.read("train/state.json")))


def read_lines(content: bytes | None) -> tuple[dict[str, Any], ...]:
    """Return the lines of a history that can be read."""
    return tuple(entry for line in (content or b"").splitlines() if (entry := parse_json(line)))
