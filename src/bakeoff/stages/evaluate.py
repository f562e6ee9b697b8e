"""run.yaml + records + models/train -> models/evaluation: metrics, plot tables, every example, a report, a picture."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import Table

from bakeoff import workspace
from bakeoff.errors import said_plainly
from bakeoff.files import building
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import VALIDATION
from bakeoff.report import examples, page, plots
from bakeoff.report.gallery import Shown
from bakeoff.report.originals import Originals
from bakeoff.run.file import fitting_manifest, load
from bakeoff.run.settings import Run
from bakeoff.tracking import tracker
from bakeoff.training.state import read_state
from bakeoff.training.variant import Derived, batch_shape

METRICS, PICTURE = "metrics.json", "pictures.jpg"


def evaluate(run: Run, derived: Derived, records: Path, trained: Path, out: Path) -> dict[str, Any]:
    """Returns what `metrics.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches
    from bakeoff.input.store import Store, plain_errors_of
    from bakeoff.tasks.pictures import draw_sheet
    from bakeoff.tasks.task import compiled_answers, task_of
    from bakeoff.training.step import as_float32
    from bakeoff.training.weights import restore

    manifest = fitting_manifest(records, derived)
    state = read_state(trained)
    network = restore(run.model, derived.num_classes, trained / f"{run.evaluate.weights}.weights.h5")
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    answer = compiled_answers(task, lambda images: as_float32(network(images, training=False)))
    store = Store(records, manifest.splits[VALIDATION], run.memory.on_bad_record)
    score = task.score()
    judged: list[int] = []  # the numbers of the examples in the records, of which damaged ones may be left out
    shown: list[tuple[np.ndarray, dict]] = []
    with progress("evaluate", derived.validation_examples, "examples") as bar, plain_errors_of(store):
        for batch in evaluation_batches(store, batch_shape(run, run.evaluate.batch_size)):
            found = answer(batch)
            score = score + task.judge(batch, found)
            judged += batch["number"].numpy().tolist()
            shown += itertools.islice(task.shown(batch, found), run.evaluate.pictures - len(shown))
            bar.advance(len(batch["image"]))
    files = store.names(np.array(judged, np.int64))
    groups = [run.evaluate.group_of(file) for file in files]
    numbers, tables = score.result(), score.plots()
    intervals = score.intervals(groups, run.evaluate.interval_samples)
    metrics = numbers | ({"interval": intervals} if intervals else {})
    metrics |= {"bad_records": len(store.bad)} if store.bad else {}
    kind = examples.kind_of(derived.task, manifest.multi_label)
    table = examples.table_of(score.columns(), judged, files, kind, manifest.classes)
    order, most, originals = score.worst_first(), run.evaluate.report_examples, Originals(store.read)
    worst, best = (_shown(table, places, originals) for places in (order[:most], order[most:][::-1][:most]))
    report = page.Report(
        run.name, _facts(run, derived, state), task.headline, numbers, intervals, _drawn(groups), tables,
        counts=manifest.splits[VALIDATION].counts,
        worst=worst, best=best,
    )  # fmt: skip
    with building(out) as partial:
        draw_sheet(shown, manifest.classes, run.evaluate.picture_min_score, partial / PICTURE)
        examples.write_examples(partial, table)
        plots.write_plots(partial, tables)
        page.write_page(partial, report)
        (partial / METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    with tracker.attach(run.track, state["run_id"]) as copy:
        told = {f"evaluation/{key}": value for key, value in tracker.flattened(metrics)}
        copy.metrics(state["step"], told, revised=True, weights=run.evaluate.weights)
        copy.folder(out, "evaluation")
    return {key: metrics[key] for key in sorted(metrics, key=lambda key: key != task.headline)}  # the headline first


def _facts(run: Run, derived: Derived, state: Mapping[str, Any]) -> dict[str, str]:
    """What the page says below its title."""
    step = state["best_step"] if run.evaluate.weights == "best" else state["step"]
    return {
        "task": derived.task,
        "validation examples": f"{derived.validation_examples:,}",
        "classes": f"{derived.num_classes:,}",
        "weights": f"{run.evaluate.weights}, of step {step:,} of {state['steps']:,}",
        "parameters": f"{derived.parameters:,}",
    }


def _shown(table: Table, places: np.ndarray, originals: Originals) -> list[Shown]:
    rows = [examples.row_of(table, place) for place in places.tolist()]
    return [Shown(row, originals.images(row["example"])) for row in rows]


def _drawn(groups: Sequence[str]) -> str:
    count = len(set(groups))
    return f"{count:,} examples" if count == len(groups) else f"{count:,} groups of {len(groups):,} examples"


def summary(metrics: Mapping[str, Any]) -> str:
    """The first numbers, the headline with its interval."""
    numbers = [(name, value) for name, value in metrics.items() if isinstance(value, float)][:3]
    ends = metrics.get("interval", {})
    said = [f"{name} {value:.3f}" for name, value in numbers]
    if numbers and numbers[0][0] in ends:
        first = ends[numbers[0][0]]
        said[0] += f" ({first['low']:.3f} to {first['high']:.3f})"
    return ", ".join(said) or "nothing to count numbers on"


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run = load(workspace.RUN)
        metrics = evaluate(run, run.derived, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        bad = f", without {metrics['bad_records']} damaged ones" if "bad_records" in metrics else ""
        count = f"{run.derived.validation_examples:,} validation examples{bad}"
        say(f"evaluate: {count}, {run.evaluate.weights} weights: {summary(metrics)}")
        files = f"{page.FILE}, {METRICS}, {examples.FILE}, {plots.FOLDER}/ and {PICTURE}"
        say(f"  {files}: {workspace.EVALUATION.as_posix()}/")


if __name__ == "__main__":
    main()
