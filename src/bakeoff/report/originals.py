"""Names and images of a split's examples, from their records: what the page shows of them."""

from collections.abc import Callable, Sequence

import numpy as np

from bakeoff.records.wire import Value, decode_features

OF_CLIP = 4  # frames shown


class Originals:
    def __init__(self, read: Callable[[np.ndarray], Sequence[bytes | None]], examples: Sequence[int]) -> None:
        """`examples`: the numbers, in `read`, of those that were judged; here they go by their places in that list."""
        self._read, self._examples = read, examples

    def names(self) -> list[str]:
        """Of all examples, in order; each is read by itself, so that a large split needs no memory."""
        found = (self._features(number)["image/filename"] for number in range(len(self._examples)))
        return [name.decode("utf-8", "backslashreplace") for [name] in found if isinstance(name, bytes)]

    def images(self, number: int) -> list[bytes]:
        """The encoded image; of a clip a few, evenly apart."""
        features = self._features(number)
        frames = [
            frame for frame in features.get("image/encoded") or features["clip/frames"] if isinstance(frame, bytes)
        ]
        last = len(frames) - 1
        return [frames[place] for place in sorted({round(step * last / (OF_CLIP - 1)) for step in range(OF_CLIP)})]

    def _features(self, number: int) -> dict[str, Value]:
        [data] = self._read(np.array([self._examples[number]]))
        return decode_features(data or b"")
