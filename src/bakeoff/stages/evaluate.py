"""run.yaml + records + models/train -> models/evaluation: metrics, plots, examples, slices, a report, a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.config.track_settings import Track, load_track
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.evaluation import evaluation_report, examples_parquet, headline_json, plots_tsv, weak_slices
from bakeoff.evaluation.augmented_samples import draw_augmented, is_augmented
from bakeoff.evaluation.header import ReportHeader, describe_weights, warn_of_end
from bakeoff.evaluation.settings import Evaluate
from bakeoff.experiments.planning.time_estimate import keep_stage
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.progress import print_line, progress
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.learning.checkpoints.fingerprint import DECIDING_GROUPS, NO_MATTER
from bakeoff.learning.checkpoints.history import read_history
from bakeoff.learning.checkpoints.trained_state import TrainedState, read_state
from bakeoff.learning.plan.phases import batch_shape
from bakeoff.learning.run_file.parse import settings_tree
from bakeoff.learning.run_file.read_write import fitting_manifest, load_group, load_learning
from bakeoff.learning.run_file.settings import LearningRun, learning_tree
from bakeoff.stages import begin_stage
from bakeoff.tracking import tracker
from bakeoff.tracking.report_copy import keep_page, report_page
from bakeoff.tracking.results.measurements import run_id_of

AUGMENTED = 8  # training examples on the page
GROUP, EVALUATE = "evaluate", {"evaluate": Evaluate}


def evaluate(
    run: LearningRun, settings: Evaluate, track: Track, records: Path, trained: Path, out: Path
) -> dict[str, Any]:
    """Judge the trained network on every validation example; return what `metrics.json` holds."""
    load_tensorflow(saves_graphs=False)
    from bakeoff.evaluation.evaluation import Evaluation
    from bakeoff.evaluation.example_facts import read_table, require_matches
    from bakeoff.learning.input.record_reader import RecordReader, plain_errors_of
    from bakeoff.learning.networks.weights import restore
    from bakeoff.learning.tasks.task import compile_answer, make_task

    manifest, state = fitting_manifest(records, run.derived), read_state(trained)
    weights = f"{settings.weights}.weights.h5"
    network = restore(run.model, run.derived.num_classes, trained / weights, state.files.get(weights))
    task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
    split = manifest.splits[VALIDATION]
    store = RecordReader(records, split, run.memory.on_bad_record)
    answer, shape = compile_answer(network, task, with_losses=True), batch_shape(run, settings.batch_size)
    training = RecordReader(records, manifest.splits[TRAIN], run.memory.on_bad_record)
    augmented = draw_augmented(run, training, manifest.classes, AUGMENTED) if is_augmented(run) else None
    about = ReportHeader(
        run.name, _list_facts(run, settings, state, manifest.digest), warn_of_end(state), _list_settings(run, settings)
    )
    history = read_history(trained)
    if settings.slices.table is not None:  # before an evaluation that may take long
        require_matches(settings.slices, read_table(settings.slices), store.names(np.arange(store.examples)))
    evaluation = Evaluation(about, task, answer, store, shape, manifest, split, history, augmented, settings.group)
    with progress("evaluate", run.derived.validation_examples, "examples") as bar, plain_errors_of(store):
        metrics = evaluation.write(settings, out, bar.advance)
    with tracker.attach(track, run_id_of(state)) as copy:
        numbers = {f"evaluation/{key}": value for key, value in tracker.flatten(metrics)}
        copy.metrics(state.last_step, numbers, revised=True, weights=settings.weights)
        copy.folder(out, "evaluation", report_page(out, state))
    return evaluation.headline_first(metrics)


def _list_facts(run: LearningRun, settings: Evaluate, state: TrainedState, records: str) -> dict[str, str]:
    """Return what the page says below its title: what the variant decides, for the page is an output of DVC."""
    derived = run.derived
    return {
        "task": derived.task,
        "trained on": f"{derived.train_examples:,} examples",
        "validation examples": f"{derived.validation_examples:,}",
        "data": f"digest {records[:12]}",
        "classes": f"{derived.num_classes:,}",
        "weights": describe_weights(settings.weights, state),
        "trained from": state.lineage.trained_from or "not known",
        "parameters": f"{derived.parameters:,}",
        **({"fingerprint": known} if (known := state.lineage.fingerprint) else {}),
    }


def _list_settings(run: LearningRun, settings: Evaluate) -> dict[str, str]:
    """Return what decided the weights and their evaluation. Keys that a fingerprint passes over may change while the
    page stays, so they are not on it."""
    tree = learning_tree(run) | {GROUP: settings_tree(settings, EVALUATE)}
    groups = {group: tree[group] for group in (*DECIDING_GROUPS, GROUP)}
    groups["train"] = {key: value for key, value in groups["train"].items() if key not in NO_MATTER}
    return {key: "none" if value is None else str(value) for key, value in tracker.flatten(groups)}


def main() -> None:
    with errors_in_one_line():
        begin_stage("evaluate", __doc__)
        run, settings = load_learning(workspace.RUN), load_group(workspace.RUN, GROUP, EVALUATE)
        track = load_track(workspace.RUN)
        metrics = evaluate(run, settings, track, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        bad = f", without {metrics['bad_records']} damaged ones" if "bad_records" in metrics else ""
        count = f"{run.derived.validation_examples:,} validation examples{bad}"
        print_line(f"evaluate: {count}, {settings.weights} weights: {evaluation_report.summarize_metrics(metrics)}")
        print_line(f"  {weak_slices.read_statement(workspace.EVALUATION)}")
        files = ", ".join(
            [
                evaluation_report.FILE,
                examples_parquet.METRICS,
                headline_json.FILE,
                weak_slices.FILE,
                examples_parquet.FILE,
                f"{plots_tsv.FOLDER}/",
            ]
        )
        print_line(f"  {files} and {examples_parquet.PICTURE}: {workspace.EVALUATION.as_posix()}/")
        if copy := keep_page(workspace.EVALUATION, read_state(workspace.TRAINED)):
            name = f"{workspace.IN_FLIGHT}/{copy.parent.name}/{copy.name}"
            print_line(f"  {evaluation_report.FILE} with run, commit and date: {name}")
        keep_stage("evaluate", run, settings, state=read_state(workspace.TRAINED))


if __name__ == "__main__":
    main()
