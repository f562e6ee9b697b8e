"""Answers to all examples of a split -> metrics, plot tables, every example, a page and a picture, in one folder."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pyarrow import Table

from bakeoff.dataset.records.manifest import Manifest, Split
from bakeoff.evaluation import evaluation_report, examples_parquet, plots_tsv
from bakeoff.evaluation.drawing import draw_sheet
from bakeoff.evaluation.example_facts import describe_examples, match_rows, measure_picture, read_table
from bakeoff.evaluation.gallery import Originals, Shown
from bakeoff.evaluation.header import ReportHeader
from bakeoff.evaluation.headline_json import write_headline
from bakeoff.evaluation.settings import Evaluate
from bakeoff.evaluation.weak_slices import judge_slices, write_slices
from bakeoff.foundation.files import building
from bakeoff.foundation.html.template import embed_jpeg
from bakeoff.learning.input.batches import evaluation_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.letterbox import WINDOW, cut_out
from bakeoff.learning.tasks.task import Answer, Judge, Tensors, judge

ANSWERS = "network"


@dataclass(frozen=True)
class Evaluation:
    """What is to be judged."""

    about: ReportHeader
    judge: Judge
    answer: Answer
    store: RecordReader
    shape: Shape
    manifest: Manifest
    split: Split
    history: Sequence[Mapping[str, Any]] = ()  # of the training, for the page
    augmented: Image.Image | None = None  # examples of the training as its network got them, for the page
    group: str | None = None  # a pattern on the names, where the settings have none

    def write(self, settings: Evaluate, out: Path, advance: Callable[[int], object]) -> dict[str, Any]:
        """Judge every example, write the folder `out`, and return what `metrics.json` holds."""
        judged: list[int] = []  # the numbers of the examples in the records, of which damaged ones may be left out
        pictured: list[tuple[np.ndarray, dict]] = []
        measured: list[tuple[float, float]] = []
        rows = read_table(settings.slices)

        def watch(batch: Tensors, answer: Tensors) -> None:
            judged.extend(batch["number"].numpy().tolist())
            measured.extend(map(measure_picture, _take_pictures(batch)))
            pictured.extend(
                itertools.islice(self.judge.iterate_pictures(batch, answer), settings.pictures - len(pictured))
            )
            advance(len(batch["number"]))

        classes = self.manifest.classes
        batches = evaluation_batches(self.store, self.shape)
        score = judge(self.judge, {ANSWERS: self.answer}, batches, watch)[ANSWERS]
        origins = list(self.store.origins(np.array(judged, np.int64)))
        files = [one.file for one in origins]
        groups = settings.groups_of(files)
        intervals = score.intervals(groups, settings.interval_samples)
        numbers, tables = score.result(), score.plots()
        metrics = numbers | ({"interval": intervals} if intervals else {})
        metrics |= {"bad_records": len(self.store.bad)} if self.store.bad else {}
        kind = examples_parquet.choose_kind(self.manifest.task, self.manifest.multi_label)
        columns, group = score.columns(), settings.group or self.group
        facts = describe_examples(origins, measured, columns, group) | match_rows(rows, files)
        together = replace(settings, group=group).groups_of(files) if group else None
        side = next(name for name, split in self.manifest.splits.items() if split == self.split)
        slices = judge_slices(columns, score.count_weighted, facts, together, f"{side} examples")
        table = examples_parquet.add_facts(examples_parquet.make_table(columns, judged, files, kind, classes), facts)
        with building(out) as partial:
            draw_sheet(pictured, classes, settings.picture_min_score, partial / examples_parquet.PICTURE)
            examples_parquet.write_examples(partial, table)
            plots_tsv.write_plots(partial, tables)
            originals = Originals(self.store.read)
            worst, best = _choose_examples(table, score.worst_first(), settings.report_examples, originals)
            report = evaluation_report.EvaluationReport(
                self.about, self.judge.headline, numbers, intervals, _describe_groups(groups), tables,
                counts=self.split.counts, history=self.history, worst=worst, best=best,
                augmented=embed_jpeg(self.augmented) if self.augmented else "", slices=slices,
            )  # fmt: skip
            evaluation_report.write_page(partial, report)
            (partial / examples_parquet.METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
            write_headline(partial, metrics, self.judge.headline)
            write_slices(partial, slices)
        return metrics

    def headline_first(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        return {key: metrics[key] for key in sorted(metrics, key=lambda key: key != self.judge.headline)}


def _take_pictures(batch: Tensors) -> list[np.ndarray]:
    """Return the pictures of a batch without the grey around them."""
    images = list(np.asarray(batch["image"]))  # without a copy, which `numpy()` makes
    return list(map(cut_out, images, batch[WINDOW].numpy())) if WINDOW in batch else images


def _choose_examples(table: Table, worst_first: np.ndarray, most: int, originals: Originals) -> Iterator[list[Shown]]:
    """Yield the worst and the best, with their pictures; none of the best is among the worst."""
    for places in (worst_first[:most], worst_first[most:][::-1][:most]):
        rows = [examples_parquet.read_row(table, place) for place in places.tolist()]
        yield [Shown(row, originals.images(row["example"])) for row in rows]


def _describe_groups(groups: Sequence[str]) -> str:
    count = len(set(groups))
    return f"{count:,} examples" if count == len(groups) else f"{count:,} groups of {len(groups):,} examples"
