"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.errors import said_plainly
from bakeoff.files import building
from bakeoff.input.store import BadRecords
from bakeoff.planning.on_disk import OnDisk
from bakeoff.planning.pace import pace_key, pace_of, remember
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.manifest import Manifest
from bakeoff.run.settings import Run, as_tree, fitting_manifest, load
from bakeoff.runs.report import Report
from bakeoff.runs.room import bytes_below, require_gpu_room, require_room
from bakeoff.tracking import tracker
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.tags import source_tags
from bakeoff.tracking.target import own_id
from bakeoff.training.continuing import parent_of, taken_up, write_identity
from bakeoff.training.fingerprint import identity, name_of
from bakeoff.training.footprint import BUILT, Footprint, device_peak_bytes, peak_memory_bytes, warning
from bakeoff.training.history import History, write_plots
from bakeoff.training.origin import origin_of
from bakeoff.training.state import summary, write_state
from bakeoff.training.stopping import CTRL_C, Stop, takes_its_shell_along
from bakeoff.training.variant import Derived, plan_phases
from bakeoff.training.work import Work

CHECKPOINTS_AT_THE_END = 3  # in time: a checkpoint, and the final and the best weights
IN_TAGS = ("weights_sha256", "peak_memory_bytes", "memory_estimate_bytes", "seconds")


def train(run: Run, derived: Derived, records: Path, out: Path) -> dict[str, Any]:
    """Returns what `state.json` holds."""
    manifest, legs = fitting_manifest(records, derived), plan_phases(run)
    origin = origin_of(run.train.init, lambda run_id: fetch_weights(run.track, run_id))
    parent = parent_of(run.train, workspace.runs(), own_id)
    others = {"records": manifest.digest, "first_weights": origin.digest, "devices": str(_device_count(run))}
    others["parent"] = parent.digest if parent else "none"
    itself = identity(as_tree(run), **others)
    name = name_of(itself)
    folder, names = workspace.in_flight(name), [leg.span.name for leg in legs]
    stop, footprint, bad = Stop(folder), Footprint(), BadRecords()
    with (
        Work(folder, names, fresh=run.train.fresh, keep_every=run.train.keep_every_steps) as work,
        stop.listening(),
        Report(
            folder, run.name, derived.steps,
            memory_estimate_bytes=derived.memory_estimate_bytes, can_go_on=work.can_go_on,
            parent=parent.fingerprint if parent else None,
            max_minutes=run.train.max_minutes,
        ) as report,
    ):  # fmt: skip
        _require_room(run, derived, folder, out)
        load_tensorflow()
        from bakeoff.input.store import plain_errors_of
        from bakeoff.training import weights
        from bakeoff.training.course import run_legs
        from bakeoff.training.devices import has_gpus
        from bakeoff.training.ending import Clock, Ends, TimeLimit
        from bakeoff.training.loop import Rhythm
        from bakeoff.training.rig import Rig
        from bakeoff.training.shortage import Shortage, memory_left
        from bakeoff.training.showing import SAMPLES, Show, events_of, file_away
        from bakeoff.training.starting import in_words, load_first_weights, write_report

        rig = Rig.of(run, manifest, records, bad)
        learner, headline = rig.learner, rig.headline
        if has_gpus():
            require_gpu_room(derived.memory_parts.on_device(), rig.replicas)
        first = load_first_weights(learner.network, run.model, run.train.init, origin)
        footprint.mark(BUILT)
        bad.keep_in(folder)
        validate, samples = rig.looks(folder / SAMPLES, lambda: stop.asked)
        write_identity(itself, folder)
        found, remarks = taken_up(parent, work, run.train, itself, [leg.span.end_step for leg in legs])
        limit = TimeLimit(
            run.train.max_minutes,
            Clock(found.facts["seconds"]),
            rehearse_look=validate.seconds,
            saving=lambda: CHECKPOINTS_AT_THE_END * work.slowest_write,
        )
        for line in [*in_words(first), *remarks, *found.in_words(derived.steps, work.folder)]:
            say(f"train: {line}")
        tags = source_tags(manifest.digest, name, parent.fingerprint if parent else None)
        copy = tracker.start(run.track, run.name, tags, run_id=work.run_id)
        with copy.ending(), report.tracked(copy.run_id, copy.tags):
            _introduce(copy, run, manifest, records)
            with (
                building(out) as partial,
                History(partial, found.facts["history"], told=report.line) as history,
                plain_errors_of(rig.examples, rig.held_out),
                progress("train", derived.steps, "steps", found.position.step) as bar,
                events_of(run.train, folder, found) as events,
            ):
                report.running(found.position.step, found.facts["seconds"])
                outcome = run_legs(
                    legs,
                    learner,
                    work,
                    found=found,
                    feed=rig.feed(),
                    rhythm=Rhythm.of(run.train, derived.train_examples),
                    ends=Ends(stop, limit, run.train.early_stopping),
                    validate=footprint.around(validate),
                    headline=headline,
                    history=history,
                    send=copy.metrics,
                    bar=bar,
                    show=Show(learner.kept, samples, events, headline),
                    within_memory=Shortage(
                        lambda size: _memory_estimate(derived, size), lambda: memory_left(rig.replicas), rig.replicas
                    ).said,
                )
                report.ending(outcome.ended_by, outcome.position.step)
                remember_paces(run, derived, history.lines)
                weights.save(learner.kept, partial / weights.FINAL)
                digest = weights.digest(learner.kept)
                if best := outcome.best_position:
                    learner.keep(work.best(best))
                weights.save(learner.kept, partial / weights.BEST)
                write_plots(partial, headline)
                file_away(folder, samples, history.lines, headline, partial)
                state = outcome.summary(headline, legs) | {
                    "classes": list(manifest.classes),
                    "stopped_by": stop.by if outcome.ended_by == "stop" else None,
                    "steps": derived.steps,
                    "seconds": round(limit.clock.seconds, 1),
                    "parameters": learner.kept.count_params(),
                    "bad_records": bad.counts(),
                    "weights_sha256": digest,
                    "lineage": {
                        "fingerprint": name,
                        "started_from": first["source"],
                        "first_weights": origin.digest,
                        "parents": found.facts["parents"],
                    },
                    "run_id": copy.run_id,
                }
                state |= _memory_of(footprint, derived)
                write_report(first, partial)
                write_state(partial, state)
            copy.tags({f"bakeoff.{key}": str(state[key]) for key in IN_TAGS})
            copy.folder(out, "train")
            copy.weights(out, state)
    return state


def _introduce(copy: tracker.Tracker, run: Run, manifest: Manifest, records: Path) -> None:
    """What is trained, on what, by which code."""
    copy.params(as_tree(run))
    copy.folder(workspace.RUN.parent, "config")
    copy.file(records / workspace.RECORDS_PAGE.name, "data")
    counts = {split: content.examples for split, content in manifest.splits.items()}
    copy.dataset(run.variant["data"], manifest.digest, records.as_posix(), counts)
    copy.changes()


def _require_room(run: Run, derived: Derived, folder: Path, out: Path) -> None:
    disk = OnDisk.of(run.train, derived.parameters)
    require_room(
        memory_bytes=derived.memory_estimate_bytes,
        disk_bytes={
            folder: disk.in_flight - bytes_below(folder),
            out: disk.outputs,
            workspace.main_workspace(): 2 * disk.outputs,  # DVC's copy and MLflow's
        },
    )


def _device_count(run: Run) -> int:
    """TensorFlow is loaded for it only if it alone knows."""
    if run.train.devices != "all":
        return run.train.devices
    load_tensorflow()
    from bakeoff.training.devices import device_count

    return device_count("all")


def _memory_estimate(derived: Derived, batch_size: int) -> int:
    largest = max(span.batch_size for span in derived.phases)
    return derived.memory_parts.with_batches(batch_size / largest).total()


def _memory_of(footprint: Footprint, derived: Derived) -> dict[str, Any]:
    """What was taken beside what was foreseen; and a warning if it is too much."""
    peak, budget = peak_memory_bytes(), derived.memory_budget_bytes
    said = warning(footprint.peaks, peak, budget, derived.memory_parts)
    if said:
        print(f"warning: {said}", file=sys.stderr)
    return {
        "peak_memory_bytes": peak,
        "memory_estimate_bytes": derived.memory_estimate_bytes,
        "memory_budget_bytes": budget,
        "memory_peaks": footprint.peaks,
        "peak_device_bytes": device_peak_bytes(),
        "device_estimate_bytes": derived.device_estimate_bytes,
    }


def remember_paces(run: Run, derived: Derived, history: Sequence[str]) -> None:
    """For whoever plans a run like this one."""
    for leg in plan_phases(run):
        seconds = pace_of(leg, history, leg.span.batch_size * run.train.accumulate_batches)
        if seconds is not None:
            remember(workspace.paces(), pace_key(run.model, derived.num_classes, run.train, leg), seconds)


def evaluate_here() -> None:
    """What DVC will not do after this, though the result is as good as any."""
    say("  DVC runs stages by a shell that Ctrl-C ends, and will call this a failure; SHELL=/bin/bash avoids that")
    for stage in ("evaluate", "export"):
        subprocess.run([sys.executable, "-m", f"bakeoff.stages.{stage}"], check=False)  # each says what is wrong itself


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run, derived = load(workspace.RUN)
        state = train(run, derived, workspace.RECORDS, workspace.TRAINED)
        workspace.promise(trained_to_its_end=state["state"] != "STOPPED")
        say(f"train: {summary(state)}")
        if state["state"] == "STOPPED":
            say(f"  stopped after step {state['step']:,}; evaluation takes what is there, `dvc repro` again goes on")
            if state["stopped_by"] == CTRL_C and takes_its_shell_along():
                evaluate_here()
        say(f"  weights and history: {workspace.TRAINED.as_posix()}/, run {state['run_id']}")


if __name__ == "__main__":
    main()
