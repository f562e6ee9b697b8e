"""`examples.parquet` of an evaluation -> the score that wrote it, so that it can be counted again on other drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bakeoff.errors import DataError
from bakeoff.metrics.boxes import Boxes
from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.metrics.detection import DetectionScore
from bakeoff.metrics.multi_label import MultiLabelScore, Scored

Score = ClassificationScore | DetectionScore | MultiLabelScore
Name = tuple[str, int]  # of an example: its file, and which of those with this name
SIDES = ("ymin", "xmin", "ymax", "xmax")
PIXELS = 0.01  # by which boxes may differ and be the same


@dataclass(frozen=True)
class Judged:
    """An evaluation's examples by their names, in its order."""

    kind: str  # boxes, one label or several labels
    classes: tuple[str, ...]
    rows: Mapping[Name, Mapping[str, Any]]

    @classmethod
    def read(cls, file: Path) -> "Judged":
        try:
            table = pq.read_table(file)
            rows, metadata = table.to_pylist(), table.schema.metadata or {}
            kind = _kind(table.column_names)
            named: dict[Name, Mapping[str, Any]] = {}
            seen: dict[str, int] = {}
            for row in rows:
                seen[row["file"]] = seen.get(row["file"], 0) + 1
                named[row["file"], seen[row["file"]]] = row
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{file}: must be the examples of an evaluation, got a file that says {error}") from None
        classes = [
            metadata[key].decode() for number in range(len(metadata)) if (key := b"class %d" % (number + 1)) in metadata
        ]
        return cls(kind, tuple(classes), named)

    def truth(self, name: Name) -> Any:
        """What two evaluations must agree on."""
        truth = self.rows[name]["truth"]
        if self.kind == "one label":
            return truth
        if self.kind == "several labels":
            return sorted(truth)
        return sorted((box["label"], *(round(box[side] / PIXELS) for side in SIDES)) for box in truth)

    def labels(self, name: Name) -> set[str]:
        """The classes that are there."""
        truth = self.rows[name]["truth"]
        return (
            {truth} if self.kind == "one label" else {part["label"] if self.kind == "boxes" else part for part in truth}
        )

    def score(self, names: Sequence[Name], classes: Sequence[str]) -> Score:
        """Of these examples, in this order; `classes` may be more than this one's own."""
        ids = {label: number for number, label in enumerate(classes, start=1)}
        rows = [self.rows[name] for name in names]
        if self.kind == "one label":
            answers = [
                Answer(ids[row["truth"]], ids[row["prediction"]], row["score"], row["true_score"], row["rank"])
                for row in rows
            ]
            return ClassificationScore(tuple(classes), tuple(answers))
        if self.kind == "several labels":
            own = [ids[label] - 1 for label in self.classes]
            scored = []
            for row in rows:
                scores = [0.0] * len(classes)
                for place, value in zip(own, row["scores"], strict=True):
                    scores[place] = value
                scored.append(Scored(tuple(label in row["truth"] for label in classes), tuple(scores)))
            return MultiLabelScore(tuple(classes), tuple(scored))
        truth = tuple(_boxes(row["truth"], ids) for row in rows)
        found = tuple(_boxes(row["prediction"], ids, scored=True) for row in rows)
        return DetectionScore(tuple(classes), truth, found, tuple(row["loss"] for row in rows))


def _kind(columns: Sequence[str]) -> str:
    if "scores" in columns:
        return "several labels"
    return "one label" if "true_score" in columns else "boxes"


def _boxes(boxes: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, scored: bool = False) -> Boxes:
    corners = np.array([[box[side] for side in SIDES] for box in boxes], np.float64).reshape(-1, 4)
    classes = np.array([ids[box["label"]] for box in boxes], np.int64)
    return Boxes(corners, classes, np.array([box["score"] for box in boxes], np.float64) if scored else None)
