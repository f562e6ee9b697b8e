"""Two runs' examples -> a sheet of those that A has right and B has not: each twice, with A's answer and with B's."""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.evaluation.drawing import draw_sheet
from bakeoff.evaluation.slice_significance import ExampleCounts, count_right
from bakeoff.experiments.compare.comparison_verdict import MatchedExamples
from bakeoff.experiments.compare.examples import SIDES, Name
from bakeoff.foundation.errors import BakeoffError
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.foundation.workspace import RECORDS
from bakeoff.learning.input.record_reader import RecordReader

SHOWN = 6
MIN_SCORE = 0.3
Drawn = tuple[np.ndarray, dict[str, Any]]


def choose_worse(matched: MatchedExamples, most: int = SHOWN) -> list[Name]:
    """Return the examples of which B has less right than A, those that lost most first."""
    before, after = (count_right(one.score(matched.names, matched.classes).columns()) for one in (matched.a, matched.b))
    lost = _share(before) - _share(after)
    order = np.argsort(-lost, kind="stable")[:most]
    return [matched.names[place] for place in order if lost[place] > 0]


def _share(counts: ExampleCounts) -> np.ndarray:
    return np.where(counts.whole > 0, counts.right / np.maximum(counts.whole, 1), 1.0)


def draw_worse(matched: MatchedExamples, file: Path) -> int:
    """Write the sheet, and return how many examples are on it; none where the records of the split are not here."""
    names, stores = choose_worse(matched), _open_records()
    pixels = [_read_pixels(stores, matched.a.rows[name]) for name in names]
    pairs = [(name, values) for name, values in zip(names, pixels, strict=True) if values is not None]
    if pairs:
        draw_sheet(_draw_pairs(matched, pairs), matched.classes, MIN_SCORE, file)
    return len(pairs)


def _draw_pairs(matched: MatchedExamples, pairs: Sequence[tuple[Name, np.ndarray]]) -> Iterator[Drawn]:
    for name, pixels in pairs:
        for judged in (matched.a, matched.b):
            yield pixels, _describe_answer(judged.rows[name], matched.classes, pixels.shape)


def _describe_answer(row: Any, classes: Sequence[str], shape: Sequence[int]) -> dict[str, Any]:
    """Return what a row of examples.parquet says, in the words of the sheet."""
    ids = {label: number for number, label in enumerate(classes, start=1)}
    if "true_score" in row:
        return {"truth": ids[row["truth"]], "given": ids[row["prediction"]], "score": row["score"]}
    if "scores" in row:
        return {"class_scores": np.array(row["scores"]), "true_classes": [ids[label] for label in row["truth"]]}
    height, width = shape[-3], shape[-2]
    sides = np.array([height, width, height, width], np.float64)
    truth, given = (
        (np.array([[box[side] for side in SIDES] for box in boxes]).reshape(-1, 4) / sides, boxes)
        for boxes in (row["truth"], row["prediction"])
    )
    return {
        "true_boxes": truth[0], "true_classes": np.array([ids[box["label"]] for box in truth[1]], int),
        "boxes": given[0], "classes": np.array([ids[box["label"]] for box in given[1]], int),
        "scores": np.array([box["score"] for box in given[1]], float),
    }  # fmt: skip


def _open_records() -> list[RecordReader]:
    """Return the splits that are here; none where the records are not, or cannot be read."""
    try:
        return [RecordReader(RECORDS, split) for split in read_manifest(RECORDS).splits.values()]
    except (BakeoffError, OSError, ValueError):
        return []


def _read_pixels(stores: Sequence[RecordReader], row: Mapping[str, Any]) -> np.ndarray | None:
    """Return an example's picture, or frames, from the split that holds it under this name."""
    number = np.array([row["example"]])
    try:
        for store in stores:
            if row["example"] < store.examples and store.names(number) == [row["file"]]:
                [data] = store.read(number)
                return _decode(frames_in(decode_features(data or b"")))
    except (BakeoffError, OSError, ValueError):
        pass
    return None


def _decode(frames: Sequence[bytes]) -> np.ndarray | None:
    with quiet_pillow():
        pictures = [np.asarray(Image.open(io.BytesIO(frame)).convert("RGB")) for frame in frames]
    return None if not pictures else pictures[0] if len(pictures) == 1 else np.stack(pictures)
