"""A trained network answers all training examples: `python -m bakeoff.inference.evaluate.ask_teacher`.

Its arguments are the run.yaml of its training, its weights, the records, and the folder to write. The names of its
classes are in `labels`, beside run.yaml, one a line.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.foundation.child_process import die_with_parent
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.progress import progress
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.inference.predict.select_model import Trained


def ask(run: Run, weights: Path, labels: tuple[str, ...], records: Path, out: Path) -> None:
    load_tensorflow()
    from bakeoff.inference.predict.model_interface import restore_network
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader, plain_errors_of
    from bakeoff.learning.plan.phases import batch_shape
    from bakeoff.learning.tasks.task import compile_answer, make_task
    from bakeoff.learning.tasks.teacher_answers import gather_answers
    from bakeoff.learning.training.loop import seed_everything

    seed_everything(run.seed, deterministic=True)
    manifest = read_manifest(records)
    task = make_task(run.model, labels)
    network = restore_network(Trained(run.model, weights, labels, multi_label=False))
    store = RecordReader(records, manifest.splits[TRAIN], run.memory.on_bad_record)
    batches = evaluation_batches(store, batch_shape(run, run.evaluate.batch_size))
    with progress("teacher", store.examples, "examples") as bar, plain_errors_of(store):
        answers = gather_answers(compile_answer(network, task), batches, store.examples, len(labels), bar.advance)
    known = [labels.index(label) for label in manifest.classes]  # it may know more classes, and in another order
    replace(answers, scores=np.ascontiguousarray(answers.scores[:, known])).write(out)


def main() -> None:
    with errors_in_one_line():
        die_with_parent()
        run_yaml, weights, records, out = map(Path, sys.argv[1:])
        labels = tuple((run_yaml.parent / "labels").read_text(encoding="utf-8").split("\n"))
        ask(load(run_yaml), weights, labels, records, out)


if __name__ == "__main__":
    main()
