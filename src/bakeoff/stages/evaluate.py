"""run.yaml + records + models/train -> models/evaluation: metrics, plot tables, every example, a report, a picture."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import Table

from bakeoff import workspace
from bakeoff.errors import said_plainly
from bakeoff.files import building
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import VALIDATION
from bakeoff.report import examples, page, plots
from bakeoff.report.gallery import Originals, Shown
from bakeoff.run.file import fitting_manifest, load
from bakeoff.run.settings import Run
from bakeoff.tracking import tracker
from bakeoff.tracking.measured import run_id_of
from bakeoff.training.history import read_state
from bakeoff.training.variant import batch_shape

if TYPE_CHECKING:
    from bakeoff.tasks.task import Tensors

METRICS, PICTURE = "metrics.json", "pictures.jpg"


def evaluate(run: Run, records: Path, trained: Path, out: Path) -> dict[str, Any]:
    """Judge the trained network on every validation example; return what `metrics.json` holds."""
    load_tensorflow()
    from bakeoff.input.batches import evaluation_batches
    from bakeoff.input.store import Store, plain_errors_of
    from bakeoff.tasks.pictures import draw_sheet
    from bakeoff.tasks.task import compile_answer, judge, task_of
    from bakeoff.training.weights import restore

    manifest, state, settings = fitting_manifest(records, run.derived), read_state(trained), run.evaluate
    network = restore(run.model, run.derived.num_classes, trained / f"{settings.weights}.weights.h5")
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    store = Store(records, manifest.splits[VALIDATION], run.memory.on_bad_record)
    judged: list[int] = []  # the numbers of the examples in the records, of which damaged ones may be left out
    drawn: list[tuple[np.ndarray, dict]] = []

    def watch(batch: "Tensors", answer: "Tensors") -> None:
        judged.extend(batch["number"].numpy().tolist())
        drawn.extend(itertools.islice(task.shown(batch, answer), settings.pictures - len(drawn)))
        bar.advance(len(batch["image"]))

    with progress("evaluate", run.derived.validation_examples, "examples") as bar, plain_errors_of(store):
        batches = evaluation_batches(store, batch_shape(run, settings.batch_size))
        answer = compile_answer(network, task, with_losses=True)
        score = judge(task, {"network": answer}, batches, watch)["network"]
    files = store.names(np.array(judged, np.int64))
    groups = [settings.group_of(file) for file in files]
    intervals = score.intervals(groups, settings.interval_samples)
    metrics = score.result() | ({"interval": intervals} if intervals else {})
    metrics |= {"bad_records": len(store.bad)} if store.bad else {}
    kind = examples.kind_of(run.derived.task, manifest.multi_label)
    table = examples.table_of(score.columns(), judged, files, kind, manifest.classes)
    with building(out) as partial:
        draw_sheet(drawn, manifest.classes, settings.picture_min_score, partial / PICTURE)
        examples.write_examples(partial, table)
        plots.write_plots(partial, score.plots())
        worst, best = _choose_examples(table, score.worst_first(), settings.report_examples, Originals(store.read))
        report = page.Report(
            run.name, _facts(run, state), task.headline, score.result(), intervals, _describe_groups(groups),
            score.plots(), counts=manifest.splits[VALIDATION].counts, worst=worst, best=best,
        )  # fmt: skip
        page.write_page(partial, report)
        (partial / METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    with tracker.attach(run.track, run_id_of(state)) as copy:
        told = {f"evaluation/{key}": value for key, value in tracker.flattened(metrics)}
        copy.metrics(state["step"], told, revised=True, weights=settings.weights)
        copy.folder(out, "evaluation")
    return {key: metrics[key] for key in sorted(metrics, key=lambda key: key != task.headline)}  # the headline first


def _facts(run: Run, state: Mapping[str, Any]) -> dict[str, str]:
    """Return what the page says below its title."""
    step = state["best_step"] if run.evaluate.weights == "best" else state["step"]
    return {
        "task": run.derived.task,
        "validation examples": f"{run.derived.validation_examples:,}",
        "classes": f"{run.derived.num_classes:,}",
        "weights": f"{run.evaluate.weights}, of step {step:,} of {state['steps']:,}",
        "parameters": f"{run.derived.parameters:,}",
    }


def _choose_examples(table: Table, worst_first: np.ndarray, most: int, originals: Originals) -> Iterator[list[Shown]]:
    """Yield the worst and the best, with their pictures; none of the best is among the worst."""
    for places in (worst_first[:most], worst_first[most:][::-1][:most]):
        rows = [examples.row_of(table, place) for place in places.tolist()]
        yield [Shown(row, originals.images(row["example"])) for row in rows]


def _describe_groups(groups: Sequence[str]) -> str:
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
        metrics = evaluate(run, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        bad = f", without {metrics['bad_records']} damaged ones" if "bad_records" in metrics else ""
        count = f"{run.derived.validation_examples:,} validation examples{bad}"
        say(f"evaluate: {count}, {run.evaluate.weights} weights: {summary(metrics)}")
        files = f"{page.FILE}, {METRICS}, {examples.FILE}, {plots.FOLDER}/ and {PICTURE}"
        say(f"  {files}: {workspace.EVALUATION.as_posix()}/")


if __name__ == "__main__":
    main()
