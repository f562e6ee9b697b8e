"""The same few validation examples at each look, with what the network found in them: `samples/00000500.jpg`.

Named by the steps that were done. The sheets of the first, the best and the newest look stay.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from bakeoff.tasks.pictures import draw_sheet
from bakeoff.tasks.task import Task, Tensors
from bakeoff.training.history import metrics_of

MIN_SCORE = 0.5  # of detections, and of labels where there may be several


def evenly_spread(count: int, examples: int) -> np.ndarray:
    """So many numbers of examples, or all there are; always the same."""
    count = min(count, examples)
    return np.arange(count) * examples // max(1, count)


class Samples:
    def __init__(self, folder: Path, task: Task, classes: Sequence[str], numbers: np.ndarray) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._task, self._classes, self._numbers = task, tuple(classes), numbers
        self._seen: list[tuple[np.ndarray, dict]] = []
        self.images: list[np.ndarray] = []  # of the last look

    def begin(self) -> None:
        """A look; the one before may have been broken off."""
        self._seen = []

    def watch(self, batch: Tensors, found: Tensors) -> None:
        """Every batch of a look."""
        rows = np.flatnonzero(np.isin(batch["number"].numpy(), self._numbers))
        if len(rows):
            those, answers = ({key: tf.gather(value, rows) for key, value in part.items()} for part in (batch, found))
            self._seen += self._task.shown(those, answers)

    def draw(self, done: int, history: Sequence[str], headline: str) -> Path | None:
        """A sheet of what was watched."""
        self.images = [image for image, _ in self._seen]
        if not self._seen:
            return None
        sheet = self.folder / f"{done:08d}.jpg"
        try:
            draw_sheet(self._seen, self._classes, MIN_SCORE, sheet)
        except OSError:
            sheet.unlink(missing_ok=True)  # half of one, on a full disk
            raise
        for file in set(self.folder.glob("*.jpg")) - self.staying(history, headline):
            file.unlink()
        return sheet

    def staying(self, history: Sequence[str], headline: str) -> set[Path]:
        """If anybody looked."""
        values = {}
        for line in history:
            step, metrics = metrics_of(line)
            if "train/loss" not in metrics:
                values[step] = metrics.get(f"validation/{headline}", float("-inf"))
        if not values:
            return set()
        best = max(values, key=lambda step: values[step])  # the first of equals
        return {self.folder / f"{step:08d}.jpg" for step in (min(values), best, max(values))}
