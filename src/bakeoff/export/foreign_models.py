"""What a model of somebody else tells of itself, and what it answers -> the same, or a refusal that names its file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bakeoff.export.nms_numpy import Predictions
from bakeoff.foundation.errors import BakeoffError, DataError, one_line, show
from bakeoff.foundation.formatting import make_printable

MOST_PIXELS = 4096  # of a side, as learning/networks/network.py allows; a machine that only measures has no learning/
TASKS = ("detection", "classification", "video")
LONGEST_LABEL = 1000  # characters
CANNOT = "cannot answer"


@contextmanager
def errors_naming(path: Path, what: str) -> Iterator[None]:
    """Raise whatever a runtime or a reader raises in the block, about what the file holds, as a DataError."""
    try:
        yield
    except BakeoffError:
        raise
    except Exception as error:
        raise DataError(f"{path}: {what} ({type(error).__name__}: {make_printable(one_line(error))})") from None


def require_shape(path: Path, shape: Sequence[object]) -> None:
    """Refuse what is not ([frames], height, width, 3) of square images that memory can hold."""
    sides = [side for side in shape if isinstance(side, int) and 1 <= side <= MOST_PIXELS]
    if len(sides) != len(shape) or len(shape) not in (3, 4) or shape[-1] != 3 or shape[-2] != shape[-3]:
        wanted = f"square RGB images or clips of up to {MOST_PIXELS:,} pixels a side"
        raise DataError(f"{path}: takes {one_line(ValueError(tuple(shape)))}; {wanted} are known here")


def require_labels(path: Path, labels: Sequence[object]) -> None:
    if not labels or not all(isinstance(label, str) and len(label) <= LONGEST_LABEL for label in labels):
        wanted = f"one or more texts of at most {LONGEST_LABEL:,} characters"
        raise DataError(f"{path}: its labels must be {wanted}, got {show(labels[:3])}")


def check_answer(path: Path, answer: Predictions, labels: Sequence[str]) -> Predictions:
    """Return an answer whose arrays fit each other and the labels, and hold numbers; boxes inside the image."""
    number = len(labels)
    if "boxes" in answer:
        boxes, scores, classes = (np.asarray(answer[name]) for name in ("boxes", "scores", "classes"))
        fits = boxes.shape == (len(boxes), 4) and scores.shape == classes.shape == (len(boxes),)
        _require(path, fits, f"boxes of {boxes.shape}, scores of {scores.shape}, classes of {classes.shape}")
        _require_numbers(path, boxes, scores)
        _require(path, bool(((classes >= 1) & (classes <= number)).all()), f"classes that are not 1 to {number}")
        return answer | {"boxes": np.clip(boxes, 0.0, 1.0)}
    name = "probabilities" if "probabilities" in answer else "scores"
    values = np.asarray(answer[name])
    _require(path, values.shape == (number,), f"{name} of {values.shape} for {number} labels")
    _require_numbers(path, values)
    return answer


def _require_numbers(path: Path, *arrays: np.ndarray) -> None:
    for array in arrays:
        is_real = array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
        _require(path, is_real, "what is no number")


def _require(path: Path, fits: bool, what: str) -> None:
    if not fits:
        raise DataError(f"{path}: {CANNOT} as export's models do, it gives {what}")
