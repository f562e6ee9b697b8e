"""Images of a split's examples, from their records: what the page shows of them."""

from collections.abc import Callable

import numpy as np

from bakeoff.records.wire import Value, decode_features

OF_CLIP = 4  # frames shown


class Originals:
    def __init__(self, read: Callable[[np.ndarray], list[bytes | None]]) -> None:
        self._read = read

    def images(self, number: int) -> list[bytes]:
        """The encoded image; of a clip a few, evenly apart."""
        features = self._features(number)
        frames = [
            frame for frame in features.get("image/encoded") or features["clip/frames"] if isinstance(frame, bytes)
        ]
        last = len(frames) - 1
        return [frames[place] for place in sorted({round(step * last / (OF_CLIP - 1)) for step in range(OF_CLIP)})]

    def _features(self, number: int) -> dict[str, Value]:
        [data] = self._read(np.array([number]))
        return decode_features(data or b"")
