"""Pictures -> whether one shows the same as a known one that was saved again, resized or made lighter.

Hashes find candidates, and pixels decide, because most hashes of photographs of one kind are near by chance.
"""

import numpy as np

from bakeoff.dataset.building.image_check import FLAT, NEAR, check_image
from bakeoff.dataset.building.near_duplicates import GreyImage, look_alike, open_picture
from bakeoff.foundation.tf_loading import quiet_pillow


class KnownImages:
    """The known pictures, each with a name."""

    def __init__(self) -> None:
        self._hashes: list[int] = []
        self._names: list[str] = []
        self._encoded: list[bytes] = []

    def add(self, name: str, encoded: bytes, likeness: int | None = None) -> None:
        """Keep a picture. `likeness` is its hash, which is computed if it is not given."""
        self._hashes.append(check_image(encoded, None).likeness if likeness is None else likeness)
        self._names.append(name)
        self._encoded.append(encoded)

    def find(self, encoded: bytes, likeness: int) -> str | None:
        """Return the name of a known picture that looks the same; None if there is none."""
        if likeness in FLAT or not self._hashes:
            return None
        near = np.bitwise_count(np.array(self._hashes, np.uint64) ^ np.uint64(likeness)) <= NEAR
        indices = np.flatnonzero(near)
        picture = _open(encoded) if len(indices) else None
        for index in indices:
            if picture and look_alike(picture, _open(self._encoded[index])):
                return self._names[index]
        return None


def _open(encoded: bytes) -> GreyImage:
    with quiet_pillow():
        return open_picture(encoded)
