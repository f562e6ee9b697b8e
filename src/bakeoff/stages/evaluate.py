"""run.yaml + records + models/train -> models/evaluation: metrics, plot tables, per-example results, a picture."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, fitting_manifest, load
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import VALIDATION
from bakeoff.tables import write_table
from bakeoff.tracking import tracker
from bakeoff.training.state import read_state

METRICS, EXAMPLES, PLOTS, PICTURE = "metrics.json", "examples.jsonl", "plots", "pictures.jpg"


def evaluate(run: Run, derived: Derived, records: Path, trained: Path, out: Path) -> dict[str, Any]:
    """Returns what `metrics.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches
    from bakeoff.input.store import Store
    from bakeoff.pictures import draw_sheet
    from bakeoff.tasks.task import task_of
    from bakeoff.training.step import compiled_prediction
    from bakeoff.training.weights import restore

    manifest = fitting_manifest(records, derived)
    state = read_state(trained)
    network = restore(run.model, derived.num_classes, trained / f"{run.evaluate.weights}.weights.h5")
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    predict = compiled_prediction(network, task)
    batches = evaluation_batches(Store(records, manifest.splits[VALIDATION]), run.batches_of(run.evaluate.batch_size))
    score = task.score()
    shown: list[tuple[np.ndarray, dict]] = []
    with progress("evaluate", derived.validation_examples, "examples") as bar:
        for batch in batches:
            found = predict(batch["image"])
            score = score + task.judge(batch, found)
            shown += itertools.islice(task.shown(batch, found), run.evaluate.pictures - len(shown))
            bar.advance(len(batch["image"]))
    metrics = score.result()
    with workspace.building(out) as partial:
        draw_sheet(shown, manifest.classes, run.evaluate.picture_min_score, partial / PICTURE)
        (partial / EXAMPLES).write_text("".join(json.dumps(row) + "\n" for row in score.rows()), encoding="utf-8")
        (partial / PLOTS).mkdir()
        for name, rows in score.plots().items():
            write_table(partial / PLOTS / f"{name}.tsv", rows)
        (partial / METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    with tracker.attach(run.track, state["run_id"]) as copy:
        numbers = {f"evaluation/{key}": value for key, value in tracker.flattened(metrics)}
        copy.metrics(state["step"], numbers, revised=True)
        copy.folder(out, "evaluation")
    return {key: metrics[key] for key in sorted(metrics, key=lambda key: key != task.headline)}  # the headline first


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run, derived = load(workspace.RUN)
        metrics = evaluate(run, derived, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        numbers = [f"{name} {value:.3f}" for name, value in metrics.items() if isinstance(value, float)]
        said = ", ".join(numbers[:3])
        say(f"evaluate: {derived.validation_examples:,} validation examples, {run.evaluate.weights} weights: {said}")
        say(f"  metrics.json, examples.jsonl, plots/ and {PICTURE}: {workspace.EVALUATION.as_posix()}/")


if __name__ == "__main__":
    main()
