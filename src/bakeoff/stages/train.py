"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, as_tree, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.input.memory import RUNTIME_BYTES
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.runs.report import Report
from bakeoff.runs.room import bytes_below, require_gpu_room, require_room
from bakeoff.tracking import tracker
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.tags import source_tags
from bakeoff.training.continuing import hand_over, parent_of, write_identity
from bakeoff.training.fingerprint import fingerprint, identity
from bakeoff.training.footprint import peak_memory_bytes
from bakeoff.training.history import History, write_plots
from bakeoff.training.on_disk import OnDisk
from bakeoff.training.origin import origin_of
from bakeoff.training.pace import pace_key, pace_of, remember
from bakeoff.training.state import summary, write_state
from bakeoff.training.stopping import CTRL_C, Stop, takes_its_shell_along
from bakeoff.training.work import Work

CHECKPOINTS_AT_THE_END = 3  # in time: a checkpoint, and the final and the best weights


def train(run: Run, derived: Derived, records: Path, out: Path) -> dict[str, Any]:
    """Returns what `state.json` holds."""
    manifest, legs = fitting_manifest(records, derived), run.legs
    origin = origin_of(run.train.init, lambda run_id: fetch_weights(run.track, run_id))
    parent = parent_of(run.train, workspace.runs())
    others = {"records": manifest.digest, "first_weights": origin.digest, "devices": str(_device_count(run))}
    others["parent"] = parent.digest if parent else "none"
    name = fingerprint(as_tree(run), **others)
    folder = workspace.in_flight(name)
    stop = Stop(folder)
    with (
        Work(folder, [leg.span.name for leg in legs], fresh=run.train.fresh) as work,
        stop.listening(),
        Report(
            folder,
            run.name,
            derived.steps,
            memory_estimate_bytes=derived.memory_estimate_bytes,
            can_go_on=work.can_go_on,
            parent=parent.fingerprint if parent else None,
            max_minutes=run.train.max_minutes,
        ) as report,
    ):
        disk = OnDisk.of(run.train, derived.parameters)
        require_room(
            memory_bytes=derived.memory_estimate_bytes,
            disk_bytes={
                folder: disk.in_flight - bytes_below(folder),
                out: disk.outputs,
                workspace.main_workspace(): 2 * disk.outputs,  # DVC's copy and MLflow's
            },
        )
        load_tensorflow()
        from bakeoff.input.batches import evaluation_batches
        from bakeoff.input.store import Store
        from bakeoff.tasks.task import task_of
        from bakeoff.training import loop, weights
        from bakeoff.training.course import run_legs
        from bakeoff.training.devices import has_gpus, strategy_of
        from bakeoff.training.ending import Clock, Ends, TimeLimit
        from bakeoff.training.feed import Feed
        from bakeoff.training.learner import new_learner
        from bakeoff.training.starting import in_words, load_first_weights, write_report
        from bakeoff.training.validation import Validation, judged_by

        strategy = strategy_of(run.train.devices, [leg.span.batch_size for leg in legs])
        if has_gpus():
            require_gpu_room(derived.memory_estimate_bytes - RUNTIME_BYTES, strategy.num_replicas_in_sync)
        loop.seed_everything(run.seed, deterministic=run.train.deterministic)
        task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
        learner = new_learner(run.model, derived.num_classes, task, run.optimizer, run.train, strategy)
        headline = judged_by(task, run.train.best_by)
        feed = Feed.of(run.train, Store(records, manifest.splits[TRAIN]), run.seed, task, run.batches_of)
        held_out = Store(records, manifest.splits[VALIDATION])
        validate = Validation(
            task,
            learner.kept,
            evaluation_batches(held_out, run.batches_of(run.train.batch_size)),
            examples=held_out.examples,
            is_unwanted=lambda: stop.asked,
        )
        first = load_first_weights(learner.network, run.model, run.train.init, origin)
        found = work.newest()
        remarks: list[str] = []
        write_identity(itself := identity(as_tree(run), **others), folder)
        if parent and found.arrays is None:
            remarks = hand_over(parent, work, run.train, itself, [leg.span.end_step for leg in legs])
            found = work.newest()
        limit = TimeLimit(
            run.train.max_minutes,
            Clock(found.facts["seconds"]),
            rehearse_look=validate.seconds,
            saving=lambda: CHECKPOINTS_AT_THE_END * work.slowest_write,
        )
        for line in [*in_words(first), *remarks, *found.in_words(derived.steps, work.folder)]:
            say(f"train: {line}")
        copy = tracker.attach(run.track, work.mlflow_run)
        if copy.run_id is None:
            copy = tracker.start(run.track, run.name, source_tags(manifest.digest))
        work.mlflow_run = copy.run_id
        with copy.ending(), report.tracked(copy.run_id, copy.tags):
            copy.params(as_tree(run))
            copy.file(workspace.RUN, "config")
            with (
                workspace.building(out) as partial,
                History(partial, found.facts["history"], told=report.line) as history,
                progress("train", derived.steps, "steps", found.position.step) as bar,
            ):
                report.running(found.position.step, found.facts["seconds"])
                outcome = run_legs(
                    legs,
                    learner,
                    work,
                    found=found,
                    feed=feed,
                    rhythm=loop.Rhythm.of(run.train),
                    ends=Ends(stop, limit, run.train.early_stopping),
                    validate=validate,
                    headline=headline,
                    history=history,
                    send=copy.metrics,
                    bar=bar,
                )
                report.ending(outcome.ended_by, outcome.position.step)
                remember_paces(run, derived, history.lines)
                weights.save(learner.kept, partial / weights.FINAL)
                digest = weights.digest(learner.kept)
                if best := outcome.best_position:
                    learner.keep(work.best(best))
                weights.save(learner.kept, partial / weights.BEST)
                write_plots(partial, headline)
                state = outcome.summary(headline, legs) | {
                    "classes": list(manifest.classes),
                    "stopped_by": stop.by if outcome.ended_by == "stop" else None,
                    "steps": derived.steps,
                    "seconds": round(limit.clock.seconds, 1),
                    "parameters": learner.kept.count_params(),
                    "peak_memory_bytes": peak_memory_bytes(),
                    "memory_estimate_bytes": derived.memory_estimate_bytes,
                    "weights_sha256": digest,
                    "lineage": {
                        "fingerprint": name,
                        "started_from": first["source"],
                        "first_weights": origin.digest,
                        "parents": found.facts["parents"],
                    },
                    "mlflow_run_id": copy.run_id,
                }
                write_report(first, partial)
                write_state(partial, state)
            copy.tags({"bakeoff.weights_sha256": digest})
            copy.folder(out, "train")
    return state


def _device_count(run: Run) -> int:
    """TensorFlow is loaded for it only if it alone knows."""
    if run.train.devices != "all":
        return run.train.devices
    load_tensorflow()
    from bakeoff.training.devices import device_count

    return device_count("all")


def remember_paces(run: Run, derived: Derived, history: Sequence[str]) -> None:
    """For whoever plans a run like this one."""
    for leg in run.legs:
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
        kept = f", MLflow run {state['mlflow_run_id']}" if state["mlflow_run_id"] else ""
        say(f"  weights and history: {workspace.TRAINED.as_posix()}/{kept}")


if __name__ == "__main__":
    main()
