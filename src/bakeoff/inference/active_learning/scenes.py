"""What a network answers about a picture -> boxes to correct, and a line for a list."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from bakeoff.importing.datasets.pre_annotate import Proposed, Scene
from bakeoff.inference.predict.output_formats import image_row, rows_of

NAMED = 3


def make_scene(
    name: PurePosixPath, pixels: np.ndarray, answer: Mapping[str, Any], labels: Sequence[str], min_score: float
) -> tuple[Scene, str]:
    """Return the boxes from `min_score` on, and the best answers, such as `cat 0.61, dog 0.30`.

    A classifier has no boxes.
    """
    image = image_row(1, name.name, pixels)
    rows = rows_of(dict(answer), tuple(labels), image)
    boxes = []
    for row in rows:
        if "bbox" not in row or row["score"] < min_score:
            continue
        left, top, width, height = row["bbox"]
        if width > 0 and height > 0:
            right, bottom = round(left + width, 2), round(top + height, 2)
            boxes.append(Proposed(row["category"], row["score"], left, top, right, bottom))
    best = sorted(rows, key=lambda row: -row["score"])[:NAMED]
    description = ", ".join(f"{row['category']} {row['score']:.2f}" for row in best)
    return Scene(name, image["width"], image["height"], tuple(boxes)), description or "nothing"
