"""What a network answers to all examples of a split: boxes, each with a score for every class; or the classes alone.

    two examples, three classes, the second example without a box:
    counts [2, 0]    boxes (2, 4) ymin xmin ymax xmax, shares of the image    scores (2, 3)    spreads (2,)

A spread is the standard deviation of a box's sides, in shares of the box; 0: the network says none. Of a classifier
each example has one row, its probabilities, and the box is the whole image.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.files import building
from bakeoff.learning.networks.tile_merge import box_overlaps

ONE_OBJECT = 0.7  # boxes that overlap by so much are one object, of which a detector says each class apart
WHOLE = (0.0, 0.0, 1.0, 1.0)
FILE = "answers.npz"
NAMES = ("counts", "boxes", "scores", "spreads")


class Told(NamedTuple):
    """What is told of one example."""

    boxes: np.ndarray  # (rows, 4) float32
    scores: np.ndarray  # (rows, classes) float32
    spreads: np.ndarray  # (rows,) float32

    @classmethod
    def nothing(cls, classes: int) -> "Told":
        return cls(*(np.zeros(shape, np.float32) for shape in ((0, 4), (0, classes), (0,))))


@dataclass(frozen=True)
class TeacherAnswers:
    counts: np.ndarray  # (examples,) rows of each
    boxes: np.ndarray  # (rows, 4) float32
    scores: np.ndarray  # (rows, classes) float32
    spreads: np.ndarray  # (rows,) float32

    @classmethod
    def read(cls, folder: Path) -> "TeacherAnswers":
        path = folder / FILE
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                return cls(*(file[name] for name in NAMES))
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, BadZipFile) as error:
            remedy = f"remove {folder}, and it is made again"
            raise DataError(f"{path}: cannot be read ({one_line(error)}); {remedy}") from None

    def write(self, folder: Path) -> None:
        """Write a folder of one file; equal answers give equal bytes."""
        with building(folder) as partial:
            np.savez(partial / FILE, **{name: getattr(self, name) for name in NAMES})

    def each(self) -> Iterable[Told]:
        """Yield what is told of every example, in order."""
        ends = np.cumsum(self.counts)[:-1]
        return map(Told, *(np.split(rows, ends) for rows in (self.boxes, self.scores, self.spreads)))


def gather_answers(
    answer: Callable[[dict], dict], batches: Iterable[dict], examples: int, classes: int, advance: Callable[[int], None]
) -> TeacherAnswers:
    """Ask a network for all examples. One that is damaged, and left out of the batches, has no row."""
    rows = [Told.nothing(classes)] * examples
    for batch in batches:
        told = {name: value.numpy() for name, value in answer(batch).items()}
        numbers = batch["number"].numpy()
        for place, number in enumerate(numbers):
            rows[number] = _of_example(told, place, classes)
        advance(len(numbers))
    together = (np.concatenate(parts) for parts in zip(Told.nothing(classes), *rows, strict=True))
    return TeacherAnswers(np.array([len(one.boxes) for one in rows], np.int64), *together)


def _of_example(told: dict[str, np.ndarray], place: int, classes: int) -> Told:
    if "probabilities" in told:
        scores = told["probabilities"][place][None].astype(np.float32)
        return Told(np.array([WHOLE], np.float32), scores, np.zeros(1, np.float32))
    count = int(told["count"][place])
    found = {name: rows[place][:count] for name, rows in told.items() if name != "count"}
    spreads = found.get("spreads", np.zeros(count, np.float32))
    return unite_classes(found["boxes"], found["scores"], found["classes"], spreads, classes)


def unite_classes(boxes: np.ndarray, scores: np.ndarray, ids: np.ndarray, spreads: np.ndarray, classes: int) -> Told:
    """Return one row for each object: its best box, with the scores of all classes that were found there.

    The detections come best first. One belongs to the first object that it overlaps and that lacks its class.
    """
    places: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    widths: list[float] = []
    for box, score, label, spread in zip(boxes, scores, ids - 1, spreads, strict=True):
        near = box_overlaps(box, np.array(places)) if places else np.zeros(0)
        same = next((at for at in np.flatnonzero(near >= ONE_OBJECT) if not rows[at][label]), None)
        if same is None:
            places.append(box)
            widths.append(spread)
            rows.append(np.zeros(classes, np.float32))
        rows[-1 if same is None else same][label] = score
    if not places:
        return Told.nothing(classes)
    return Told(np.array(places, np.float32), np.array(rows), np.array(widths, np.float32))
