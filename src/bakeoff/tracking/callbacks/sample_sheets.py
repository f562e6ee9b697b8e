"""The same few validation examples at each validation pass, drawn on a sheet with the truth and the predictions."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from bakeoff.evaluation.drawing import draw_sheet
from bakeoff.foundation.files import sync, sync_names
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import SAMPLES
from bakeoff.learning.metrics.names import merit
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.training import Training, TrainingResult

MIN_SCORE = 0.5  # of detections, and of labels where there may be several


class SampleSheets(Callback):
    """Draws a sheet of each validation pass, and keeps as many as `most_mb` megabytes hold."""

    def __init__(self, folder: Path, classes: Sequence[str], out: Path, most_mb: float) -> None:
        """`folder` is the run's own; those that stay are copied to `out` at the end."""
        self.folder, self._most_bytes, self._out = folder / SAMPLES, int(most_mb * 1e6), out
        self._classes = tuple(classes)
        self._training: Training | None = None

    def on_start(self, training: Training) -> None:
        self.folder.mkdir(exist_ok=True)
        self._training = training

    def on_validation(self, line: LogLine, seconds: float) -> None:
        assert self._training is not None
        if not (seen := self._training.pictures.seen):
            return
        sheet = self.folder / f"{line.step:08d}.jpg"
        try:
            draw_sheet(seen, self._classes, MIN_SCORE, sheet)
        except OSError:
            sheet.unlink(missing_ok=True)  # half of one, on a full disk
            raise
        sync(sheet)  # before a checkpoint counts it as drawn
        sync_names(self.folder)
        for file in set(self.folder.glob("*.jpg")) - self._staying():
            file.unlink()

    def on_end(self, outcome: TrainingResult) -> None:
        """Copy the sheets; those of steps that were taken back stay behind."""
        for sheet in self._staying():
            if sheet.is_file():
                (self._out / SAMPLES).mkdir(exist_ok=True)
                shutil.copyfile(sheet, self._out / SAMPLES / sheet.name)

    def _staying(self) -> set[Path]:
        """Return those of the first, the best and the newest pass; of the others every one, or every second, fourth,
        eighth, as many as there is room for.
        """
        assert self._training is not None
        values, headline = dict[int, float](), self._training.headline
        for line in self._training.history:
            if line.is_validation:
                value = line.values.get(f"validation/{headline}")
                values[line.step] = float("-inf") if value is None else merit(headline, value)
        if not values:
            return set()
        best = max(values, key=lambda step: values[step])  # the first of equals
        steps, always = sorted(values), {min(values), best, max(values)}
        room = self._most_bytes // self._largest() - len(always)
        every = 1
        while len(steps) // every > room and every <= len(steps):
            every *= 2
        # Every n-th from the first on: what stays when they become too many has stayed until then.
        return {self.folder / f"{step:08d}.jpg" for step in {*steps[every - 1 :: every], *always}}

    def _largest(self) -> int:
        """Return the bytes of the largest sheet."""
        return max((file.stat().st_size for file in self.folder.glob("*.jpg")), default=1)
