"""The examples of an evaluation: where a run's `examples.parquet` is, the score that wrote it, to be counted again on
other bootstrap samples, and what two runs have in common."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow.parquet as pq

from bakeoff.experiments.compare.run_row import OTHER_EVALUATION, Contender
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.workspace import EVALUATION, JUDGED
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.metrics.multi_label import MultiLabelScore, Scored
from bakeoff.tracking.journal.artifacts import kept_file
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import result_here
from bakeoff.tracking.results.run_id import SHOWN_OF_ID
from bakeoff.tracking.store import stored_run
from bakeoff.tracking.store.fetch_artifacts import fetch_file

FILE = "examples.parquet"
NAME = f"evaluation/{FILE}"  # among a run's artifacts
Score = ClassificationScore | DetectionScore | MultiLabelScore
Name = tuple[str, int]  # of an example: its file, and which of those with this name
SIDES = ("ymin", "xmin", "ymax", "xmax")
PIXELS = 0.01  # by which boxes may differ and be the same
NAMED = 3  # examples in a message
SHOWN_OF_DIGEST = 12  # characters, in the name of a folder that `bakeoff evaluate` writes


def find_examples(contender: Contender, address: str, on: str | None = None) -> Path:
    """Find the file: kept by the tracker, in MLflow's artifacts, here or in DVC's cache; `address` is the store's.

    `on` names a result of `bakeoff evaluate`, such as that of the test; else it is the stage's.
    """
    name = f"{OTHER_EVALUATION}{on}/{FILE}" if on else NAME
    other_places = [partial(_judged_here, on=on)] if on else [_here, _in_cache]
    for find_in in (partial(_kept, name=name), lambda one: one.artifact(name), *other_places):
        if (file := find_in(contender)) is not None:
            return file
    if contender.mlflow_id and urlsplit(contender.artifacts or "").scheme not in ("", "file"):
        if (fetched := fetch_file(address, contender.mlflow_id, name)) is not None:
            return fetched
    revision = contender.revision or contender.experiment or ("HEAD" if contender.files else None)
    if not on and find_cached(revision, "evaluate", EVALUATION / FILE).is_known:
        remote = "" if dvc.default_remote() else "DVC has no remote here (`dvc remote add --default` names one); "
        raise WorkspaceError(
            f"{contender.label}: its {name} is not here, neither in MLflow nor in DVC's cache; {remote}`dvc pull "
            f"evaluate` at {revision} brings it, if the remote lets you in and has it (`dvc push` where it was made)"
        )
    command = f"`bakeoff evaluate {contender.run_id[:SHOWN_OF_ID]}`" if on else "`dvc repro evaluate` on it"
    raise WorkspaceError(
        f"{contender.label}: has no {name}, neither here nor in MLflow nor in DVC's cache, so its examples cannot be "
        f"drawn again; it was not evaluated, or its files were deleted: {command} writes them"
    )


def _judged_here(contender: Contender, on: str) -> Path | None:
    """What `bakeoff evaluate` wrote."""
    shelf = f"{on}-{contender.judged_on.get(on, '')[:SHOWN_OF_DIGEST]}"
    file = (contender.files or Path()) / JUDGED / shelf / contender.run_id[:SHOWN_OF_ID] / FILE
    return file if file.is_file() else None


def _kept(contender: Contender, name: str) -> Path | None:
    entry = stored_run.kept_entry(contender.journal, name) if contender.journal else None
    return kept_file(entry, contender.journal / "files") if entry and contender.journal else None


def _here(contender: Contender) -> Path | None:
    """If the workspace's own evaluation is of this run."""
    root = contender.files or Path()
    result = result_here(root)
    file = root / EVALUATION / FILE
    return file if result.metrics and result.run_id == contender.run_id and file.is_file() else None


def _in_cache(contender: Contender) -> Path | None:
    """Of a DVC experiment or a revision, by the digest in its dvc.lock."""
    return find_cached(contender.revision or contender.experiment, "evaluate", EVALUATION / FILE).files.get(FILE)


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
            seen: Counter[str] = Counter()
            for row in rows:
                seen[row["file"]] += 1
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
        truth = self.rows[name]["truth"]
        if self.kind == "one label":
            return {truth}
        return {part["label"] for part in truth} if self.kind == "boxes" else set(truth)

    def score(self, names: Sequence[Name], classes: Sequence[str]) -> Score:
        """Make the score of these examples, in this order; `classes` may be more than this one's own."""
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
        predictions = tuple(_boxes(row["prediction"], ids, scored=True) for row in rows)
        return DetectionScore(tuple(classes), truth, predictions, tuple(map(_loss, rows)))


def _kind(columns: Sequence[str]) -> str:
    if "scores" in columns:
        return "several labels"
    return "one label" if "true_score" in columns else "boxes"


def _loss(row: Mapping[str, Any]) -> Loss | None:
    """None in files of versions that kept no parts of it."""
    parts = [part for name in ("loss_classes", "loss_boxes", "loss_divisor") if (part := row.get(name)) is not None]
    return Loss(*parts) if len(parts) == 3 else None


def _boxes(boxes: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, scored: bool = False) -> Boxes:
    corners = np.array([[box[side] for side in SIDES] for box in boxes], np.float64).reshape(-1, 4)
    classes = np.array([ids[box["label"]] for box in boxes], np.int64)
    return Boxes(corners, classes, np.array([box["score"] for box in boxes], np.float64) if scored else None)


def match_examples(a: Judged, b: Judged, called: tuple[str, str]) -> list[Name]:
    """Return all examples, in the order of A; refuse if both do not have the same. `called` are the runs' names."""
    if a.kind != b.kind:
        raise DataError(
            f"{called[0]} and {called[1]}: must be of one task, got answers of {a.kind} and of {b.kind}; "
            "numbers of different tasks say nothing about each other"
        )
    only_a = [name for name in a.rows if name not in b.rows]
    only_b = [name for name in b.rows if name not in a.rows]
    other = [name for name in a.rows if name in b.rows and a.truth(name) != b.truth(name)]
    differences = [
        f"{len(names):,} {what} ({_join(names)})"
        for names, what in ((only_a, "only in A"), (only_b, "only in B"), (other, "with another truth"))
        if names
    ]
    if differences:
        raise DataError(
            f"A, {called[0]}, and B, {called[1]}: must be judged on the same examples, got {', '.join(differences)} "
            f"beside {len(a.rows) - len(only_a) - len(other):,} that are the same{_name_labels(a, b)}; "
            "evaluate both on the same records"
        )
    if not a.rows:
        raise DataError(f"{called[0]} and {called[1]}: must be judged on examples, got none")
    return list(a.rows)


def _name_labels(a: Judged, b: Judged) -> str:
    """Name the labels that one of both evaluations knows alone."""
    only = [
        f"{letter} alone knows {', '.join(map(repr, labels))}"
        for letter, one, other in (("A", a, b), ("B", b, a))
        if (labels := sorted(set(one.classes) - set(other.classes)))
    ]
    return f"; their labels differ: {' and '.join(only)}" if only else ""


def _join(names: Sequence[Name]) -> str:
    return ", ".join(file for file, _ in names[:NAMED]) + (", …" if len(names) > NAMED else "")
