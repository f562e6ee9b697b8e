"""Pascal VOC's mean average precision at overlap 0.5, as the Object Detection API counts it (`pascal_voc_metrics`).

Each detection, best first, is asked for the true box of its class that it overlaps most; if that one is taken already,
the detection is wrong. COCO would give it the next one that is free.
"""

import numpy as np

from bakeoff.metrics.boxes import Table, pairs_of

OVERLAP = 0.5
ELEVEN = np.linspace(0, 1, 11)  # as floats a little off: 6 of 20 is less than 0.3


def mean_average_precisions(found: Table, truth: Table) -> dict[str, float]:
    """`mAP_voc`: the area under the curve (VOC 2010 on), `mAP_voc_11`: at eleven recalls (VOC 2007).

    Means over the classes that have true boxes; without any, there is no number. `found` is best first.
    """
    hits = _hits(found, truth)
    areas, elevens = [], []
    for label in np.unique(truth.classes):
        hit = hits[found.classes == label]
        right = np.cumsum(hit)
        recall, precision = right / (truth.classes == label).sum(), right / np.arange(1, len(hit) + 1)
        areas.append(_area(recall, precision))
        elevens.append(_at_eleven(recall, precision))
    return {"mAP_voc": float(np.mean(areas)), "mAP_voc_11": float(np.mean(elevens))} if areas else {}


def _hits(found: Table, truth: Table) -> np.ndarray:
    found_rows, true_rows, overlap = pairs_of(found, truth, same_class=True)
    order = np.lexsort((true_rows, -overlap, found_rows))
    first = np.flatnonzero(np.diff(found_rows[order], prepend=-1))  # of each detection, the most overlapped
    found_rows, true_rows, overlap = (rows[order][first] for rows in (found_rows, true_rows, overlap))
    close = overlap >= OVERLAP
    found_rows, true_rows = found_rows[close], true_rows[close]
    winners = np.unique(true_rows, return_index=True)[1]  # of those that want the same, the first: the best
    hits = np.zeros(len(found), bool)
    hits[found_rows[winners]] = True
    return hits


def _area(recall: np.ndarray, precision: np.ndarray) -> float:
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * best_from_here))


def _at_eleven(recall: np.ndarray, precision: np.ndarray) -> float:
    return float(np.mean([precision[recall >= at - 1e-9].max(initial=0.0) for at in ELEVEN]))
