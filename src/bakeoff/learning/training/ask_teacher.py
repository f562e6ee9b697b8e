"""A trained network answers all training examples: `python -m bakeoff.learning.training.ask_teacher`.

Its arguments are a folder, the records, and the folder to write. The first holds what a training left: run.yaml, the
best weights, and the names of the classes in `labels`, one a line.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.foundation.child_process import die_with_parent
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.progress import progress
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.foundation.workspace import RUN
from bakeoff.learning.pretrained.weight_source import BEST
from bakeoff.learning.run_file.read_write import load_learning
from bakeoff.learning.run_file.settings import LearningRun

LABELS = "labels"


def ask(run: LearningRun, weights: Path, labels: tuple[str, ...], records: Path, out: Path) -> None:
    load_tensorflow()
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader, plain_errors_of
    from bakeoff.learning.networks.weights import restore
    from bakeoff.learning.plan.phases import batch_shape
    from bakeoff.learning.tasks.task import compile_answer, make_task
    from bakeoff.learning.tasks.teacher_answers import gather_answers
    from bakeoff.learning.training.loop import seed_everything

    seed_everything(run.seed, deterministic=True)
    manifest = read_manifest(records)
    network, task = restore(run.model, len(labels), weights), make_task(run.model, labels)
    store = RecordReader(records, manifest.splits[TRAIN], run.memory.on_bad_record)
    batches = evaluation_batches(store, batch_shape(run, run.train.batch))
    with progress("teacher", store.examples, "examples") as bar, plain_errors_of(store):
        answer = compile_answer(network, task, with_spreads=True)
        answers = gather_answers(answer, batches, store.examples, len(labels), bar.advance)
    known = [labels.index(label) for label in manifest.classes]  # it may know more classes, and in another order
    replace(answers, scores=np.ascontiguousarray(answers.scores[:, known])).write(out)


def main() -> None:
    with errors_in_one_line():
        die_with_parent()
        given, records, out = map(Path, sys.argv[1:])
        labels = tuple((given / LABELS).read_text(encoding="utf-8").split("\n"))
        ask(load_learning(given / RUN.name), given / BEST, labels, records, out)


if __name__ == "__main__":
    main()
