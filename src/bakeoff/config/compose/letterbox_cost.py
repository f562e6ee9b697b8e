"""What `model.fit: letterbox` leaves of the network's square for the pictures of the records.

LetterboxCost(height=360, width=640, size=640, smallest=4.1): a picture of 720 x 1280 leaves 43.75% of the square grey.
"""

from dataclasses import dataclass

import numpy as np

from bakeoff.learning.networks.letterbox import find_window, shown_sides

LEAST_SEEN = 8  # pixels: the finest grid of the detectors has a cell for each 8
SMALL = 0.1  # of the boxes are smaller than the one that is named


@dataclass(frozen=True)
class LetterboxCost:
    height: int  # of an ordinary picture in the square
    width: int
    size: int
    smallest: float | None  # pixels there of the shorter side of a small box; None: there are no boxes

    @classmethod
    def of(cls, sizes: np.ndarray, size: int, boxes: np.ndarray | None) -> "LetterboxCost":
        """Return the cost for pictures of these heights and widths (n, 2)."""
        shown = shown_sides(*median_size(sizes), size)
        if boxes is None or not len(boxes):
            return cls(*shown, size, None)
        sides = ((boxes[:, 2:] - boxes[:, :2]) * np.array(shown)).min(axis=1)
        return cls(*shown, size, float(np.quantile(sides, SMALL)))

    def __str__(self) -> str:
        grey = f"{round(100 - 100 * self.height * self.width / self.size**2, 2):g}% of them are grey"
        text = f"an ordinary picture fills {self.width} x {self.height} of {self.size} x {self.size} pixels; {grey}"
        if self.smallest is None:
            return text
        times = self.size / min(self.height, self.width)
        stretched = f"; stretched, objects would be {times:.2g} times as long one way" if times > 1 else ""
        return f"{text}; a tenth of the boxes has a side under {self.smallest:.1f} pixels there{stretched}"


def find_too_small(cost: LetterboxCost) -> str | None:
    """Return what is wrong where a letterbox, and not the network's size alone, makes objects smaller than it sees."""
    times = cost.size / min(cost.height, cost.width)
    if cost.smallest is None or not cost.smallest < LEAST_SEEN <= cost.smallest * times:
        return None
    return (
        f"letterbox makes a side of a tenth of the boxes {cost.smallest:.1f} pixels or less, and a detector here sees "
        f"little under {LEAST_SEEN}; make model.input_size larger, or crop the camera's picture to a square"
    )


def median_size(sizes: np.ndarray) -> tuple[int, int]:
    """Return height and width of an ordinary picture."""
    height, width = np.median(sizes, axis=0)
    return int(height), int(width)


def place_boxes(boxes: np.ndarray, sizes: np.ndarray, size: int) -> np.ndarray:
    """Return true boxes as the square of an ordinary picture shows them, in its shares."""
    window = find_window(*median_size(sizes), size)
    low, shown = np.tile(window[:2], 2), np.tile(window[2:] - window[:2], 2)
    return ((boxes - low) / shown).astype(boxes.dtype)
