"""What a network answers to all examples of a split: boxes, each with a score for every class; or the classes alone.

    two examples, three classes, the second example without a box:
    counts [2, 0]    boxes (2, 4) ymin xmin ymax xmax, shares of the image    scores (2, 3)

Of a classifier each example has one row, its probabilities, and the box is the whole image.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.files import building
from bakeoff.learning.networks.tile_merge import box_overlaps

ONE_OBJECT = 0.7  # boxes that overlap by so much are one object, of which a detector says each class apart
WHOLE = (0.0, 0.0, 1.0, 1.0)
FILE = "answers.npz"


@dataclass(frozen=True)
class TeacherAnswers:
    counts: np.ndarray  # (examples,) rows of each
    boxes: np.ndarray  # (rows, 4) float32
    scores: np.ndarray  # (rows, classes) float32

    @classmethod
    def read(cls, folder: Path) -> "TeacherAnswers":
        path = folder / FILE
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                return cls(file["counts"], file["boxes"], file["scores"])
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, BadZipFile) as error:
            remedy = f"remove {folder}, and it is made again"
            raise DataError(f"{path}: cannot be read ({one_line(error)}); {remedy}") from None

    def write(self, folder: Path) -> None:
        """Write a folder of one file; equal answers give equal bytes."""
        with building(folder) as partial:
            np.savez(partial / FILE, counts=self.counts, boxes=self.boxes, scores=self.scores)

    def each(self) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Yield boxes and scores of every example, in order."""
        ends = np.cumsum(self.counts)[:-1]
        return zip(np.split(self.boxes, ends), np.split(self.scores, ends), strict=True)


def gather_answers(
    answer: Callable[[dict], dict], batches: Iterable[dict], examples: int, classes: int, advance: Callable[[int], None]
) -> TeacherAnswers:
    """Ask a network for all examples. One that is damaged, and left out of the batches, has no row."""
    rows = [_nothing(classes)] * examples
    for batch in batches:
        told = {name: value.numpy() for name, value in answer(batch).items()}
        numbers = batch["number"].numpy()
        for place, number in enumerate(numbers):
            rows[number] = _of_example(told, place, classes)
        advance(len(numbers))
    boxes, scores = (np.concatenate(parts) for parts in zip(_nothing(classes), *rows, strict=True))
    return TeacherAnswers(np.array([len(one) for one, _ in rows], np.int64), boxes, scores)


def _nothing(classes: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((0, 4), np.float32), np.zeros((0, classes), np.float32)


def _of_example(told: dict[str, np.ndarray], place: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    if "probabilities" in told:
        return np.array([WHOLE], np.float32), told["probabilities"][place][None].astype(np.float32)
    count = int(told["count"][place])
    boxes, scores, ids = (told[name][place][:count] for name in ("boxes", "scores", "classes"))
    return unite_classes(boxes, scores, ids, classes)


def unite_classes(
    boxes: np.ndarray, scores: np.ndarray, ids: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return one row for each object: its best box, with the scores of all classes that were found there.

    The detections come best first. One belongs to the first object that it overlaps and that lacks its class.
    """
    places: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    for box, score, label in zip(boxes, scores, ids - 1, strict=True):
        near = box_overlaps(box, np.array(places)) if places else np.zeros(0)
        same = next((at for at in np.flatnonzero(near >= ONE_OBJECT) if not rows[at][label]), None)
        if same is None:
            places.append(box)
            rows.append(np.zeros(classes, np.float32))
        rows[-1 if same is None else same][label] = score
    if not places:
        return _nothing(classes)
    return np.array(places, np.float32), np.array(rows)
