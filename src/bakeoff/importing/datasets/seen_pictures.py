"""Pictures that were seen before -> the one that a new picture looks like."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from bakeoff.dataset.building.image_check import NEAR, hash_picture

FINE = 24  # places across and down at which two pictures are compared
CHANGED = 12.0  # grey levels by which one place differs where something has moved; a codec's noise stays below


@dataclass(frozen=True)
class Look:
    """A picture, as small as is enough to compare others with it."""

    likeness: int  # 64 bits, alike for pictures of the same view
    grid: bytes  # FINE times FINE greys


def take_look(grey: np.ndarray) -> Look:
    """Return how a grey picture (h, w) looks."""
    image = Image.fromarray(grey).resize((FINE, FINE), Image.Resampling.BOX)
    return Look(hash_picture(grey), image.tobytes())


class SeenPictures:
    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)
        self._grids: list[np.ndarray] = []

    def find(self, look: Look) -> int | None:
        """Return the number of the first picture that looks the same; None if none does.

        The hash finds pictures of the same view. Where something moved in it, a place is lighter or darker than it was.
        """
        grid = _unpack(look)
        near = np.flatnonzero(np.bitwise_count(self._hashes ^ np.uint64(look.likeness)) <= NEAR)
        return next((int(one) for one in near if np.abs(self._grids[one] - grid).max() < CHANGED), None)

    def add(self, look: Look) -> None:
        self._hashes = np.append(self._hashes, np.uint64(look.likeness))
        self._grids.append(_unpack(look))


def _unpack(look: Look) -> np.ndarray:
    return np.frombuffer(look.grid, np.uint8).astype(np.float32)
