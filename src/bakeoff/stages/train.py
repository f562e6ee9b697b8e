"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import os
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.config.track_settings import Track, load_track
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.checkpoint_store.training_hook import keep_in_store
from bakeoff.experiments.cluster.ray_connection import ON_VARIABLE
from bakeoff.experiments.cluster.ray_training import gather_workers
from bakeoff.experiments.planning.before_training import build_setup, find_start, open_status
from bakeoff.experiments.planning.require_resources import require_room_for
from bakeoff.experiments.planning.time_estimate import TrainingTimes
from bakeoff.experiments.runs.device import choose_devices, device_tags
from bakeoff.experiments.runs.worker_processes import begin_again, follow_leader
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.files import building
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.run_file.read_write import fitting_manifest, load_learning
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.training.stopping import Stop
from bakeoff.learning.training.workers import WorkerAddress, WorkerLost, place_of
from bakeoff.stages import begin_stage
from bakeoff.tracking import tracker
from bakeoff.tracking.results.lineage import Ancestry
from bakeoff.tracking.results.measurements import keep_measured, trace
from bakeoff.tracking.sync.system_metrics import source_tags

if TYPE_CHECKING:
    from bakeoff.inference.evaluate.find_teacher import FoundTeacher

TEACHER = "teacher"  # the folder of its answers


def train(
    run: LearningRun, track: Track, records: Path, out: Path, times: TrainingTimes, place: WorkerAddress | None = None
) -> tuple[TrainedState, dict[str, Any]]:
    """Train what is not trained yet. Return how that ended, and what the clock and the machine decided."""
    manifest = fitting_manifest(records, run.derived)
    teacher = _find_teacher(run, manifest)
    told = teacher.describe() if teacher else None
    start = find_start(run, manifest, track, teacher.weights if teacher else None)
    stop, ancestry = Stop(start.folder / workspace.STOP_FILE), Ancestry.of(run, manifest, start, told)
    with ExitStack() as stack:
        work = stack.enter_context(start.open_folder(run))
        stack.enter_context(stop.listening())
        store = stack.enter_context(keep_in_store(start.folder, stop, start.identity, track, fresh=run.train.fresh))
        status = stack.enter_context(open_status(run, start, work))
        require_room_for(run, track, start.folder, out)
        answers = teacher.answers(manifest, records) if teacher else None
        choose_devices(run, start.find_threads(run))
        from bakeoff.experiments.runs.after_training import measure  # TensorFlow is loaded by now
        from bakeoff.learning.pretrained import load_report
        from bakeoff.learning.training import callbacks, outputs
        from bakeoff.learning.training.training import Training
        from bakeoff.tracking.callbacks import mlflow_run, progress_bar, sample_sheets, tensorboard

        setup, workers, memory, first = build_setup(run, manifest, records, start, place, answers)
        ancestry.keep(start.folder)
        saved = start.take_up(run, work, [*load_report.in_words(first, run.train.init), *ancestry.remarks()])
        training = Training.of(setup, work, stop, saved, workers)
        tags = source_tags(manifest.digest, start.fingerprint, start.parent_fingerprint) | device_tags(setup.replicas)
        copy = tracker.start(track, run.name, tags, note=run.note, run_id=work.run_id, is_over=saved.is_over)
        stack.enter_context(copy.ending(store.has_lost))
        stack.enter_context(status.tracked(copy.run_id, copy.tags))
        with building(out) as partial, setup.plain_errors():
            outcome = training.run(
                saved,
                [
                    memory,
                    times,
                    callbacks.HistoryFile(partial),
                    status,
                    mlflow_run.MlflowRun(copy, run, manifest, records, ancestry),
                    store,
                    sample_sheets.SampleSheets(start.folder, setup.classes, partial, run.train.samples_mb),
                    *tensorboard.wanted_by(run.train, start.folder),
                    memory.after_pictures(),
                    *(make(start.folder) for make in callbacks.CALLBACKS.values()),
                    progress_bar.ProgressBar(run.derived.steps, status.seconds_left),
                ],
            )
            if outcome.ended_by == "stop":
                store.leave_if_taken_away(outcome.position.step)
            if answers:
                answers.write(partial / TEACHER)
            lineage = ancestry.describe(first["source"], start.origin.digest, saved.state.parents)
            state = outputs.write(training, outcome, setup, first, lineage, partial)
        measured = {"run_id": copy.run_id, "phases_from": [asdict(one) for one in saved.state.lent]}
        measured |= measure(run.derived, training, outcome, memory)
        measured |= trace(start.fingerprint, tags, is_over=saved.is_over, had_ended=status.has_succeeded)
        keep_measured(start.fingerprint, **measured)
        mlflow_run.report_results(copy, start.folder, out, state, measured)
    return state, measured


def _find_teacher(run: LearningRun, manifest: Manifest) -> "FoundTeacher | None":
    if not run.train.teacher.is_there:
        return None
    from bakeoff.inference.evaluate.find_teacher import FoundTeacher  # which loads what finds runs

    return FoundTeacher.of(run, manifest)


def main() -> None:
    with errors_in_one_line():
        begin_stage("train", __doc__)
        if (given := place_of(os.environ)) and given.rank:
            return follow_leader(given)
        run, track, times = load_learning(workspace.RUN), load_track(workspace.RUN), TrainingTimes()
        try:
            with gather_workers(run.train.workers, given, os.environ.get(ON_VARIABLE)) as place:
                state, measured = train(run, track, workspace.RECORDS, workspace.TRAINED, times, place)
        except WorkerLost as lost:
            begin_again(lost, given)
        from bakeoff.experiments.runs.after_training import print_end

        workspace.promise(trained_to_its_end=not state.is_stopped)
        print_end(state, measured)
        times.keep(run, state, measured)


if __name__ == "__main__":
    main()
