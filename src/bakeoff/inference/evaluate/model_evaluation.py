"""A candidate + a split -> `models/judged/<split>-<digest>/<run>/`, a line about the use, and numbers in MLflow."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bakeoff.config.compose.whole_run import Run
from bakeoff.config.track_settings import Mlflow
from bakeoff.evaluation.evaluation import Evaluation
from bakeoff.evaluation.header import ReportHeader, warn_of_end
from bakeoff.evaluation.settings import Evaluate
from bakeoff.experiments.compare.examples import SHOWN_OF_DIGEST
from bakeoff.experiments.compare.load_runs import JUDGED_ON
from bakeoff.experiments.compare.run_row import OTHER_EVALUATION
from bakeoff.export.accuracy_report import answer_of
from bakeoff.export.saved_model import SavedModel
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.progress import progress
from bakeoff.inference.evaluate.evaluation_data import Material, load_own_records, open_material
from bakeoff.inference.evaluate.leakage import Overlap, find_overlap, require_apart
from bakeoff.inference.evaluate.models import EvaluatedModel
from bakeoff.inference.evaluate.split_usage import SplitUse, note_use, read_uses
from bakeoff.inference.predict.light_runtime import small_model, view_of
from bakeoff.inference.predict.model_interface import open_saved_model, restore_network
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.record_reader import RecordReader, plain_errors_of
from bakeoff.learning.input.view import Shape, View
from bakeoff.learning.plan.phases import batch_shape
from bakeoff.learning.tasks.task import Answer, Tensors, compile_answer, make_judge, make_task
from bakeoff.tracking import tracker
from bakeoff.tracking.report_copy import describe_run

BATCH, THREADS, PICTURE_SIDE, CLIP = 16, 2, 320, 8  # for exported files, which do not state these settings


@dataclass(frozen=True)
class EvaluationResult:
    candidate: EvaluatedModel
    material: Material
    metrics: Mapping[str, Any]
    overlap: Overlap | None  # None: it was trained on this very split, or nobody knows on what
    is_known: bool  # whether the records that it was trained on are those of the workspace
    uses: list[dict[str, Any]]
    folder: Path
    is_tracked: bool


def judge_candidate(
    candidate: EvaluatedModel, option: str | None, split: str, *, allow_overlap: bool
) -> EvaluationResult:
    """Judge on one split. Nothing is written before the candidate and the split are known to fit."""
    model = _Model(candidate)
    material = open_material(option, split, model.labels, model.task)
    if model.run and model.run.derived.multi_label != material.manifest.multi_label:
        many = "any number of labels" if material.manifest.multi_label else "one label"
        raise DataError(f"{material.where}: its examples have {many} each, which the model was not trained for")
    seen = load_own_records()
    is_known = material.is_seen or (seen is not None and candidate.records == seen.digest)
    overlap = None
    if seen and not material.is_seen and (is_known or option is None or candidate.run_id is None):
        overlap = find_overlap(material, seen)
        if not allow_overlap:
            require_apart(material, overlap)
    settings = model.run.evaluate if model.run else Evaluate()
    store = RecordReader(material.folder, material.split, model.run.memory.on_bad_record if model.run else "error")
    answer, shape = model.answer(store, material.manifest.multi_label, settings.batch_size)
    judge = make_judge(model.task, model.labels, multi_label=material.manifest.multi_label)
    about = ReportHeader(candidate.name, _list_facts(candidate, material, overlap), warn_of_end(candidate.state))
    evaluation = Evaluation(about, judge, answer, store, shape, material.manifest, material.split)
    shelf = workspace.JUDGED / f"{material.title}-{material.digest[:SHOWN_OF_DIGEST]}"
    folder = shelf / candidate.name_folder(model.digest)
    with progress("evaluate", material.split.examples, "examples") as bar, plain_errors_of(store):
        metrics = evaluation.headline_first(evaluation.write(settings, folder, bar.advance))
    use = SplitUse(
        candidate.run_id, candidate.name, model.digest, material.where, split, material.digest, judge.headline,
        metrics.get(judge.headline), overlap.examples if overlap and is_known else None,
    )  # fmt: skip
    note_use(shelf, use)
    is_tracked = _send_to_mlflow(candidate, material, model.run, metrics, folder)
    return EvaluationResult(candidate, material, metrics, overlap, is_known, read_uses(shelf), folder, is_tracked)


class _Model:
    """A candidate that was opened: its task, its labels, and answers to the examples of a store."""

    def __init__(self, candidate: EvaluatedModel) -> None:
        source = candidate.source
        self.run: Run | None = None
        if isinstance(source, Trained):
            assert source.run is not None
            self.run, self.task, self.labels, self._trained = source.run, source.model.task, source.labels, source
            self.digest = _digest_files(source.weights)
            return
        self._file = open_saved_model(source) if source.is_dir() else small_model(source)
        self.task, self.labels, self.digest = self._file.task, self._file.labels, _digest_files(source)
        if not self.labels:
            remedy = "judge one that export wrote, or add them to its metadata"
            raise DataError(f"{source.as_posix()}: names no labels, so its answers cannot be judged; {remedy}")

    def answer(self, store: RecordReader, multi_label: bool, batch_size: int) -> tuple[Answer, Shape]:
        """Return what answers a batch, and what batches must look like."""
        if self.run:
            task = make_task(self.run.model, self.labels, multi_label=multi_label)
            answer = compile_answer(restore_network(self._trained), task, with_losses=True)
            return answer, batch_shape(self.run, batch_size)
        clip = CLIP if self.task == "video" else 1
        view = View(PICTURE_SIDE, clip)
        view = replace(view, tiles=self._file.tiles) if isinstance(self._file, SavedModel) else view_of(self._file)
        several = len(self.labels) if multi_label else 0
        shape = Shape(
            self.task,
            view.size,
            view.frames,
            BATCH,
            THREADS,
            1,
            several,
            view.central_crop,
            view.sampling,
            view.resizing,
            view.tiles,
            view.fit,
        )
        given = answer_of(self._file, store, view)
        return given if self.task == "detection" else _rename_scores(given, multi_label), shape


def _rename_scores(answer: Answer, multi_label: bool) -> Answer:
    """Files of other software call probabilities scores."""
    wanted = "scores" if multi_label else "probabilities"

    def answer_with_scores(batch: Tensors) -> Tensors:
        predictions = answer(batch)
        if wanted in predictions:
            return predictions
        return {wanted: predictions["probabilities" if multi_label else "scores"]}

    return answer_with_scores


def _list_facts(candidate: EvaluatedModel, material: Material, overlap: Overlap | None) -> dict[str, str]:
    """Return what the page says below its title; no stage makes it, so the run, its commit and dates are on it."""
    seen = {} if overlap is None else {"seen in training": f"{overlap.examples:,}"}
    return {
        **(describe_run(candidate.state) if candidate.run_id else {}),
        "task": material.manifest.task,
        f"{material.name} examples": f"{material.split.examples:,}",
        "data": f"{material.where}, digest {material.digest[:12]}",
        "classes": f"{len(material.manifest.classes):,}",
        **seen,
        "judged": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _send_to_mlflow(
    candidate: EvaluatedModel, material: Material, run: Run | None, metrics: Mapping[str, Any], folder: Path
) -> bool:
    """Send the metrics as numbers of the run itself, so that runs are compared by them as by all others.

    Return whether the run is in MLflow.
    """
    if candidate.run_id is None or run is None or not isinstance(run.track, Mlflow):
        return False
    name = f"{OTHER_EVALUATION}{material.title}"
    weights = run.evaluate.weights
    with tracker.attach(run.track, candidate.run_id, candidate.run_name) as copy:
        numbers = {f"{name}/{key}": float(value) for key, value in tracker.flatten(metrics) if value is not None}
        copy.metrics(candidate.step, numbers, revised=True, weights=weights)
        copy.tags({f"{JUDGED_ON}{material.title}": material.digest})
        counts = {material.name: material.split.examples}
        copy.dataset(material.title, material.digest, material.folder.as_posix(), counts, context=material.name)
        copy.folder(folder, name)
    return True


def _digest_files(path: Path) -> str:
    """Return a digest of a file, or of all files in a folder."""
    content = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            content.update(file.relative_to(path).as_posix().encode() + file.read_bytes())
    return content.hexdigest()
