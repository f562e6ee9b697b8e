"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, as_tree, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.page import FILE as REPORT
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.tracking import tracker
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.tags import source_tags
from bakeoff.training.pace import pace_key, pace_of, remember
from bakeoff.training.state import summary, write_state


def train(run: Run, derived: Derived, records: Path, out: Path) -> dict[str, Any]:
    """Returns what `state.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches
    from bakeoff.input.store import Store
    from bakeoff.tasks.task import task_of
    from bakeoff.training import loop, weights
    from bakeoff.training.course import run_legs
    from bakeoff.training.devices import strategy_of
    from bakeoff.training.feed import Feed
    from bakeoff.training.fingerprint import fingerprint
    from bakeoff.training.footprint import peak_memory_bytes
    from bakeoff.training.history import History, write_plots
    from bakeoff.training.learner import new_learner
    from bakeoff.training.origin import origin_of
    from bakeoff.training.starting import in_words, load_first_weights, write_report
    from bakeoff.training.validation import Validation
    from bakeoff.training.work import Work

    manifest, legs = fitting_manifest(records, derived), run.legs
    strategy = strategy_of(run.train.devices, [leg.span.batch_size for leg in legs])
    loop.seed_everything(run.seed, deterministic=run.train.deterministic)
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    learner = new_learner(run.model, derived.num_classes, task, run.optimizer, run.train, strategy)
    feed = Feed.of(run.train, Store(records, manifest.splits[TRAIN]), run.seed, task, run.batches_of)
    held_out = Store(records, manifest.splits[VALIDATION])
    validate = Validation(task, learner.kept, evaluation_batches(held_out, run.batches_of(run.train.batch_size)))
    origin = origin_of(run.train.init, lambda run_id: fetch_weights(run.track, run_id))
    first = load_first_weights(learner.network, run.model, run.train.init, origin)
    devices = str(strategy.num_replicas_in_sync)
    name = fingerprint(as_tree(run), records=manifest.digest, first_weights=origin.digest, devices=devices)
    with Work(workspace.in_flight(name), [leg.span.name for leg in legs], fresh=run.train.fresh) as work:
        found = work.newest()
        for line in [*in_words(first), *found.in_words(derived.steps, work.folder)]:
            say(f"train: {line}")
        copy = tracker.start(run.track, run.name, source_tags(manifest.digest, name), run_id=work.run_id)
        with copy.ending():
            copy.params(as_tree(run))
            copy.folder(workspace.RUN.parent, "config")
            copy.file(records / REPORT, "data")
            examples = {split: content.examples for split, content in manifest.splits.items()}
            copy.dataset(run.variant["data"], manifest.digest, records.as_posix(), examples)
            copy.changes()
            with (
                workspace.building(out) as partial,
                History(partial, found.facts["history"]) as history,
                progress("train", derived.steps, "steps", found.position.step) as bar,
            ):
                outcome = run_legs(
                    legs,
                    learner,
                    work,
                    found=found,
                    feed=feed,
                    rhythm=loop.Rhythm.of(run.train),
                    validate=validate,
                    headline=task.headline,
                    history=history,
                    send=copy.metrics,
                    bar=bar,
                )
                remember_paces(run, derived, history.lines)
                weights.save(learner.kept, partial / weights.FINAL)
                digest = weights.digest(learner.kept)
                learner.keep(work.best(outcome.best_position))
                weights.save(learner.kept, partial / weights.BEST)
                write_plots(partial, task.headline)
                state = outcome.summary(task.headline, legs) | {
                    "classes": list(manifest.classes),
                    "steps": derived.steps,
                    "parameters": learner.kept.count_params(),
                    "peak_memory_bytes": peak_memory_bytes(),
                    "memory_estimate_bytes": derived.memory_estimate_bytes,
                    "weights_sha256": digest,
                    "lineage": {"fingerprint": name, "started_from": first["source"], "first_weights": origin.digest},
                    "run_id": copy.run_id,
                }
                write_report(first, partial)
                write_state(partial, state)
            copy.tags({"bakeoff.weights_sha256": digest})
            copy.folder(out, "train")
    return state


def remember_paces(run: Run, derived: Derived, history: Sequence[str]) -> None:
    """For whoever plans a run like this one."""
    for leg in run.legs:
        seconds = pace_of(leg, history, leg.span.batch_size * run.train.accumulate_batches)
        if seconds is not None:
            remember(workspace.paces(), pace_key(run.model, derived.num_classes, run.train, leg), seconds)


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run, derived = load(workspace.RUN)
        state = train(run, derived, workspace.RECORDS, workspace.TRAINED)
        say(f"train: {summary(state)}")
        say(f"  weights and history: {workspace.TRAINED.as_posix()}/, run {state['run_id']}")


if __name__ == "__main__":
    main()
