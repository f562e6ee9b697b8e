"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.checkpoint_store.training_hook import NoStore, WorkStore, keep_in_store
from bakeoff.experiments.cluster.ray_connection import ON_VARIABLE
from bakeoff.experiments.cluster.ray_training import gather_workers
from bakeoff.experiments.planning.require_resources import require_gpu_room_for, require_room_for
from bakeoff.experiments.planning.step_time import known_seconds, remember_paces
from bakeoff.experiments.planning.time_estimate import ValidationTimes
from bakeoff.experiments.runs.device import choose_devices, count_devices, device_tags, print_device
from bakeoff.experiments.runs.status_writer import Report
from bakeoff.experiments.runs.time_left import Stretch
from bakeoff.experiments.runs.worker_processes import begin_again, crew_of, follow_leader
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.files import building
from bakeoff.foundation.progress import print_line, progress
from bakeoff.learning.checkpoints.continue_from import Parent, parent_of, taken_up, write_identity
from bakeoff.learning.checkpoints.fingerprint import identity, name_of
from bakeoff.learning.checkpoints.history import History, describe_end, write_plots, write_state
from bakeoff.learning.checkpoints.run_folder import SAMPLES, SavedState, Work
from bakeoff.learning.input.record_reader import BadRecords
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.pretrained import lineage
from bakeoff.learning.pretrained.weight_source import Origin, origin_of
from bakeoff.learning.run_file.read_write import fitting_manifest, load
from bakeoff.learning.run_file.settings import Run, as_tree
from bakeoff.learning.training.memory_usage import (
    BUILT,
    LOOKED,
    SHOWN,
    Footprint,
    device_peak_bytes,
    peak_memory_bytes,
    warning,
)
from bakeoff.learning.training.stopping import CTRL_C, Clock, Ends, Stop, TimeLimit, takes_its_shell_along
from bakeoff.learning.training.workers import Place, WorkerLost, place_of
from bakeoff.stages import read_options, stage_parser
from bakeoff.tracking import tracker
from bakeoff.tracking.results.measurements import keep_measured, trace
from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from bakeoff.tracking.store.fetch_artifacts import fetch_weights
from bakeoff.tracking.store.target import own_id
from bakeoff.tracking.sync.system_metrics import source_tags
from bakeoff.tracking.training_events import introduce, report_results

if TYPE_CHECKING:
    from bakeoff.learning.training.memory_usage import Shortage
    from bakeoff.learning.training.run_phases import CountGradients, Outcome
    from bakeoff.learning.training.sample_images import Show
    from bakeoff.learning.training.setup import Rig

CHECKPOINTS_AT_THE_END = 3  # in time: a checkpoint, and the final and the best weights


@dataclass(frozen=True)
class Start:
    """Which run this is, and what it starts from."""

    identity: dict[str, Any]
    fingerprint: str
    origin: Origin
    parent: Parent | None
    starts: lineage.Lineage
    own: dict[str, Any]  # what it adds to the lineage of those that start from it

    @classmethod
    def of(cls, run: Run, manifest: Manifest) -> "Start":
        origin = origin_of(run.train.init, lambda run_id: fetch_weights(run.track, run_id))
        parent = parent_of(run.train, workspace.runs(), own_id)
        others = {"records": manifest.digest, "first_weights": origin.digest, "devices": str(count_devices(run))}
        itself = identity(as_tree(run), **others, parent=parent.digest if parent else "none")
        name = name_of(itself)
        before = parent.folder if parent else None
        starts = lineage.find_starts(run.train.init.weights, origin.path, origin.digest, before)
        own = lineage.own_entry(name, manifest.digest, run.derived.train_examples, manifest.classes)
        return cls(itself, name, origin, parent, starts, own)

    @property
    def folder(self) -> Path:
        return workspace.in_flight(self.fingerprint)

    @property
    def parent_fingerprint(self) -> str | None:
        return self.parent.fingerprint if self.parent else None


@dataclass(frozen=True)
class Desk:
    """What this process has open while it trains."""

    work: Work
    stop: Stop
    report: Report
    footprint: Footprint
    bad: BadRecords
    times: ValidationTimes
    place: Place | None  # among several workers
    store: WorkStore | NoStore

    @contextmanager
    def followed_by(self, copy: tracker.Tracker) -> Iterator[None]:
        """MLflow's copy and the store hear of each checkpoint in the block, and the report how it ends."""
        with copy.ending(self.store.has_lost), self.report.tracked(copy.run_id, copy.tags):
            with self.work.followed(copy.settle, self.store.beside(copy.checkpoint)):
                yield


@dataclass(frozen=True)
class Followers:
    """Who follows the training: MLflow's copy, samples and events, and what explains memory that runs out."""

    copy: tracker.Tracker
    seen: "Show"
    footprint: Footprint
    shortage: "Shortage"

    def send(self, step: int, values: dict[str, float]) -> None:
        self.copy.metrics(step, values)

    def show(self, step: int, values: dict[str, float], history: list[str], gradients: "CountGradients") -> None:
        self.seen(step, values, history, gradients)
        if LOOKED in self.footprint.peaks:
            self.footprint.mark(SHOWN)

    def within_memory(self, key: str, batch_size: int) -> AbstractContextManager[None]:
        return self.shortage.explained(key, batch_size)


def train(
    run: Run, records: Path, out: Path, times: ValidationTimes | None = None, place: Place | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train what is not trained yet. Return what `state.json` holds, and what the clock and the machine decided."""
    manifest = fitting_manifest(records, run.derived)
    start = Start.of(run, manifest)
    stop = Stop(start.folder / workspace.STOP_FILE)
    phases = [phase.span.name for phase in plan_phases(run)]
    with (
        Work(start.folder, phases, fresh=run.train.fresh, keep_every=run.train.keep_every_steps) as work,
        stop.listening(),
        keep_in_store(start.folder, stop, start.identity, run.track, fresh=run.train.fresh) as store,
    ):
        with Report(
            start.folder, run.name, run.derived.steps, memory_estimate_bytes=run.derived.memory_estimate_bytes,
            can_resume=work.can_resume, parent=start.parent_fingerprint, max_minutes=run.train.max_minutes,
            stretches=[Stretch(one.span.end_step, known_seconds(run, one)) for one in plan_phases(run)],
        ) as report:  # fmt: skip
            report.known_as(work.run_id)
            require_room_for(run, start.folder, out)
            choose_devices(run)
            desk = Desk(work, stop, report, Footprint(), BadRecords(), times or ValidationTimes(), place, store)
            return _train(run, manifest, records, out, start, desk)


def _train(
    run: Run, manifest: Manifest, records: Path, out: Path, start: Start, desk: Desk
) -> tuple[dict[str, Any], dict[str, Any]]:
    from bakeoff.learning.input.record_reader import plain_errors_of
    from bakeoff.learning.pretrained.load_report import in_words, load_first_weights, write_report
    from bakeoff.learning.training.loop import Rhythm
    from bakeoff.learning.training.memory_usage import explain_shortage
    from bakeoff.learning.training.run_phases import Course, run_phases
    from bakeoff.learning.training.sample_images import Show, events_of, keep_samples
    from bakeoff.learning.training.setup import Rig

    rig = Rig.of(run, manifest, records, desk.bad, desk.place)
    crew = crew_of(rig, run, manifest)
    require_gpu_room_for(run, rig.replicas)
    print_device(rig.replicas)
    first = load_first_weights(rig.learner.network, run.model, run.train.init, start.origin)
    desk.footprint.mark(BUILT)
    desk.bad.keep_in(start.folder)
    validation, samples = rig.validation(start.folder / SAMPLES, lambda: desk.stop.asked)
    phases, work = plan_phases(run), desk.work
    saved = _take_up(run, start, work, in_words(first, run.train.init))
    clock, last = Clock(saved.facts["seconds"]), CHECKPOINTS_AT_THE_END
    limit = TimeLimit(run.train.max_minutes, clock, validation.seconds, lambda: last * work.slowest_write)
    tags = source_tags(manifest.digest, start.fingerprint, start.parent_fingerprint) | device_tags(rig.replicas)
    copy = tracker.start(run.track, run.name, tags, note=run.note, run_id=work.run_id, is_over=saved.is_over)
    with desk.followed_by(copy):
        introduce(copy, run, manifest, records, start.starts)
        work.send(saved.facts["history"], copy.metrics)  # what a loss of power took of the journal
        with (
            building(out) as partial,
            History(partial, saved.facts["history"], report=desk.report.line) as history,
            plain_errors_of(rig.examples, rig.held_out),
            progress("train", run.derived.steps, "steps", saved.position.step, desk.report.seconds_left) as bar,
            events_of(run.train, start.folder, saved) as events,
        ):
            desk.report.running(saved.position.step, saved.facts["seconds"], anew=not saved.is_over)
            show = Show(rig.learner.kept, samples, events, rig.headline, with_gradients=run.train.gradient_histograms)
            course = Course(
                rig.learner, rig.feed(), desk.footprint.around(desk.times.timed(validation)), rig.headline,
                Rhythm.of(run.train, run.derived.train_examples), Ends(desk.stop, limit, run.train.early_stopping),
                work, history, bar, Followers(copy, show, desk.footprint, explain_shortage(run.derived, rig.replicas)),
                crew,
            )  # fmt: skip
            outcome = run_phases(course, phases, saved)
            desk.report.ending(outcome.ended_by, outcome.position.step)
            if outcome.ended_by == "stop":
                desk.store.leave_if_taken_away(outcome.position.step)
            remember_paces(run, [] if saved.is_over else history.lines)
            state = _write_results(run, rig, work, outcome, partial)
            state |= {"classes": list(manifest.classes), "bad_records": desk.bad.counts()}
            state["lineage"] = _lineage(start, first["source"], saved)
            keep_samples(samples, history.lines, rig.headline, partial)
            write_report(first, partial)
            write_state(partial, state)
        measured = {"run_id": copy.run_id, "phases_from": saved.facts.get("lent", [])}
        measured |= _measure(run, desk, outcome, limit, took_steps=not saved.is_over)
        measured |= trace(start.fingerprint, tags, is_over=saved.is_over, had_ended=desk.report.has_succeeded)
        keep_measured(start.fingerprint, **measured)
        report_results(copy, start.folder, out, state, measured)
    return state, measured


def _take_up(run: Run, start: Start, work: Work, remarks: list[str]) -> SavedState:
    """Find where the run resumes, and say it after the remarks."""
    write_identity(start.identity, start.folder)
    lineage.keep(start.starts, start.own, start.folder)
    ends = [phase.span.end_step for phase in plan_phases(run)]
    saved, more = taken_up(start.parent, work, run.train, start.identity, ends)
    for line in [*remarks, *lineage.remarks(start.starts), *more, *saved.describe(run.derived.steps, work.folder)]:
        print_line(f"train: {line}")
    return saved


def _write_results(run: Run, rig: "Rig", work: Work, outcome: "Outcome", out: Path) -> dict[str, Any]:
    """Write weights and plots; return how the run ended."""
    from bakeoff.learning.training import weights

    kept = rig.learner.kept
    weights.save(kept, out / weights.FINAL)
    digest = weights.digest(kept)
    if best := outcome.best_position:
        rig.learner.keep(work.best(best))
    weights.save(kept, out / weights.BEST)
    write_plots(out, rig.headline)
    facts = {"steps": run.derived.steps, "parameters": kept.count_params(), "weights_sha256": digest}
    return outcome.summary(rig.headline, plan_phases(run)) | facts


def _lineage(start: Start, source: str, saved: SavedState) -> dict[str, Any]:
    before = {"started_from": source, "first_weights": start.origin.digest, "parents": saved.facts["parents"]}
    return {"fingerprint": start.fingerprint} | before | {"starts": start.starts, "own": start.own}


def _measure(run: Run, desk: Desk, outcome: "Outcome", limit: TimeLimit, *, took_steps: bool) -> dict[str, Any]:
    """Return what the clock and the machine decided; warn if memory was over the budget. The memory of a process that
    took no step is none of the training's."""
    peak, derived = peak_memory_bytes(), run.derived
    if took_steps and (text := warning(desk.footprint.peaks, peak, derived.memory_budget_bytes, derived.memory_parts)):
        print(f"warning: {text}", file=sys.stderr)
    of_memory = {
        "peak_memory_bytes": peak, "memory_peaks": desk.footprint.peaks, "peak_device_bytes": device_peak_bytes(),
    }  # fmt: skip
    return {
        "seconds": round(limit.clock.seconds, 1),
        "resumed_at_steps": outcome.resumed_at,
        "stopped_by": desk.stop.by if outcome.ended_by == "stop" else None,
        "memory_estimate_bytes": derived.memory_estimate_bytes,
        "memory_budget_bytes": derived.memory_budget_bytes,
        "device_estimate_bytes": derived.device_estimate_bytes,
    } | (of_memory if took_steps else {})


def evaluate_here() -> None:
    """Run what DVC will not run after this, though the result is as good as any."""
    print_line("  DVC runs stages by a shell that Ctrl-C ends, and calls this a failure; SHELL=/bin/bash avoids that")
    for stage in ("evaluate", "export"):
        subprocess.run([sys.executable, "-m", f"bakeoff.stages.{stage}"], check=False)  # each says what is wrong itself


def main() -> None:
    with errors_in_one_line():
        read_options(stage_parser("train", __doc__))
        workspace.require_own_code()
        if (given := place_of(os.environ)) and given.rank:
            return follow_leader(given)
        run, times = load(workspace.RUN), ValidationTimes()
        try:
            with gather_workers(run.train.workers, given, os.environ.get(ON_VARIABLE)) as place:
                state, measured = train(run, workspace.RECORDS, workspace.TRAINED, times, place)
        except WorkerLost as lost:
            begin_again(lost, given)
        workspace.promise(trained_to_its_end=state["state"] != "STOPPED")
        print_line(f"train: {describe_end(state, measured)}")
        if state["state"] == "STOPPED":
            again = "evaluation takes what is there, `dvc repro` again resumes, or `bakeoff repro` where DVC refuses"
            print_line(f"  stopped after step {state['step']:,}; {again}")
            if measured["stopped_by"] == CTRL_C and takes_its_shell_along():
                evaluate_here()
        print_line(f"  weights and history: {workspace.TRAINED.as_posix()}/, run {measured['run_id'][:SHOWN_OF_ID]}")
        times.keep(run, state, measured)


if __name__ == "__main__":
    main()
