"""run.yaml + records -> models/train: final and best weights, history, state; and a run in MLflow."""

import os
import time
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, as_tree, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.tracking import git, tracker
from bakeoff.training.state import write_state


def train(run: Run, derived: Derived, records: Path, out: Path) -> dict[str, Any]:
    """Returns what `state.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches, training_batches
    from bakeoff.input.order import Order
    from bakeoff.input.store import Store
    from bakeoff.tasks.task import score_all, task_of
    from bakeoff.training import loop, weights
    from bakeoff.training.footprint import peak_memory_bytes
    from bakeoff.training.history import History, write_plots

    manifest = fitting_manifest(records, derived)
    loop.seed_everything(run.seed, deterministic=run.train.deterministic)
    network = run.model.build(derived.num_classes)
    task = task_of(run.model, manifest.classes)
    shape = run.batches_of(run.train.batch_size)
    batches = training_batches(
        Store(records, manifest.splits[TRAIN]),
        shape,
        order=Order(derived.train_examples, run.seed),
        steps=range(derived.steps),
        augment=run.train.augment,
        encode=task.encode,
    )
    validation = evaluation_batches(Store(records, manifest.splits[VALIDATION]), shape)
    predict = loop.compiled_prediction(network, task)
    started = time.monotonic()
    copy = tracker.start(run.track, run.name, _tags(manifest))
    with copy.ending():
        copy.params(as_tree(run))
        copy.file(workspace.RUN, "config")
        with workspace.building(out) as partial:
            with History(partial) as history, progress("train", derived.steps, "steps") as bar:
                best = loop.fit(
                    network,
                    run.optimizer.build(network),
                    task=task,
                    batches=batches,
                    schedule=run.legs[0].rate,
                    rhythm=loop.Rhythm(derived.steps, run.train.log_every_steps, run.train.validate_every_steps),
                    validate=lambda: score_all(task, predict, validation).result(),
                    logs=(history.add, copy.metrics),
                    keep_best=lambda: weights.save(network, partial / weights.BEST),
                    bar=bar,
                )
            weights.save(network, partial / weights.FINAL)
            write_plots(partial, task.headline)
            state = best | {
                "steps": derived.steps,
                "seconds": round(time.monotonic() - started, 1),
                "parameters": network.count_params(),
                "peak_memory_bytes": peak_memory_bytes(),
                "memory_estimate_bytes": derived.memory_estimate_bytes,
                "weights_sha256": weights.digest(network),
                "mlflow_run_id": copy.run_id,
            }
            write_state(partial, state)
        copy.tags({"bakeoff.weights_sha256": state["weights_sha256"]})
        copy.folder(out, "train")
    return state


def _tags(manifest: Manifest) -> dict[str, str]:
    """What a run came from, for whoever finds it in MLflow."""
    experiment = os.environ.get("DVC_EXP_NAME")
    return {
        "mlflow.source.name": "bakeoff train",
        "mlflow.source.git.commit": git.commit() or "none",
        "bakeoff.git_commit": git.commit() or "none",
        "bakeoff.git_dirty": str(git.has_uncommitted_changes()).lower(),
        "bakeoff.records_digest": manifest.digest,
    } | ({"DVC_EXP_NAME": experiment} if experiment else {})


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run, derived = load(workspace.RUN)
        state = train(run, derived, workspace.RECORDS, workspace.TRAINED)
        best = (
            "undefined" if state["best_value"] is None else f"{state['best_value']:.3f} at step {state['best_step']:,}"
        )
        memory = f"{state['peak_memory_bytes'] / 1e9:.1f} GB (estimated {state['memory_estimate_bytes'] / 1e9:.1f})"
        length = f"{state['steps']:,} steps in {state['seconds']:.0f} s"
        say(f"train: {length}; best {state['best_metric']} {best}; peak memory {memory}")
        kept = f", MLflow run {state['mlflow_run_id']}" if state["mlflow_run_id"] else ""
        say(f"  weights and history: {workspace.TRAINED.as_posix()}/{kept}")


if __name__ == "__main__":
    main()
