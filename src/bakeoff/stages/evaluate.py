"""run.yaml + records + models/train -> models/evaluation: metrics, plot tables, every example, a report, a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records.record import VALIDATION
from bakeoff.report import examples, page, plots
from bakeoff.run.file import fitting_manifest, load
from bakeoff.run.settings import Run
from bakeoff.stages import read_options, stage_parser
from bakeoff.tracking import tracker
from bakeoff.tracking.measured import run_id_of
from bakeoff.training.history import read_history, read_state
from bakeoff.training.variant import batch_shape


def evaluate(run: Run, records: Path, trained: Path, out: Path) -> dict[str, Any]:
    """Judge the trained network on every validation example; return what `metrics.json` holds."""
    load_tensorflow()
    from bakeoff.input.store import Store, plain_errors_of
    from bakeoff.report.evaluation import Evaluation
    from bakeoff.tasks.task import compile_answer, task_of
    from bakeoff.training.weights import restore

    manifest, state, settings = fitting_manifest(records, run.derived), read_state(trained), run.evaluate
    network = restore(run.model, run.derived.num_classes, trained / f"{settings.weights}.weights.h5")
    task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
    split = manifest.splits[VALIDATION]
    store = Store(records, split, run.memory.on_bad_record)
    answer, shape = compile_answer(network, task, with_losses=True), batch_shape(run, settings.batch_size)
    history = read_history(trained)
    evaluation = Evaluation(run.name, _facts(run, state), task, answer, store, shape, manifest, split, history)
    with progress("evaluate", run.derived.validation_examples, "examples") as bar, plain_errors_of(store):
        metrics = evaluation.write(settings, out, bar.advance)
    with tracker.attach(run.track, run_id_of(state)) as copy:
        told = {f"evaluation/{key}": value for key, value in tracker.flattened(metrics)}
        copy.metrics(state["step"], told, revised=True, weights=settings.weights)
        copy.folder(out, "evaluation")
    return evaluation.headline_first(metrics)


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


def main() -> None:
    with said_plainly():
        read_options(stage_parser("evaluate", __doc__))
        workspace.require_own_code()
        run = load(workspace.RUN)
        metrics = evaluate(run, workspace.RECORDS, workspace.TRAINED, workspace.EVALUATION)
        bad = f", without {metrics['bad_records']} damaged ones" if "bad_records" in metrics else ""
        count = f"{run.derived.validation_examples:,} validation examples{bad}"
        say(f"evaluate: {count}, {run.evaluate.weights} weights: {page.summarize_metrics(metrics)}")
        files = f"{page.FILE}, {examples.METRICS}, {examples.FILE}, {plots.FOLDER}/ and {examples.PICTURE}"
        say(f"  {files}: {workspace.EVALUATION.as_posix()}/")


if __name__ == "__main__":
    main()
