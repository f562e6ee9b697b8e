"""What the user names -> what is judged: weights with what builds their network anew, a SavedModel, a .tflite."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff.dataset.records.manifest import FILE as MANIFEST
from bakeoff.experiments.compare.load_runs import Gathered, gather
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.compare.select_runs import select_named
from bakeoff.export.settings import REPORT
from bakeoff.foundation import git, workspace
from bakeoff.foundation.files import read_json, read_text
from bakeoff.inference.predict.select_model import (
    WEIGHTS,
    WEIGHTS_SUFFIX,
    Trained,
    build_trained,
    fetch_run,
    find_model,
    labels_of,
    nothing_trained,
    state_in_mlflow,
)
from bakeoff.learning.checkpoints.trained_state import STATE, TrainedState
from bakeoff.tracking.results.results import parse_yaml, result_here, result_of
from bakeoff.tracking.results.run_id import SHOWN_OF_ID, Names


@dataclass(frozen=True)
class EvaluatedModel:
    """Something that answers, and what is known of how it came to be."""

    name: str  # as people know it
    source: Path | Trained
    run_id: str | None = None  # ours; None of a file that belongs to no run
    run_name: str | None = None  # if the store has the run, and the workspace has another one
    state: TrainedState = field(default_factory=TrainedState)  # of its training
    records: str | None = None  # the digest of all that it was trained on, if anybody knows it

    def name_folder(self, digest: str) -> str:
        """Name the folder of its results; a file is told from others of its name by what it holds."""
        if self.run_id:
            return self.run_id[:SHOWN_OF_ID]
        return f"{Path(self.name).resolve().name.removesuffix(WEIGHTS_SUFFIX)}-{digest[:SHOWN_OF_ID]}"

    @property
    def step(self) -> int:
        return self.state.step or 0


def find_candidates(names: Sequence[str]) -> list[EvaluatedModel]:
    """Return each run or file; without a name, what was trained here; of a sweep, all its configurations."""
    if not names:
        return [_find_own(Path())]
    files = {name: file for name in names if (file := _find_file(name))}
    gathered = gather() if len(files) < len(names) else None
    candidates: list[EvaluatedModel] = []
    for name in names:
        if name in files:
            candidates.append(files[name])
        elif gathered:
            candidates += [_convert_contender(one, gathered) for one in select_named(gathered, [name])]
    return list({candidate.run_id or candidate.name: candidate for candidate in candidates}.values())


def _find_file(name: str) -> EvaluatedModel | None:
    """A folder with a run.yaml is a workspace, and its run is looked up."""
    path = Path(name)
    if not path.exists() or (path / workspace.RUN).is_file():
        return None
    source, records = find_model(path), None
    if isinstance(source, Trained):  # the labels of its training, whatever the workspace's records have now
        state = TrainedState.at(source.weights.with_name(STATE))
        source = replace(source, labels=state.classes or tuple(source.labels))
        records = _records_of(state)
    elif isinstance(source, Path):
        lineage = read_json(source.with_name(REPORT)).get("lineage")
        records = _records_of(TrainedState.from_tree({"lineage": lineage}))
    return EvaluatedModel(path.as_posix(), source, records=records)


def _find_own(folder: Path) -> EvaluatedModel:
    result, trained = result_here(folder), folder / workspace.TRAINED
    if not result.run_id or not (trained / WEIGHTS).is_file():
        raise nothing_trained(trained)
    settings = result.variant.get("evaluate") or {}
    weights = trained / f"{settings.get('weights', 'best')}.weights.h5"
    source = build_trained(
        trained.as_posix(), result.run_yaml, weights, labels_of(result.state), result.state, weights.name
    )
    records = _records_of(result.state, _records_in(read_text(folder / "dvc.lock")))
    name = f"{result.run_id[:SHOWN_OF_ID]} ({result.name})"
    return EvaluatedModel(name, source, result.run_id, None, result.state, records)


def _convert_contender(contender: Contender, gathered: Gathered) -> EvaluatedModel:
    """Take weights from where they are: the workspace, DVC's cache, MLflow."""
    for folder in dict.fromkeys([Path(), contender.files or Path()]):
        if result_here(folder).run_id == contender.run_id:
            return _find_own(folder)
    state, lock = TrainedState(), None
    if revision := contender.revision or contender.experiment:
        result, lock = result_of(revision), git.file_at(revision, "dvc.lock")
        state = result.state if result.run_id == contender.run_id else TrainedState()
    called, revision = contender.experiment or contender.name, revision if state.is_known else None
    run = Names(contender.run_id, mlflow_id=contender.mlflow_id or "", variant=called, revision=revision or "")
    source = fetch_run(run, gathered.target)
    if not state.is_known:
        state = state_in_mlflow(run, gathered.target)
    is_stored = any(run.run_id == contender.run_id for run in gathered.runs)
    return EvaluatedModel(
        contender.label, source, contender.run_id if is_stored else None,
        contender.variant, state, _records_of(state, contender.records or _records_in(lock)),
    )  # fmt: skip


def _records_of(state: TrainedState, known: str | None = None) -> str | None:
    """Return the digest of the records of a training and of all runs that it started from; None if these had others.

    `known` is what others know of the training's own, for files of early versions do not say it.
    """
    records = (state.lineage.own or {}).get("records") or known
    is_all = all(one.get("records") == records for one in state.lineage.starts or () if "run" in one)
    return records if isinstance(records, str) and is_all else None


def _records_in(lock: str | None) -> str | None:
    """Return the digest of the records that the last training had, as DVC knows it."""
    tree: Any = parse_yaml(lock)
    for key in ("stages", "train", "params", (workspace.RECORDS / MANIFEST).as_posix(), "digest"):
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, str) else None
