"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.facts import facts_of
from bakeoff.config.run import Derived, Run, as_tree, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.input.memory import COPIES_OF_WEIGHTS, FLOAT_BYTES, RUNTIME_BYTES
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.tracking import tracker
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.tags import source_tags
from bakeoff.training.pace import pace_key, pace_of, remember
from bakeoff.training.state import summary, write_state
from bakeoff.training.stopping import CTRL_C, takes_its_shell_along

CHECKPOINTS_AT_THE_END = 3  # in time: a checkpoint, and the final and the best weights


def train(run: Run, derived: Derived, records: Path, out: Path) -> dict[str, Any]:
    """Returns what `state.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches
    from bakeoff.input.store import Store
    from bakeoff.tasks.task import task_of
    from bakeoff.training import loop, weights
    from bakeoff.training.continuing import hand_over, parent_of, write_identity
    from bakeoff.training.course import run_legs
    from bakeoff.training.devices import strategy_of
    from bakeoff.training.ending import Clock, Ends, TimeLimit
    from bakeoff.training.feed import Feed
    from bakeoff.training.fingerprint import fingerprint, identity
    from bakeoff.training.footprint import peak_memory_bytes
    from bakeoff.training.history import History, write_plots
    from bakeoff.training.learner import new_learner
    from bakeoff.training.origin import origin_of
    from bakeoff.training.samples import Samples, evenly_spread
    from bakeoff.training.shortage import Shortage, memory_left
    from bakeoff.training.showing import SAMPLES, Show, events_of, file_away
    from bakeoff.training.starting import in_words, load_first_weights, write_report
    from bakeoff.training.stopping import Stop
    from bakeoff.training.validation import Validation, judged_by
    from bakeoff.training.work import Work

    manifest, legs = fitting_manifest(records, derived), run.legs
    strategy = strategy_of(run.train.devices, [leg.span.batch_size for leg in legs])
    loop.seed_everything(run.seed, deterministic=run.train.deterministic)
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    learner = new_learner(run.model, derived.num_classes, task, run.optimizer, run.train, strategy)
    headline = judged_by(task, run.train.best_by)
    feed = Feed.of(run.train, Store(records, manifest.splits[TRAIN]), run.seed, task, run.batches_of)
    held_out = Store(records, manifest.splits[VALIDATION])
    origin = origin_of(run.train.init, lambda run_id: fetch_weights(run.track, run_id))
    first = load_first_weights(learner.network, run.model, run.train.init, origin)
    replicas = strategy.num_replicas_in_sync
    parent = parent_of(run.train, workspace.runs())
    others = {"records": manifest.digest, "first_weights": origin.digest, "devices": str(replicas)}
    others["parent"] = parent.digest if parent else "none"
    name = fingerprint(as_tree(run), **others)
    folder = workspace.in_flight(name)
    stop = Stop(folder)
    looked_at = evenly_spread(run.train.validate_examples or held_out.examples, held_out.examples)
    drawn = looked_at[evenly_spread(run.train.samples, len(looked_at))]
    names, keep = [leg.span.name for leg in legs], run.train.keep_every_steps
    with Work(folder, names, fresh=run.train.fresh, keep_every=keep) as work, stop.listening():
        found = work.newest()
        remarks: list[str] = []
        write_identity(itself := identity(as_tree(run), **others), folder)
        if parent and found.arrays is None:
            remarks = hand_over(parent, work, run.train, itself, [leg.span.end_step for leg in legs])
            found = work.newest()
        samples = Samples(folder / SAMPLES, task, manifest.classes, drawn)
        validate = Validation(
            task,
            learner.kept,
            evaluation_batches(held_out, run.batches_of(run.train.batch_size), looked_at),
            examples=len(looked_at),
            is_unwanted=lambda: stop.asked,
            samples=samples,
        )
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
        with copy.ending():
            copy.params(as_tree(run))
            copy.file(workspace.RUN, "config")
            with (
                workspace.building(out) as partial,
                History(partial, found.facts["history"]) as history,
                progress("train", derived.steps, "steps", found.position.step) as bar,
                events_of(run.train, folder, found) as events,
            ):
                outcome = run_legs(
                    legs,
                    learner,
                    work,
                    found=found,
                    feed=feed,
                    rhythm=loop.Rhythm.of(run.train, derived.train_examples),
                    ends=Ends(stop, limit, run.train.early_stopping),
                    validate=validate,
                    headline=headline,
                    history=history,
                    send=copy.metrics,
                    bar=bar,
                    show=Show(learner.kept, samples, events, headline),
                    within_memory=Shortage(
                        lambda size: memory_estimate(run, derived, size), lambda: memory_left(replicas), replicas
                    ).said,
                )
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


def memory_estimate(run: Run, derived: Derived, batch_size: int) -> int:
    """With the least that may wait, data that are being decoded apart."""
    facts = facts_of(run.model, derived.num_classes, workspace.facts())
    pixels = run.model.frames * run.model.input_size**2
    network = facts.parameters * FLOAT_BYTES * COPIES_OF_WEIGHTS + batch_size * facts.activation_bytes
    return RUNTIME_BYTES + network + 2 * batch_size * pixels * 3 * FLOAT_BYTES


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
