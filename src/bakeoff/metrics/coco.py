"""COCO's twelve numbers and precision at each recall, counted by faster-coco-eval, a COCO library in C++.

Its Python part keeps a dict for every box, with corners, outlines and more; its C++ part, which is called here, needs
of a box its number, score and area, and of each image and class which detection overlaps which true box how much.
"""

from functools import cached_property

import numpy as np
from faster_coco_eval import COCOeval_faster
from faster_coco_eval.faster_eval_api_cpp import COCOevalEvaluateAccumulate, Dataset

from bakeoff.metrics.boxes import Table, pairs_of
from bakeoff.metrics.catalogue import COCO

Overlaps = list[list[list[list[float]]]]  # by image, class, detection and true box


class Coco:
    def __init__(self, classes: int, images: int, truth: Table, found: Table) -> None:
        """In each image, the detections of a class are best first."""
        self._classes, self._images, self._truth, self._found = classes, images, truth, found

    def numbers(self) -> dict[str, float]:
        """One that COCO calls undefined (-1) is left out."""
        stats = self._judge.stats[: len(COCO)]
        return {name: float(value) for name, value in zip(COCO, stats, strict=True) if value >= 0}

    def precision(self) -> np.ndarray:
        """(overlaps 0.5, 0.55, ... 0.95, recalls 0, 0.01, ... 1, classes), all sizes; -1 for a class without truth."""
        return self._judge.eval["precision"][:, :, :, 0, -1]

    @cached_property
    def _judge(self) -> COCOeval_faster:
        judge = COCOeval_faster(iouType="bbox")
        rules = judge.params
        rules.imgIds, rules.catIds = list(range(self._images)), list(range(1, self._classes + 1))
        judge.eval = COCOevalEvaluateAccumulate(
            rules, self._overlaps(), _listed(self._truth), _listed(self._found), rules.imgIds, rules.catIds, True
        )
        judge.summarize()
        return judge

    def _overlaps(self) -> Overlaps:
        """All of an image's detections of a class with all its true boxes of it; nothing where either are none."""
        found, truth = self._found, self._truth
        cells = self._images * self._classes
        found_cell, true_cell = (table.image * self._classes + table.classes - 1 for table in (found, truth))
        rows, columns = (np.bincount(cell, minlength=cells) for cell in (found_cell, true_cell))
        sizes = rows * columns
        ends = np.cumsum(sizes)
        found_rows, true_rows, overlap = pairs_of(found, truth, same_class=True)
        cell = found_cell[found_rows]
        values = np.zeros(int(sizes.sum()))
        inside = _places(found_cell)[found_rows] * columns[cell] + _places(true_cell)[true_rows]
        values[(ends - sizes)[cell] + inside] = overlap
        tables: Overlaps = [[[] for _ in range(self._classes)] for _ in range(self._images)]
        for place in np.flatnonzero(sizes).tolist():
            image, label = divmod(place, self._classes)
            table = values[ends[place] - sizes[place] : ends[place]]
            tables[image][label] = table.reshape(rows[place], columns[place]).tolist()
        return tables


def _places(cells: np.ndarray) -> np.ndarray:
    """How many rows before each are of its cell."""
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells)
    places = np.empty_like(cells)
    places[order] = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places


def _listed(boxes: Table) -> Dataset:
    listed = Dataset()
    areas = np.prod(boxes.corners[:, 2:] - boxes.corners[:, :2], axis=1)
    columns = (boxes.image, boxes.classes, areas, boxes.scores)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (image, label, area, score) in enumerate(rows, start=1):  # to COCO, 0 is no box
        listed.append_ref(image, label, {"id": number, "area": area, "score": score})
    return listed
